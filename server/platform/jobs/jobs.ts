import { EventEmitter } from "node:events";
import type { Tx } from "../db/transaction.ts";
import { createThrottle, type Throttle } from "./throttle.ts";

/** What stands between a change and the sweeps of this process that it leaves something to do. */
export type Jobs = {
  /** How work without haste gives way to requests. */
  throttle: Throttle;
  /** Have a sweep look at once for what is due, when the transaction is committed; without it, it looks in a moment. */
  wake(tx: Tx, sweep: string): void;
  /** Answers how to hear it no longer. */
  onWake(sweep: string, look: () => void): () => void;
  /** Say that something was written, or has fallen due: there may be more to look for, whether or not a sweep was woken. */
  notifyActivity(): void;
  /** When that was last, by `performance.now()`. */
  lastActivityAt(): number;
  /** Answers how to hear it no longer. */
  onActivity(look: () => void): () => void;
  /** Note work that is under way for a seller. */
  begin(organization_id: string, piece: Promise<void>): void;
  /** When what is under way for a seller has ended. */
  ended(organization_id: string): Promise<void>;
  /** Say whether the worker works. */
  setWorking(is: boolean): void;
  working(): boolean;
};

const stirred = Symbol("stirred");

/** What is to be done is in rows, so nothing is lost with it. */
export function createJobs(): Jobs {
  // Every sweep listens to both.
  const wakes = new EventEmitter().setMaxListeners(0);
  const underWay = new Map<string, Set<Promise<void>>>();
  let isWorking = false;
  let stirred_at = performance.now();
  const stir = () => {
    stirred_at = performance.now();
    wakes.emit(stirred);
  };
  return {
    throttle: createThrottle(),
    wake(tx, sweep) {
      tx.unit.afterCommit.push(() => {
        wakes.emit(sweep);
        stir();
      });
    },
    onWake(sweep, look) {
      wakes.on(sweep, look);
      return () => void wakes.off(sweep, look);
    },
    notifyActivity: stir,
    lastActivityAt: () => stirred_at,
    onActivity(look) {
      wakes.on(stirred, look);
      return () => void wakes.off(stirred, look);
    },
    begin(organization_id, piece) {
      stir();
      const pieces = underWay.get(organization_id) ?? new Set();
      underWay.set(organization_id, pieces.add(piece));
      const end = () => {
        pieces.delete(piece);
        if (pieces.size === 0) underWay.delete(organization_id);
      };
      piece.then(end, end);
    },
    async ended(organization_id) {
      await Promise.allSettled(underWay.get(organization_id) ?? []);
    },
    setWorking(is) {
      isWorking = is;
    },
    working: () => isWorking,
  };
}
