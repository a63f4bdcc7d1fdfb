import { sql } from "drizzle-orm";
import { boolean, check, index, integer, jsonb, pgTable, text, uniqueIndex, uuid } from "drizzle-orm/pg-core";
import type { Payment } from "../../../shared/api/payments.ts";
import { customers } from "../../customers/customers/tables.ts";
import { organization, owned } from "../../identity/organizations/tables.ts";
import { instant, ownedKey, references } from "../../platform/db/columns.ts";
import type { Card, IntentStatus, ProcessorEvent } from "../../platform/processors/processor.ts";
import { orders } from "../orders/tables.ts";
import { subscriptions } from "../subscriptions/tables.ts";

/** A card that a customer left for later charges. Deleting keeps the row, because payments go on naming it. */
export const paymentMethods = pgTable(
  "payment_methods",
  {
    ...owned(),
    deleted_at: instant(),
    customer_id: uuid().notNull(),
    /** The processor's account that keeps it; no other can charge it. */
    account: text().notNull(),
    processor_id: text().notNull(),
    customer_processor_id: text().notNull(),
    card: jsonb().$type<Card>().notNull(),
    /** The same for the same card of one seller's customers, and never its number; of a card without one, its own. */
    fingerprint: text().notNull(),
    /** When its owner is to be told that it is about to expire; null: done, or there is no time left. */
    expiry_due_at: instant(),
  },
  (table) => [
    ownedKey(table.id),
    references(table.customer_id, customers),
    index("payment_methods_by_expiry_time")
      .on(table.expiry_due_at, table.organization_id)
      .where(sql`${table.expiry_due_at} is not null`),
    index("payment_methods_expiring")
      .on(table.organization_id, table.expiry_due_at)
      .where(sql`${table.expiry_due_at} is not null`),
    // A card that is left once more is the one that was left before.
    uniqueIndex("payment_methods_of_card")
      .on(table.organization_id, table.customer_id, table.account, table.fingerprint)
      .where(sql`${table.deleted_at} is null`),
    index("payment_methods_by_customer").on(table.organization_id, table.customer_id, table.created_at),
  ],
);

/** By which name a processor knows a customer. */
export const paymentCustomers = pgTable(
  "payment_customers",
  {
    organization_id: text()
      .notNull()
      .references(() => organization.id, { onDelete: "cascade" }),
    customer_id: uuid().notNull(),
    account: text().notNull(),
    processor_id: text().notNull(),
    created_at: instant().notNull(),
  },
  (table) => [ownedKey(table.customer_id, table.account), references(table.customer_id, customers)],
);

/** What an attempt to charge or to keep a card has, whichever it is. */
const attempt = () => ({
  ...owned(),
  status: text().$type<Payment["status"]>().notNull().default("pending"),
  order_id: uuid().notNull(),
  /** The terms of the order that this attempt is for. */
  terms: text().notNull(),
  customer_id: uuid().notNull(),
  customer_email: text().notNull(),
  /** The processor's account that was asked. */
  account: text().notNull(),
  decline_reason: text(),
  decline_message: text(),
  /** When it was written by the server's clock, which is the processor's. */
  requested_at: instant().notNull(),
  processor_id: text(),
  intent_status: text().$type<IntentStatus>(),
  /** The card's, as `payment_methods` has it. */
  fingerprint: text(),
  /** The card that was kept with it, or that it charges. */
  payment_method_id: uuid(),
  /** The process that asks the processor for it. When that process is gone, the payment is due at once (OPS-02). */
  process_id: uuid(),
  /** When the processor is to be asked what became of it; null when that is known for good. */
  reconcile_due_at: instant(),
});

/**
 * An attempt to take the money of an order. Its id is the processor's idempotency key, so it is written before the processor
 * is asked.
 */
export const payments = pgTable(
  "payments",
  {
    ...attempt(),
    amount: integer().notNull(),
    currency: text().notNull(),
    method: text().notNull().default("card"),
    trigger: text().$type<Payment["trigger"]>().notNull().default("purchase"),
    card: jsonb().$type<Card>(),
    /** Whether the card is kept for later charges. */
    keep: boolean().notNull().default(false),
    /** Money that was taken although the order had it already, or is sold on other terms by now. It goes back. */
    is_surplus: boolean().notNull().default(false),
    /** What the buyer's browser got for the card, sealed; null where a saved one is charged. */
    confirmation_token_id: text(),
  },
  (table) => [
    ownedKey(table.id),
    references(table.order_id, orders),
    references(table.customer_id, customers),
    references(table.payment_method_id, paymentMethods),
    // An order is tried once at a time and paid once. They are two indexes, so that the late success of an attempt that
    // was given up for lost can be written down while another is under way.
    uniqueIndex("payments_under_way").on(table.organization_id, table.order_id).where(sql`${table.status} = 'pending'`),
    uniqueIndex("payments_succeeded")
      .on(table.organization_id, table.order_id)
      .where(sql`${table.status} = 'succeeded' and not ${table.is_surplus}`),
    index("payments_by_creation").on(table.organization_id, table.created_at, table.id),
    index("payments_by_status").on(table.organization_id, table.status, table.id),
    index("payments_by_amount").on(table.organization_id, table.amount, table.id),
    index("payments_by_kind").on(table.organization_id, table.method, table.id),
    index("payments_by_email").on(table.organization_id, sql`lower(${table.customer_email})`),
    index("payments_by_order").on(table.organization_id, table.order_id),
    index("payments_by_customer").on(table.organization_id, table.customer_id),
    index("payments_by_method")
      .on(table.organization_id, table.payment_method_id)
      .where(sql`${table.payment_method_id} is not null`),
    index("payments_by_fingerprint")
      .on(table.organization_id, table.fingerprint)
      .where(sql`${table.fingerprint} is not null`),
    index("payments_due")
      .on(table.organization_id, table.reconcile_due_at)
      .where(sql`${table.reconcile_due_at} is not null`),
  ],
);

/**
 * An attempt to keep a card for later charges, where nothing is due today: for an order that begins so, or in place of the card
 * of a subscription. Its id is the processor's idempotency key, so it is written before the processor is asked.
 */
export const paymentSetups = pgTable(
  "payment_setups",
  {
    ...attempt(),
    /** Null where its customer leaves a card for no order, of their own accord. */
    order_id: uuid(),
    /** Whether it is charged from then on where no other card is chosen. */
    sets_default: boolean().notNull().default(false),
    /** The subscription that it is to be charged for from now on, where it is left for one. */
    subscription_id: uuid(),
    /** Sealed. */
    confirmation_token_id: text().notNull(),
  },
  (table) => [
    ownedKey(table.id),
    check("payment_setups_for_one", sql`${table.order_id} is null or ${table.subscription_id} is null`),
    references(table.subscription_id, subscriptions),
    uniqueIndex("payment_setups_of_subscription")
      .on(table.organization_id, table.subscription_id)
      .where(sql`${table.status} = 'pending'`),
    references(table.order_id, orders),
    references(table.customer_id, customers),
    references(table.payment_method_id, paymentMethods),
    uniqueIndex("payment_setups_under_way")
      .on(table.organization_id, table.order_id)
      .where(sql`${table.status} = 'pending'`),
    index("payment_setups_by_order").on(table.organization_id, table.order_id),
    index("payment_setups_by_customer").on(table.organization_id, table.customer_id),
    index("payment_setups_by_fingerprint")
      .on(table.organization_id, table.fingerprint)
      .where(sql`${table.fingerprint} is not null`),
    index("payment_setups_due")
      .on(table.organization_id, table.reconcile_due_at)
      .where(sql`${table.reconcile_due_at} is not null`),
  ],
);

/** Events that the processor sent, by its own id: one that is sent again does nothing. */
export const processorEvents = pgTable("processor_events", {
  id: text().primaryKey(),
  account: text().notNull(),
  kind: text().$type<ProcessorEvent["kind"]>().notNull(),
  /** What it is about, by the processor's own id. */
  processor_id: text().notNull(),
  organization_id: text().notNull(),
  created_at: instant().notNull(),
});
