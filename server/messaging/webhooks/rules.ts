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

/** Standard Webhooks' signature, keyed with the bytes of the whole secret, prefix included (WHK-08). */
export function sign(secret: string, id: string, timestamp: number, body: string): string {
  return `v1,${createHmac("sha256", Buffer.from(secret, "utf8")).update(`${id}.${timestamp}.${body}`).digest("base64")}`;
}

/** The key that signs what `floe listen` forwards: its own for each organization, and always the same. */
export const deriveListenSecret = (secret: string, organization_id: string): string =>
  `polar_whs_${createHmac("sha256", secret).update(`listen:${organization_id}`).digest("hex")}`;

/** The headers of one attempt; only the time differs between attempts (WHK-07). */
export const buildHeaders = (secret: string, id: string, timestamp: number, body: string): Record<string, string> => ({
  "content-type": "application/json",
  "user-agent": "floe webhooks",
  "webhook-id": id,
  "webhook-timestamp": String(timestamp),
  "webhook-signature": sign(secret, id, timestamp, body),
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
  endpoint: { enabled: boolean; deleted_at: Date | null };
};
/** What to do with an event whose turn may have come (WHK-12, WHK-15, WHK-16). */
export function planAttempt(event: DeliveryState, now: Date): "nothing" | "drop" | "skip" | "send" {
  if (event.next_attempt_at === null) return "nothing";
  if (event.is_archived || event.payload === null || event.endpoint.deleted_at !== null) return "drop";
  if (!event.endpoint.enabled) return "skip";
  return event.next_attempt_at > now ? "nothing" : "send";
}

/**
 * When the copies of new events for one endpoint have their turn (WHK-13). While others wait for their first attempt, the
 * last of them since `queued_since`, the first copy waits for them, and each further one for that before it; at most for
 * so long. An attempt lets the next one go.
 */
export function planOrder(count: number, queued_since: Date | undefined, now: Date) {
  const last = new Date(now.getTime() + orderWaitMsMax);
  return Array.from({ length: count }, (_, index) => {
    if (index > 0) return { waits: true, next_attempt_at: last };
    if (!queued_since) return { waits: false, next_attempt_at: now };
    return { waits: true, next_attempt_at: new Date(queued_since.getTime() + orderWaitMsMax) };
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

/** What an attempt leads to: success, another one, or the end. A failed redelivery takes nothing back (WHK-11, WHK-17). */
export function planOutcome(event: { attempts: number; succeeded: boolean | null }, http_code: number | null) {
  const attempts = event.attempts + 1;
  const delivered = isDelivered(http_code);
  if (delivered) return { attempts, delivered, succeeded: true, retry: null };
  if (attempts < attemptsMax) return { attempts, delivered, succeeded: event.succeeded, retry: retryDelay(attempts) };
  return { attempts, delivered, succeeded: event.succeeded === true, retry: null };
}

/** Whether an endpoint is given up: its latest ten finished events all failed (WHK-14). */
export const isExhausted = (latest: readonly (boolean | null)[]): boolean =>
  latest.length >= disableAfterFailures &&
  latest.slice(0, disableAfterFailures).every((succeeded) => succeeded === false);
