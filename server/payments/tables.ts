import { sql } from "drizzle-orm";
import { index, integer, jsonb, pgTable, text, uniqueIndex, uuid } from "drizzle-orm/pg-core";
import type { Payment } from "../../shared/api/payments.ts";
import { instant, ownedKey } from "../lib/columns.ts";
import { owned } from "../organizations/tables.ts";
import type { Card, Intent } from "../processors/processor.ts";

/** An attempt to take money. Its id is the processor's idempotency key, so it is written before the processor is asked. */
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
    checkout_id: uuid(),
    order_id: uuid(),
    customer_id: uuid().notNull(),
    customer_email: text().notNull(),
    processor_id: text(),
    intent_status: text().$type<Intent["status"]>(),
    client_secret: text(),
    confirmation_token_id: text().notNull(),
    /** When the processor is to be asked what became of it; null when that is known for good. */
    reconcile_due_at: instant(),
  },
  (table) => [
    ownedKey(table.id),
    // A checkout is tried once at a time and paid once. They are two indexes, so that the late success of an attempt that
    // was given up for lost can be written down while another is under way.
    uniqueIndex("payments_under_way")
      .on(table.organization_id, table.checkout_id)
      .where(sql`${table.status} = 'pending'`),
    uniqueIndex("payments_succeeded")
      .on(table.organization_id, table.checkout_id)
      .where(sql`${table.status} = 'succeeded'`),
    index("payments_by_creation").on(table.organization_id, table.created_at, table.id),
    index("payments_by_order").on(table.organization_id, table.order_id),
    index("payments_due").on(table.reconcile_due_at).where(sql`${table.reconcile_due_at} is not null`),
  ],
);
