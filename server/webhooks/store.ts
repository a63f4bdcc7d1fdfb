import {
  and,
  asc,
  desc,
  eq,
  exists,
  gt,
  inArray,
  isNotNull,
  isNull,
  lt,
  lte,
  not,
  or,
  type SQL,
  sql,
} from "drizzle-orm";
import { alias } from "drizzle-orm/pg-core";
import { member, user } from "../auth/tables.ts";
import type { Database, Tx } from "../lib/context.ts";
import type { ClientProfile } from "../lib/profiles.ts";
import { events } from "../lib/tables.ts";
import { organization } from "../organizations/tables.ts";
import { disable_after_failures, order_wait_ms_max } from "./rules.ts";
import { webhookDeliveries, webhookEndpoints, webhookEvents } from "./tables.ts";

export type EndpointRow = typeof webhookEndpoints.$inferSelect;
export type WebhookEventRow = typeof webhookEvents.$inferSelect;

export const profileOfEndpoint = (endpoint: EndpointRow): ClientProfile => ({
  generation: endpoint.generation,
  release: endpoint.release,
  version: endpoint.api_version,
});

/** The number of the latest event that anyone has begun to emit. */
export async function findLatestSeq(db: Database): Promise<number> {
  const serial = sql`pg_get_serial_sequence('events', 'seq')::regclass`;
  const [row] = await db
    .select({ seq: sql<string>`coalesce(pg_sequence_last_value(${serial}), 0)` })
    .from(sql`(select 1) as one`);
  return Number(row?.seq ?? 0);
}

/** An endpoint of the organization that is not deleted; locked until the transaction ends. */
export async function lockEndpoint(tx: Tx, organization_id: string, id: string): Promise<EndpointRow | undefined> {
  const [row] = await tx.select().from(webhookEndpoints).where(ofOrganization(organization_id, id)).for("update");
  return row;
}

export async function findEndpoint(
  db: Database,
  organization_id: string,
  id: string,
): Promise<EndpointRow | undefined> {
  const [row] = await db.select().from(webhookEndpoints).where(ofOrganization(organization_id, id));
  return row;
}

/** These endpoints of an organization, in no order. */
export async function findEndpointsById(
  db: Database,
  organization_id: string,
  ids: readonly string[],
): Promise<EndpointRow[]> {
  if (ids.length === 0) return [];
  return db
    .select()
    .from(webhookEndpoints)
    .where(
      and(
        eq(webhookEndpoints.organization_id, organization_id),
        inArray(webhookEndpoints.id, [...ids]),
        isNull(webhookEndpoints.deleted_at),
      ),
    );
}
const ofOrganization = (organization_id: string, id: string): SQL | undefined =>
  and(
    eq(webhookEndpoints.id, id),
    eq(webhookEndpoints.organization_id, organization_id),
    isNull(webhookEndpoints.deleted_at),
  );

export async function findEndpoints(db: Database, organization_id: string, limit: number, offset: number) {
  const mine = and(eq(webhookEndpoints.organization_id, organization_id), isNull(webhookEndpoints.deleted_at));
  const rows = await db
    .select()
    .from(webhookEndpoints)
    .where(mine)
    .orderBy(desc(webhookEndpoints.created_at), desc(webhookEndpoints.id))
    .limit(limit)
    .offset(offset);
  return { rows, total: await db.$count(webhookEndpoints, mine) };
}

/** The occurrences of an organization that were not handed to its endpoints yet, in order. */
export const lockUndispatched = (tx: Tx, organization_id: string) =>
  tx
    .select()
    .from(events)
    .where(and(eq(events.organization_id, organization_id), isNull(events.dispatched_at)))
    .orderBy(asc(events.seq))
    .for("update");

export async function findListening(db: Database, organization_id: string): Promise<EndpointRow[]> {
  const { deleted_at, enabled } = webhookEndpoints;
  return db
    .select()
    .from(webhookEndpoints)
    .where(and(eq(webhookEndpoints.organization_id, organization_id), isNull(deleted_at), eq(enabled, true)));
}

export async function findOrganizationName(db: Database, id: string): Promise<string> {
  const [row] = await db.select({ name: organization.name }).from(organization).where(eq(organization.id, id));
  return row?.name ?? "";
}

export async function findMemberEmails(db: Database, organization_id: string): Promise<string[]> {
  const rows = await db
    .select({ email: user.email })
    .from(member)
    .innerJoin(user, eq(user.id, member.userId))
    .where(eq(member.organizationId, organization_id));
  return rows.map(({ email }) => email);
}

/** Write the endpoints' copies; those already there stay. Answers the ids of the new ones. */
export async function insertWebhookEvents(tx: Tx, rows: (typeof webhookEvents.$inferInsert)[]): Promise<string[]> {
  if (rows.length === 0) return [];
  const made = await tx.insert(webhookEvents).values(rows).onConflictDoNothing().returning({ id: webhookEvents.id });
  return made.map(({ id }) => id);
}

/**
 * An event and its endpoint, both held until the transaction ends; always the endpoint first. So what is decided for one
 * event of an endpoint has seen what was decided for the others, and none waits for one that has just gone.
 */
export async function lockWebhookEvent(
  tx: Tx,
  id: string,
): Promise<{ event: WebhookEventRow; endpoint: EndpointRow } | undefined> {
  const ofEvent = tx.select({ id: webhookEvents.endpoint_id }).from(webhookEvents).where(eq(webhookEvents.id, id));
  // Not a full lock, so that copies of further events can be written meanwhile.
  const [endpoint] = await tx
    .select()
    .from(webhookEndpoints)
    .where(inArray(webhookEndpoints.id, ofEvent))
    .for("no key update");
  const [event] = await tx.select().from(webhookEvents).where(eq(webhookEvents.id, id)).for("update");
  return endpoint && event && { event, endpoint };
}

/** Whether an earlier event of the endpoint is still to be tried for the first time, and not for too long (WHK-13). */
export async function isBlocked(tx: Tx, event: WebhookEventRow, now: Date): Promise<boolean> {
  if (event.attempted_at !== null) return false;
  const [ahead] = await tx
    .select({ id: webhookEvents.id })
    .from(webhookEvents)
    .where(
      and(
        eq(webhookEvents.endpoint_id, event.endpoint_id),
        lt(webhookEvents.seq, event.seq),
        isNull(webhookEvents.attempted_at),
        isNotNull(webhookEvents.next_attempt_at),
        gt(webhookEvents.created_at, new Date(now.getTime() - order_wait_ms_max)),
      ),
    )
    .limit(1);
  return ahead !== undefined;
}

/** The event whose first attempt comes next at an endpoint. */
export async function findNextFirst(tx: Tx, after: WebhookEventRow, now: Date): Promise<string | undefined> {
  const [row] = await tx
    .select({ id: webhookEvents.id })
    .from(webhookEvents)
    .where(
      and(
        eq(webhookEvents.endpoint_id, after.endpoint_id),
        gt(webhookEvents.seq, after.seq),
        isNull(webhookEvents.attempted_at),
        lte(webhookEvents.next_attempt_at, now),
      ),
    )
    .orderBy(asc(webhookEvents.seq))
    .limit(1);
  return row?.id;
}

/** How the latest finished events of an endpoint ended, newest first. */
export async function findLatestOutcomes(tx: Tx, endpoint_id: string): Promise<(boolean | null)[]> {
  const rows = await tx
    .select({ succeeded: webhookEvents.succeeded })
    .from(webhookEvents)
    .where(and(eq(webhookEvents.endpoint_id, endpoint_id), isNotNull(webhookEvents.succeeded)))
    .orderBy(desc(webhookEvents.seq))
    .limit(disable_after_failures);
  return rows.map(({ succeeded }) => succeeded);
}

/** Switch an endpoint off and set aside what was waiting for it. */
export async function disableEndpoint(tx: Tx, id: string, now: Date): Promise<void> {
  await tx.update(webhookEndpoints).set({ enabled: false, modified_at: now }).where(eq(webhookEndpoints.id, id));
  await tx
    .update(webhookEvents)
    .set({ skipped: true, next_attempt_at: null, modified_at: now })
    .where(and(eq(webhookEvents.endpoint_id, id), isNotNull(webhookEvents.next_attempt_at)));
}

/** Due and not queued lately: a retry whose time has come, or work that was lost with its process. */
const isDue = (now: Date, queued_before: Date): SQL | undefined =>
  and(
    lte(webhookEvents.next_attempt_at, now),
    or(isNull(webhookEvents.queued_at), lt(webhookEvents.queued_at, queued_before)),
  );

export async function hasDue(db: Database, now: Date, queued_before: Date): Promise<boolean> {
  const rows = await db.select({ id: webhookEvents.id }).from(webhookEvents).where(isDue(now, queued_before)).limit(1);
  return rows.length > 0;
}

export async function takeDue(tx: Tx, now: Date, queued_before: Date, limit: number): Promise<string[]> {
  const due = await tx
    .select({ id: webhookEvents.id })
    .from(webhookEvents)
    .where(isDue(now, queued_before))
    .orderBy(asc(webhookEvents.seq))
    .limit(limit)
    .for("update", { skipLocked: true });
  const ids = due.map(({ id }) => id);
  if (ids.length > 0) await tx.update(webhookEvents).set({ queued_at: now }).where(inArray(webhookEvents.id, ids));
  return ids;
}

/** Empty events older than `before`; what was still to be sent of them is dropped (WHK-16). */
export async function archiveBefore(db: Database, before: Date, now: Date, limit: number): Promise<number> {
  const old = db
    .select({ id: webhookEvents.id })
    .from(webhookEvents)
    .where(and(lt(webhookEvents.created_at, before), sql`not ${webhookEvents.is_archived}`))
    .limit(limit);
  const gone = await db
    .update(webhookEvents)
    .set({ payload: null, is_archived: true, next_attempt_at: null, modified_at: now })
    .where(inArray(webhookEvents.id, old))
    .returning({ id: webhookEvents.id });
  return gone.length;
}

/**
 * Of these occurrences, the ones the seller has been told of: an endpoint in the raw format took it, or none will be
 * asked to (WHK-19).
 */
export async function findTold(db: Database, event_ids: readonly string[]): Promise<string[]> {
  if (event_ids.length === 0) return [];
  const endpoint = alias(webhookEndpoints, "raw");
  const copies = (condition: SQL) =>
    exists(
      db
        .select({ one: sql`1` })
        .from(webhookEvents)
        .innerJoin(endpoint, and(eq(endpoint.id, webhookEvents.endpoint_id), eq(endpoint.format, "raw")))
        .where(
          and(
            eq(webhookEvents.organization_id, events.organization_id),
            eq(webhookEvents.event_id, events.id),
            condition,
          ),
        ),
    );
  const rows = await db
    .select({ id: events.id })
    .from(events)
    .where(
      and(
        inArray(events.id, [...event_ids]),
        isNotNull(events.dispatched_at),
        or(copies(eq(webhookEvents.succeeded, true)), not(copies(eq(webhookEvents.skipped, false)))),
      ),
    );
  return rows.map(({ id }) => id);
}

export type DeliveryFilter = { where: SQL | undefined; limit: number; offset: number };

/** Attempts with the event each belongs to, newest first. */
export async function findDeliveries(db: Database, { where, limit, offset }: DeliveryFilter) {
  const rows = await db
    .select({ delivery: webhookDeliveries, event: webhookEvents })
    .from(webhookDeliveries)
    .innerJoin(webhookEvents, eq(webhookEvents.id, webhookDeliveries.webhook_event_id))
    .where(where)
    .orderBy(desc(webhookDeliveries.created_at), desc(webhookDeliveries.id))
    .limit(limit)
    .offset(offset);
  const [count] = await db
    .select({ total: sql<number>`count(*)::int` })
    .from(webhookDeliveries)
    .innerJoin(webhookEvents, eq(webhookEvents.id, webhookDeliveries.webhook_event_id))
    .where(where);
  return { rows, total: count?.total ?? 0 };
}
