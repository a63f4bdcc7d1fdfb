/** The statements of endpoints' queues: events that wait for their attempts, in their order, and what becomes of them. */
import { and, asc, eq, getTableColumns, gt, inArray, isNotNull, lte, min, type SQL, sql } from "drizzle-orm";
import type { Deps, Tx } from "../../platform/context.ts";
import { writeArray } from "../../platform/db/arrays.ts";
import { isAmong, matchKey, type RowKey } from "../../platform/db/rows.ts";
import { events } from "../../platform/db/tables.ts";
import { isHeld, isQueued, isRepeated, webhookEndpoints, webhookEvents } from "./tables.ts";

type EndpointRow = typeof webhookEndpoints.$inferSelect;
type WebhookEventRow = typeof webhookEvents.$inferSelect;
/** Where an event comes from: the request that caused it, and the trace of that. */
export type Origin = Pick<typeof events.$inferSelect, "request_id" | "traceparent">;
/** An event that is sent. */
type SentRow = WebhookEventRow & { origin: Origin | null };

const sent = {
  ...getTableColumns(webhookEvents),
  origin: sql<Origin | null>`(select json_build_object('request_id', request_id, 'traceparent', traceparent) from ${events} where ${events.organization_id} = ${webhookEvents.organization_id}
    and ${events.id} = ${webhookEvents.event_id})`,
};

/** How many of a run may be repeated attempts, so that new events are sent beside them. */
const repeatedShareMax = 10;
/** How many times a run looks for events after those that must wait for their object. */
const roundsMax = 10;

const matchQueue = ({ organization_id, id }: RowKey): SQL | undefined =>
  and(eq(webhookEvents.organization_id, organization_id), eq(webhookEvents.endpoint_id, id));

/** An endpoint, kept until the transaction ends, whatever became of it. Who holds it decides about its whole queue. */
export async function lockEndpoint(tx: Tx, key: RowKey): Promise<EndpointRow | undefined> {
  const [endpoint] = await tx
    .select()
    .from(webhookEndpoints)
    .where(matchKey(webhookEndpoints, key))
    .for("no key update");
  return endpoint;
}

/**
 * The next events of an endpoint in their order, kept until the transaction ends: attempts that are due again, and the first of
 * the queue. Events whose object has an earlier one that waits are held back until that one is through (WHK-13).
 */
export async function lockNext(tx: Tx, endpoint: RowKey, now: Date, limit: number): Promise<SentRow[]> {
  const { next_attempt_at, seq } = webhookEvents;
  const repeated = await tx
    .select(sent)
    .from(webhookEvents)
    .where(and(matchQueue(endpoint), isRepeated(webhookEvents), lte(next_attempt_at, now)))
    .orderBy(asc(next_attempt_at))
    .limit(Math.min(repeatedShareMax, limit))
    .for("update");
  for (let round = 0; round < roundsMax; round += 1) {
    const queued = await tx
      .select(sent)
      .from(webhookEvents)
      .where(and(matchQueue(endpoint), isQueued(webhookEvents)))
      .orderBy(asc(seq))
      .limit(limit - repeated.length)
      .for("update");
    const held = await findHeldObjects(tx, endpoint, queued);
    const blocked = queued.filter((row) => row.seq > (held.get(row.object_id ?? "") ?? row.seq));
    if (blocked.length === 0) return [...repeated, ...queued].sort((a, b) => a.seq - b.seq);
    const ids = blocked.map(({ id }) => id);
    await tx
      .update(webhookEvents)
      .set({ waits: true })
      .where(isAmong(endpoint.organization_id, webhookEvents.id, ids));
  }
  return repeated;
}

/** The objects of these events of which an event is held, with the first one's number. Nobody waits for what was asked for again. */
async function findHeldObjects(
  tx: Tx,
  endpoint: RowKey,
  queued: readonly WebhookEventRow[],
): Promise<Map<string, number>> {
  const objects = [...new Set(queued.flatMap(({ object_id }) => object_id ?? []))];
  if (objects.length === 0) return new Map();
  const { object_id, seq, requeued_at, waits } = webhookEvents;
  const rows = await tx
    .select({ object_id, first: sql<string>`min(${seq})` })
    .from(webhookEvents)
    .where(
      and(
        matchQueue(endpoint),
        isHeld(webhookEvents),
        sql`${object_id} = any(${writeArray(objects, "text")})`,
        sql`(${waits} or ${requeued_at} is null)`,
      ),
    )
    .groupBy(object_id);
  return new Map(rows.map((row) => [row.object_id ?? "", Number(row.first)]));
}

/** Let events that waited for others of these objects have their turn. The caller holds the endpoint. */
export async function releaseObjects(tx: Tx, endpoint: RowKey, objects: readonly (string | null)[]): Promise<void> {
  const named = [...new Set(objects.flatMap((object) => object ?? []))];
  if (named.length === 0) return;
  await tx
    .update(webhookEvents)
    .set({ waits: false })
    .where(
      and(
        matchQueue(endpoint),
        isHeld(webhookEvents),
        eq(webhookEvents.waits, true),
        sql`${webhookEvents.object_id} = any(${writeArray(named, "text")})`,
      ),
    );
}

/** When something of an endpoint is to be sent next: now, later, or never. */
export async function findNextAt(tx: Tx, endpoint: RowKey, now: Date): Promise<Date | null> {
  const [queued] = await tx
    .select({ one: sql`1` })
    .from(webhookEvents)
    .where(and(matchQueue(endpoint), isQueued(webhookEvents)))
    .limit(1);
  if (queued) return now;
  const [repeated] = await tx
    .select({ at: min(webhookEvents.next_attempt_at) })
    .from(webhookEvents)
    .where(and(matchQueue(endpoint), isRepeated(webhookEvents)));
  return repeated?.at ?? null;
}

type Schedule = Partial<
  Pick<EndpointRow, "due_at" | "lease" | "process_id" | "paused_until" | "failures" | "failing_since">
>;
/** Say when an endpoint has its turn, and who has it. The caller holds the endpoint. */
export async function scheduleEndpoint(tx: Tx, endpoint: RowKey, schedule: Schedule): Promise<void> {
  await tx.update(webhookEndpoints).set(schedule).where(matchKey(webhookEndpoints, endpoint));
}

/** Let what waits for another attempt have its turn: the receiver answers again. The caller holds the endpoint. */
export async function scheduleRepeated(tx: Tx, endpoint: RowKey, now: Date): Promise<void> {
  await tx
    .update(webhookEvents)
    .set({ next_attempt_at: now })
    .where(and(matchQueue(endpoint), isRepeated(webhookEvents), gt(webhookEvents.next_attempt_at, now)));
}

/** Free the queues that these processes have taken, which are gone (OPS-02). */
export async function releaseQueues(
  tx: Tx,
  { jobs }: Pick<Deps, "jobs">,
  { process_ids }: { process_ids: readonly string[] },
): Promise<void> {
  const { process_id, lease } = webhookEndpoints;
  const released = await tx
    .update(webhookEndpoints)
    .set({ lease: null, process_id: null, due_at: webhookEndpoints.created_at })
    .where(and(inArray(process_id, [...process_ids]), isNotNull(lease)))
    .returning({ id: webhookEndpoints.id });
  if (released.length > 0) jobs.wake(tx, "webhooks.deliver");
}

/**
 * Let endpoints that got events have their turn, unless a sender has it already and looks for more. A sender that is just ending its
 * turn has not seen these events, so its end is awaited. The conditions ask the locked row: the row that the statement began with
 * may be an earlier one.
 */
export async function wakeEndpoints(tx: Tx, organization_id: string, ids: readonly string[], now: Date): Promise<void> {
  const { id, due_at, paused_until, lease, enabled, deleted_at } = webhookEndpoints;
  await tx.execute(sql`
    with locked as materialized (
      select ${id}, ${due_at}, ${lease}, ${enabled}, ${deleted_at}, greatest(${now.toISOString()}::timestamptz, ${paused_until}) as at
      from ${webhookEndpoints} where ${isAmong(organization_id, id, ids)} order by ${id} for no key update)
    update ${webhookEndpoints} set due_at = locked.at from locked
    where ${webhookEndpoints.organization_id} = ${organization_id} and ${id} = locked.id and locked.enabled and locked.lease is null
      and locked.deleted_at is null and (locked.due_at is null or locked.due_at > locked.at)`);
}

/** How these events of an endpoint stand, kept until the transaction ends. The caller holds the endpoint. */
export const lockStandings = (tx: Tx, organization_id: string, ids: readonly string[]) => {
  const { id, attempts, succeeded, attempted_at, next_attempt_at, waits, round, object_id, created_at } = webhookEvents;
  return tx
    .select({ id, attempts, succeeded, attempted_at, next_attempt_at, waits, round, object_id, created_at })
    .from(webhookEvents)
    .where(isAmong(organization_id, id, ids))
    .orderBy(asc(webhookEvents.seq))
    .for("update");
};
export type Standing = Awaited<ReturnType<typeof lockStandings>>[number];

type Attempted = Standing & { last_http_code: number | null };

/** Write what became of these events of a seller, of each its own. */
export async function recordAttempts(
  tx: Tx,
  organization_id: string,
  attempted: readonly Attempted[],
  now: Date,
): Promise<void> {
  if (attempted.length === 0) return;
  await tx.execute(sql`
    update ${webhookEvents}
    set modified_at = ${now.toISOString()}::timestamptz, attempts = v.attempts, succeeded = v.succeeded,
      attempted_at = v.attempted_at, next_attempt_at = v.next_attempt_at, waits = v.waits, last_http_code = v.last_http_code
    from json_to_recordset(${JSON.stringify(attempted)}::json) as v (id uuid, attempts integer, succeeded boolean,
      attempted_at timestamptz, next_attempt_at timestamptz, waits boolean, last_http_code integer)
    where ${webhookEvents.organization_id} = ${organization_id} and ${webhookEvents.id} = v.id`);
}

/** Skip some of the events that wait for an endpoint; answers how many. The caller holds the endpoint. */
export async function skipSome(tx: Tx, endpoint: RowKey, now: Date, limit: number): Promise<number> {
  const select = (condition: SQL) =>
    tx
      .select({ id: webhookEvents.id })
      .from(webhookEvents)
      .where(and(matchQueue(endpoint), condition))
      .limit(limit);
  const queued = await select(isQueued(webhookEvents));
  const some = queued.length > 0 ? queued : await select(isHeld(webhookEvents));
  if (some.length === 0) return 0;
  await tx
    .update(webhookEvents)
    .set({ skipped: true, next_attempt_at: null, waits: false, modified_at: now })
    .where(
      and(
        isAmong(
          endpoint.organization_id,
          webhookEvents.id,
          some.map(({ id }) => id),
        ),
        isNotNull(webhookEvents.next_attempt_at),
      ),
    );
  return some.length;
}
