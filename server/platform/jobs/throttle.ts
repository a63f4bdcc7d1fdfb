/** What work without haste and requests have to do with each other: while somebody asks, it goes in small steps, with pauses. */
export type Throttle = {
  /** Note that a request has come, or is answered. */
  recordRequest(): void;
  /** Whether one has, just now. */
  hasRecentRequests(): boolean;
  /** Wait for a turn, of which there is one at a time while somebody asks. Answers how to say that it is over. */
  acquireSlot(): Promise<() => void>;
};

/** So long after a request the next one is expected. */
const askedMs = 300;
/** A turn takes a third of the time at most; what waits for others, as for a card processor, holds up the next for no longer. */
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
