import { sql } from "drizzle-orm";
import { boolean, index, integer, pgTable, text, uniqueIndex, uuid } from "drizzle-orm/pg-core";
import type { Refund } from "../../../shared/api/refunds.ts";
import { customers } from "../../customers/customers/tables.ts";
import { owned } from "../../identity/organizations/tables.ts";
import { instant, metadata, ownedKey, references } from "../../platform/db/columns.ts";
import { orders } from "../orders/tables.ts";
import { payments } from "../payments/tables.ts";

/**
 * Money that goes back to a buyer. Its id is the processor's idempotency key, so it is written before the processor is asked.
 * An order is paid by one payment, so what goes back of it goes back of that one.
 */
export const refunds = pgTable(
  "refunds",
  {
    ...owned(),
    status: text().$type<Refund["status"]>().notNull().default("pending"),
    /**
     * Who wanted it: the seller, through the API or at the processor; or nobody, because it was taken although nothing was
     * due. That is no part of what the order was paid with, and does not touch it.
     */
    origin: text().$type<"api" | "processor" | "surplus">().notNull(),
    /** Of money that never paid the order, whoever gave it back. */
    is_surplus: boolean().notNull().default(false),
    reason: text().$type<Refund["reason"]>().notNull(),
    /** Without tax. */
    amount: integer().notNull(),
    tax_amount: integer().notNull(),
    currency: text().notNull(),
    order_id: uuid().notNull(),
    customer_id: uuid().notNull(),
    payment_id: uuid().notNull(),
    revoke_benefits: boolean().notNull().default(false),
    comment: text(),
    metadata: metadata(),
    /** What the customer's balance lost with it, and the tax in that. */
    balance_amount: integer().notNull().default(0),
    balance_tax_amount: integer().notNull().default(0),
    processor_id: text(),
    failure_reason: text(),
    /** Whether the seller was told of it: with the first word of the processor, so that one event says how it stands. */
    is_announced: boolean().notNull().default(false),
    /** When the processor is to be asked for it, or what became of it; null when that is known for now. */
    due_at: instant(),
  },
  (table) => [
    ownedKey(table.id),
    references(table.order_id, orders),
    references(table.customer_id, customers),
    references(table.payment_id, payments),
    // Surplus money goes back once.
    uniqueIndex("refunds_of_surplus")
      .on(table.organization_id, table.payment_id)
      .where(sql`${table.origin} = 'surplus'`),
    // One refund at the processor is one here, however often it is heard of.
    uniqueIndex("refunds_at_processor").on(table.organization_id, table.processor_id),
    index("refunds_by_creation").on(table.organization_id, table.created_at, table.id),
    index("refunds_by_order").on(table.organization_id, table.order_id),
    index("refunds_by_payment").on(table.organization_id, table.payment_id),
    index("refunds_by_customer").on(table.organization_id, table.customer_id),
    index("refunds_due").on(table.organization_id, table.due_at).where(sql`${table.due_at} is not null`),
  ],
);
