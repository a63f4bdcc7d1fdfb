import { and, desc, eq, gte, lt, lte, max, min, sql } from "drizzle-orm";
import type { Database, Tx } from "../../platform/context.ts";
import { incomingEvents } from "../events/tables.ts";
import { polarConnections, polarLeases, polarRefusals, polarSyncs } from "./tables.ts";

export type ConnectionRow = typeof polarConnections.$inferSelect;
export type SyncRow = typeof polarSyncs.$inferSelect;

export async function findConnection(db: Database, organization_id: string): Promise<ConnectionRow | undefined> {
  const [row] = await db.select().from(polarConnections).where(eq(polarConnections.organization_id, organization_id));
  return row;
}

/** Keep the endpoint of an organization, in place of another. `connected_at` stays that of the first one. */
export async function saveConnection(db: Database, row: ConnectionRow): Promise<void> {
  const { organization_id: _, connected_at: __, ...set } = row;
  await db.insert(polarConnections).values(row).onConflictDoUpdate({ target: polarConnections.organization_id, set });
}

export async function updateConnection(
  db: Database,
  organization_id: string,
  set: Partial<Omit<ConnectionRow, "organization_id">>,
): Promise<void> {
  await db.update(polarConnections).set(set).where(eq(polarConnections.organization_id, organization_id));
}

type LeaseTerms = typeof polarLeases.$inferSelect & { now: Date };
const matchLease = (organization_id: string, holder: string) =>
  and(eq(polarLeases.organization_id, organization_id), eq(polarLeases.holder, holder));

/** Take the lease of an organization, unless another process holds it; answers whether it was taken. */
export async function insertLease(
  tx: Tx,
  { organization_id, holder, now, leased_until }: LeaseTerms,
): Promise<boolean> {
  const taken = await tx
    .insert(polarLeases)
    .values({ organization_id, holder, leased_until })
    .onConflictDoUpdate({
      target: polarLeases.organization_id,
      set: { holder, leased_until },
      setWhere: lte(polarLeases.leased_until, now),
    })
    .returning({ holder: polarLeases.holder });
  return taken.length > 0;
}

/** Hold a lease for longer; answers whether it was still held. */
export async function updateLease(tx: Tx, { organization_id, holder, leased_until }: LeaseTerms): Promise<boolean> {
  const held = await tx
    .update(polarLeases)
    .set({ leased_until })
    .where(matchLease(organization_id, holder))
    .returning({ holder: polarLeases.holder });
  return held.length > 0;
}

/** Give a lease back; answers whether it was still held. */
export async function deleteLease(db: Database, organization_id: string, holder: string): Promise<boolean> {
  const held = await db
    .delete(polarLeases)
    .where(matchLease(organization_id, holder))
    .returning({ holder: polarLeases.holder });
  return held.length > 0;
}

/** Add to the counts of refused deliveries of a day. */
export async function addRefusals(
  db: Database,
  organization_id: string,
  at: Date,
  counts: ReadonlyMap<string, number>,
): Promise<void> {
  const day = at.toISOString().slice(0, 10);
  // In one order, so that two servers never wait for each other.
  const values = [...counts]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([reason, count]) => ({ organization_id, day, reason, count, last_at: at }));
  const { count, last_at } = polarRefusals;
  await db
    .insert(polarRefusals)
    .values(values)
    .onConflictDoUpdate({
      target: [polarRefusals.organization_id, polarRefusals.day, polarRefusals.reason],
      set: { count: sql`${count} + excluded.count`, last_at: sql`greatest(${last_at}, excluded.last_at)` },
    });
}

/** How many deliveries were refused since a day, for each reason. */
export async function countRefusals(db: Database, organization_id: string, since: Date) {
  const { reason, day, count, last_at } = polarRefusals;
  return db
    .select({ reason, count: sql<number>`sum(${count})::int`, last_at: max(last_at) })
    .from(polarRefusals)
    .where(and(eq(polarRefusals.organization_id, organization_id), gte(day, since.toISOString().slice(0, 10))))
    .groupBy(reason)
    .orderBy(reason);
}

export const isOldRefusal = (before: Date) => lt(polarRefusals.day, before.toISOString().slice(0, 10));

export async function findSync(db: Database, organization_id: string): Promise<SyncRow | undefined> {
  const [row] = await db.select().from(polarSyncs).where(eq(polarSyncs.organization_id, organization_id));
  return row;
}

/** Begin a sync in place of the one before. */
export async function beginSync(
  db: Database,
  values: Pick<SyncRow, "organization_id" | "started_at" | "kinds" | "is_automatic">,
): Promise<SyncRow> {
  const fresh = { position: 0, stage: "list", page: 1, total: 0, returns: 0, after: "", counts: {} } as const;
  const [row] = await db
    .insert(polarSyncs)
    .values({ ...values, ...fresh })
    .onConflictDoUpdate({
      target: polarSyncs.organization_id,
      // A step of the one before that is under way must not count for this one.
      set: { ...values, ...fresh, finished_at: null, step: sql`${polarSyncs.step} + 1` },
    })
    .returning();
  if (!row) throw new Error("A sync was inserted and not returned.");
  return row;
}

/** Go on with a sync; undefined where another process took this step. */
export async function advanceSync(
  tx: Tx,
  { organization_id, step }: SyncRow,
  set: Partial<Omit<SyncRow, "organization_id" | "step">>,
): Promise<SyncRow | undefined> {
  const [row] = await tx
    .update(polarSyncs)
    .set({ ...set, step: step + 1 })
    .where(and(eq(polarSyncs.organization_id, organization_id), eq(polarSyncs.step, step)))
    .returning();
  return row;
}

/** What is known of the events that arrived: the newest, how many there are by state, and what waits. */
export async function readArrivals(db: Database, organization_id: string, since: Date) {
  const mine = eq(incomingEvents.organization_id, organization_id);
  const { type, event_at, received_at, secret_index, state, duplicates, due_at } = incomingEvents;
  const [last] = await db
    .select({ type, event_at, received_at, secret_index })
    .from(incomingEvents)
    .where(mine)
    .orderBy(desc(received_at))
    .limit(1);
  const states = await db
    .select({ state, count: sql<number>`count(*)::int`, duplicates: sql<number>`sum(${duplicates})::int` })
    .from(incomingEvents)
    .where(and(mine, gte(received_at, since)))
    .groupBy(state)
    .orderBy(state);
  const [waiting] = await db
    .select({ count: sql<number>`count(*)::int`, oldest_at: min(received_at) })
    .from(incomingEvents)
    .where(and(mine, sql`${due_at} is not null`));
  return { last, states, waiting: waiting ?? { count: 0, oldest_at: null } };
}
