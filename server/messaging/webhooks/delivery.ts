/** How an endpoint is sent what waits for it: its queue is taken, events are sent, and what came of them is written down. */
import { randomInt } from "node:crypto";
import { truncateToWhole } from "../../../shared/money.ts";
import { findMemberEmails, findOrganizationName } from "../../identity/organizations/store.ts";
import { getServerClock, toUnixSeconds } from "../../platform/clock.ts";
import type { Deps, Tx } from "../../platform/context.ts";
import { openTokens, sealTokens } from "../../platform/crypto/secrets.ts";
import { addRows, type RowKey } from "../../platform/db/rows.ts";
import { runAfterCommit, transact } from "../../platform/db/unit-of-work.ts";
import { findReach, type OutboundReply } from "../../platform/external/outbound.ts";
import { createId } from "../../platform/ids.ts";
import { queueMail } from "../../platform/mail-transport/mail.ts";
import { deliveries } from "../../platform/telemetry/metrics.ts";
import { writeDisabledMail } from "./messages.ts";
import { type OwnHeaders, openHeaders, redactHeaders } from "./own-headers.ts";
import * as queue from "./queue.ts";
import {
  buildHeaders,
  canGoOn,
  computeRetryAfter,
  countFailures,
  isDelivered,
  isDown,
  isExhausted,
  leaseMs,
  planOutcome,
  planRest,
  planTurn,
  restAfterFailures,
} from "./rules.ts";
import { openSigningSecrets } from "./secrets.ts";
import { openSender } from "./sender.ts";
import * as store from "./store.ts";
import { webhookDeliveries } from "./tables.ts";

/** How many events of an endpoint are sent, one after another, before it is written down what came of them. */
const runEventsMax = 20;
/** How long a sender goes on with an endpoint; then it is another's turn. */
const runMsMax = 5000;
const workerName = "webhooks.deliver";

type Taken = { id: string; payload: string; round: number; object_id: string | null; origin: queue.Origin | null };
/** An endpoint's events that are sent one after another, in their order, by the sender that holds the lease of the queue. */
type Run = {
  organization_id: string;
  endpoint_id: string;
  lease: string;
  url: string;
  /** Attempts in a row that had failed before it. */
  failures: number;
  secrets: string[];
  /** The seller's own. */
  headers: OwnHeaders;
  events: Taken[];
};
type Attempt = { event: Taken; reply: OutboundReply; duration_ms: number };

/** Take the queue of an endpoint if its turn has come. */
async function claim(tx: Tx, deps: Deps, key: RowKey): Promise<Run | undefined> {
  const endpoint = await queue.lockEndpoint(tx, key);
  if (!endpoint) return undefined;
  const now = deps.clock.now();
  const turn = planTurn(endpoint, now);
  if (turn.is === "take") return leaseNext(tx, deps, endpoint);
  if (turn.is === "postpone")
    await queue.scheduleEndpoint(tx, key, { due_at: turn.due_at, lease: null, process_id: null });
  return undefined;
}

/** Take the next events of an endpoint, or say when its next turn is. The caller holds the endpoint. */
async function leaseNext(tx: Tx, deps: Deps, endpoint: store.EndpointRow): Promise<Run | undefined> {
  const now = deps.clock.now();
  const { organization_id, id: endpoint_id, url } = endpoint;
  const next = await queue.lockNext(tx, endpoint, now, runEventsMax);
  if (next.length === 0) {
    await scheduleNext(tx, deps, endpoint);
    return undefined;
  }
  const signing = openSigningSecrets(deps, endpoint);
  const headers = openHeaders(deps, endpoint);
  if (!signing || !headers)
    throw new Error(
      `The secret of webhook endpoint ${endpoint.id} was sealed with a FLOE_SECRET that is gone. Reset it.`,
    );
  const lease = createId(now);
  const { process_id } = deps;
  await queue.scheduleEndpoint(tx, endpoint, { due_at: new Date(now.getTime() + leaseMs), lease, process_id });
  const events = next.map(({ id, payload, round, object_id, origin }) => ({
    ...{ id, round, object_id, origin },
    payload: openTokens(deps.config.secrets, "event-tokens", organization_id, payload ?? ""),
  }));
  const { failures } = endpoint;
  return { organization_id, endpoint_id, lease, url, failures, secrets: signing, headers, events };
}

/** End the turn of an endpoint, and say when its next one is. The caller holds the endpoint. */
async function scheduleNext(tx: Tx, deps: Deps, endpoint: store.EndpointRow, paused_until = endpoint.paused_until) {
  const now = deps.clock.now();
  const next = await queue.findNextAt(tx, endpoint, now);
  const due_at = next && paused_until && paused_until > next ? paused_until : next;
  await queue.scheduleEndpoint(tx, endpoint, { due_at, lease: null, process_id: null, paused_until });
  if (due_at && due_at <= now) deps.jobs.wake(tx, workerName);
}

/** What follows from one attempt. `mine`: the queue and the event are still the sender's, so the schedule is, too. */
function decideOutcome(
  deps: Deps,
  run: Run,
  { event, reply, duration_ms }: Attempt,
  row: queue.Standing,
  holds: boolean,
) {
  const now = deps.clock.now();
  const { http_code, text } = reply;
  const retryAfterMs = computeRetryAfter(reply, getServerClock(deps.clock).now());
  const outcome = planOutcome(row, http_code, now, retryAfterMs);
  // Sent by another meanwhile, or asked for again: then the schedule is theirs, but a success counts.
  const mine = row.next_attempt_at !== null && row.round === event.round && (holds || outcome.delivered);
  const { least_ms = 0, most_ms = 0 } = outcome.retry ?? {};
  const retry_at = outcome.retry && new Date(now.getTime() + randomInt(least_ms, most_ms + 1));
  const schedule = mine
    ? { attempts: outcome.attempts, succeeded: outcome.succeeded, next_attempt_at: retry_at, waits: false }
    : { ...row, succeeded: outcome.delivered || row.succeeded };
  // An event that the receiver has deferred stays the first of the queue, so that those after it do not overtake it.
  const isDeferred = retryAfterMs > 0 && retry_at !== null;
  const attempted_at = row.attempted_at ?? (mine && !isDeferred ? now : null);
  const delivery_id = createId(now);
  const { organization_id, endpoint_id } = run;
  return {
    paused_until: retryAfterMs === 0 ? null : (retry_at ?? new Date(now.getTime() + retryAfterMs)),
    isDelivered: outcome.delivered,
    isFinal: mine && retry_at === null,
    change: { ...row, ...schedule, attempted_at, last_http_code: http_code },
    // A receiver may say back what it was sent.
    delivery: {
      ...{ id: delivery_id, organization_id, endpoint_id, webhook_event_id: row.id, created_at: now },
      ...{ succeeded: outcome.delivered, http_code, duration_ms },
      response: text && sealTokens(deps.config.secret, "webhook-response", delivery_id, text),
    },
  };
}

/** Write down what came of attempts, and what follows from it. Takes the next events if `goesOn`. */
async function settle(
  tx: Tx,
  deps: Deps,
  run: Run,
  attempts: readonly Attempt[],
  goesOn: boolean,
): Promise<Run | undefined> {
  const { organization_id, endpoint_id } = run;
  const endpoint = await queue.lockEndpoint(tx, { organization_id, id: endpoint_id });
  if (!endpoint) return undefined;
  const now = deps.clock.now();
  const holds = endpoint.lease === run.lease;
  const ids = attempts.map(({ event }) => event.id);
  const rows = new Map((await queue.lockStandings(tx, organization_id, ids)).map((row) => [row.id, row]));
  const made = attempts.flatMap((attempt) => {
    const row = rows.get(attempt.event.id);
    return row ? [decideOutcome(deps, run, attempt, row, holds)] : [];
  });
  for (const one of made) deliveries.add({ outcome: one.isDelivered ? "delivered" : "failed" });
  await addRows(
    tx,
    webhookDeliveries,
    made.map(({ delivery }) => delivery),
  );
  const changes = made.map(({ change }) => change);
  await queue.recordAttempts(tx, organization_id, changes, now);
  const over = made.filter(({ isFinal }) => isFinal).map(({ change }) => change.object_id);
  await queue.releaseObjects(tx, endpoint, over);
  if (!holds) return undefined;
  const outcomes = made.map(({ isDelivered }) => isDelivered);
  const counted = await recordFailures(tx, endpoint, outcomes, now);
  const mayBeExhausted = made.some((one) => one.isFinal && !one.isDelivered);
  if ((mayBeExhausted || isDown(counted, now)) && (await disableIfExhausted(tx, deps, counted))) return undefined;
  const asked = made.at(-1)?.paused_until ?? endpoint.paused_until;
  const rest = planRest(counted.failures);
  const rests_until = rest && new Date(now.getTime() + randomInt(rest.least_ms, rest.most_ms + 1));
  const paused_until = rests_until && rests_until > (asked ?? now) ? rests_until : asked;
  const isPaused = paused_until !== null && paused_until > now;
  if (goesOn && !isPaused && canGoOn(endpoint, run.url)) return leaseNext(tx, deps, counted);
  await scheduleNext(tx, deps, endpoint, paused_until);
  return undefined;
}

/** Count failed attempts in a row. A receiver that is there again is sent at once what had failed. The caller holds the endpoint. */
async function recordFailures(
  tx: Tx,
  endpoint: store.EndpointRow,
  outcomes: readonly boolean[],
  now: Date,
): Promise<store.EndpointRow> {
  const { failures, failing_since, hasRecovered } = countFailures(endpoint, outcomes, now);
  // Healthy endpoints, which are most of them, need no statement.
  if (failures === endpoint.failures && failing_since === endpoint.failing_since) return endpoint;
  await queue.scheduleEndpoint(tx, endpoint, { failures, failing_since });
  if (hasRecovered) await queue.scheduleRepeated(tx, endpoint, now);
  return { ...endpoint, failures, failing_since };
}

/** Switch an endpoint off whose latest events all failed, or all attempts for 72 hours, and tell its members (WHK-14). */
async function disableIfExhausted(tx: Tx, deps: Deps, endpoint: store.EndpointRow): Promise<boolean> {
  const { organization_id, id: endpoint_id } = endpoint;
  if (!endpoint.enabled) return false;
  if (!isDown(endpoint, deps.clock.now()) && !isExhausted(await store.findLatestOutcomes(tx, endpoint))) return false;
  await store.disableEndpoint(tx, endpoint, deps.clock.now());
  const name = await findOrganizationName(tx, organization_id);
  for (const to of await findMemberEmails(tx, organization_id))
    await queueMail(tx, deps, { ...writeDisabledMail(to, name, endpoint), organization_id });
  runAfterCommit(tx, () =>
    deps.log.warn(
      { endpoint_id, organization_id },
      "A webhook endpoint was switched off: its latest events have all failed.",
    ),
  );
  return true;
}

/**
 * Send an endpoint what waits for it, for a while. The calls are made outside of any transaction; a crash between them and their
 * record leads to other attempts with the same webhook-ids, which receivers know as repetitions.
 */
export async function deliver(deps: Deps, key: RowKey): Promise<void> {
  const first = await transact(deps, (tx) => claim(tx, deps, key));
  if (!first) return;
  const clock = getServerClock(deps.clock);
  const until = clock.now().getTime() + runMsMax;
  const hasTime = (): boolean => clock.now().getTime() < until;
  const sender = openSender(first.url, findReach(deps.config));
  try {
    for (let run: Run | undefined = first; run; ) {
      const taken: Run = run;
      const attempts = await send(deps, sender, taken, hasTime);
      run = await transact(deps, (tx) => settle(tx, deps, taken, attempts, hasTime()));
    }
  } finally {
    await sender.close();
  }
}

/**
 * Send the events of a run in their order, until there is no answer, a pause is asked for, or time is up. Events of an object of
 * which one failed are left in the queue.
 */
async function send(
  deps: Deps,
  sender: ReturnType<typeof openSender>,
  { secrets, headers: own, events, failures }: Run,
  hasTime: () => boolean,
): Promise<Attempt[]> {
  const attempts: Attempt[] = [];
  let failed_in_a_row = failures;
  const failed = new Set<string>();
  for (const event of events) {
    if (event.object_id !== null && failed.has(event.object_id)) continue;
    // Receivers compare the time of the signature with their own, whatever the seller's clock says.
    const serverNow = getServerClock(deps.clock).now();
    const began = performance.now();
    const headers = buildHeaders(secrets, event.id, toUnixSeconds(serverNow), event.payload, event.origin);
    const reply = await sender.post({ ...own, ...headers }, event.payload);
    attempts.push({
      event,
      reply: { ...reply, text: redactHeaders(reply.text, own) },
      duration_ms: truncateToWhole(performance.now() - began),
    });
    if (!hasTime() || reply.http_code === null || computeRetryAfter(reply, serverNow) > 0) break;
    failed_in_a_row = isDelivered(reply.http_code) ? 0 : failed_in_a_row + 1;
    // While the receiver seems to be down, one attempt finds out whether it is there again.
    if (failed_in_a_row >= restAfterFailures) break;
    if (!isDelivered(reply.http_code) && event.object_id !== null) failed.add(event.object_id);
  }
  return attempts;
}
