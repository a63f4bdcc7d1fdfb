import { waitForTick } from "./coalesce.ts";

/** How long heavy work waits for foreground work at most, so that it also finishes under constant load. */
const patienceMs = 20;
/** Foreground work this recent counts as still running: a checkout page sends its next request at once. */
const recentlyMs = 100;

export type PriorityGate = {
  /** Run work that a caller waits for: heavy work yields to it. */
  runForeground<T>(work: () => Promise<T>): Promise<T>;
  /** Whether no foreground work is running or recent, so that heavy work may run in larger parts. */
  isIdle(): boolean;
  /**
   * Await this before each part of work that blocks the event loop for long. Such parts run one at a time, and only when no
   * foreground work runs, or after `patienceMs`.
   */
  yieldToForeground(): Promise<void>;
};

/** Create a priority gate for the work of one thread: foreground work runs first, heavy work yields. */
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

/** The priority gate of this process. */
export const { runForeground, isIdle, yieldToForeground } = createPriorityGate();
