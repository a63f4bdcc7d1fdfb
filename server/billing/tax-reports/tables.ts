import { sql } from "drizzle-orm";
import { index, integer, pgTable, text, uniqueIndex, uuid } from "drizzle-orm/pg-core";
import { owned } from "../../identity/organizations/tables.ts";
import { instant, ownedKey, references } from "../../platform/db/columns.ts";
import { disputes } from "../disputes/tables.ts";
import { orders } from "../orders/tables.ts";
import { refunds } from "../refunds/tables.ts";

/**
 * Reports to the service that computed the tax of a sale, so that it files that tax: the paid sale, what is returned of it, and
 * the undoing of such a return. Each is inserted in the transaction of what it reports, and sent later by a worker.
 */
export const taxReports = pgTable(
  "tax_reports",
  {
    ...owned(),
    kind: text().$type<"sale" | "refund" | "undo">().notNull(),
    order_id: uuid().notNull(),
    /** By what money goes back: a refund or a dispute. Neither: the reductions of the order before it was paid. */
    refund_id: uuid(),
    dispute_id: uuid(),
    /** Of a sale: the service's calculation that it was charged by. */
    calculation_id: text(),
    /** As the service counts it: with the tax, where the price holds it. */
    amount: integer().notNull(),
    tax_amount: integer().notNull(),
    /** The service's own name of it; null until it has been told. */
    processor_id: text(),
    /** Of a sale: its one line there, of which refunds take back. */
    line_id: text(),
    /** When the service is to be told; null once it has been. */
    due_at: instant(),
  },
  (table) => [
    ownedKey(table.id),
    references(table.order_id, orders),
    references(table.refund_id, refunds),
    references(table.dispute_id, disputes),
    // Each is told once, however often it is heard of.
    uniqueIndex("tax_reports_of_sale").on(table.organization_id, table.order_id).where(sql`${table.kind} = 'sale'`),
    uniqueIndex("tax_reports_of_refund").on(table.organization_id, table.refund_id, table.kind),
    uniqueIndex("tax_reports_of_dispute").on(table.organization_id, table.dispute_id, table.kind),
    index("tax_reports_due").on(table.organization_id, table.due_at).where(sql`${table.due_at} is not null`),
  ],
);
