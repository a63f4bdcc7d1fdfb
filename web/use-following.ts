import { useEffect, useRef, useState } from "react";
import type { Checkout } from "./api.ts";
import { isSameDeal } from "./terms.ts";
import type { Order } from "./use-checkout.ts";

/** For so long after a change nothing can be bought: a press of the button was meant for what it said before. */
const unseenMs = 1000;
const startDelayMs = 1000;

/**
 * Shows an open checkout as the server has it: it may be paid in another browser, expire, or get another price. `changed` is called
 * with terms that the buyer has not agreed to. Answers whether these came so recently that the buyer cannot have seen them.
 */
export function useFollowing(order: Order, isPaused: boolean, changed: (checkout: Checkout) => void): boolean {
  const [unseen, setUnseen] = useState<Checkout>();
  useEffect(() => {
    if (!unseen) return;
    const timer = setTimeout(() => setUnseen(undefined), unseenMs);
    return () => clearTimeout(timer);
  }, [unseen]);
  const current = useRef({ order, changed });
  useEffect(() => {
    current.current = { order, changed };
  });
  const { client_secret, status } = order.checkout;
  const isFollowed = status === "open" && !isPaused;
  // biome-ignore lint/correctness/useExhaustiveDependencies: another checkout of the same page is followed anew
  useEffect(() => {
    if (!isFollowed) return;
    const applyCheckout = (fresh: Checkout): void => {
      const { order: shown, changed: tell } = current.current;
      const before = shown.checkout;
      if (!shown.accept(fresh) || fresh.status !== "open" || isSameDeal(before, fresh)) return;
      setUnseen(fresh);
      tell(fresh);
    };
    let stop: (() => void) | undefined;
    // The form comes first; what happens until then is asked for with the stream.
    const start = setTimeout(async () => {
      const listening = await import("./follow-open.ts").catch(() => undefined);
      const { checkout, fail } = current.current.order;
      if (!isOver) stop = listening?.followOpen(checkout, applyCheckout, fail);
    }, startDelayMs);
    let isOver = false;
    return () => {
      isOver = true;
      clearTimeout(start);
      stop?.();
    };
  }, [client_secret, isFollowed]);
  return unseen !== undefined;
}
