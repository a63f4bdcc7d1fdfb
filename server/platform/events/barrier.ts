import { sql } from "drizzle-orm";
import type { Database } from "../db/transaction.ts";

/** When to look again whether everything that was open is over. */
export const barrierPauseMs = 1000;

/**
 * Where a fence stands that waits for what was open when it was set, as that may still write what it has read before. Without
 * one, the one to be set now; the transaction that asks is open, too, so it is passed by a later one.
 */
export async function checkBarrier(db: Database, fence: string | null): Promise<{ fence: string; isPassed: boolean }> {
  // Below the first number all transactions are over; from the second on none has begun.
  const [row] = await db
    .select({
      from: sql<string>`pg_snapshot_xmin(pg_current_snapshot())::text`,
      to: sql<string>`pg_snapshot_xmax(pg_current_snapshot())::text`,
    })
    .from(sql`(select 1) as one`);
  if (!row) throw new Error("The database does not say what is open.");
  return fence === null ? { fence: row.to, isPassed: false } : { fence, isPassed: BigInt(row.from) >= BigInt(fence) };
}
