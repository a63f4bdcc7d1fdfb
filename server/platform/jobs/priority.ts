import { waitForTick } from "./coalesce.ts";

/** For so long at most heavy work waits for others, so that it comes to its end also where these never do. */
const patienceMs = 20;
/** Who was here so shortly before is there still: a buyer asks again at once. */
const recentlyMs = 100;

export type PriorityGate = {
  /** Do what somebody waits for: heavy work gives way to it. */
  runForeground<T>(work: () => Promise<T>): Promise<T>;
  /** Whether heavy work has the way for itself, so that it may come in large pieces. */
  isIdle(): boolean;
  /**
   * To be waited for before each piece of work that keeps this process from all else for long: such pieces come one at a time,
   * and when nothing goes ahead.
   */
  yieldToForeground(): Promise<void>;
};

/** A way that those who share one thread go: what is light goes ahead, what is heavy gives way. */
export function createPriorityGate(): PriorityGate {
  let under_way = 0;
  let last_at = Number.NEGATIVE_INFINITY;
  let wake = () => {};
  let turn: Promise<void> = Promise.resolve();
  return {
    async runForeground(work) {
      under_way += 1;
      try {
        return await work();
      } finally {
        under_way -= 1;
        last_at = performance.now();
        if (under_way === 0) wake();
      }
    },
    isIdle: () => under_way === 0 && performance.now() - last_at > recentlyMs,
    yieldToForeground() {
      turn = turn.then(async () => {
        await waitForTick();
        if (under_way === 0) return;
        const { promise, resolve } = Promise.withResolvers<void>();
        wake = resolve;
        const timer = setTimeout(resolve, patienceMs);
        await promise;
        clearTimeout(timer);
      });
      return turn;
    },
  };
}

/** The way of this process. */
export const { runForeground, isIdle, yieldToForeground } = createPriorityGate();
