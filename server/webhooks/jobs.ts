import { randomInt } from "node:crypto";
import { sql } from "drizzle-orm";
import { getServerClock } from "../lib/clock.ts";
import type { Deps, Tx } from "../lib/context.ts";
import { createId } from "../lib/ids.ts";
import { queueMail } from "../lib/mail.ts";
import { findReach, post, type Reply } from "../lib/outbound.ts";
import type { RowKey } from "../lib/rows.ts";
import { openTokens, seal, sealTokens, tryUnseal } from "../lib/secrets.ts";
import type { RowSweep } from "../lib/sweeps.ts";
import { events } from "../lib/tables.ts";
import { runAfterCommit, transact } from "../lib/unit-of-work.ts";
import { isQuiet, writeChatBody, writeDisabledMail } from "./messages.ts";
import {
  buildHeaders,
  isDead,
  knows,
  type OutboxEvent,
  planAttempt,
  planOutcome,
  planTurns,
  retention_ms,
  toUnixSeconds,
  writeRawBody,
} from "./rules.ts";
import * as store from "./store.ts";
import { webhookDeliveries, webhookEvents } from "./tables.ts";

/** A sender that has not reported by then is lost, and the event is sent again under the same id. */
const lease_ms = 60 * 1000;
/** How many copies of events are written in one transaction. */
const copies_max = 1000;

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
    const some = ids.slice(0, Math.max(1, copies_max / endpoints.length));
    const occurrences = await store.lockUndispatched(tx, organization_id, some);
    const now = deps.clock.now();
    const name = endpoints.some(({ format }) => format !== "raw")
      ? await store.findOrganizationName(tx, organization_id)
      : "";
    const queues = endpoints.length > 0 ? await store.findQueues(tx, organization_id) : new Map<string, Date>();
    const copies = endpoints.flatMap((endpoint) => {
      const own = occurrences.flatMap((occurrence) => {
        const payload = occurrence.seq > endpoint.since_seq ? bodyFor(endpoint, occurrence, name) : undefined;
        return payload === undefined ? [] : [{ occurrence, payload }];
      });
      const turns = planTurns(own.length, queues.get(endpoint.id), now);
      return own.map(({ occurrence: { id, seq, type }, payload }, index) => ({
        ...{ id: createId(now), organization_id, endpoint_id: endpoint.id, event_id: id, seq, type, payload },
        created_at: now,
        ...turns[index],
      }));
    });
    await store.insertWebhookEvents(tx, copies);
    await store.markDispatched(tx, organization_id, some, now);
    if (copies.length > 0) deps.jobs.wake(tx, deliveries.name);
    return some.length;
  });
}

/** What an endpoint is sent of an occurrence; undefined when it does not listen for it or could not read it. */
function bodyFor(endpoint: store.EndpointRow, occurrence: OutboxEvent, organization: string): string | undefined {
  const profile = store.getEndpointProfile(endpoint);
  if (!endpoint.events.includes(occurrence.type)) return undefined;
  if (endpoint.format === "raw") return knows(profile, occurrence.type) ? writeRawBody(profile, occurrence) : undefined;
  return isQuiet(occurrence) ? undefined : writeChatBody(endpoint.format, occurrence, organization);
}

type Taken = RowKey & { leased_until: Date; url: string; secret: string; payload: string };

/** Take an event whose turn it is, for as long as sending may last. */
async function take(tx: Tx, deps: Deps, key: RowKey): Promise<Taken | undefined> {
  const found = await store.lockWebhookEvent(tx, key);
  if (!found) return undefined;
  const { event, endpoint } = found;
  const now = deps.clock.now();
  const plan = planAttempt({ ...event, endpoint }, now);
  if (plan === "nothing") return undefined;
  if (plan === "send" && event.payload !== null) {
    const leased_until = new Date(now.getTime() + lease_ms);
    await store.updateWebhookEvent(tx, key, { next_attempt_at: leased_until, waits: false });
    const { secrets } = deps.config;
    const secret = tryUnseal(secrets, endpoint.secret);
    if (secret === null)
      throw new Error(
        `The secret of webhook endpoint ${endpoint.id} was sealed with a FLOE_SECRET that is gone. Reset it.`,
      );
    return { ...key, leased_until, url: endpoint.url, secret, payload: openTokens(secrets, event.payload) };
  }
  const skipped = plan === "skip" ? { skipped: true, modified_at: now } : {};
  await store.updateWebhookEvent(tx, key, { next_attempt_at: null, ...skipped });
  if (event.attempted_at === null && (await store.releaseNext(tx, event, now))) deps.jobs.wake(tx, deliveries.name);
  return undefined;
}

/** Write down what came of an attempt, what follows from it, and let the next event of the endpoint go. */
async function settle(tx: Tx, deps: Deps, taken: Taken, { http_code, text }: Reply): Promise<void> {
  const found = await store.lockWebhookEvent(tx, taken);
  if (!found) return;
  const { event, endpoint } = found;
  const now = deps.clock.now();
  const outcome = planOutcome(event, http_code);
  const { organization_id, endpoint_id } = event;
  await tx.insert(webhookDeliveries).values({
    id: createId(now),
    organization_id,
    endpoint_id,
    webhook_event_id: event.id,
    created_at: now,
    succeeded: outcome.delivered,
    http_code,
    // A receiver may say back what it was sent.
    response: text && sealTokens(deps.config.secret, text),
  });
  // Taken by another meanwhile, or asked for again: then the schedule is theirs.
  const mine = event.next_attempt_at?.getTime() === taken.leased_until.getTime();
  const retry_at =
    outcome.retry && new Date(now.getTime() + randomInt(outcome.retry.least_ms, outcome.retry.most_ms + 1));
  const schedule = mine
    ? { attempts: outcome.attempts, succeeded: outcome.succeeded, next_attempt_at: retry_at }
    : { succeeded: outcome.delivered || event.succeeded };
  const attempt = { last_http_code: http_code, attempted_at: event.attempted_at ?? now, modified_at: now };
  await store.updateWebhookEvent(tx, event, { ...attempt, ...schedule });
  if (mine && !outcome.delivered && !outcome.retry && endpoint.enabled) {
    if (isDead(await store.findLatestOutcomes(tx, endpoint))) {
      await store.disableEndpoint(tx, endpoint, now);
      const name = await store.findOrganizationName(tx, organization_id);
      for (const to of await store.findMemberEmails(tx, organization_id))
        await queueMail(tx, deps, { ...writeDisabledMail(to, name, endpoint), organization_id });
      runAfterCommit(tx, () =>
        deps.log.warn({ endpoint_id, organization_id }, "A webhook endpoint was switched off after ten failed events."),
      );
      return;
    }
  }
  if (event.attempted_at === null && (await store.releaseNext(tx, event, now))) deps.jobs.wake(tx, deliveries.name);
}

/**
 * Send an event if its turn has come. The call is made outside of any transaction; a crash between the call and its
 * record leads to another attempt with the same webhook-id, which receivers know as a repetition.
 */
async function deliver(deps: Deps, key: RowKey): Promise<void> {
  const taken = await transact(deps, (tx) => take(tx, deps, key));
  if (!taken) return;
  // Receivers compare the time of the signature with their own, whatever the seller's clock says.
  const headers = buildHeaders(taken.secret, taken.id, toUnixSeconds(getServerClock(deps.clock).now()), taken.payload);
  const reply = await post(taken.url, headers, taken.payload, findReach(deps.config));
  await transact(deps, (tx) => settle(tx, deps, taken, reply));
}

/** While earlier secrets of the server are named: what these sealed of the endpoints is sealed with the present one. */
export async function resealEndpoints({ db, config, log }: Deps): Promise<void> {
  const { secret, secrets } = config;
  if (secrets.length === 1) return;
  for (let after: RowKey | undefined, isMore = true; isMore; ) {
    const rows = await store.findSealed(db, after, copies_max);
    for (const row of rows) {
      if (tryUnseal([secret], row.secret) !== null) continue;
      const text = tryUnseal(secrets, row.secret);
      if (text === null)
        log.error({ endpoint_id: row.id }, "A webhook endpoint's secret can be opened no more. Reset it.");
      else await store.replaceSealed(db, row, seal(secret, text));
    }
    after = rows.at(-1);
    isMore = rows.length === copies_max;
  }
}

/** What happened goes to the endpoints, a seller's events in their order and in bounded pieces. */
export const dispatches: RowSweep = {
  name: "events.dispatch",
  every_ms: 1000,
  due: {
    table: events,
    id: events.id,
    organization_id: events.organization_id,
    where: sql`${events.dispatched_at} is null`,
    order: events.seq,
  },
  parallel: 2,
  share: 1,
  together: 100,
  work: dispatch,
};

/** What is to be sent, for the first time or again. */
export const deliveries: RowSweep = {
  name: "webhooks.deliver",
  every_ms: 1000,
  due: {
    table: webhookEvents,
    id: webhookEvents.id,
    organization_id: webhookEvents.organization_id,
    where: sql`${webhookEvents.next_attempt_at} is not null`,
    at: webhookEvents.next_attempt_at,
  },
  parallel: 30,
  share: 10,
  work: (deps, [row]) => deliver(deps, row),
};

/** What is too old is emptied. */
export const webhookArchive: RowSweep = {
  name: "webhooks.archive",
  every_ms: 10 * 60 * 1000,
  due: {
    table: webhookEvents,
    id: webhookEvents.id,
    organization_id: webhookEvents.organization_id,
    where: sql`not ${webhookEvents.is_archived}`,
    at: webhookEvents.created_at,
    after_ms: retention_ms,
  },
  together: 500,
  work: ({ db, clock }, rows) => store.archiveEvents(db, rows, clock.now()),
};
