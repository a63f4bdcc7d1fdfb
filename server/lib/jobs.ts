import { EventEmitter } from "node:events";
import type { Tx } from "./transaction.ts";

/** What stands between a change and the sweeps of this process that it leaves something to do. */
export type Jobs = {
  /** Have a sweep look at once for what is due, when the transaction is committed; without it, it looks in a moment. */
  wake(tx: Tx, sweep: string): void;
  /** Answers how to hear it no longer. */
  onWake(sweep: string, look: () => void): () => void;
  /** Say whether the worker works. */
  setWorking(is: boolean): void;
  working(): boolean;
};

/** What is to be done is in rows, so nothing is lost with it. */
export function openJobs(): Jobs {
  const wakes = new EventEmitter();
  let isWorking = false;
  return {
    wake: (tx, sweep) => void tx.unit.afterCommit.push(() => void wakes.emit(sweep)),
    onWake(sweep, look) {
      wakes.on(sweep, look);
      return () => void wakes.off(sweep, look);
    },
    setWorking(is) {
      isWorking = is;
    },
    working: () => isWorking,
  };
}
