import { endOfTick } from "./ticks.ts";

/** For so long at most heavy work waits for others, so that it comes to its end also where these never do. */
const patience_ms = 20;
/** Who was here so shortly before is there still: a buyer asks again at once. */
const recently_ms = 100;

export type Way = {
  /** Do what somebody waits for: heavy work gives way to it. */
  goAhead<T>(work: () => Promise<T>): Promise<T>;
  /** Whether heavy work has the way for itself, so that it may come in large pieces. */
  isAlone(): boolean;
  /**
   * To be waited for before each piece of work that keeps this process from all else for long: such pieces come one at a time,
   * and when nothing goes ahead.
   */
  giveWay(): Promise<void>;
};

/** A way that those who share one thread go: what is light goes ahead, what is heavy gives way. */
export function openWay(): Way {
  let under_way = 0;
  let last_at = Number.NEGATIVE_INFINITY;
  let wake = () => {};
  let turn: Promise<void> = Promise.resolve();
  return {
    async goAhead(work) {
      under_way += 1;
      try {
        return await work();
      } finally {
        under_way -= 1;
        last_at = performance.now();
        if (under_way === 0) wake();
      }
    },
    isAlone: () => under_way === 0 && performance.now() - last_at > recently_ms,
    giveWay() {
      turn = turn.then(async () => {
        await endOfTick();
        if (under_way === 0) return;
        const { promise, resolve } = Promise.withResolvers<void>();
        wake = resolve;
        const timer = setTimeout(resolve, patience_ms);
        await promise;
        clearTimeout(timer);
      });
      return turn;
    },
  };
}

/** The way of this process. */
export const { goAhead, isAlone, giveWay } = openWay();
