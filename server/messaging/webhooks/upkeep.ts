/** The upkeep of endpoints' queues: what is archived, and what a server of the version before has left. */
import { and, asc, eq, exists, inArray, isNull, or, type SQL, sql } from "drizzle-orm";
import type { Database, Tx } from "../../platform/context.ts";
import { isAmong, joinByKey, matchSeller, type RowKey } from "../../platform/db/rows.ts";
import { releaseObjects, wakeEndpoints } from "./queue.ts";
import { isHeld, isQueued, webhookEndpoints, webhookEvents } from "./tables.ts";

/** Which endpoints these events are for. */
async function findEndpointIds(tx: Tx, organization_id: string, event_ids: readonly string[]): Promise<string[]> {
  const rows = await tx
    .selectDistinct({ id: webhookEvents.endpoint_id })
    .from(webhookEvents)
    .where(isAmong(organization_id, webhookEvents.id, event_ids));
  return rows.map(({ id }) => id);
}

/** These endpoints, kept until the transaction ends, in the order of their ids. */
async function lockEndpointsOfEvents(tx: Tx, organization_id: string, ids: readonly string[]): Promise<void> {
  await tx
    .select({ id: webhookEndpoints.id })
    .from(webhookEndpoints)
    .where(and(eq(webhookEndpoints.organization_id, organization_id), inArray(webhookEndpoints.id, [...ids])))
    .orderBy(asc(webhookEndpoints.id))
    .for("no key update");
}

/** Delete the payloads of a seller's events and cancel their pending deliveries; what waited for these has its turn (WHK-16). */
export async function archiveEvents(tx: Tx, keys: readonly RowKey[], now: Date): Promise<void> {
  const organization_id = matchSeller(keys);
  const ids = keys.map(({ id }) => id);
  const endpoint_ids = await findEndpointIds(tx, organization_id, ids);
  await lockEndpointsOfEvents(tx, organization_id, endpoint_ids);
  const canceled = await tx
    .update(webhookEvents)
    .set({ payload: null, is_archived: true, next_attempt_at: null, waits: false, modified_at: now })
    .where(isAmong(organization_id, webhookEvents.id, ids))
    .returning({ endpoint_id: webhookEvents.endpoint_id, object_id: webhookEvents.object_id });
  for (const [id, own] of Map.groupBy(canceled, ({ endpoint_id }) => endpoint_id))
    await releaseObjects(
      tx,
      { organization_id, id },
      own.map(({ object_id }) => object_id),
    );
  await wakeEndpoints(tx, organization_id, endpoint_ids, now);
}

/**
 * Give endpoints their turn that have none, though something waits for them: a server of the version before wrote it, which
 * knew no turns. Its marks of order are taken away, as these meant something else.
 */
export async function restartQueues(db: Database): Promise<void> {
  const { object_id, waits } = webhookEvents;
  await db
    .update(webhookEvents)
    .set({ waits: false })
    .where(and(isHeld(webhookEvents), eq(waits, true), isNull(object_id)));
  const hasWaiting = (condition: SQL) =>
    exists(
      db
        .select({ one: sql`1` })
        .from(webhookEvents)
        .where(and(joinByKey(webhookEvents.endpoint_id, webhookEndpoints), condition)),
    );
  const { due_at, enabled, deleted_at, created_at } = webhookEndpoints;
  await db
    .update(webhookEndpoints)
    .set({ due_at: sql`${created_at}` })
    .where(
      and(
        isNull(due_at),
        eq(enabled, true),
        isNull(deleted_at),
        or(hasWaiting(isQueued(webhookEvents)), hasWaiting(isHeld(webhookEvents))),
      ),
    );
}
