import { createHmac } from "node:crypto";
import { type EventType, eventTypesOf } from "../../../shared/event-types.ts";
import { adapt, type ClientProfile } from "../../platform/http/profiles.ts";

export const attemptsMax = 10;
export const disableAfterFailures = 10;
const retryBaseMs = 2000;
const retryMaxMs = 20 * 60 * 1000;
/** How long an event waits for the first attempt of those before it (WHK-13). */
const orderWaitMsMax = 60 * 1000;
/** A sender that has not reported by then is lost, and what it took is sent again under the same id. */
const leaseMs = 60 * 1000;
export const retentionMs = 90 * 24 * 60 * 60 * 1000;

/** The bounds of the pause after attempt `n`, from 1: doubling, between half and whole, at most 20 minutes (WHK-10). */
export function retryDelay(n: number): { least_ms: number; most_ms: number } {
  const most_ms = Math.min(retryBaseMs * 2 ** n, retryMaxMs);
  return { least_ms: most_ms / 2, most_ms };
}

/** The longest pause that a receiver may ask for. */
const retryAfterMsMax = 24 * 60 * 60 * 1000;
const httpDate =
  /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/**
 * The pause that a receiver asks for by `Retry-After` with a 429 or 503: seconds or an HTTP date, at most a day. Anything else is
 * ignored and is no pause (WHK-44). A date is compared with the server's clock.
 */
export function computeRetryAfter(
  { http_code, retry_after = "" }: { http_code: number | null; retry_after?: string },
  now: Date,
): number {
  if (http_code !== 429 && http_code !== 503) return 0;
  const ms = /^\d{1,10}$/.test(retry_after)
    ? Number(retry_after) * 1000
    : httpDate.test(retry_after)
      ? Date.parse(retry_after) - now.getTime()
      : 0;
  return Number.isNaN(ms) ? 0 : Math.min(Math.max(ms, 0), retryAfterMsMax);
}

/** Standard Webhooks' signature, keyed with the bytes of the whole secret, prefix included (WHK-08). */
export function sign(secret: string, id: string, timestamp: number, body: string): string {
  return `v1,${createHmac("sha256", Buffer.from(secret, "utf8")).update(`${id}.${timestamp}.${body}`).digest("base64")}`;
}

/** The key that signs what `floe listen` forwards: its own for each organization, and always the same. */
export const deriveListenSecret = (secret: string, organization_id: string): string =>
  `polar_whs_${createHmac("sha256", secret).update(`listen:${organization_id}`).digest("hex")}`;

/**
 * The headers of one attempt; only the time differs between attempts (WHK-07). During a rotation there is a signature for each
 * secret, the current one first, separated by spaces.
 */
export const buildHeaders = (
  secrets: readonly string[],
  id: string,
  timestamp: number,
  body: string,
): Record<string, string> => ({
  "content-type": "application/json",
  "user-agent": "floe webhooks",
  "webhook-id": id,
  "webhook-timestamp": String(timestamp),
  "webhook-signature": secrets.map((secret) => sign(secret, id, timestamp, body)).join(" "),
});

/** Whether a client can read an event of this type: one it does not know throws in its hands. */
export const supportsEvent = (profile: Pick<ClientProfile, "generation">, type: string): boolean =>
  (eventTypesOf[profile.generation] as ReadonlySet<string>).has(type);

/** Of these types, the ones a client can read. */
export const selectKnown = (profile: Pick<ClientProfile, "generation">, types: readonly string[]): EventType[] =>
  types.filter((type): type is EventType => supportsEvent(profile, type));

export type OutboxEvent = { type: string; created_at: Date; data: unknown };

/** The body in the raw format, as text: made once, in the words of the client (WHK-06, WHK-23). */
export const writeRawBody = (profile: ClientProfile, { type, created_at, data }: OutboxEvent): string =>
  JSON.stringify({
    type,
    timestamp: created_at.toISOString(),
    api_version: profile.version,
    data: adapt(profile, data),
  });

export type DeliveryState = {
  next_attempt_at: Date | null;
  is_archived: boolean;
  payload: string | null;
  endpoint: { enabled: boolean; deleted_at: Date | null; paused_until: Date | null };
};
/** What to do with an event whose turn may have come (WHK-12, WHK-15, WHK-16). */
export function planAttempt(event: DeliveryState, now: Date): "nothing" | "drop" | "skip" | "pause" | "send" {
  if (event.next_attempt_at === null) return "nothing";
  if (event.is_archived || event.payload === null || event.endpoint.deleted_at !== null) return "drop";
  if (!event.endpoint.enabled) return "skip";
  if (event.next_attempt_at > now) return "nothing";
  return (event.endpoint.paused_until ?? now) > now ? "pause" : "send";
}

/** When an event of a paused endpoint is due: after the pause, and later if it waits for others. */
export const computePauseEnd = (paused_until: Date, waits: boolean): Date =>
  new Date(paused_until.getTime() + (waits ? orderWaitMsMax : 0));

/**
 * When the copies of new events for one endpoint have their turn (WHK-13). While others wait for their first attempt, the
 * last of them since `queued_since`, the first copy waits for them, and each further one for that before it; at most for
 * so long. An attempt lets the next one go. While the endpoint is paused, all of this begins with the end of the pause.
 */
export function planOrder(count: number, queued_since: Date | undefined, now: Date, paused_until: Date | null) {
  const pauseEndMs = paused_until?.getTime() ?? 0;
  const begin = new Date(Math.max(now.getTime(), pauseEndMs));
  const last = new Date(begin.getTime() + orderWaitMsMax);
  return Array.from({ length: count }, (_, index) => {
    if (index > 0) return { waits: true, next_attempt_at: last };
    if (!queued_since) return { waits: false, next_attempt_at: begin };
    const since = Math.max(queued_since.getTime(), pauseEndMs);
    return { waits: true, next_attempt_at: new Date(since + orderWaitMsMax) };
  });
}

type Queued = { waits: boolean; is_archived: boolean; payload: string | null; seq: number };
/**
 * The first of an endpoint's events that were not tried yet, taken for as long as sending may last, and as many of the others as
 * may follow it at once. These go on waiting for those before them, and a while longer, should the sender be lost.
 */
export function planBatch<E extends Queued>([first, ...others]: readonly E[], now: Date) {
  if (!first) return [];
  const end = others.findIndex(({ waits, is_archived, payload }) => !waits || is_archived || payload === null);
  const followers = end === -1 ? others : others.slice(0, end);
  const leased_until = new Date(now.getTime() + leaseMs);
  const last = new Date(leased_until.getTime() + orderWaitMsMax);
  return [
    { event: first, next_attempt_at: leased_until, waits: false },
    ...followers.map((event) => ({ event, next_attempt_at: last, waits: true })),
  ];
}

/** Until when the others wait where an endpoint gave no answer. */
export const computeSilenceEnd = (now: Date): Date => new Date(now.getTime() + orderWaitMsMax);

export const isDelivered = (http_code: number | null): boolean =>
  http_code !== null && http_code >= 200 && http_code < 300;

/**
 * What an attempt leads to: success, another one, or the end. A failed redelivery takes nothing back (WHK-11, WHK-17). A pause
 * that the receiver asked for makes the next attempt later, never earlier (WHK-44).
 */
export function planOutcome(
  event: { attempts: number; succeeded: boolean | null },
  http_code: number | null,
  retryAfterMs = 0,
) {
  const attempts = event.attempts + 1;
  const delivered = isDelivered(http_code);
  if (delivered) return { attempts, delivered, succeeded: true, retry: null };
  if (attempts < attemptsMax) {
    const { least_ms, most_ms } = retryDelay(attempts);
    const retry = { least_ms: Math.max(least_ms, retryAfterMs), most_ms: Math.max(most_ms, retryAfterMs) };
    return { attempts, delivered, succeeded: event.succeeded, retry };
  }
  return { attempts, delivered, succeeded: event.succeeded === true, retry: null };
}

/** Whether an endpoint is given up: its latest ten finished events all failed (WHK-14). */
export const isExhausted = (latest: readonly (boolean | null)[]): boolean =>
  latest.length >= disableAfterFailures &&
  latest.slice(0, disableAfterFailures).every((succeeded) => succeeded === false);
