/** What waits to be told to receivers, for the operator. Sandboxes do not count: their clocks are their own. */
import { and, asc, desc, eq, isNotNull, isNull, or, type SQL, sql } from "drizzle-orm";
import { organization } from "../../identity/organizations/tables.ts";
import type { Database } from "../../platform/context.ts";
import { events } from "../../platform/db/tables.ts";
import { isHeld, isQueued, webhookEndpoints, webhookEvents } from "./tables.ts";

/** When the oldest event was written that has no copies yet, and the oldest of which a copy has not arrived; null if none. */
export type Outbox = { undispatched_at: Date | null; undelivered_at: Date | null };

const isOfSeller = (organization_id: typeof events.organization_id | typeof webhookEndpoints.organization_id) =>
  and(eq(organization.id, organization_id), eq(organization.sandbox, false));
/** Something may wait for an endpoint: it has a next turn, or is off and its events are kept. */
const mayWait = and(
  isNull(webhookEndpoints.deleted_at),
  or(isNotNull(webhookEndpoints.due_at), isNotNull(webhookEndpoints.off_since)),
);
const isOfEndpoint = and(
  eq(webhookEvents.organization_id, webhookEndpoints.organization_id),
  eq(webhookEvents.endpoint_id, webhookEndpoints.id),
);
/** How many of the first events of a queue are looked at for those that were asked for again. */
const requeuedMax = 1000;

/** What waits for an endpoint, each part through its own index. */
const selectWaiting = (what: SQL, condition: SQL): SQL<number> =>
  sql<number>`(select ${what} from ${webhookEvents} where ${isOfEndpoint} and ${condition})`;

/** How many events wait for an endpoint, as a part of a statement about endpoints. */
export const waitingCount = sql<number>`(${selectWaiting(sql`count(*)`, isQueued(webhookEvents))}
  + ${selectWaiting(sql`count(*)`, isHeld(webhookEvents))})::int`;

/**
 * Since when the oldest event waits for an endpoint: since it happened, or since it was asked for again. The queue is in the
 * order of the events, so its first that was not asked for again is the oldest of these.
 */
const selectOldest = sql`least(
  (select ${events.created_at} from ${webhookEvents} join ${events} on ${events.organization_id} = ${webhookEvents.organization_id}
    and ${events.id} = ${webhookEvents.event_id}
    where ${isOfEndpoint} and ${isQueued(webhookEvents)} and ${webhookEvents.requeued_at} is null
    order by ${webhookEvents.seq} limit 1),
  (select min(first.requeued_at) from (select ${webhookEvents.requeued_at} as requeued_at from ${webhookEvents}
    where ${isOfEndpoint} and ${isQueued(webhookEvents)} order by ${webhookEvents.seq} limit ${requeuedMax}) as first),
  (select min(coalesce(${webhookEvents.requeued_at}, ${events.created_at})) from ${webhookEvents}
    join ${events} on ${events.organization_id} = ${webhookEvents.organization_id} and ${events.id} = ${webhookEvents.event_id}
    where ${isOfEndpoint} and ${isHeld(webhookEvents)}))`;
/** A statement about endpoints alone leaves out the tables of columns that stand directly in what it selects. */
export const oldestWaiting = sql`${selectOldest}`.mapWith(events.created_at);

/** Read what waits in the tables themselves: the workers know only what they have found last. */
export async function findOutbox(db: Database): Promise<Outbox> {
  const [event] = await db
    .select({ at: sql`min(${events.created_at})`.mapWith(events.created_at) })
    .from(events)
    .innerJoin(organization, isOfSeller(events.organization_id))
    .where(isNull(events.dispatched_at));
  const [copy] = await db.select({ at: sql`min(waiting.at)`.mapWith(events.created_at) }).from(
    db
      .select({ at: oldestWaiting.as("at") })
      .from(webhookEndpoints)
      .innerJoin(organization, isOfSeller(webhookEndpoints.organization_id))
      .where(and(mayWait, webhookEndpoints.enabled))
      .as("waiting"),
  );
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
  const waiting = db
    .select({
      organization_id: webhookEndpoints.organization_id,
      endpoint_id: webhookEndpoints.id,
      url: webhookEndpoints.url,
      enabled: webhookEndpoints.enabled,
      oldest_at: oldestWaiting.as("oldest_at"),
      waiting: waitingCount.as("waiting"),
    })
    .from(webhookEndpoints)
    .innerJoin(organization, isOfSeller(webhookEndpoints.organization_id))
    .where(mayWait)
    .as("endpoints");
  const rows = await db
    .select()
    .from(waiting)
    .where(isNotNull(waiting.oldest_at))
    .orderBy(asc(waiting.oldest_at), desc(waiting.endpoint_id))
    .limit(limit);
  return rows as WaitingEndpoint[];
}
