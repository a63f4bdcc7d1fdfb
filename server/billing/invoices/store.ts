import { and, count, eq, getTableColumns, isNotNull, isNull, lte, sql } from "drizzle-orm";
import type { AnyPgColumn } from "drizzle-orm/pg-core";
import type { Database, Tx } from "../../platform/context.ts";
import { computeOffset, type Paging } from "../../platform/db/page.ts";
import { matchKey, type RowKey } from "../../platform/db/rows.ts";
import type { RefundRow } from "../refunds/rules.ts";
import { refunds } from "../refunds/tables.ts";
import type { DocumentKind } from "./document.ts";
import type { InvoiceRow, PrintQueue } from "./rules.ts";
import { documentCounters, invoiceExportOrders, invoiceExports, invoices } from "./tables.ts";

/** Which document: of an order, or of a refund of it. */
export type DocumentPlace = { organization_id: string; kind: DocumentKind; order_id: string; refund_id: string | null };

const isAt = ({ organization_id, kind, order_id, refund_id }: DocumentPlace) =>
  and(
    eq(invoices.organization_id, organization_id),
    refund_id === null ? eq(invoices.order_id, order_id) : eq(invoices.refund_id, refund_id),
    eq(invoices.kind, kind),
  );

/** A document, if it was ever asked for. */
export async function findInvoice(db: Database, place: DocumentPlace): Promise<InvoiceRow | undefined> {
  const [row] = await db.select().from(invoices).where(isAt(place));
  return row;
}

/** Have a document made anew. */
export async function scheduleInvoice(tx: Tx, key: RowKey, now: Date): Promise<void> {
  await tx.update(invoices).set({ due_at: now, digest: null, crashes: 0 }).where(matchKey(invoices, key));
}

/** Have what was made of an order looked at again: what stands in it may have changed. */
export async function scheduleOfOrder(tx: Tx, order: RowKey, now: Date): Promise<boolean> {
  const rows = await tx
    .update(invoices)
    .set({ due_at: now })
    .where(and(eq(invoices.organization_id, order.organization_id), eq(invoices.order_id, order.id)))
    .returning({ id: invoices.id });
  return rows.length > 0;
}

/** Add a document; undefined where another was faster. */
export async function insertInvoice(tx: Tx, values: typeof invoices.$inferInsert): Promise<InvoiceRow | undefined> {
  const [row] = await tx.insert(invoices).values(values).onConflictDoNothing().returning();
  return row;
}

/**
 * The next number of a series. Its counter stays locked until the transaction ends, so that what was committed has no gap and
 * no double; it is taken last.
 */
export async function assignNumber(tx: Tx, organization_id: string, series: string): Promise<string> {
  const [row] = await tx
    .insert(documentCounters)
    .values({ organization_id, series, next_number: 2 })
    .onConflictDoUpdate({
      target: [documentCounters.organization_id, documentCounters.series],
      set: { next_number: sql`${documentCounters.next_number} + 1` },
    })
    .returning({ next_number: documentCounters.next_number });
  if (!row) throw new Error(`The series ${series} gave no number.`);
  return `${series}-${String(row.next_number - 1).padStart(4, "0")}`;
}

/** Hold a series, so that whoever else wants its next number sees what was made meanwhile. */
export const lockSeries = (tx: Tx, organization_id: string, series: string): Promise<unknown> =>
  tx.execute(sql`select pg_advisory_xact_lock(hashtextextended(${`${organization_id} ${series}`}, 0))`);

export type ExportRow = typeof invoiceExports.$inferSelect;

/** What waits to be collected and printed; one export after the other is counted. */
export async function lockQueues(
  tx: Tx,
  organization_id: string,
): Promise<{ organization: PrintQueue; all: PrintQueue }> {
  await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended('invoice exports', 0))`);
  const selectCounts = (owner: AnyPgColumn) => ({
    own: sql<number>`count(*) filter (where ${owner} = ${organization_id})::int`,
    all: sql<number>`count(*)::int`,
  });
  const [collecting] = await tx
    .select(selectCounts(invoiceExports.organization_id))
    .from(invoiceExports)
    .where(isNotNull(invoiceExports.due_at));
  const [waiting] = await tx
    .select(selectCounts(invoices.organization_id))
    .from(invoices)
    .where(isNotNull(invoices.due_at));
  return {
    organization: { exports: collecting?.own ?? 0, documents: waiting?.own ?? 0 },
    all: { exports: collecting?.all ?? 0, documents: waiting?.all ?? 0 },
  };
}

/** Begin an export. */
export async function insertExport(tx: Tx, values: typeof invoiceExports.$inferInsert): Promise<ExportRow> {
  const [row] = await tx.insert(invoiceExports).values(values).returning();
  if (!row) throw new Error("The export was not written.");
  return row;
}

/** An export, and how far it is: what is printed and waits for nothing is done. */
export async function findExport(db: Database, key: RowKey) {
  const [row] = await db.select().from(invoiceExports).where(matchKey(invoiceExports, key));
  if (!row) return undefined;
  const [counted] = await db
    .select({
      total: count(),
      done: sql`count(*) filter (where ${invoices.file_id} is not null and ${invoices.due_at} is null)`.mapWith(Number),
    })
    .from(invoiceExportOrders)
    .leftJoin(invoices, isExported)
    .where(matchExport(key));
  return { row, total: counted?.total ?? 0, done: counted?.done ?? 0 };
}

const isExported = and(
  eq(invoices.organization_id, invoiceExportOrders.organization_id),
  eq(invoices.order_id, invoiceExportOrders.order_id),
  eq(invoices.kind, "invoice"),
  isNull(invoices.refund_id),
);
const matchExport = ({ organization_id, id }: RowKey) =>
  and(eq(invoiceExportOrders.organization_id, organization_id), eq(invoiceExportOrders.export_id, id));

/** One page of the invoices of an export, in the order of their numbers. */
export function listExported(db: Database, key: RowKey, paging: Paging): Promise<InvoiceRow[]> {
  return db
    .select(getTableColumns(invoices))
    .from(invoiceExportOrders)
    .innerJoin(invoices, isExported)
    .where(matchExport(key))
    .orderBy(sql`length(${invoices.number})`, invoices.number, invoices.id)
    .limit(paging.limit)
    .offset(computeOffset(paging));
}

/** An export that is still collecting, kept from changing until the transaction ends. */
export async function lockDueExport(tx: Tx, key: RowKey): Promise<ExportRow | undefined> {
  const [row] = await tx
    .select()
    .from(invoiceExports)
    .where(and(matchKey(invoiceExports, key), isNotNull(invoiceExports.due_at)))
    .for("update");
  return row;
}

/** Note how far the collecting of an export has come. The caller holds its lock. */
export async function updateExport(tx: Tx, key: RowKey, patch: Partial<ExportRow>): Promise<void> {
  await tx.update(invoiceExports).set(patch).where(matchKey(invoiceExports, key));
}

/**
 * Have these orders' invoices printed for an export: those that there are are looked at again, and made anew where what stands
 * in them has changed.
 */
export async function addToExport(
  tx: Tx,
  { organization_id, id: export_id }: RowKey,
  orders: readonly { id: string; row_id: string; number: string }[],
  now: Date,
): Promise<void> {
  if (orders.length === 0) return;
  await tx
    .insert(invoiceExportOrders)
    .values(orders.map(({ id }) => ({ organization_id, export_id, order_id: id })))
    .onConflictDoNothing();
  const rows = orders.map(({ id, row_id, number }) => ({
    ...{ id: row_id, organization_id, created_at: now, kind: "invoice" as const },
    ...{ number, order_id: id, refund_id: null, due_at: now },
  }));
  await tx
    .insert(invoices)
    .values(rows)
    .onConflictDoUpdate({
      target: [invoices.organization_id, invoices.order_id, invoices.kind],
      targetWhere: isNull(invoices.refund_id),
      set: { due_at: sql`coalesce(${invoices.due_at}, excluded.due_at)` },
    });
}

/** Take a document, if it is due. It is put off first, so that no other server works on it at the same time. */
export async function claimDueInvoice(
  db: Database,
  key: RowKey,
  now: Date,
  again: Date,
): Promise<InvoiceRow | undefined> {
  const [row] = await db
    .update(invoices)
    .set({ due_at: again, crashes: sql`${invoices.crashes} + 1` })
    .where(and(matchKey(invoices, key), lte(invoices.due_at, now)))
    .returning();
  return row;
}

/** A document, kept from changing until the transaction ends. */
export async function lockInvoice(tx: Tx, key: RowKey): Promise<InvoiceRow | undefined> {
  const [row] = await tx.select().from(invoices).where(matchKey(invoices, key)).for("update");
  return row;
}

/** Change columns of a document that the caller has locked. */
export async function updateInvoice(db: Database, key: RowKey, patch: Partial<InvoiceRow>): Promise<void> {
  await db.update(invoices).set(patch).where(matchKey(invoices, key));
}

/** Note that a document is as it should be, unless it was asked for again meanwhile. */
export async function settleInvoice(db: Database, key: RowKey, taken_until: Date): Promise<void> {
  await db
    .update(invoices)
    .set({ due_at: sql`nullif(${invoices.due_at}, ${taken_until.toISOString()}::timestamptz)`, crashes: 0 })
    .where(matchKey(invoices, key));
}

/** A refund by its id. */
export async function findRefund(db: Database, key: RowKey): Promise<RefundRow | undefined> {
  const [row] = await db.select().from(refunds).where(matchKey(refunds, key));
  return row;
}
