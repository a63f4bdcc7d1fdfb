import type { Checkout, Failure } from "./api.ts";
import { follow } from "./follow-checkout.ts";

/** How long the page of an open checkout waits before it asks again, without a stream. */
const openDelayMs = 15_000;
/** The longest delay that a timer of a browser takes. */
const timerMsMax = 2 ** 31 - 1;

/**
 * Reports what becomes of an open checkout while its page is seen: it may be paid, changed or expire elsewhere. A hidden page listens
 * to nothing. One that is seen again, or has its connection back, asks at once.
 */
export function followOpen(
  { client_secret, expires_at }: Checkout,
  heard: (checkout: Checkout) => void,
  failed: (failure: Failure) => void,
): () => void {
  let stop: (() => void) | undefined;
  const pause = (): void => {
    stop?.();
    stop = undefined;
  };
  const restart = (): void => {
    pause();
    if (!document.hidden) stop = follow(client_secret, heard, { delayMs: openDelayMs, failed });
  };
  const remaining = new Date(expires_at).getTime() - Date.now() + 1000;
  const expiry = remaining < timerMsMax ? setTimeout(restart, Math.max(remaining, 1000)) : undefined;
  const listeners = [
    [document, "visibilitychange"],
    [window, "online"],
  ] as const;
  for (const [target, type] of listeners) target.addEventListener(type, restart);
  restart();
  return () => {
    clearTimeout(expiry);
    for (const [target, type] of listeners) target.removeEventListener(type, restart);
    pause();
  };
}
