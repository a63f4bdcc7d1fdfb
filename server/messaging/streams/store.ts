import { and, asc, eq, sql } from "drizzle-orm";
import type { Database } from "../../platform/context.ts";
import { events } from "../../platform/db/tables.ts";
import { eventOffset } from "../../platform/events/epoch.ts";
import type { Cursor } from "../../platform/events/tail.ts";

const { xid, seq, organization_id: owner } = events;

/** Whether an organization has an event at this very place. */
export async function hasEventAt(db: Database, organization_id: string, cursor: Cursor): Promise<boolean> {
  const [row] = await db
    .select({ one: sql`1` })
    .from(events)
    .where(and(eq(owner, organization_id), eq(xid, cursor.xid), eq(seq, cursor.seq)));
  return row !== undefined;
}

/** The first event of an organization after a place. */
export async function findFirstAfter(db: Database, organization_id: string, cursor: Cursor) {
  const [row] = await db
    .select({ created_at: events.created_at })
    .from(events)
    .where(and(eq(owner, organization_id), sql`(${xid}, ${seq}) > (${cursor.xid}, ${cursor.seq})`))
    .orderBy(asc(xid), asc(seq))
    .limit(1);
  return row;
}

/** Below this number are cursors from before the database was restored. */
export async function findEventOffset(db: Database): Promise<bigint> {
  const [row] = await db.select({ offset: sql<string>`${eventOffset}::text` }).from(sql`(select 1) as one`);
  return BigInt(row?.offset ?? 0);
}
