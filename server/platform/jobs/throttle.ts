/** Slows down background work while requests are being served: it runs in small batches, with pauses. */
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
 * The pause after a slot takes twice the time of the slot, at most `pauseMaxMs`. A slot held for `turnMaxMs`, as by a call
 * to the card processor, no longer delays the next one.
 */
const pauses = 2;
const pauseMaxMs = 500;
const turnMaxMs = 1000;

export function createThrottle(): Throttle {
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
        const pause = isAsked() ? Math.min(pauses * (performance.now() - began), pauseMaxMs) : 0;
        setTimeout(resolve, pause);
      };
      const timer = setTimeout(end, turnMaxMs);
      return end;
    },
  };
}
