import { performance } from "node:perf_hooks";

/**
 * Slows down background work while requests are being served: it runs in small batches one after the other. While the event loop
 * is busy, too, each batch is followed by a pause.
 */
export type Throttle = {
  /** Record that a request has arrived or has been answered. */
  recordRequest(): void;
  /** Whether a request was recorded within the last `askedMs`. */
  hasRecentRequests(): boolean;
  /** Wait for a slot; there is one while requests are being served. Returns the function that releases the slot. */
  acquireSlot(): Promise<() => void>;
};

/** The time after a request during which another one is expected. */
const askedMs = 300;
/**
 * The pause after a slot of a busy process takes twice the time of the slot, at most `pauseMaxMs`. A slot held for `turnMaxMs`, as by a call
 * to the card processor, no longer delays the next one.
 */
const pauses = 2;
const pauseMaxMs = 500;
const turnMaxMs = 1000;

/** The share of its time that the event loop may be busy before background work pauses, and how often it is measured. */
const busyShareMax = 0.7;
const measureEveryMs = 100;
const measureLoop = performance.eventLoopUtilization.bind(performance);

/** Whether the event loop was busy lately, with requests or with the work itself. */
function watchLoop(): () => boolean {
  let before = measureLoop();
  let measuredAt = performance.now();
  let isBusy = false;
  return () => {
    const now = performance.now();
    if (now - measuredAt < measureEveryMs) return isBusy;
    const current = measureLoop();
    isBusy = measureLoop(current, before).utilization > busyShareMax;
    before = current;
    measuredAt = now;
    return isBusy;
  };
}

export function createThrottle(isBusy: () => boolean = watchLoop()): Throttle {
  let asked_at = Number.NEGATIVE_INFINITY;
  let last = Promise.resolve();
  const isAsked = () => performance.now() - asked_at < askedMs;
  return {
    recordRequest() {
      asked_at = performance.now();
    },
    hasRecentRequests: isAsked,
    async acquireSlot() {
      if (!isAsked()) return () => {};
      const before = last;
      const { promise, resolve } = Promise.withResolvers<void>();
      last = promise;
      await before;
      const began = performance.now();
      const end = () => {
        clearTimeout(timer);
        const pause = isAsked() && isBusy() ? Math.min(pauses * (performance.now() - began), pauseMaxMs) : 0;
        setTimeout(resolve, pause);
      };
      const timer = setTimeout(end, turnMaxMs);
      return end;
    },
  };
}
