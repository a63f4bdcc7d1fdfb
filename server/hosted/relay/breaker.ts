/** Stops asking a service that fails: what asks meanwhile is told so at once, and one request at a time tries it again. */
export type Breaker = {
  /** Milliseconds until a request may be sent; 0 where it may. */
  peek(): number;
  /** The same for a request that is sent now: if the breaker is open, it is the try, and others wait for its result. */
  take(): number;
  /** What became of a request that was let through; undefined where its caller left before it was known. */
  record(isWell: boolean | undefined): void;
  isOpen(): boolean;
};

export type BreakerTerms = {
  /** Failures in a row that open it. */
  failuresMax: number;
  /** Of so many requests within the window, half failed. */
  requestsMin: number;
  windowMs: number;
  /** How long it stays open at first, and at most: it doubles with each try that fails. */
  openMs: number;
  openMsMax: number;
};
export const breakerTerms: BreakerTerms = {
  failuresMax: 5,
  requestsMin: 20,
  windowMs: 30_000,
  openMs: 10_000,
  openMsMax: 60_000,
};
/** So many results are remembered: a busy server decides by the newest. */
const rememberedMax = 1000;
const tryMs = 1000;

export function createBreaker(terms: BreakerTerms = breakerTerms, now = () => performance.now()): Breaker {
  let results: { at: number; isWell: boolean }[] = [];
  let failuresInRow = 0;
  let open: { until: number; lastsMs: number; isTried: boolean } | undefined;
  const openFor = (lastsMs: number) => {
    open = { until: now() + lastsMs, lastsMs, isTried: false };
    results = [];
    failuresInRow = 0;
  };
  const isFailing = (): boolean => {
    const failed = results.filter(({ isWell }) => !isWell).length;
    return failuresInRow >= terms.failuresMax || (results.length >= terms.requestsMin && failed * 2 >= results.length);
  };
  /** While one tries it, the others come back when that is known. */
  const peek = () => (open ? (open.isTried ? tryMs : Math.max(open.until - now(), 0)) : 0);
  return {
    isOpen: () => open !== undefined,
    peek,
    take() {
      const left = peek();
      if (left === 0 && open) open.isTried = true;
      return left;
    },
    record(isWell) {
      if (open) {
        if (!open.isTried) return;
        if (isWell === undefined) open.isTried = false;
        else if (isWell) open = undefined;
        else openFor(Math.min(open.lastsMs * 2, terms.openMsMax));
        return;
      }
      if (isWell === undefined) return;
      const at = now();
      results = [...results.filter((one) => at - one.at < terms.windowMs), { at, isWell }].slice(-rememberedMax);
      failuresInRow = isWell ? 0 : failuresInRow + 1;
      if (isFailing()) openFor(terms.openMs);
    },
  };
}
