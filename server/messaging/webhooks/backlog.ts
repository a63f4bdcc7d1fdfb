/** What waits to be told to receivers, for the operator. Sandboxes do not count: their clocks are their own. */
import { and, asc, desc, eq, isNotNull, isNull, sql } from "drizzle-orm";
import { organization } from "../../identity/organizations/tables.ts";
import type { Database } from "../../platform/context.ts";
import { events } from "../../platform/db/tables.ts";
import { webhookEndpoints, webhookEvents } from "./tables.ts";

/** When the oldest event was written that has no copies yet, and the oldest of which a copy has not arrived; null if none. */
export type Outbox = { undispatched_at: Date | null; undelivered_at: Date | null };

const isOfSeller = (organization_id: typeof events.organization_id | typeof webhookEvents.organization_id) =>
  and(eq(organization.id, organization_id), eq(organization.sandbox, false));
const isPending = and(isNotNull(webhookEvents.next_attempt_at), isNull(webhookEndpoints.deleted_at));
const isOfEndpoint = and(
  eq(webhookEndpoints.organization_id, webhookEvents.organization_id),
  eq(webhookEndpoints.id, webhookEvents.endpoint_id),
);

/** A copy is as old as what it tells. */
const isOfEvent = and(eq(events.organization_id, webhookEvents.organization_id), eq(events.id, webhookEvents.event_id));

/** Read what waits in the tables themselves: the workers know only what they have found last. */
export async function findOutbox(db: Database): Promise<Outbox> {
  const [event] = await db
    .select({ at: sql`min(${events.created_at})`.mapWith(events.created_at) })
    .from(events)
    .innerJoin(organization, isOfSeller(events.organization_id))
    .where(isNull(events.dispatched_at));
  const [copy] = await db
    .select({ at: sql`min(${events.created_at})`.mapWith(events.created_at) })
    .from(webhookEvents)
    .innerJoin(events, isOfEvent)
    .innerJoin(webhookEndpoints, isOfEndpoint)
    .innerJoin(organization, isOfSeller(webhookEvents.organization_id))
    .where(and(isPending, webhookEndpoints.enabled));
  return { undispatched_at: event?.at ?? null, undelivered_at: copy?.at ?? null };
}

export type WaitingEndpoint = {
  organization_id: string;
  endpoint_id: string;
  url: string;
  enabled: boolean;
  waiting: number;
  oldest_at: Date;
};

/** The endpoints with the oldest events that have not arrived. */
export async function listWaitingEndpoints(db: Database, limit: number): Promise<WaitingEndpoint[]> {
  const oldest = sql`min(${events.created_at})`;
  return db
    .select({
      organization_id: webhookEndpoints.organization_id,
      endpoint_id: webhookEndpoints.id,
      url: webhookEndpoints.url,
      enabled: webhookEndpoints.enabled,
      waiting: sql<number>`count(*)::int`,
      oldest_at: oldest.mapWith(events.created_at),
    })
    .from(webhookEvents)
    .innerJoin(events, isOfEvent)
    .innerJoin(webhookEndpoints, isOfEndpoint)
    .innerJoin(organization, isOfSeller(webhookEvents.organization_id))
    .where(isPending)
    .groupBy(webhookEndpoints.organization_id, webhookEndpoints.id)
    .orderBy(asc(oldest), desc(webhookEndpoints.id))
    .limit(limit);
}
