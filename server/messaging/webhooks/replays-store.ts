/** The statements of replays: which events of an endpoint are sent again, and how far that is. */
import { and, asc, count, eq, gt, gte, inArray, isNull, lte, max, min, type SQL, sql } from "drizzle-orm";
import type { Database, Tx } from "../../platform/context.ts";
import { isAmong, matchKey, type RowKey } from "../../platform/db/rows.ts";
import { isQueued, webhookEvents, webhookReplays } from "./tables.ts";

export type ReplayRow = typeof webhookReplays.$inferSelect;
type Chosen = Pick<ReplayRow, "organization_id" | "endpoint_id" | "since" | "types" | "failed_only">;

/** The events that a replay is about. What waits to be sent is sent anyway, and what is archived has no body. */
const matchChosen = ({ organization_id, endpoint_id, since, types, failed_only }: Chosen): SQL | undefined =>
  and(
    eq(webhookEvents.organization_id, organization_id),
    eq(webhookEvents.endpoint_id, endpoint_id),
    gte(webhookEvents.created_at, since),
    eq(webhookEvents.is_archived, false),
    isNull(webhookEvents.next_attempt_at),
    types === null ? undefined : inArray(webhookEvents.type, types),
    failed_only ? sql`${webhookEvents.succeeded} is not true` : undefined,
  );

/** How many events a replay is about, and the numbers of the first and the last. */
export async function countChosen(db: Database, chosen: Chosen) {
  const { seq } = webhookEvents;
  const [row] = await db
    .select({ total: count(), first: min(seq), last: max(seq) })
    .from(webhookEvents)
    .where(matchChosen(chosen));
  return { total: row?.total ?? 0, first: row?.first ?? 0, last: row?.last ?? 0 };
}

export async function insertReplay(tx: Tx, row: typeof webhookReplays.$inferInsert): Promise<ReplayRow> {
  const [made] = await tx.insert(webhookReplays).values(row).returning();
  if (!made) throw new Error("A replay was inserted and not returned.");
  return made;
}

export async function findReplay(db: Database, key: RowKey): Promise<ReplayRow | undefined> {
  const [row] = await db.select().from(webhookReplays).where(matchKey(webhookReplays, key));
  return row;
}

/** A replay, kept until the transaction ends. */
export async function lockReplay(tx: Tx, key: RowKey): Promise<ReplayRow | undefined> {
  const [row] = await tx.select().from(webhookReplays).where(matchKey(webhookReplays, key)).for("update");
  return row;
}

/** The replay of an endpoint that goes on, if there is one. The caller holds the endpoint. */
export async function findOpenReplay(tx: Tx, { organization_id, id }: RowKey): Promise<ReplayRow | undefined> {
  const [row] = await tx
    .select()
    .from(webhookReplays)
    .where(
      and(
        eq(webhookReplays.organization_id, organization_id),
        eq(webhookReplays.endpoint_id, id),
        isNull(webhookReplays.finished_at),
      ),
    );
  return row;
}

export async function updateReplay(tx: Tx, row: ReplayRow, patch: Partial<ReplayRow>): Promise<ReplayRow> {
  const [updated] = await tx.update(webhookReplays).set(patch).where(matchKey(webhookReplays, row)).returning();
  return updated ?? row;
}

/** Whether some of what a replay has put in the queue waits there for its first attempt. */
export async function isSliceWaiting(tx: Tx, { organization_id, endpoint_id, last_seq }: ReplayRow): Promise<boolean> {
  const [row] = await tx
    .select({ one: sql`1` })
    .from(webhookEvents)
    .where(
      and(
        eq(webhookEvents.organization_id, organization_id),
        eq(webhookEvents.endpoint_id, endpoint_id),
        isQueued(webhookEvents),
        lte(webhookEvents.seq, last_seq),
      ),
    )
    .limit(1);
  return row !== undefined;
}

/**
 * Put the next events of a replay in the queue, in their order, as new ones: the events of an object wait for each other. Answers
 * how many, and the number of the last. The caller holds the endpoint.
 */
export async function requeueSome(tx: Tx, replay: ReplayRow, now: Date, limit: number) {
  const { id, seq, round } = webhookEvents;
  const some = await tx
    .select({ id, seq })
    .from(webhookEvents)
    .where(and(matchChosen(replay), gt(seq, replay.last_seq), lte(seq, replay.until_seq)))
    .orderBy(asc(seq))
    .limit(limit)
    .for("update");
  const ids = some.map((row) => row.id);
  if (ids.length > 0)
    await tx
      .update(webhookEvents)
      .set({
        ...{ skipped: false, attempts: 0, attempted_at: null, waits: false, requeued_at: null },
        ...{ next_attempt_at: now, round: sql`${round} + 1`, modified_at: now },
      })
      .where(isAmong(replay.organization_id, id, ids));
  return { count: some.length, last_seq: some.at(-1)?.seq ?? replay.until_seq };
}
