import { sql } from "drizzle-orm";
import { findOrganizationName } from "../../identity/organizations/store.ts";
import type { Deps } from "../../platform/context.ts";
import type { RowKey } from "../../platform/db/rows.ts";
import { events } from "../../platform/db/tables.ts";
import { transact } from "../../platform/db/unit-of-work.ts";
import { createId } from "../../platform/ids.ts";
import type { RowWorker } from "../../platform/jobs/workers.ts";
import { deliver } from "./delivery.ts";
import { isQuiet, writeChatBody } from "./messages.ts";
import { lockEndpoint, skipSome, wakeEndpoints } from "./queue.ts";
import { backlogKeptMs, getObjectId, type OutboxEvent, retentionMs, supportsEvent, writeRawBody } from "./rules.ts";
import * as store from "./store.ts";
import { webhookEndpoints, webhookEvents } from "./tables.ts";
import { archiveEvents } from "./upkeep.ts";

/** How many copies of events are written in one transaction. */
const copiesMax = 1000;

/** Give each endpoint that listens its copies of these events of a seller, in the order of emission. */
async function dispatch(deps: Deps, rows: readonly [RowKey, ...RowKey[]]): Promise<void> {
  const [{ organization_id }] = rows;
  // Most sellers have no endpoint, and each of their sales has several events.
  const ids = rows.map(({ id }) => id);
  if (await store.markUnheard(deps.db, organization_id, ids, deps.clock.now())) return;
  for (let rest = ids; rest.length > 0; ) rest = await dispatchSome(deps, organization_id, rest);
}

/** The first of them, as many as one transaction bears. Answers those that are left. */
async function dispatchSome(deps: Deps, organization_id: string, ids: string[]): Promise<string[]> {
  return transact(deps, async (tx) => {
    // Dispatches of the same events wait here for each other. The endpoints are read later than the events, so that one that was
    // switched on before an event happened gets it.
    const undispatched = await store.lockUndispatched(tx, organization_id, ids);
    const endpoints = await store.listListening(tx, organization_id);
    const occurrences = undispatched.slice(0, Math.max(1, copiesMax / endpoints.length));
    const now = deps.clock.now();
    const name = endpoints.some(({ format }) => format !== "raw")
      ? await findOrganizationName(tx, organization_id)
      : "";
    const copies = endpoints.flatMap((endpoint) => {
      const own = occurrences.flatMap((occurrence) => {
        const payload = occurrence.seq > endpoint.since_seq ? buildBody(endpoint, occurrence, name) : undefined;
        return payload === undefined ? [] : [{ occurrence, payload }];
      });
      return own.map(({ occurrence: { id, seq, type, data }, payload }) => ({
        ...{ id: createId(now), organization_id, endpoint_id: endpoint.id, event_id: id, seq, type, payload },
        ...{ created_at: now, next_attempt_at: now, object_id: getObjectId(data) },
      }));
    });
    await store.insertWebhookEvents(tx, copies);
    const taken = occurrences.map(({ id }) => id);
    await store.markDispatched(tx, organization_id, taken, now);
    const told = [...new Set(copies.map(({ endpoint_id }) => endpoint_id))];
    if (told.length > 0) {
      deps.jobs.wake(tx, deliveryWorker.name);
      // Last, so that a sender of the endpoint waits for no more than this statement and the commit.
      await wakeEndpoints(tx, organization_id, told, now);
    }
    return undispatched.slice(taken.length).map(({ id }) => id);
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

/** What endpoints are to be sent: the one row of an endpoint represents its queue. */
export const deliveryWorker: RowWorker = {
  name: "webhooks.deliver",
  pollIntervalMs: 1000,
  due: {
    table: webhookEndpoints,
    id: webhookEndpoints.id,
    organization_id: webhookEndpoints.organization_id,
    where: sql`${webhookEndpoints.due_at} is not null`,
    at: webhookEndpoints.due_at,
  },
  concurrency: 30,
  maxPerTenant: 10,
  isRepeated: true,
  run: (deps, [row]) => deliver(deps, row),
};

/** How many events of an endpoint that was off for too long are skipped in one transaction. */
const skippedTogether = 1000;

/** Skip what was kept for an endpoint that is off for too long; from then on, nothing is kept for it (WHK-15). */
async function dropBacklog(deps: Deps, key: RowKey): Promise<void> {
  for (let isLeft = true; isLeft; )
    isLeft = await transact(deps, async (tx) => {
      const endpoint = await lockEndpoint(tx, key);
      const now = deps.clock.now();
      if (!endpoint?.off_since || now.getTime() < endpoint.off_since.getTime() + backlogKeptMs) return false;
      if ((await skipSome(tx, key, now, skippedTogether)) > 0) return true;
      await store.updateEndpoints(tx, [{ row: endpoint, patch: { off_since: null } }]);
      return false;
    });
}

/** What was kept for endpoints that nobody has switched on again. */
export const backlogWorker: RowWorker = {
  name: "webhooks.drop_backlog",
  pollIntervalMs: 60 * 1000,
  due: {
    table: webhookEndpoints,
    id: webhookEndpoints.id,
    organization_id: webhookEndpoints.organization_id,
    where: sql`${webhookEndpoints.off_since} is not null`,
    at: webhookEndpoints.off_since,
    delayMs: backlogKeptMs,
  },
  run: (deps, [row]) => dropBacklog(deps, row),
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
  run: (deps, rows) => transact(deps, (tx) => archiveEvents(tx, rows, deps.clock.now())),
};
