import { useEffect, useState } from "react";

const longMs = 10_000;
const veryLongMs = 30_000;
export type Delay = "none" | "long" | "very_long";

/** How long something is awaited, in the steps at which a page says so. `overdue` is called with the last one. */
export function useDelay(isWaiting: boolean, overdue: () => Promise<unknown>): Delay {
  const [delay, setDelay] = useState<Delay>("none");
  useEffect(() => {
    if (!isWaiting) return;
    const timers = [
      setTimeout(() => setDelay("long"), longMs),
      setTimeout(() => {
        setDelay("very_long");
        void overdue();
      }, veryLongMs),
    ];
    return () => {
      for (const timer of timers) clearTimeout(timer);
      setDelay("none");
    };
  }, [isWaiting, overdue]);
  return delay;
}
