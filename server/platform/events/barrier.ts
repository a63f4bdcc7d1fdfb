import { sql } from "drizzle-orm";
import type { Database } from "../db/transaction.ts";

/** The pause before checking again whether all earlier transactions have ended. */
export const barrierPauseMs = 1000;

/**
 * Check whether all transactions that were open when the fence was set have ended; they may still write from earlier reads.
 * With `null`, set a fence. The transaction that sets it is open too, so only a later transaction can pass it.
 */
export async function checkBarrier(db: Database, fence: string | null): Promise<{ fence: string; isPassed: boolean }> {
  // All transactions below `from` have ended; none from `to` on has begun.
  const [row] = await db
    .select({
      from: sql<string>`pg_snapshot_xmin(pg_current_snapshot())::text`,
      to: sql<string>`pg_snapshot_xmax(pg_current_snapshot())::text`,
    })
    .from(sql`(select 1) as one`);
  if (!row) throw new Error("The database does not say what is open.");
  return fence === null ? { fence: row.to, isPassed: false } : { fence, isPassed: BigInt(row.from) >= BigInt(fence) };
}
