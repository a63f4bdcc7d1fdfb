import { findWebPage } from "../shared/destinations.ts";
import type { Checkout, Failure } from "./api.ts";
import { checkouts } from "./checkouts.ts";

/** How long a page waits before it asks again, without a stream. */
const awaitingDelayMs = 2000;
/** How long a buyer waits for the seller's server to have heard of the sale before going there all the same. */
const deliveryWaitMs = 5000;

type Heard = (checkout: Checkout, delivered: boolean) => void;
type Following = { delayMs?: number; failed?: (failure: Failure) => void };

/**
 * Reports the checkout each time something happened to it, until stopped. Listens to the event stream, and asks again and again
 * while that is not to be had. `delivered` says that the seller's own server knows as well. `failed` is told of a checkout
 * that is gone or has expired, of which nothing more will be heard.
 */
export function follow(
  secret: string,
  heard: Heard,
  { delayMs = awaitingDelayMs, failed }: Following = {},
): () => void {
  let stopped = false;
  let delivered = false;
  let asking = false;
  let again = false;
  let timer: ReturnType<typeof setInterval> | undefined;
  let retry: ReturnType<typeof setTimeout> | undefined;

  const refreshCheckout = async (): Promise<void> => {
    if (asking) {
      again = true;
      return;
    }
    asking = true;
    clearTimeout(retry);
    const answer = await checkouts.get(secret);
    asking = false;
    if (stopped) return;
    if (answer.ok) heard(answer.value, delivered);
    else if (failed && (answer.failure.status === 404 || answer.failure.status === 410)) {
      stop();
      failed(answer.failure);
      return;
    }
    if (again) {
      again = false;
      void refreshCheckout();
    } else if (!answer.ok) {
      // The stream may have nothing more to say.
      retry = setTimeout(() => void refreshCheckout(), delayMs);
    }
  };
  const poll = (): void => {
    timer ??= setInterval(() => void refreshCheckout(), delayMs);
  };

  const stream = new EventSource(checkouts.streamUrl(secret));
  stream.onopen = () => {
    clearInterval(timer);
    timer = undefined;
    // What happened before the stream was open is not sent again.
    void refreshCheckout();
  };
  stream.onmessage = ({ data }: MessageEvent<string>) => {
    const { key, payload } = JSON.parse(data) as { key?: string; payload?: { status?: string } };
    if (key === "checkout.webhook_event_delivered" && payload?.status === "succeeded") delivered = true;
    if (key !== undefined) void refreshCheckout();
  };
  stream.onerror = () => {
    poll();
    void refreshCheckout();
  };
  const stop = (): void => {
    stopped = true;
    clearInterval(timer);
    clearTimeout(retry);
    stream.close();
  };
  return stop;
}

const buildSessionKey = (client_secret: string): string => `purchase:${client_secret}`;

/** Keep the customer session of a purchase for this tab, where the browser lets a page in a frame keep something. */
export function storePurchaseSession(client_secret: string, token: string | null): void {
  try {
    if (token) sessionStorage.setItem(buildSessionKey(client_secret), token);
  } catch (error) {
    if (!(error instanceof DOMException)) throw error;
  }
}

/** That session, where this tab has it. */
export function findPurchaseSession(client_secret: string): string | null {
  try {
    return sessionStorage.getItem(buildSessionKey(client_secret));
  } catch (error) {
    if (!(error instanceof DOMException)) throw error;
    return null;
  }
}

/**
 * The portal of the customer who has just bought: with their session where the confirmation opened one, otherwise with their address
 * for the sign-in. Both stand after `#`, which browsers send to no server.
 */
export function buildPortalHref({ organization, client_secret, customer_email }: Checkout): string {
  const customer_session_token = findPurchaseSession(client_secret);
  const given: Record<string, string> = customer_session_token
    ? { customer_session_token }
    : { email: customer_email ?? "" };
  return `/${encodeURIComponent(organization.slug)}/portal#${new URLSearchParams(given)}`;
}

/** The page that this server shows after a purchase, unless the seller named one. */
const ownConfirmation = (checkout: Checkout): string => `/checkout/${checkout.client_secret}/confirmation`;

/** The seller's own page to go to after a purchase; null where ours is meant. */
export function findSellerPage(checkout: Checkout, customer_session_token: string | null): string | null {
  const url = findWebPage(checkout.success_url);
  if (!url || url.pathname === ownConfirmation(checkout)) return null;
  if (customer_session_token) url.searchParams.set("customer_session_token", customer_session_token);
  return url.href;
}

/**
 * Calls `done` once the checkout has ended, one way or the other: succeeded, open again after a refused payment, or
 * over. A success that leads to the seller's page waits a little until the seller's server was told.
 */
export function awaitEnd(secret: string, done: (checkout: Checkout) => void): () => void {
  let patience: ReturnType<typeof setTimeout> | undefined;
  let ended = false;
  const end = (checkout: Checkout): void => {
    if (ended) return;
    ended = true;
    stop();
    done(checkout);
  };
  const unfollow = follow(secret, (checkout, delivered) => {
    if (checkout.status === "confirmed") return;
    if (checkout.status !== "succeeded" || delivered || findSellerPage(checkout, null) === null) end(checkout);
    else patience ??= setTimeout(() => end(checkout), deliveryWaitMs);
  });
  const stop = (): void => {
    clearTimeout(patience);
    unfollow();
  };
  return stop;
}
