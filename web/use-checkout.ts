import { useCallback, useEffect, useRef, useState } from "react";
import type { Checkout, Failure, Result } from "./api.ts";
import { checkouts } from "./checkouts.ts";
import { given } from "./server-data.ts";

/** The checkout as last seen, so that the page after it need not ask again before it can draw. */
const seen = new Map<string, Checkout>(given && [[given.checkout.client_secret, given.checkout]]);
/** The checkout that came with the page, until it is shown: it was read just now. */
let fresh = given?.checkout.client_secret;

type Change = { patch: object; answered: (answer: Result<Checkout>) => void };

const joinFields = ({ patch }: Change): string => Object.keys(patch).join();

/** Loads a checkout and sends its changes one after the other, in the order they were made. */
export function useCheckout(secret: string) {
  const [checkout, setCheckout] = useState<Checkout | undefined>(() => seen.get(secret));
  const [failure, setFailure] = useState<Failure>();
  const [updating, setUpdating] = useState(false);
  const waiting = useRef<Change[]>([]);
  const working = useRef<Promise<void> | undefined>(undefined);

  const take = useCallback(
    (value: Checkout): void => {
      seen.set(secret, value);
      setCheckout(value);
      setFailure(undefined);
    },
    [secret],
  );

  const load = useCallback(async (): Promise<void> => {
    const answer = await checkouts.get(secret);
    if (answer.ok) take(answer.value);
    else setFailure(answer.failure);
  }, [secret, take]);

  useEffect(() => {
    if (fresh !== secret) void load();
    fresh = undefined;
  }, [load, secret]);

  /**
   * Takes what was read meanwhile, unless changes are under way or it is older than what is shown. Answers whether it was taken.
   */
  const accept = useCallback(
    (value: Checkout): boolean => {
      const shown = seen.get(secret);
      const isOlder = shown && (value.modified_at ?? value.created_at) < (shown.modified_at ?? shown.created_at);
      if (working.current || isOlder) return false;
      take(value);
      return true;
    },
    [secret, take],
  );

  /** Asks how the checkout stands, and takes the answer as `accept` does; undefined where there is none. */
  const refresh = useCallback(async (): Promise<Checkout | undefined> => {
    const answer = await checkouts.get(secret);
    if (!answer.ok) return undefined;
    accept(answer.value);
    return answer.value;
  }, [secret, accept]);

  const work = useCallback(async (): Promise<void> => {
    setUpdating(true);
    for (let next = waiting.current.shift(); next; next = waiting.current.shift()) {
      const answered = [next.answered];
      // Of several changes of the same, made while another was under way, the last one counts.
      while (waiting.current[0] && joinFields(waiting.current[0]) === joinFields(next)) {
        next = waiting.current.shift() as Change;
        answered.push(next.answered);
      }
      const answer = await checkouts.update(secret, next.patch);
      if (answer.ok) take(answer.value);
      else if (answer.failure.status === 410) setFailure(answer.failure);
      for (const tell of answered) tell(answer);
    }
    setUpdating(false);
    working.current = undefined;
  }, [secret, take]);

  const update = useCallback(
    (patch: object): Promise<Result<Checkout>> =>
      new Promise((answered) => {
        waiting.current.push({ patch, answered });
        working.current ??= work();
      }),
    [work],
  );

  /** Resolves to the checkout as it stands once every change made so far has been answered. */
  const settled = useCallback(async (): Promise<Checkout | undefined> => {
    await working.current;
    return seen.get(secret);
  }, [secret]);

  return { checkout, failure, updating, take, load, accept, refresh, fail: setFailure, update, settled };
}

/** A checkout that is there, and how to change it. */
export type Order = Omit<ReturnType<typeof useCheckout>, "checkout" | "failure"> & { checkout: Checkout };
