import { sql } from "drizzle-orm";
import { index, integer, jsonb, pgTable, primaryKey, text, uniqueIndex, uuid } from "drizzle-orm/pg-core";
import { files } from "../../catalog/files/tables.ts";
import { organization, owned } from "../../identity/organizations/tables.ts";
import { instant, ownedKey, references } from "../../platform/db/columns.ts";
import { orders } from "../orders/tables.ts";
import { refunds } from "../refunds/tables.ts";
import type { DocumentKind } from "./document.ts";

/**
 * The invoice, receipt or credit note of a sale: its number, which it keeps for ever, and the file that was last made. It is
 * due when the file has to be looked at: it is made anew if what stands in it has changed.
 */
export const invoices = pgTable(
  "invoices",
  {
    ...owned(),
    kind: text().$type<DocumentKind>().notNull(),
    /** Of an invoice and a receipt those of their order; credit notes are a series of their own. */
    number: text().notNull(),
    order_id: uuid().notNull(),
    /** Of a credit note. */
    refund_id: uuid(),
    /** What the file was made of, as one value. */
    digest: text(),
    file_id: uuid(),
    printed_at: instant(),
    due_at: instant(),
    /** How often printing it has ended the process that prints, since it was printed last. */
    crashes: integer().notNull().default(0),
  },
  (table) => [
    ownedKey(table.id),
    references(table.order_id, orders),
    references(table.refund_id, refunds),
    references(table.file_id, files),
    uniqueIndex("invoices_number").on(table.organization_id, table.number, table.kind),
    uniqueIndex("invoices_of_order")
      .on(table.organization_id, table.order_id, table.kind)
      .where(sql`${table.refund_id} is null`),
    uniqueIndex("invoices_of_refund").on(table.organization_id, table.refund_id),
    index("invoices_by_order").on(table.organization_id, table.order_id),
    index("invoices_due").on(table.organization_id, table.due_at).where(sql`${table.due_at} is not null`),
  ],
);

/**
 * The invoices of many orders, asked for as one. Its orders are collected a number at a time, each step in one transaction with
 * the place where it ended, so that none is missed or taken twice wherever the process dies.
 */
export const invoiceExports = pgTable(
  "invoice_exports",
  {
    ...owned(),
    created_after: instant(),
    created_before: instant(),
    customer_ids: jsonb().$type<string[]>(),
    product_ids: jsonb().$type<string[]>(),
    /** Where the collecting has come to: the order that was looked at last. */
    after: jsonb().$type<{ at: string; id: string }>(),
    skipped: integer().notNull().default(0),
    /** When more orders are to be looked for; null when all were. */
    due_at: instant(),
  },
  (table) => [
    ownedKey(table.id),
    index("invoice_exports_due").on(table.organization_id, table.due_at).where(sql`${table.due_at} is not null`),
  ],
);

/** Which orders an export is of. */
export const invoiceExportOrders = pgTable(
  "invoice_export_orders",
  {
    organization_id: text()
      .notNull()
      .references(() => organization.id, { onDelete: "cascade" }),
    export_id: uuid().notNull(),
    order_id: uuid().notNull(),
  },
  (table) => [
    ownedKey(table.export_id, table.order_id),
    references(table.export_id, invoiceExports, "cascade"),
    references(table.order_id, orders),
  ],
);

/** The next number of each series but the orders' own: the credit notes of an organization. */
export const documentCounters = pgTable(
  "document_counters",
  {
    organization_id: text()
      .notNull()
      .references(() => organization.id, { onDelete: "cascade" }),
    series: text().notNull(),
    next_number: integer().notNull(),
  },
  (table) => [primaryKey({ columns: [table.organization_id, table.series] })],
);
