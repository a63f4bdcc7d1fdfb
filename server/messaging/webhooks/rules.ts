import { createHmac } from "node:crypto";
import { ApiError } from "../../../shared/errors.ts";
import { type EventType, eventTypesOf } from "../../../shared/event-types.ts";
import { adapt, type ClientProfile } from "../../platform/http/profiles.ts";

/** An event has at least so many attempts, and others until it was first attempted so long ago. */
export const attemptsLeast = 10;
export const retriedMs = 72 * 60 * 60 * 1000;
export const disableAfterFailures = 10;
const retryBaseMs = 2000;
const retryMaxMs = 20 * 60 * 1000;
/** The longest pause after the first ten attempts. */
const laterRetryMaxMs = 4 * 60 * 60 * 1000;
/** A sender that has not reported by then is lost, and what it took is sent again under the same ids. */
export const leaseMs = 60 * 1000;
/** How long events are kept for an endpoint that is off (WHK-15). */
export const backlogKeptMs = 30 * 24 * 60 * 60 * 1000;
export const retentionMs = 90 * 24 * 60 * 60 * 1000;

/** The bounds of the pause after attempt `n`, from 1: doubling, between half and whole, at most 20 minutes or four hours (WHK-10). */
export function retryDelay(n: number): { least_ms: number; most_ms: number } {
  const most_ms = Math.min(retryBaseMs * 2 ** n, n < attemptsLeast ? retryMaxMs : laterRetryMaxMs);
  return { least_ms: most_ms / 2, most_ms };
}

/** From so many failed attempts in a row on, an endpoint rests between single attempts (WHK-48). */
export const restAfterFailures = 5;
const restBaseMs = 5000;
const restMaxMs = 5 * 60 * 1000;
/** The bounds of the rest after so many failed attempts in a row, between half and whole; undefined where none is needed. */
export function planRest(failures: number): { least_ms: number; most_ms: number } | undefined {
  if (failures < restAfterFailures) return undefined;
  const most_ms = Math.min(restBaseMs * 2 ** Math.min(failures - restAfterFailures, 30), restMaxMs);
  return { least_ms: most_ms / 2, most_ms };
}

/** How many failed attempts in a row there are after these, and since when. */
export function countFailures(
  before: { failures: number; failing_since: Date | null },
  outcomes: readonly boolean[],
  now: Date,
): { failures: number; failing_since: Date | null; hasRecovered: boolean } {
  const last = outcomes.lastIndexOf(true);
  const failures = (last === -1 ? before.failures : 0) + outcomes.length - 1 - last;
  const since = last === -1 ? before.failing_since : null;
  const hasRecovered = last !== -1 && before.failures >= restAfterFailures;
  return { failures, failing_since: failures === 0 ? null : (since ?? now), hasRecovered };
}

/** Whether an endpoint is given up by time: no attempt has succeeded for 72 hours, and at least ten have failed (WHK-14). */
export const isDown = (
  { failures, failing_since }: { failures: number; failing_since: Date | null },
  now: Date,
): boolean =>
  failures >= attemptsLeast && failing_since !== null && now.getTime() - failing_since.getTime() >= retriedMs;

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
 * secret, the current one first, separated by spaces. An event that a request caused carries the id of that request, and the trace (WHK-51).
 */
export const buildHeaders = (
  secrets: readonly string[],
  id: string,
  timestamp: number,
  body: string,
  origin: { request_id: string | null; traceparent: string | null } | null = null,
): Record<string, string> => ({
  "content-type": "application/json",
  "user-agent": "floe webhooks",
  "webhook-id": id,
  "webhook-timestamp": String(timestamp),
  "webhook-signature": secrets.map((secret) => sign(secret, id, timestamp, body)).join(" "),
  ...(origin?.request_id && { "x-request-id": origin.request_id }),
  ...(origin?.traceparent && { traceparent: origin.traceparent }),
});

/** Refuse what would wait without a word: nothing is sent to an endpoint that is off (WHK-17, WHK-49). */
export function rejectSwitchedOff({ enabled, url }: { enabled: boolean; url: string }): void {
  if (enabled) return;
  const msg = `The endpoint ${url} is switched off, and nothing is sent to it. Switch it on: it then gets what it missed.`;
  throw new ApiError("RequestValidationError", [{ type: "value_error", loc: ["path", "id"], msg }]);
}

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

/** The object that an event tells of, whose events are sent in their order (WHK-13). */
export function getObjectId(data: unknown): string | null {
  const id = typeof data === "object" && data !== null && "id" in data ? data.id : null;
  return typeof id === "string" ? id : null;
}

export type QueueState = { due_at: Date | null; enabled: boolean; deleted_at: Date | null; paused_until: Date | null };
type Turn = { is: "nothing" } | { is: "take" } | { is: "postpone"; due_at: Date | null };
/** What to do with an endpoint whose turn may have come (WHK-12, WHK-15, WHK-44). */
export function planTurn({ due_at, enabled, deleted_at, paused_until }: QueueState, now: Date): Turn {
  if (due_at === null) return { is: "nothing" };
  if (!enabled || deleted_at !== null) return { is: "postpone", due_at: null };
  if (due_at > now) return { is: "nothing" };
  return paused_until && paused_until > now ? { is: "postpone", due_at: paused_until } : { is: "take" };
}

/** Whether a sender may go on with the next events of an endpoint at the address that it calls. */
export const canGoOn = (
  { enabled, deleted_at, url }: Omit<QueueState, "due_at" | "paused_until"> & { url: string },
  called: string,
): boolean => enabled && deleted_at === null && url === called;

export const isDelivered = (http_code: number | null): boolean =>
  http_code !== null && http_code >= 200 && http_code < 300;

/**
 * What an attempt leads to: success, another one, or the end. A failed redelivery takes nothing back (WHK-11, WHK-17). A pause
 * that the receiver asked for makes the next attempt later, never earlier (WHK-44).
 */
export function planOutcome(
  event: { attempts: number; succeeded: boolean | null; attempted_at: Date | null; created_at: Date },
  http_code: number | null,
  now: Date,
  retryAfterMs = 0,
) {
  const attempts = event.attempts + 1;
  // What the receiver has deferred counts as not attempted yet, and is given up all the same.
  const began = event.attempted_at ?? (attempts === 1 ? now : event.created_at);
  const delivered = isDelivered(http_code);
  if (delivered) return { attempts, delivered, succeeded: true, retry: null };
  const { least_ms, most_ms } = retryDelay(attempts);
  const isInTime = now.getTime() + Math.max(most_ms, retryAfterMs) <= began.getTime() + retriedMs;
  if (attempts < attemptsLeast || isInTime) {
    const retry = { least_ms: Math.max(least_ms, retryAfterMs), most_ms: Math.max(most_ms, retryAfterMs) };
    return { attempts, delivered, succeeded: event.succeeded, retry };
  }
  return { attempts, delivered, succeeded: event.succeeded === true, retry: null };
}

/** Whether an endpoint is given up: its latest ten finished events all failed (WHK-14). */
export const isExhausted = (latest: readonly (boolean | null)[]): boolean =>
  latest.length >= disableAfterFailures &&
  latest.slice(0, disableAfterFailures).every((succeeded) => succeeded === false);
