import {
  and,
  asc,
  desc,
  eq,
  exists,
  gte,
  inArray,
  isNotNull,
  isNull,
  lte,
  not,
  notExists,
  or,
  type SQL,
  sql,
} from "drizzle-orm";
import { alias } from "drizzle-orm/pg-core";
import type { webhooks as operations } from "../../../shared/api/webhooks.ts";
import type { EventType } from "../../../shared/event-types.ts";
import type { Database, Tx } from "../../platform/context.ts";
import { countMatching } from "../../platform/db/counters.ts";
import {
  computeOffset,
  counted,
  countRows,
  type ListQuery,
  limitPage,
  listRows,
  matchAny,
  matchFilters,
  matchOne,
  matchOrganizations,
  matchText,
  type Paging,
  readPage,
} from "../../platform/db/page.ts";
import { isAmong, joinByKey, lockRows, matchKey, type RowKey, updateLockedRows } from "../../platform/db/rows.ts";
import { events } from "../../platform/db/tables.ts";
import type { ClientProfile } from "../../platform/http/profiles.ts";
import { disableAfterFailures } from "./rules.ts";
import { webhookDeliveries, webhookEndpoints, webhookEvents } from "./tables.ts";

export type EndpointRow = typeof webhookEndpoints.$inferSelect;
export type WebhookEventRow = typeof webhookEvents.$inferSelect;

export const getEndpointProfile = (endpoint: EndpointRow): ClientProfile => ({
  generation: endpoint.generation,
  release: endpoint.release,
  version: endpoint.api_version,
  ...(endpoint.generation === "legacy" ? { closed: true } : {}),
});

/** The `seq` of the latest event whose insert has begun in any transaction. */
export async function findLatestSeq(db: Database): Promise<number> {
  const serial = sql`pg_get_serial_sequence('events', 'seq')::regclass`;
  const [row] = await db
    .select({ seq: sql<string>`coalesce(pg_sequence_last_value(${serial}), 0)` })
    .from(sql`(select 1) as one`);
  return Number(row?.seq ?? 0);
}

/** Endpoints of the organization that are not deleted; locked until the transaction ends. */
export const lockEndpoints = (tx: Tx, organization_id: string, ids: readonly string[]): Promise<EndpointRow[]> =>
  lockRows(tx, webhookEndpoints, organization_id, ids, isNull(webhookEndpoints.deleted_at));

/** Change columns of endpoints that the caller has locked. */
export const updateEndpoints = (
  tx: Tx,
  changes: readonly { row: EndpointRow; patch: Partial<EndpointRow> }[],
): Promise<EndpointRow[]> => updateLockedRows(tx, webhookEndpoints, changes);

export async function findEndpoint(
  db: Database,
  organization_id: string,
  id: string,
): Promise<EndpointRow | undefined> {
  const [row] = await db.select().from(webhookEndpoints).where(matchOrganization(organization_id, id));
  return row;
}

/** Find endpoints of an organization by id, in no particular order. */
export async function findEndpointsById(
  db: Database,
  organization_id: string,
  ids: readonly string[],
): Promise<EndpointRow[]> {
  if (ids.length === 0) return [];
  return db
    .select()
    .from(webhookEndpoints)
    .where(and(isAmong(organization_id, webhookEndpoints.id, ids), isNull(webhookEndpoints.deleted_at)));
}
const matchOrganization = (organization_id: string, id: string): SQL | undefined =>
  and(matchKey(webhookEndpoints, { organization_id, id }), isNull(webhookEndpoints.deleted_at));

/** List one page of the endpoints of these organizations, newest first, and the total. */
export function listEndpoints(db: Database, organizations: readonly string[], paging: Paging) {
  const mine = and(
    matchOrganizations(webhookEndpoints.organization_id, organizations),
    isNull(webhookEndpoints.deleted_at),
  );
  const order = [desc(webhookEndpoints.created_at), desc(webhookEndpoints.id)];
  return listRows(db, webhookEndpoints, { where: mine, order, paging });
}

/** Find endpoints of all organizations with their sealed secrets, after a row. */
export const findSealed = (db: Database, after: RowKey | undefined, limit: number) =>
  db
    .select({
      organization_id: webhookEndpoints.organization_id,
      id: webhookEndpoints.id,
      secret: webhookEndpoints.secret,
      previous_secrets: webhookEndpoints.previous_secrets,
      headers: webhookEndpoints.headers,
    })
    .from(webhookEndpoints)
    .where(
      after &&
        sql`(${webhookEndpoints.organization_id}, ${webhookEndpoints.id}) > (${after.organization_id}, ${after.id}::uuid)`,
    )
    .orderBy(asc(webhookEndpoints.organization_id), asc(webhookEndpoints.id))
    .limit(limit);

type Sealed = Pick<EndpointRow, "secret" | "previous_secrets" | "headers">;
/** Replace what is sealed, unless the current secret or the headers have changed since they were read. */
export async function replaceSealed(db: Database, row: RowKey & Sealed, sealed: Sealed): Promise<void> {
  const { secret, headers } = webhookEndpoints;
  await db
    .update(webhookEndpoints)
    .set(sealed)
    .where(
      and(matchKey(webhookEndpoints, row), eq(secret, row.secret), sql`${headers} is not distinct from ${row.headers}`),
    );
}

/** Lock the events among these ids that are not dispatched yet, in order. */
export const lockUndispatched = (tx: Tx, organization_id: string, ids: readonly string[]) =>
  tx
    .select()
    .from(events)
    .where(and(isAmong(organization_id, events.id, ids), isNull(events.dispatched_at)))
    .orderBy(asc(events.seq))
    .for("update");

export async function markDispatched(
  tx: Tx,
  organization_id: string,
  ids: readonly string[],
  now: Date,
): Promise<void> {
  await tx
    .update(events)
    .set({ dispatched_at: now })
    .where(isAmong(organization_id, events.id, ids));
}

const isOn = (organization_id: string) =>
  and(
    eq(webhookEndpoints.organization_id, organization_id),
    isNull(webhookEndpoints.deleted_at),
    eq(webhookEndpoints.enabled, true),
  );

/** The endpoints for which events are kept: those that are on, and those that were on a while ago (WHK-15). */
const isKeptFor = (organization_id: string) =>
  and(
    eq(webhookEndpoints.organization_id, organization_id),
    isNull(webhookEndpoints.deleted_at),
    or(eq(webhookEndpoints.enabled, true), isNotNull(webhookEndpoints.off_since)),
  );

/** Whether the organization has an enabled endpoint. */
export const hasListening = async (db: Database, organization_id: string): Promise<boolean> =>
  (await db.$count(webhookEndpoints, isOn(organization_id))) > 0;

/**
 * Mark events as dispatched if no endpoint of the organization gets them; returns false if one does. No lock is needed: an
 * endpoint added later receives only later events.
 */
export async function markUnheard(
  db: Database,
  organization_id: string,
  ids: readonly string[],
  now: Date,
): Promise<boolean> {
  const listening = db.select({ one: sql`1` }).from(webhookEndpoints).where(isKeptFor(organization_id));
  const marked = await db
    .update(events)
    .set({ dispatched_at: now })
    .where(and(isAmong(organization_id, events.id, ids), notExists(listening)))
    .returning({ id: events.id });
  return marked.length > 0;
}

/** The endpoints of an organization that get its events. */
export const listListening = (tx: Tx, organization_id: string): Promise<EndpointRow[]> =>
  tx.select().from(webhookEndpoints).where(isKeptFor(organization_id)).orderBy(asc(webhookEndpoints.id));

/** Insert the endpoints' copies of events; existing copies are not changed. */
export async function insertWebhookEvents(tx: Tx, rows: (typeof webhookEvents.$inferInsert)[]): Promise<void> {
  for (let from = 0; from < rows.length; from += insertRowsMax)
    await tx
      .insert(webhookEvents)
      .values(rows.slice(from, from + insertRowsMax))
      .onConflictDoNothing();
}
const insertRowsMax = 1000;

/**
 * Lock an event's copy and its endpoint until the transaction ends, always the endpoint first. A decision about one event of
 * an endpoint therefore sees the decisions about the others.
 */
export async function lockWebhookEvent(
  tx: Tx,
  key: RowKey,
): Promise<{ event: WebhookEventRow; endpoint: EndpointRow } | undefined> {
  const mine = matchKey(webhookEvents, key);
  const ofEvent = tx.select({ id: webhookEvents.endpoint_id }).from(webhookEvents).where(mine);
  const [endpoint] = await tx
    .select()
    .from(webhookEndpoints)
    .where(and(eq(webhookEndpoints.organization_id, key.organization_id), inArray(webhookEndpoints.id, ofEvent)))
    .for("no key update");
  const [event] = await tx.select().from(webhookEvents).where(mine).for("update");
  return endpoint && event && { event, endpoint };
}

export async function updateWebhookEvent(
  tx: Tx,
  key: RowKey,
  values: Partial<typeof webhookEvents.$inferInsert>,
): Promise<void> {
  await tx.update(webhookEvents).set(values).where(matchKey(webhookEvents, key));
}

/** Find the outcomes of the latest finished events of an endpoint, newest first. */
export async function findLatestOutcomes(tx: Tx, { organization_id, id }: RowKey): Promise<(boolean | null)[]> {
  const rows = await tx
    .select({ succeeded: webhookEvents.succeeded })
    .from(webhookEvents)
    .where(
      and(
        eq(webhookEvents.organization_id, organization_id),
        eq(webhookEvents.endpoint_id, id),
        isNotNull(webhookEvents.succeeded),
      ),
    )
    .orderBy(desc(webhookEvents.seq))
    .limit(disableAfterFailures);
  return rows.map(({ succeeded }) => succeeded);
}

/** Disable an endpoint. What waits for it, and what happens meanwhile, is kept for a while. */
export async function disableEndpoint(tx: Tx, key: RowKey, now: Date): Promise<void> {
  await tx
    .update(webhookEndpoints)
    .set({ enabled: false, off_since: now, due_at: null, lease: null, process_id: null, modified_at: now })
    .where(matchKey(webhookEndpoints, key));
}

/**
 * Find the events among these ids that need no more delivery to the seller. An endpoint in the raw format accepted them, or
 * none will receive them (WHK-19).
 */
export async function findTold(db: Database, organization_id: string, event_ids: readonly string[]): Promise<string[]> {
  if (event_ids.length === 0) return [];
  const endpoint = alias(webhookEndpoints, "raw");
  const matchCopies = (condition: SQL) =>
    exists(
      db
        .select({ one: sql`1` })
        .from(webhookEvents)
        .innerJoin(endpoint, and(joinByKey(webhookEvents.endpoint_id, endpoint), eq(endpoint.format, "raw")))
        .where(
          and(
            eq(webhookEvents.organization_id, events.organization_id),
            eq(webhookEvents.event_id, events.id),
            condition,
          ),
        ),
    );
  const isToBeSent = sql`not ${webhookEvents.skipped} and ${endpoint.enabled} and ${endpoint.deleted_at} is null`;
  const rows = await db
    .select({ id: events.id })
    .from(events)
    .where(
      and(
        eq(events.organization_id, organization_id),
        inArray(events.id, [...event_ids]),
        isNotNull(events.dispatched_at),
        or(matchCopies(eq(webhookEvents.succeeded, true)), not(matchCopies(isToBeSent))),
      ),
    );
  return rows.map(({ id }) => id);
}

/** The filters of the list of deliveries, and the event types that the caller may read. */
type DeliveryFilter = ListQuery<typeof operations.listDeliveries> & { readable: EventType[] | undefined };
const codes: Record<NonNullable<DeliveryFilter["http_code_class"]>, [number, number]> = {
  "2xx": [200, 299],
  "3xx": [300, 399],
  "4xx": [400, 499],
  "5xx": [500, 599],
};

/** List delivery attempts, newest first, with their event and the API version of their endpoint, and the total. */
export function listDeliveries(db: Database, organizations: readonly string[], filter: DeliveryFilter) {
  const ofEvents = joinByKey(webhookDeliveries.webhook_event_id, webhookEvents);
  const { query, event_type, readable, ...ofThemselves } = filter;
  const own = matchFilters(ofThemselves, {
    endpoint_id: matchAny(webhookDeliveries.endpoint_id),
    start_timestamp: (at) => gte(webhookDeliveries.created_at, at),
    end_timestamp: (at) => lte(webhookDeliveries.created_at, at),
    succeeded: matchOne(webhookDeliveries.succeeded),
    http_code_class: (name) =>
      and(gte(webhookDeliveries.http_code, codes[name][0]), lte(webhookDeliveries.http_code, codes[name][1])),
  });
  const ofEvent = matchFilters(
    { query, event_type, readable },
    {
      query: matchText(webhookEvents.payload),
      event_type: matchAny(webhookEvents.type),
      readable: matchAny(webhookEvents.type),
    },
  );
  const asked = and(own, ofEvent);
  const where = and(matchOrganizations(webhookDeliveries.organization_id, organizations), asked);
  const loadPage = () =>
    db
      .select({
        delivery: webhookDeliveries,
        event: webhookEvents,
        api_version: webhookEndpoints.api_version,
        url: webhookEndpoints.url,
      })
      .from(webhookDeliveries)
      .innerJoin(webhookEvents, ofEvents)
      .innerJoin(webhookEndpoints, joinByKey(webhookEvents.endpoint_id, webhookEndpoints))
      .where(where)
      .orderBy(desc(webhookDeliveries.created_at), desc(webhookDeliveries.id))
      .limit(limitPage(filter, asked))
      .offset(computeOffset(filter));
  const count = () =>
    ofEvent
      ? countRows(db.select(counted).from(webhookDeliveries).innerJoin(webhookEvents, ofEvents).where(where))
      : db.$count(webhookDeliveries, where);
  return readPage(loadPage, () => countMatching(db, organizations, "webhook_deliveries", asked, count));
}

/** Replace the data of an event's copies, and delete the receivers' responses, which may repeat the old data. */
export async function rewriteCopies(
  tx: Tx,
  { organization_id, id: event_id }: RowKey,
  change: (payload: string) => string,
): Promise<void> {
  const copies = await tx
    .select({ id: webhookEvents.id, payload: webhookEvents.payload })
    .from(webhookEvents)
    .where(and(eq(webhookEvents.organization_id, organization_id), eq(webhookEvents.event_id, event_id)))
    .for("update");
  for (const { id, payload } of copies) {
    if (payload !== null)
      await tx
        .update(webhookEvents)
        .set({ payload: change(payload) })
        .where(matchKey(webhookEvents, { organization_id, id }));
    await tx
      .update(webhookDeliveries)
      .set({ response: null })
      .where(and(eq(webhookDeliveries.organization_id, organization_id), eq(webhookDeliveries.webhook_event_id, id)));
  }
}
