import { EventEmitter } from "node:events";
import type { Tx } from "../db/transaction.ts";
import { createThrottle, type Throttle } from "./throttle.ts";

/** Connects changes to the workers of this process: it wakes workers and tracks running batches. */
export type Jobs = {
  /** Lets background work yield to requests. */
  throttle: Throttle;
  /** Wake a worker when the transaction commits. Without it, the worker finds the row at its next poll. */
  wake(tx: Tx, sweep: string): void;
  /** Wake a worker at once: a row is due that this process did not write. */
  wakeNow(worker: string): void;
  /** Answers how to hear it no longer. */
  onWake(sweep: string, look: () => void): () => void;
  /** Hear which workers are woken by a commit of this process. Answers how to hear it no longer. */
  onCommit(look: (worker: string) => void): () => void;
  /** Report that a row was written or has fallen due, so that idle workers poll at their usual interval. */
  notifyActivity(): void;
  /** The time of the last activity, by `performance.now()`. */
  lastActivityAt(): number;
  /** Whether there was no activity for a while. */
  isQuiet(): boolean;
  /** Set which workers need not poll while the process is quiet, as one search looks for their rows. */
  setSearched(workers: readonly string[]): void;
  isSearched(worker: string): boolean;
  /** Set whether another process may use the database. Until it is known, one may. */
  setAlone(is: boolean): void;
  isAlone(): boolean;
  /** Answers how to hear it no longer. */
  onActivity(look: () => void): () => void;
  /** Register a running batch of a seller. */
  begin(organization_id: string, piece: Promise<void>): void;
  /** Resolves when the running batches of a seller have ended. */
  ended(organization_id: string): Promise<void>;
  /** Set whether the workers of this process run. */
  setWorking(is: boolean): void;
  working(): boolean;
  /** How this machine's clock compares with the database's. With a wrong one, nothing that is due runs (OPS-03). */
  getClock(): ComparedClock;
  setClock(clock: ComparedClock): void;
};

/** From this difference on, it is said that a clock is off; and beyond this one, it is wrong. */
export const [clockSkewMsSaid, clockSkewMsMax] = [5_000, 60_000];
export type ClockState = "right" | "off" | "wrong";
export type ComparedClock = { state: ClockState; skewMs: number };

const [activity, commit] = [Symbol("activity"), Symbol("commit")];
/** After this time without a write or due work, workers poll less often, so that an idle server uses little CPU. */
const quietAfterMs = 10_000;

/** Create the in-memory state. Jobs are rows in the database, so none is lost with the process. */
export function createJobs(): Jobs {
  // Every worker listens to its own name and to activity, so the number of listeners is not limited.
  const wakes = new EventEmitter().setMaxListeners(0);
  const underWay = new Map<string, Set<Promise<void>>>();
  let isWorking = false;
  let clock: ComparedClock = { state: "right", skewMs: 0 };
  let lastActivityAt = performance.now();
  let searched: ReadonlySet<string> = new Set();
  let isAlone = false;
  const notifyActivity = () => {
    lastActivityAt = performance.now();
    wakes.emit(activity);
  };
  return {
    throttle: createThrottle(),
    wake(tx, sweep) {
      tx.unit.afterCommit.push(() => {
        wakes.emit(sweep);
        wakes.emit(commit, sweep);
        notifyActivity();
      });
    },
    wakeNow(worker) {
      wakes.emit(worker);
    },
    onWake(sweep, look) {
      wakes.on(sweep, look);
      return () => void wakes.off(sweep, look);
    },
    onCommit(look) {
      wakes.on(commit, look);
      return () => void wakes.off(commit, look);
    },
    notifyActivity,
    lastActivityAt: () => lastActivityAt,
    isQuiet: () => performance.now() - lastActivityAt > quietAfterMs,
    setSearched(workers) {
      if (workers.length === 0 && searched.size > 0) wakes.emit(activity);
      searched = new Set(workers);
    },
    isSearched: (worker) => searched.has(worker),
    setAlone(is) {
      isAlone = is;
    },
    isAlone: () => isAlone,
    onActivity(look) {
      wakes.on(activity, look);
      return () => void wakes.off(activity, look);
    },
    begin(organization_id, piece) {
      notifyActivity();
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
    getClock: () => clock,
    setClock(compared) {
      clock = compared;
    },
  };
}
