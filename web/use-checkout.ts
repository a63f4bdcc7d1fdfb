import { useCallback, useEffect, useRef, useState } from "react";
import { type Checkout, checkouts, type Failure, type Result } from "./api.ts";

/** The checkout as last seen, so that the page after it need not ask again before it can draw. */
const seen = new Map<string, Checkout>();

/** Loads a checkout and sends its changes one after the other, in the order they were made. */
export function useCheckout(secret: string) {
  const [checkout, setCheckout] = useState<Checkout | undefined>(() => seen.get(secret));
  const [failure, setFailure] = useState<Failure>();
  const [pending, setPending] = useState(0);
  const last = useRef<Promise<unknown>>(Promise.resolve());

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
    void load();
  }, [load]);

  const update = useCallback(
    (patch: object): Promise<Result<Checkout>> => {
      setPending((count) => count + 1);
      const run = last.current.then(async () => {
        const answer = await checkouts.update(secret, patch);
        setPending((count) => count - 1);
        if (answer.ok) take(answer.value);
        else if (answer.failure.status === 410) setFailure(answer.failure);
        return answer;
      });
      last.current = run;
      return run;
    },
    [secret, take],
  );

  /** Resolves once every change made so far has been answered. */
  const settled = useCallback(async (): Promise<void> => {
    await last.current;
  }, []);

  return { checkout, failure, updating: pending > 0, take, load, update, settled };
}
