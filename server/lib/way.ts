import { endOfTick } from "./ticks.ts";

/** For so long at most heavy work waits for others, so that it comes to its end also where these never do. */
const patience_ms = 20;
/** Who was here so shortly before is there still: a buyer asks again at once. */
const recently_ms = 100;

let under_way = 0;
let last_at = Number.NEGATIVE_INFINITY;
let wake = () => {};
let turn: Promise<void> = Promise.resolve();

/** Do what somebody waits for: heavy work gives way to it. */
export async function goAhead<T>(work: () => Promise<T>): Promise<T> {
  under_way += 1;
  try {
    return await work();
  } finally {
    under_way -= 1;
    last_at = performance.now();
    if (under_way === 0) wake();
  }
}

/** Whether heavy work has this process for itself, so that it may come in large pieces. */
export const isAlone = (): boolean => under_way === 0 && performance.now() - last_at > recently_ms;

/**
 * To be waited for before each piece of work that keeps this process from all else for long: such pieces come one at a time, and
 * when nothing goes ahead.
 */
export function giveWay(): Promise<void> {
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
}
