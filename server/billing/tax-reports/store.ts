import { and, eq, lte, type SQL } from "drizzle-orm";
import type { Database, Tx } from "../../platform/context.ts";
import { matchKey, type RowKey } from "../../platform/db/rows.ts";
import { taxReports } from "./tables.ts";

export type ReportRow = typeof taxReports.$inferSelect;

/** Add a report, unless there is one of the same cause. Returns whether it was added. */
export async function insertReport(tx: Tx, values: typeof taxReports.$inferInsert): Promise<boolean> {
  const rows = await tx.insert(taxReports).values(values).onConflictDoNothing().returning({ id: taxReports.id });
  return rows.length > 0;
}

async function find(db: Database, organization_id: string, which: SQL | undefined): Promise<ReportRow | undefined> {
  const [row] = await db
    .select()
    .from(taxReports)
    .where(and(eq(taxReports.organization_id, organization_id), which));
  return row;
}

/** The report of an order's sale; undefined where no service computed its tax. */
export const findSale = (
  db: Database,
  { organization_id, order_id }: Pick<ReportRow, "organization_id" | "order_id">,
) => find(db, organization_id, and(eq(taxReports.order_id, order_id), eq(taxReports.kind, "sale")));

/** By what money goes back. */
export type ReportCause = { refund_id: string } | { dispute_id: string };

/** The report that something went back; undefined where there is none. */
export const findReturn = (db: Database, organization_id: string, cause: ReportCause) =>
  find(
    db,
    organization_id,
    and(
      "refund_id" in cause ? eq(taxReports.refund_id, cause.refund_id) : eq(taxReports.dispute_id, cause.dispute_id),
      eq(taxReports.kind, "refund"),
    ),
  );

/** Take a report, if it is due. It is put off first, so that no other server works on it at the same time. */
export async function claimDueReport(
  db: Database,
  key: RowKey,
  now: Date,
  again: Date,
): Promise<ReportRow | undefined> {
  const [row] = await db
    .update(taxReports)
    .set({ due_at: again })
    .where(and(matchKey(taxReports, key), lte(taxReports.due_at, now)))
    .returning();
  return row;
}

/** Write down that the service has been told. */
export async function markTold(
  db: Database,
  row: ReportRow,
  told: Pick<ReportRow, "processor_id"> & Partial<Pick<ReportRow, "line_id">>,
): Promise<ReportRow> {
  const patch = { ...told, due_at: null };
  await db.update(taxReports).set(patch).where(matchKey(taxReports, row));
  return { ...row, ...patch };
}
