import { sql } from "drizzle-orm";
import {
  type AnyPgColumn,
  boolean,
  index,
  integer,
  jsonb,
  pgTable,
  text,
  uniqueIndex,
  uuid,
} from "drizzle-orm/pg-core";
import type { Address } from "../../../shared/addresses.ts";
import type { Order } from "../../../shared/api/orders.ts";
import type { LineTerms, Quote } from "../../../shared/pricing.ts";
import { discounts } from "../../catalog/discounts/tables.ts";
import { productPrices, products } from "../../catalog/products/tables.ts";
import { customers } from "../../customers/customers/tables.ts";
import { organization, owned } from "../../identity/organizations/tables.ts";
import { instant, metadata, ownedKey, references } from "../../platform/db/columns.ts";
import { subscriptions } from "../subscriptions/tables.ts";

/** On what terms a subscription begins: what a period costs, at which prices, after which trial, in place of which free one. */
export type SubscriptionTerms = {
  quote: Quote;
  price_ids: string[];
  trial_end: string | null;
  upgrades: string | null;
};

/** What an order for a change of a subscription makes of it: columns, the prices that it is paid at, and what is billed with it. */
export type SubscriptionChange = {
  patch: Record<string, unknown>;
  prices: { product_price_id: string; amount: number }[] | null;
  entry_ids: string[];
  /** What is kept to be billed with the next order. */
  entries?: LineTerms[];
  /** What it bills of usage; absent in those of before. */
  taken?: {
    meter_id: string;
    window_ids: string[];
    is_running: boolean;
    consumed_units: string;
    billed_units: string;
  }[];
};

/** What an order comes to, as lists are sorted by it: `amount` with its tax, `net_amount` without. */
export function computeSortedAmounts(
  table: Record<"subtotal_amount" | "discount_amount" | "tax_amount" | "tax_behavior", AnyPgColumn>,
) {
  const asked = sql`(${table.subtotal_amount} - ${table.discount_amount})`;
  const within = sql`(case when ${table.tax_behavior} = 'inclusive' then ${table.tax_amount} else 0 end)`;
  return { amount: sql`(${asked} + ${table.tax_amount} - ${within})`, net_amount: sql`(${asked} - ${within})` };
}

/**
 * A sale, from its first cent. It is opened before the card is asked and gets its number when it is paid (or has to be paid
 * later); until then it is a sale in the making, which no list shows. Amounts are in minor units, related as in ORD-01.
 */
export const orders = pgTable(
  "orders",
  {
    ...owned(),
    status: text().$type<Order["status"]>().notNull(),
    billing_reason: text().$type<Order["billing_reason"]>().notNull(),
    currency: text().notNull(),
    subtotal_amount: integer().notNull(),
    discount_amount: integer().notNull(),
    tax_amount: integer().notNull(),
    /** Whether the tax is within the amounts of the lines, or added to them. */
    tax_behavior: text().$type<Quote["tax"]["behavior"]>().notNull(),
    /** What the amounts were computed from, line by line and tax by tax: they can be explained, and computed again, from it. */
    derivation: jsonb().$type<Quote>().notNull(),
    applied_balance_amount: integer().notNull().default(0),
    refunded_amount: integer().notNull().default(0),
    refunded_tax_amount: integer().notNull().default(0),
    /** What refunds and lost disputes took back of the credit that was given for its lines, with the tax in it. */
    recalled_amount: integer().notNull().default(0),
    recalled_tax_amount: integer().notNull().default(0),
    /** What was given back of its lines while it was unpaid, without tax and of its tax: so much less is due (ORD-31). */
    reduced_amount: integer().notNull().default(0),
    reduced_tax_amount: integer().notNull().default(0),
    /** The unpaid order that this one gives back lines of: it is paid or void with that. */
    reduces_order_id: uuid(),
    platform_fee_amount: integer().notNull().default(0),
    /** Of its payment, the one that matters most; null where none is disputed. */
    dispute_status: text().$type<Order["dispute_status"]>(),
    /** Whether the buyer has what was bought: the seller's policy about disputes decides. */
    access: text().$type<Order["access"]>().notNull().default("granted"),
    billing_name: text(),
    billing_address: jsonb().$type<Address>(),
    /** Null while the sale is in the making. */
    invoice_number: text(),
    is_invoice_generated: boolean().notNull().default(false),
    /** Taken with the payment; null where nothing was charged. */
    receipt_number: text(),
    description: text().notNull(),
    customer_id: uuid().notNull(),
    product_id: uuid().notNull(),
    checkout_id: uuid(),
    discount_id: uuid(),
    subscription_id: uuid(),
    /** The subscription that begins with this order when it is settled, on the terms that were confirmed. */
    begins: jsonb().$type<SubscriptionTerms>(),
    seats: integer(),
    /** By which text, and when, the buyer agreed that delivery ends the right of withdrawal. */
    withdrawal_consent: jsonb().$type<Order["withdrawal_consent"]>(),
    customer_tax_id: jsonb().$type<[string, string]>(),
    /** When it is to be settled by itself, as nothing is to be paid; null where that is done, or money is waited for. */
    settle_due_at: instant(),
    /** What is sold for how much to whom, as one value: a charge that was made for other terms does not pay this order. */
    terms: text().notNull(),
    /** The period of its subscription that it is for: each is billed once. */
    period_start: instant(),
    /** What brought a subscription's period about, where that is more than that the one before it was over. */
    occasion: text().$type<"trial_over" | "resumed" | "paused" | "ended">(),
    /** What becomes of its subscription when it is settled, where it is for a change. */
    changes: jsonb().$type<SubscriptionChange>(),
    /** When the card is to be charged again by itself; null where it is not (SUB-50). */
    next_payment_attempt_at: instant(),
    /** How often the card was charged in vain by itself (SUB-55). */
    failed_payments: integer().notNull().default(0),
    /** When it was paid; null until then. */
    paid_at: instant(),
    /**
     * Of a subscription's order, once it is paid: when the order before it was, or when the subscription began. Null where that
     * was in the same quarter of an hour. A trigger sets it.
     */
    preceded_at: instant(),
    metadata: metadata(),
    custom_field_data: jsonb().$type<Order["custom_field_data"]>().notNull().default({}),
  },
  (table) => [
    ownedKey(table.id),
    references(table.customer_id, customers),
    references(table.product_id, products),
    references(table.discount_id, discounts),
    references(table.subscription_id, subscriptions),
    uniqueIndex("orders_invoice").on(table.organization_id, table.invoice_number),
    // One checkout never makes two orders.
    uniqueIndex("orders_of_checkout")
      .on(table.organization_id, table.checkout_id)
      .where(sql`${table.checkout_id} is not null`),
    // A period is billed once, however many servers are at it; a change that was not paid has begun none.
    uniqueIndex("orders_of_period")
      .on(table.organization_id, table.subscription_id, table.period_start)
      .where(sql`${table.status} <> 'void'`),
    index("orders_by_creation")
      .on(table.organization_id, table.created_at, table.id)
      .where(sql`${table.invoice_number} is not null`),
    index("orders_by_status")
      .on(table.organization_id, table.status, table.id)
      .where(sql`${table.invoice_number} is not null`),
    index("orders_by_amount")
      .on(table.organization_id, computeSortedAmounts(table).amount, table.id)
      .where(sql`${table.invoice_number} is not null`),
    index("orders_by_net_amount")
      .on(table.organization_id, computeSortedAmounts(table).net_amount, table.id)
      .where(sql`${table.invoice_number} is not null`),
    index("orders_by_customer").on(table.organization_id, table.customer_id),
    index("orders_by_product").on(table.organization_id, table.product_id, table.id),
    index("orders_by_discount")
      .on(table.organization_id, table.discount_id, table.id)
      .where(sql`${table.discount_id} is not null`),
    index("orders_reducing")
      .on(table.organization_id, table.reduces_order_id)
      .where(sql`${table.reduces_order_id} is not null`),
    index("orders_by_subscription").on(table.organization_id, table.subscription_id, table.id),
    index("orders_metadata").using("gin", sql`${table.metadata} jsonb_path_ops`),
    index("orders_by_gap")
      .on(table.organization_id, sql`(${table.paid_at} - ${table.preceded_at})`)
      .where(sql`${table.preceded_at} is not null`),
    uniqueIndex("orders_receipt")
      .on(table.organization_id, table.receipt_number)
      .where(sql`${table.receipt_number} is not null`),
    index("orders_settle_due")
      .on(table.organization_id, table.settle_due_at)
      .where(sql`${table.settle_due_at} is not null`),
  ],
);

export const orderItems = pgTable(
  "order_items",
  {
    ...owned(),
    order_id: uuid().notNull(),
    label: text().notNull(),
    amount: integer().notNull(),
    tax_amount: integer().notNull().default(0),
    proration: boolean().notNull().default(false),
    product_price_id: uuid(),
    /** The line of an order that this one gives back, with the tax that it was sold with. */
    reverses_item_id: uuid(),
    start_timestamp: instant(),
    end_timestamp: instant(),
    /** The place on the invoice, from 0. */
    position: integer().notNull(),
  },
  (table) => [
    ownedKey(table.id),
    references(table.order_id, orders, "cascade"),
    references(table.product_price_id, productPrices),
    index("order_items_by_order").on(table.organization_id, table.order_id),
    index("order_items_reversing")
      .on(table.organization_id, table.reverses_item_id)
      .where(sql`${table.reverses_item_id} is not null`),
  ],
);

/**
 * Orders whose buyers are to be told that they are paid; gone once they are. Rows of their own, as an order is in so many
 * indexes that to change it is dear.
 */
export const orderConfirmations = pgTable(
  "order_confirmations",
  {
    organization_id: text()
      .notNull()
      .references(() => organization.id, { onDelete: "cascade" }),
    order_id: uuid().notNull(),
    due_at: instant().notNull(),
  },
  (table) => [
    ownedKey(table.order_id),
    references(table.order_id, orders, "cascade"),
    index("order_confirmations_due").on(table.organization_id, table.due_at),
  ],
);

/** The next invoice number of an organization, in a row of its own: what waits for it waits for nothing else. */
export const invoiceCounters = pgTable("invoice_counters", {
  organization_id: text()
    .primaryKey()
    .references(() => organization.id, { onDelete: "cascade" }),
  next_number: integer().notNull(),
  /** Stands before the number since a backup was restored: what was numbered after the backup is unknown (RST-03). */
  series: text(),
});

/** The next receipt number of a customer: receipts are a series of each customer's own. */
export const receiptCounters = pgTable(
  "receipt_counters",
  {
    organization_id: text()
      .notNull()
      .references(() => organization.id, { onDelete: "cascade" }),
    customer_id: uuid().notNull(),
    next_number: integer().notNull(),
  },
  (table) => [ownedKey(table.customer_id), references(table.customer_id, customers)],
);

/** What a seller owes a customer in a currency, from one order to the next; negative: what the customer owes. */
export const customerBalances = pgTable(
  "customer_balances",
  {
    organization_id: text()
      .notNull()
      .references(() => organization.id, { onDelete: "cascade" }),
    customer_id: uuid().notNull(),
    currency: text().notNull(),
    amount: integer().notNull(),
    modified_at: instant(),
  },
  (table) => [ownedKey(table.customer_id, table.currency), references(table.customer_id, customers)],
);
