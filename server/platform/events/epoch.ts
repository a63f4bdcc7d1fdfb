import { desc, sql } from "drizzle-orm";
import { organization } from "../../identity/organizations/tables.ts";
import type { Database, Tx } from "../context.ts";
import { events, restores } from "../db/tables.ts";

/**
 * An epoch of the event table. Events are ordered by the number of the transaction that wrote them, and a restored database may
 * count its transactions from a lower number. Each epoch adds more to the numbers than any cluster has transactions, so the
 * events of this database come after those of the backup, and after every cursor that was handed out before the restore.
 */
const epochTransactions = 10n ** 15n;
/** A cursor has 18 digits. */
const epochsMax = 999n;

/** What is added to the transaction numbers of this database. */
export const eventOffset = sql`coalesce((select max(${restores.event_offset}) from ${restores}), 0)`;

/** Transactions below this are all over, so nothing can still appear among their events. */
export const eventHorizon = sql<string>`(pg_snapshot_xmin(pg_current_snapshot())::text::bigint + ${eventOffset})`;

/** Whether there are events of transactions that this cluster has not begun: the database comes from another cluster. */
export async function hasForeignEvents(db: Database): Promise<boolean> {
  const newest = db
    .select({ xid: events.xid })
    .from(events)
    .where(sql`${events.organization_id} = ${organization.id}`)
    .orderBy(desc(events.xid))
    .limit(1)
    .as("newest");
  const [row] = await db
    .select({ one: sql`1` })
    .from(organization)
    .crossJoinLateral(newest)
    .where(sql`${newest.xid} >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint + ${eventOffset}`)
    .limit(1);
  return row !== undefined;
}

/** Begin the next epoch. Answers its offset, which the caller writes in the same transaction. */
export async function beginEpoch(tx: Tx): Promise<bigint> {
  const [row] = await tx.select({ offset: sql<string>`${eventOffset}::text` }).from(sql`(select 1) as one`);
  const offset = BigInt(row?.offset ?? 0) + epochTransactions;
  if (offset > epochsMax * epochTransactions) throw new Error("A database can be restored 999 times.");
  await tx.execute(
    sql.raw(`alter table events alter column xid set default (pg_current_xact_id()::text::bigint + ${offset})`),
  );
  return offset;
}
