import { randomInt } from "node:crypto";
import { sql } from "drizzle-orm";
import { truncateToWhole } from "../../../shared/money.ts";
import { findMemberEmails, findOrganizationName } from "../../identity/organizations/store.ts";
import { getServerClock, toUnixSeconds } from "../../platform/clock.ts";
import type { Deps, Tx } from "../../platform/context.ts";
import { openTokens, sealTokens } from "../../platform/crypto/secrets.ts";
import { addRows, type RowKey } from "../../platform/db/rows.ts";
import { events } from "../../platform/db/tables.ts";
import { runAfterCommit, transact } from "../../platform/db/unit-of-work.ts";
import { findReach, type OutboundReply } from "../../platform/external/outbound.ts";
import { createId } from "../../platform/ids.ts";
import type { RowWorker } from "../../platform/jobs/workers.ts";
import { queueMail } from "../../platform/mail-transport/mail.ts";
import { deliveries } from "../../platform/telemetry/metrics.ts";
import { isQuiet, writeChatBody, writeDisabledMail } from "./messages.ts";
import * as queue from "./queue.ts";
import {
  buildHeaders,
  computePauseEnd,
  computeRetryAfter,
  computeSilenceEnd,
  isDelivered,
  isExhausted,
  type OutboxEvent,
  planAttempt,
  planBatch,
  planOrder,
  planOutcome,
  retentionMs,
  supportsEvent,
  writeRawBody,
} from "./rules.ts";
import { openSigningSecrets } from "./secrets.ts";
import { openSender } from "./sender.ts";
import * as store from "./store.ts";
import { webhookDeliveries, webhookEvents } from "./tables.ts";

/** How many events of an endpoint are sent, one after another, before it is written down what came of them. */
const runEventsMax = 20;
/** How long a sender goes on with an endpoint; then it is another's turn. */
const runMsMax = 5000;
/** How many copies of events are written in one transaction. */
const copiesMax = 1000;

/** Give each endpoint that listens its copies of these events of a seller, in the order of emission. */
async function dispatch(deps: Deps, rows: readonly [RowKey, ...RowKey[]]): Promise<void> {
  const [{ organization_id }] = rows;
  // Most sellers have no endpoint, and each of their sales has several events.
  const ids = rows.map(({ id }) => id);
  if (await store.markUnheard(deps.db, organization_id, ids, deps.clock.now())) return;
  for (let rest = ids; rest.length > 0; ) rest = rest.slice(await dispatchSome(deps, rows, rest));
}

/** The first of them, as many as one transaction bears. Answers how many. */
async function dispatchSome(deps: Deps, [key]: readonly RowKey[], ids: string[]): Promise<number> {
  const { organization_id = "" } = key ?? {};
  return transact(deps, async (tx) => {
    const endpoints = await store.lockListening(tx, organization_id);
    const some = ids.slice(0, Math.max(1, copiesMax / endpoints.length));
    const occurrences = await store.lockUndispatched(tx, organization_id, some);
    const now = deps.clock.now();
    const name = endpoints.some(({ format }) => format !== "raw")
      ? await findOrganizationName(tx, organization_id)
      : "";
    const queues = endpoints.length > 0 ? await queue.findQueues(tx, organization_id) : new Map<string, Date>();
    const copies = endpoints.flatMap((endpoint) => {
      const own = occurrences.flatMap((occurrence) => {
        const payload = occurrence.seq > endpoint.since_seq ? buildBody(endpoint, occurrence, name) : undefined;
        return payload === undefined ? [] : [{ occurrence, payload }];
      });
      const turns = planOrder(own.length, queues.get(endpoint.id), now, endpoint.paused_until);
      return own.map(({ occurrence: { id, seq, type }, payload }, index) => ({
        ...{ id: createId(now), organization_id, endpoint_id: endpoint.id, event_id: id, seq, type, payload },
        created_at: now,
        ...turns[index],
      }));
    });
    await store.insertWebhookEvents(tx, copies);
    await store.markDispatched(tx, organization_id, some, now);
    if (copies.length > 0) deps.jobs.wake(tx, deliveryWorker.name);
    return some.length;
  });
}

/** What an endpoint is sent of an occurrence; undefined when it does not listen for it or could not read it. */
function buildBody(endpoint: store.EndpointRow, occurrence: OutboxEvent, organization: string): string | undefined {
  const profile = store.getEndpointProfile(endpoint);
  if (!endpoint.events.includes(occurrence.type)) return undefined;
  if (endpoint.format === "raw")
    return supportsEvent(profile, occurrence.type) ? writeRawBody(profile, occurrence) : undefined;
  return isQuiet(occurrence) ? undefined : writeChatBody(endpoint.format, occurrence, organization);
}

/** An endpoint's events that are sent one after another, in their order, taken for as long as that may last. */
type Run = {
  organization_id: string;
  endpoint_id: string;
  url: string;
  secrets: string[];
  events: { id: string; payload: string; leased_until: Date }[];
};
type Attempt = { event: Run["events"][number]; reply: OutboundReply; duration_ms: number };

/** Take an event whose turn it is, and those that wait for it. */
async function claimBatch(tx: Tx, deps: Deps, key: RowKey): Promise<Run | undefined> {
  const found = await store.lockWebhookEvent(tx, key);
  if (!found) return undefined;
  const { event, endpoint } = found;
  const now = deps.clock.now();
  const plan = planAttempt({ ...event, endpoint }, now);
  if (plan === "nothing") return undefined;
  if (plan === "send") {
    const waiting = event.attempted_at === null ? await queue.lockQueue(tx, event, runEventsMax) : [];
    // What has waited for too long goes before those that it waited for, and alone.
    return lease(tx, deps, endpoint, waiting[0]?.id === event.id ? waiting : [event]);
  }
  if (plan === "pause") {
    const paused_until = endpoint.paused_until ?? now;
    await store.updateWebhookEvent(tx, key, { next_attempt_at: computePauseEnd(paused_until, event.waits) });
    return undefined;
  }
  const skipped = plan === "skip" ? { skipped: true, modified_at: now } : {};
  await store.updateWebhookEvent(tx, key, { next_attempt_at: null, ...skipped });
  if (event.attempted_at === null && (await queue.releaseNext(tx, event, now))) deps.jobs.wake(tx, deliveryWorker.name);
  return undefined;
}

/** Take the first of these events of an endpoint, and of the others as many as wait for it. */
async function lease(
  tx: Tx,
  deps: Deps,
  endpoint: store.EndpointRow,
  waiting: readonly store.WebhookEventRow[],
): Promise<Run> {
  const { secrets } = deps.config;
  const signing = openSigningSecrets(deps, endpoint);
  if (!signing)
    throw new Error(
      `The secret of webhook endpoint ${endpoint.id} was sealed with a FLOE_SECRET that is gone. Reset it.`,
    );
  const { organization_id, id: endpoint_id, url } = endpoint;
  const now = deps.clock.now();
  const events = planBatch(waiting, now).map(({ event, next_attempt_at, waits }) => ({
    change: { id: event.id, next_attempt_at, waits },
    event: {
      id: event.id,
      payload: openTokens(secrets, "event-tokens", organization_id, event.payload ?? ""),
      leased_until: next_attempt_at,
    },
  }));
  await queue.scheduleAttempts(
    tx,
    organization_id,
    events.map(({ change }) => change),
  );
  return { organization_id, endpoint_id, url, secrets: signing, events: events.map(({ event }) => event) };
}

/** Write down what came of attempts, what follows from it, and let the next event of the endpoint go: it is taken if `goesOn`. */
async function settle(
  tx: Tx,
  deps: Deps,
  run: Run,
  attempts: readonly Attempt[],
  goesOn: boolean,
): Promise<Run | undefined> {
  const { organization_id, endpoint_id } = run;
  const endpoint = await queue.lockEndpointOfQueue(tx, run);
  const rows = new Map(
    (
      await queue.lockStandings(
        tx,
        organization_id,
        run.events.map(({ id }) => id),
      )
    ).map((row) => [row.id, row]),
  );
  if (!endpoint) return undefined;
  const now = deps.clock.now();
  // Taken by another meanwhile, or asked for again: then the schedule is theirs.
  const isMine = ({ id, leased_until }: Run["events"][number]): boolean =>
    rows.get(id)?.next_attempt_at?.getTime() === leased_until.getTime();
  const serverNow = getServerClock(deps.clock).now();
  const made = attempts.flatMap(({ event, reply, duration_ms }) => {
    const { http_code, text } = reply;
    const row = rows.get(event.id);
    if (!row) return [];
    const retryAfterMs = computeRetryAfter(reply, serverNow);
    const outcome = planOutcome(row, http_code, retryAfterMs);
    deliveries.add({ outcome: outcome.delivered ? "delivered" : "failed" });
    const mine = isMine(event);
    const retry_at =
      outcome.retry && new Date(now.getTime() + randomInt(outcome.retry.least_ms, outcome.retry.most_ms + 1));
    const schedule = mine
      ? { attempts: outcome.attempts, succeeded: outcome.succeeded, next_attempt_at: retry_at, waits: false }
      : { ...row, succeeded: outcome.delivered || row.succeeded };
    const delivery_id = createId(now);
    // An event that the receiver has deferred stays the first of the queue, so that those after it do not overtake it.
    const isDeferred = mine && retryAfterMs > 0 && retry_at !== null;
    const attempted_at = row.attempted_at ?? (isDeferred ? null : now);
    const attempt = { id: row.id, last_http_code: http_code, attempted_at };
    return {
      paused_until: retryAfterMs === 0 ? null : (retry_at ?? new Date(now.getTime() + retryAfterMs)),
      isFirst: row.attempted_at === null,
      isFinal: mine && !outcome.delivered && !outcome.retry,
      change: { ...schedule, ...attempt },
      // A receiver may say back what it was sent.
      delivery: {
        ...{ id: delivery_id, organization_id, endpoint_id, webhook_event_id: row.id, created_at: now },
        ...{ succeeded: outcome.delivered, http_code, duration_ms },
        response: text && sealTokens(deps.config.secret, "webhook-response", delivery_id, text),
      },
    };
  });
  await addRows(
    tx,
    webhookDeliveries,
    made.map(({ delivery }) => delivery),
  );
  await queue.recordAttempts(
    tx,
    organization_id,
    made.map(({ change }) => change),
    now,
  );
  // What waits for one that does not answer would fall due all the same, and be gone through whenever something is looked for.
  if (attempts.at(-1)?.reply.http_code === null) await queue.delayQueue(tx, run, computeSilenceEnd(now));
  const paused_until = made.at(-1)?.paused_until ?? null;
  if (paused_until) {
    await store.updateEndpoints(tx, [{ row: endpoint, patch: { paused_until } }]);
    await queue.delayQueue(tx, run, computePauseEnd(paused_until, true));
  }
  if (made.some(({ isFinal }) => isFinal) && endpoint.enabled) {
    if (isExhausted(await store.findLatestOutcomes(tx, endpoint))) {
      await store.disableEndpoint(tx, endpoint, now);
      const name = await findOrganizationName(tx, organization_id);
      for (const to of await findMemberEmails(tx, organization_id))
        await queueMail(tx, deps, { ...writeDisabledMail(to, name, endpoint), organization_id });
      runAfterCommit(tx, () =>
        deps.log.warn({ endpoint_id, organization_id }, "A webhook endpoint was switched off after ten failed events."),
      );
      return undefined;
    }
  }
  if (!made.some(({ isFirst }) => isFirst)) return undefined;
  if (goesOn && !paused_until && endpoint.enabled && endpoint.deleted_at === null && endpoint.url === run.url) {
    const waiting = await queue.lockQueue(tx, run, runEventsMax);
    if (waiting[0]?.waits) return lease(tx, deps, endpoint, waiting);
    return undefined;
  }
  if (await queue.releaseNext(tx, run, now)) deps.jobs.wake(tx, deliveryWorker.name);
  return undefined;
}

/**
 * Send an event if its turn has come, and those of the endpoint that wait for it, for a while. The calls are made outside of any
 * transaction; a crash between them and their record leads to other attempts with the same webhook-ids, which receivers know as
 * repetitions.
 */
async function deliver(deps: Deps, key: RowKey): Promise<void> {
  const first = await transact(deps, (tx) => claimBatch(tx, deps, key));
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

/** Send the events of a run in their order, until one fails or time is up. */
async function send(
  deps: Deps,
  sender: ReturnType<typeof openSender>,
  { secrets, events }: Run,
  hasTime: () => boolean,
): Promise<Attempt[]> {
  const attempts: Attempt[] = [];
  for (const event of events) {
    // Receivers compare the time of the signature with their own, whatever the seller's clock says.
    const time = toUnixSeconds(getServerClock(deps.clock).now());
    const began = performance.now();
    const reply = await sender.post(buildHeaders(secrets, event.id, time, event.payload), event.payload);
    attempts.push({ event, reply, duration_ms: truncateToWhole(performance.now() - began) });
    if (!isDelivered(reply.http_code) || !hasTime()) break;
  }
  return attempts;
}

/** What happened goes to the endpoints, a seller's events in their order and in bounded pieces. */
export const dispatchWorker: RowWorker = {
  name: "events.dispatch",
  pollIntervalMs: 1000,
  due: {
    table: events,
    id: events.id,
    organization_id: events.organization_id,
    where: sql`${events.dispatched_at} is null`,
    order: events.seq,
  },
  concurrency: 2,
  maxPerTenant: 1,
  batchSize: 100,
  run: dispatch,
};

/** What is to be sent, for the first time or again. */
export const deliveryWorker: RowWorker = {
  name: "webhooks.deliver",
  pollIntervalMs: 1000,
  due: {
    table: webhookEvents,
    id: webhookEvents.id,
    organization_id: webhookEvents.organization_id,
    where: sql`${webhookEvents.next_attempt_at} is not null`,
    at: webhookEvents.next_attempt_at,
    // However much waits to be sent again to one that does not answer, the seller's others are sent theirs.
    partitionBy: webhookEvents.endpoint_id,
  },
  concurrency: 30,
  maxPerTenant: 10,
  run: (deps, [row]) => deliver(deps, row),
};

/** What is too old is emptied. */
export const webhookArchiveWorker: RowWorker = {
  name: "webhooks.archive",
  pollIntervalMs: 10 * 60 * 1000,
  due: {
    table: webhookEvents,
    id: webhookEvents.id,
    organization_id: webhookEvents.organization_id,
    where: sql`not ${webhookEvents.is_archived}`,
    at: webhookEvents.created_at,
    delayMs: retentionMs,
  },
  batchSize: 500,
  run: ({ db, clock }, rows) => store.archiveEvents(db, rows, clock.now()),
};
