/** The statements of endpoints' queues: events that wait for their attempts, in their order, and what becomes of them. */
import { and, asc, desc, eq, gte, inArray, isNotNull, isNull, lt, type SQL, sql } from "drizzle-orm";
import type { AnyPgColumn } from "drizzle-orm/pg-core";
import type { Tx } from "../../platform/context.ts";
import { isAmong, matchKey } from "../../platform/db/rows.ts";
import type { EndpointRow, WebhookEventRow } from "./store.ts";
import { webhookEndpoints, webhookEvents } from "./tables.ts";

/** Whose and which endpoint's events are meant. */
export type Queue = { organization_id: string; endpoint_id: string | AnyPgColumn };

/** The events of an endpoint that were not tried yet. */
const matchQueue = ({ organization_id, endpoint_id }: Queue): SQL | undefined =>
  and(
    eq(webhookEvents.organization_id, organization_id),
    eq(webhookEvents.endpoint_id, endpoint_id),
    isNull(webhookEvents.attempted_at),
    isNotNull(webhookEvents.next_attempt_at),
  );

/** Which of an organization's endpoints have events that were not tried yet, and since when the last of them waits. */
export async function findQueues(tx: Tx, organization_id: string): Promise<Map<string, Date>> {
  const last = tx
    .select({ created_at: webhookEvents.created_at })
    .from(webhookEvents)
    .where(matchQueue({ organization_id, endpoint_id: webhookEndpoints.id }))
    .orderBy(desc(webhookEvents.seq))
    .limit(1)
    .as("last");
  const rows = await tx
    .select({ id: webhookEndpoints.id, since: last.created_at })
    .from(webhookEndpoints)
    .innerJoinLateral(last, sql`true`)
    .where(eq(webhookEndpoints.organization_id, organization_id));
  return new Map(rows.map(({ id, since }) => [id, since]));
}

/** The first of an endpoint's events that were not tried yet, kept until the transaction ends. The caller holds the endpoint. */
export const lockQueue = (tx: Tx, queue: Queue & { endpoint_id: string }, limit: number): Promise<WebhookEventRow[]> =>
  tx.select().from(webhookEvents).where(matchQueue(queue)).orderBy(asc(webhookEvents.seq)).limit(limit).for("update");

/** An endpoint, kept until the transaction ends, whatever became of it. */
export async function lockEndpointOfQueue(
  tx: Tx,
  { organization_id, endpoint_id }: Queue & { endpoint_id: string },
): Promise<EndpointRow | undefined> {
  const mine = matchKey(webhookEndpoints, { organization_id, id: endpoint_id });
  const [endpoint] = await tx.select().from(webhookEndpoints).where(mine).for("no key update");
  return endpoint;
}

/** How these events of an endpoint stand, kept until the transaction ends. The caller holds the endpoint. */
export const lockStandings = (tx: Tx, organization_id: string, ids: readonly string[]) => {
  const { id, attempts, succeeded, attempted_at, next_attempt_at, waits } = webhookEvents;
  return tx
    .select({ id, attempts, succeeded, attempted_at, next_attempt_at, waits })
    .from(webhookEvents)
    .where(isAmong(organization_id, id, ids))
    .orderBy(asc(webhookEvents.seq))
    .for("update");
};

type Turn = Pick<WebhookEventRow, "id" | "next_attempt_at" | "waits">;

/** Say of each of these events of a seller when its turn is. */
export async function scheduleAttempts(tx: Tx, organization_id: string, turns: readonly Turn[]): Promise<void> {
  if (turns.length === 0) return;
  await tx.execute(sql`
    update ${webhookEvents} set next_attempt_at = v.next_attempt_at, waits = v.waits
    from json_to_recordset(${JSON.stringify(turns)}::json) as v (id uuid, next_attempt_at timestamptz, waits boolean)
    where ${webhookEvents.organization_id} = ${organization_id} and ${webhookEvents.id} = v.id`);
}

type Attempted = Awaited<ReturnType<typeof lockStandings>>[number] & { last_http_code: number | null };

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

/** Let the first of an endpoint's events that were not tried yet have its turn, if it waited for it. The caller holds the endpoint. */
export async function releaseNext(tx: Tx, queue: Queue & { endpoint_id: string }, now: Date): Promise<boolean> {
  const first = tx
    .select({ id: webhookEvents.id })
    .from(webhookEvents)
    .where(matchQueue(queue))
    .orderBy(asc(webhookEvents.seq))
    .limit(1);
  const released = await tx
    .update(webhookEvents)
    .set({ waits: false, next_attempt_at: now })
    .where(
      and(
        eq(webhookEvents.organization_id, queue.organization_id),
        inArray(webhookEvents.id, first),
        eq(webhookEvents.waits, true),
      ),
    )
    .returning({ id: webhookEvents.id });
  return released.length > 0;
}

/** Let an endpoint's events that wait for those before them wait until then, if they would be let go before. The caller holds the endpoint. */
export async function delayQueue(tx: Tx, queue: Queue & { endpoint_id: string }, until: Date): Promise<void> {
  await tx
    .update(webhookEvents)
    .set({ next_attempt_at: until })
    .where(and(matchQueue(queue), eq(webhookEvents.waits, true), lt(webhookEvents.next_attempt_at, until)));
}

/** End the pause of an endpoint: the first of its events, if it was deferred until then, is due now. The caller holds the endpoint. */
export async function releasePaused(
  tx: Tx,
  { organization_id, id, paused_until }: EndpointRow,
  now: Date,
): Promise<void> {
  if (!paused_until || paused_until <= now) return;
  const mine = { organization_id, endpoint_id: id };
  const first = tx
    .select({ id: webhookEvents.id })
    .from(webhookEvents)
    .where(matchQueue(mine))
    .orderBy(asc(webhookEvents.seq))
    .limit(1);
  // One that was taken by a sender meanwhile is due before the end of the pause, and is left to it.
  const isDeferred = gte(webhookEvents.next_attempt_at, paused_until);
  await tx
    .update(webhookEvents)
    .set({ waits: false, next_attempt_at: now })
    .where(and(eq(webhookEvents.organization_id, organization_id), inArray(webhookEvents.id, first), isDeferred));
}
