import { sql } from "drizzle-orm";
import { boolean, index, integer, jsonb, pgTable, text, uniqueIndex, uuid } from "drizzle-orm/pg-core";
import type { Payment } from "../../shared/api/payments.ts";
import { customers } from "../customers/tables.ts";
import { instant, ownedKey, references } from "../lib/columns.ts";
import { orders } from "../orders/tables.ts";
import { owned } from "../organizations/tables.ts";
import type { Card, Intent } from "../processors/processor.ts";

/**
 * An attempt to take the money of an order. Its id is the processor's idempotency key, so it is written before the processor
 * is asked.
 */
export const payments = pgTable(
  "payments",
  {
    ...owned(),
    status: text().$type<Payment["status"]>().notNull().default("pending"),
    amount: integer().notNull(),
    currency: text().notNull(),
    method: text().notNull().default("card"),
    trigger: text().$type<Payment["trigger"]>().notNull().default("purchase"),
    decline_reason: text(),
    decline_message: text(),
    card: jsonb().$type<Card>(),
    order_id: uuid().notNull(),
    /** The terms of the order that this attempt is to pay. */
    terms: text().notNull(),
    /** Money that was taken although the order had it already, or is sold on other terms by now. It goes back. */
    is_surplus: boolean().notNull().default(false),
    customer_id: uuid().notNull(),
    customer_email: text().notNull(),
    /** When it was written by the server's clock, which is the processor's. */
    requested_at: instant().notNull(),
    processor_id: text(),
    intent_status: text().$type<Intent["status"]>(),
    client_secret: text(),
    /** What the buyer's browser got for the card; null where a saved one is charged. */
    confirmation_token_id: text(),
    /** When the processor is to be asked what became of it; null when that is known for good. */
    reconcile_due_at: instant(),
  },
  (table) => [
    ownedKey(table.id),
    references(table.order_id, orders),
    references(table.customer_id, customers),
    // An order is tried once at a time and paid once. They are two indexes, so that the late success of an attempt that
    // was given up for lost can be written down while another is under way.
    uniqueIndex("payments_under_way").on(table.organization_id, table.order_id).where(sql`${table.status} = 'pending'`),
    uniqueIndex("payments_succeeded")
      .on(table.organization_id, table.order_id)
      .where(sql`${table.status} = 'succeeded' and not ${table.is_surplus}`),
    index("payments_by_creation").on(table.organization_id, table.created_at, table.id),
    index("payments_by_order").on(table.organization_id, table.order_id),
    index("payments_due")
      .on(table.organization_id, table.reconcile_due_at)
      .where(sql`${table.reconcile_due_at} is not null`),
  ],
);

/** Events that the processor sent, by its own id: one that is sent again does nothing. */
export const processorEvents = pgTable("processor_events", {
  id: text().primaryKey(),
  organization_id: text().notNull(),
  payment_id: uuid().notNull(),
  created_at: instant().notNull(),
});
