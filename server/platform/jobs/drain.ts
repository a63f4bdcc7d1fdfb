import { setTimeout as sleep } from "node:timers/promises";

/** How a server stops: it completes what it has begun (OPS-01). */
export type Drain = {
  /** Begin to stop. From now on `/readyz` answers 503, and each answer closes its connection. */
  begin(): void;
  isStopping(): boolean;
  /** How long requests and jobs in progress may still take, in milliseconds. */
  getTimeLeft(): number;
  /** Count a request in progress until the returned function is called. */
  add(): () => void;
  countRequests(): number;
  /** Resolves when no request is in progress, or when the time is over. */
  awaitRequests(): Promise<void>;
};

/** Stopping lets running batches finish within `graceMs`, and aborts the others. */
export type StoppableWorker = { stop(graceMs?: number): Promise<void> };

const checkMs = 50;

export function createDrain({ FLOE_DRAIN_SECONDS }: { FLOE_DRAIN_SECONDS: number }): Drain {
  let endsAt: number | undefined;
  let count = 0;
  const getTimeLeft = () => Math.max(0, (endsAt ?? Number.POSITIVE_INFINITY) - performance.now());
  return {
    begin() {
      endsAt ??= performance.now() + FLOE_DRAIN_SECONDS * 1000;
    },
    isStopping: () => endsAt !== undefined,
    getTimeLeft,
    add() {
      let isOver = false;
      count += 1;
      return () => {
        if (!isOver) count -= 1;
        isOver = true;
      };
    },
    countRequests: () => count,
    async awaitRequests() {
      while (count > 0 && getTimeLeft() > 0) await sleep(checkMs);
    },
  };
}
