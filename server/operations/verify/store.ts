import { and, eq, isNotNull, type SQL, sql } from "drizzle-orm";
import { organization } from "../../identity/organizations/tables.ts";
import type { Database, Tx } from "../../platform/context.ts";
import { events } from "../../platform/db/tables.ts";
import { eventHorizon } from "../../platform/events/epoch.ts";
import { bookChecks } from "./tables.ts";

/** So many events are read of a seller in one check. */
const eventsMax = 500;
/** The kinds of events that say what money depends on. */
const kinds = ["order", "refund", "subscription", "dispute"];

export type Held = NonNullable<typeof bookChecks.$inferSelect.held>;
export type ClaimedCheck = typeof bookChecks.$inferSelect & { lease: string };
type Cursor = { xid: bigint; seq: number };

const isAfter = (xid: SQL, seq: SQL): SQL => sql`(${events.xid}, ${events.seq}) > (${xid}, ${seq})`;

/**
 * The sellers of whom something changed since the last check, and those whose money is held. It costs one step in an index for
 * each seller of the server.
 */
export async function listToCheck(db: Database, now: Date, limit: number): Promise<string[]> {
  const at = sql`${now.toISOString()}::timestamptz`;
  const [xid, seq] = [sql`coalesce(${bookChecks.xid}, 0)`, sql`coalesce(${bookChecks.seq}, 0)`];
  const rows = await db
    .select({ id: organization.id })
    .from(organization)
    .leftJoin(bookChecks, eq(bookChecks.organization_id, organization.id))
    .where(
      and(
        sql`not ${organization.sandbox} and ${organization.held_at} is null`,
        sql`(${bookChecks.rests_until} is null or ${bookChecks.rests_until} <= ${at})`,
        sql`(${bookChecks.held} is not null or exists (select from ${events} where ${events.organization_id} = ${organization.id}
          and ${isAfter(xid, seq)} and ${events.xid} < (select ${eventHorizon})))`,
      ),
    )
    // Who rested longest comes first: those who are due again by then would else keep all others waiting.
    .orderBy(sql`${bookChecks.rests_until} nulls first`, organization.id)
    .limit(limit);
  return rows.map(({ id }) => id);
}

/** Take the check of a seller for oneself; undefined if another process has it. */
export async function claim(
  db: Database,
  asked: { organization_id: string; lease: string; now: Date; until: Date },
): Promise<ClaimedCheck | undefined> {
  const { organization_id, lease, now, until: rests_until } = asked;
  const [row] = await db
    .insert(bookChecks)
    .values({ organization_id, xid: 0n, seq: 0, lease, rests_until })
    .onConflictDoUpdate({
      target: bookChecks.organization_id,
      set: { lease, rests_until },
      setWhere: sql`${bookChecks.rests_until} is null or ${bookChecks.rests_until} <= ${now.toISOString()}::timestamptz`,
    })
    .returning();
  return row && { ...row, lease };
}

/** The customers whose money may have changed since the last check, and the place up to which that is said. */
export async function listChanged(db: Database, { organization_id, ...from }: ClaimedCheck) {
  const customer_id = sql<string | null>`case when split_part(${events.type}, '.', 1) in (${sql.join(
    kinds.map((kind) => sql`${kind}`),
    sql`, `,
  )}) then ${events.data} ->> 'customer_id' end`;
  const rows = await db
    .select({ xid: events.xid, seq: events.seq, customer_id })
    .from(events)
    .where(
      and(
        eq(events.organization_id, organization_id),
        isAfter(sql`${from.xid.toString()}::bigint`, sql`${from.seq}::bigint`),
        sql`${events.xid} < (select ${eventHorizon})`,
      ),
    )
    .orderBy(events.xid, events.seq)
    .limit(eventsMax);
  const last = rows.at(-1);
  const cursor: Cursor = last ? { xid: last.xid, seq: last.seq } : { xid: from.xid, seq: from.seq };
  const customers = [...new Set(rows.flatMap((row) => row.customer_id ?? []))];
  return { customers, cursor, isLast: rows.length < eventsMax };
}

/** Note how far a check has come; answers whether it is still one's own. */
export async function moveOn(
  tx: Tx,
  { organization_id, lease }: ClaimedCheck,
  values: Partial<Cursor> & { rests_until: Date | null },
): Promise<boolean> {
  const moved = await tx
    .update(bookChecks)
    .set({ ...values, lease: null })
    .where(and(eq(bookChecks.organization_id, organization_id), eq(bookChecks.lease, lease)))
    .returning({ organization_id: bookChecks.organization_id });
  return moved.length > 0;
}

/** Keep what holds the money of a seller. */
export async function addHeld(tx: Tx, { organization_id }: ClaimedCheck, held: Held): Promise<void> {
  await tx.update(bookChecks).set({ held }).where(eq(bookChecks.organization_id, organization_id));
}

/** What holds the money of a seller, kept from changing until the transaction ends. */
export async function lockHeld(tx: Tx, organization_id: string): Promise<Held | null> {
  const [row] = await tx
    .select({ held: bookChecks.held })
    .from(bookChecks)
    .where(eq(bookChecks.organization_id, organization_id))
    .for("update");
  return row?.held ?? null;
}

/** Forget what held the money of a seller; `accepted` is not held against it again. */
export async function clearHeld(tx: Tx, organization_id: string, accepted: readonly string[] = []): Promise<void> {
  await tx
    .update(bookChecks)
    .set({ held: null, accepted: sql`${bookChecks.accepted} || ${JSON.stringify(accepted)}::jsonb` })
    .where(eq(bookChecks.organization_id, organization_id));
}

export type MoneyHold = {
  organization_id: string;
  name: string;
  slug: string;
  held_at: Date;
  reason: string;
  held: Held | null;
};

/** List the sellers whose money is held, the first one first. */
export async function listHolds(db: Database, limit: number): Promise<MoneyHold[]> {
  const { id, name, slug, money_held_at, money_held_reason } = organization;
  return db
    .select({
      organization_id: id,
      name,
      slug,
      held_at: sql`${money_held_at}`.mapWith(money_held_at),
      reason: sql<string>`coalesce(${money_held_reason}, '')`,
      held: bookChecks.held,
    })
    .from(organization)
    .leftJoin(bookChecks, eq(bookChecks.organization_id, id))
    .where(isNotNull(money_held_at))
    .orderBy(money_held_at, id)
    .limit(limit);
}
