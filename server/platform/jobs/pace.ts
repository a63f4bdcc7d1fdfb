/** What work without haste and requests have to do with each other: while somebody asks, it goes in small steps, with pauses. */
export type Pace = {
  /** Note that a request has come, or is answered. */
  ask(): void;
  /** Whether one has, just now. */
  isAsked(): boolean;
  /** Wait for a turn, of which there is one at a time while somebody asks. Answers how to say that it is over. */
  takeTurn(): Promise<() => void>;
};

/** So long after a request the next one is expected. */
const asked_ms = 300;
/** A turn takes a third of the time at most; what waits for others, as for a card processor, holds up the next for no longer. */
const pauses = 2;
const pause_max_ms = 500;
const turn_max_ms = 1000;

export function openPace(): Pace {
  let asked_at = Number.NEGATIVE_INFINITY;
  let last = Promise.resolve();
  const isAsked = () => performance.now() - asked_at < asked_ms;
  return {
    ask() {
      asked_at = performance.now();
    },
    isAsked,
    async takeTurn() {
      if (!isAsked()) return () => {};
      const before = last;
      const { promise, resolve } = Promise.withResolvers<void>();
      last = promise;
      await before;
      const began = performance.now();
      const end = () => {
        clearTimeout(timer);
        const pause = isAsked() ? Math.min(pauses * (performance.now() - began), pause_max_ms) : 0;
        setTimeout(resolve, pause);
      };
      const timer = setTimeout(end, turn_max_ms);
      return end;
    },
  };
}
