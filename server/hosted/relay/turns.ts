import { NoReplyError } from "./send.ts";

/** So many requests wait for a turn; more are refused at once. */
const waitingMax = 100;

/** Gives so many turns at once, in the order of the requests. */
export function openTurns(turns: number, waitMs: number) {
  let taken = 0;
  const waiting: (() => void)[] = [];
  /** Wait for a turn; what is returned gives it back, however often it is called. */
  return async function acquireTurn(signal?: AbortSignal): Promise<() => void> {
    if (taken < turns) taken += 1;
    else {
      if (waiting.length >= waitingMax) throw new NoReplyError("Too many requests wait.", false);
      await waitForTurn(signal);
    }
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      const next = waiting.shift();
      if (next) next();
      else taken -= 1;
    };
  };

  function waitForTurn(signal?: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const leave = (reason: string) => {
      const place = waiting.indexOf(resolve);
      if (place < 0) return;
      waiting.splice(place, 1);
      reject(new NoReplyError(reason, false));
    };
    const leaveCalled = () => leave("The caller left.");
    const timer = setTimeout(() => leave("No turn in time."), waitMs);
    signal?.addEventListener("abort", leaveCalled, { once: true });
    waiting.push(resolve);
    return promise.finally(() => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", leaveCalled);
    });
  }
}
