import { sql } from "drizzle-orm";
import { boolean, check, index, integer, jsonb, pgTable, text, uniqueIndex, uuid } from "drizzle-orm/pg-core";
import type { Subscription } from "../../../shared/api/subscriptions.ts";
import type { Interval } from "../../../shared/calendar.ts";
import type { DiscountTerms, LineTerms } from "../../../shared/pricing.ts";
import { discounts } from "../../catalog/discounts/tables.ts";
import { productPrices, products } from "../../catalog/products/tables.ts";
import { customers } from "../../customers/customers/tables.ts";
import { organization, owned } from "../../identity/organizations/tables.ts";
import { instant, metadata, ownedKey, references } from "../../platform/db/columns.ts";

/** A change that is put off until the next period, at the prices that stood when it was asked for; times as text. */
export type PendingUpdate = {
  id: string;
  created_at: string;
  modified_at: string | null;
  product_id: string | null;
  price_ids: string[] | null;
  seats: number | null;
  /** The first moment at which it may take effect: what a customer was told (SUB-67). Absent: with the next period. */
  not_before?: string;
};

/** What customers are told of by mail as it happens, besides what they pay for. */
export type LetterKind =
  | "changed"
  | "change_planned"
  | "migration_announced"
  | "migration_withdrawn"
  | "canceled"
  | "uncanceled"
  | "paused"
  | "resumed"
  | "payment_failed"
  | "ended";

/** What a customer pays for again and again. */
export const subscriptions = pgTable(
  "subscriptions",
  {
    ...owned(),
    status: text().$type<Subscription["status"]>().notNull(),
    /** What a period costs before tax, after the discount, without use that is counted; minor units (SUB-04). */
    amount: integer().notNull(),
    currency: text().notNull(),
    recurring_interval: text().$type<Interval>().notNull(),
    recurring_interval_count: integer().notNull(),
    /** The day of the month that periods begin on, where the month has it (SUB-14). */
    anchor_day: integer().notNull(),
    started_at: instant().notNull(),
    current_period_start: instant().notNull(),
    current_period_end: instant().notNull(),
    /** The stretch of time with whose end use is billed, where the product has an interval of its own for that (SUB-26). */
    current_meter_period_start: instant(),
    current_meter_period_end: instant(),
    trial_start: instant(),
    trial_end: instant(),
    /** Whose trial it was, as addresses are compared; null where there was none (CHK-53). */
    trial_email_key: text(),
    cancel_at_period_end: boolean().notNull().default(false),
    canceled_at: instant(),
    ends_at: instant(),
    ended_at: instant(),
    past_due_at: instant(),
    pause_at_period_end: boolean().notNull().default(false),
    paused_at: instant(),
    resumes_at: instant(),
    /** What changes with the next period. */
    pending_update: jsonb().$type<PendingUpdate>(),
    /** When it is to be looked at again: the end of its period or trial, a payment to be tried again, a pause that ends. */
    due_at: instant(),
    /** When its customer is to be told of the charge that comes next; null: not at all, or done. */
    reminder_due_at: instant(),
    /** Since when it is held: it came from another product that still bills it, and is never due until it is switched (MOV-10). */
    billing_held_at: instant(),
    /** An order for a change that is being paid at this moment: until that is settled, nothing else changes. */
    change_order_id: uuid(),
    /** When the card is to be charged with all that is unpaid, besides the schedule, as it was just left (SUB-53). */
    card_due_at: instant(),
    /** The card that renewals are charged to; its customer's default one where there is none. Not a foreign key, as orders point here. */
    payment_method_id: uuid(),
    /** Whether it came from another product: a card that its customer left for an order of something else is not charged for it (MOV-14). */
    is_imported: boolean().notNull().default(false),
    customer_id: uuid().notNull(),
    product_id: uuid().notNull(),
    discount_id: uuid(),
    /** The first billed period that the discount was good for; null until there is one (SUB-05). */
    discount_applied_at: instant(),
    /** The discount that the running period was billed with: what is given back or asked for in it has the same (SUB-38). */
    period_discount: jsonb().$type<DiscountTerms>(),
    /** Not a foreign key: the checkout is made first, and may itself name a subscription. */
    checkout_id: uuid(),
    seats: integer(),
    customer_cancellation_reason: text().$type<NonNullable<Subscription["customer_cancellation_reason"]>>(),
    customer_cancellation_comment: text(),
    metadata: metadata(),
    custom_field_data: jsonb().$type<Subscription["custom_field_data"]>().notNull().default({}),
  },
  (table) => [
    ownedKey(table.id),
    references(table.customer_id, customers),
    references(table.product_id, products),
    references(table.discount_id, discounts),
    check(
      "subscriptions_held",
      sql`${table.billing_held_at} is null or (${table.due_at} is null and ${table.reminder_due_at} is null and ${table.card_due_at} is null and ${table.change_order_id} is null)`,
    ),
    index("subscriptions_by_due_time").on(table.due_at, table.organization_id).where(sql`${table.due_at} is not null`),
    index("subscriptions_by_reminder_time")
      .on(table.reminder_due_at, table.organization_id)
      .where(sql`${table.reminder_due_at} is not null`),
    index("subscriptions_due").on(table.organization_id, table.due_at).where(sql`${table.due_at} is not null`),
    index("subscriptions_reminder_due")
      .on(table.organization_id, table.reminder_due_at)
      .where(sql`${table.reminder_due_at} is not null`),
    uniqueIndex("subscriptions_of_checkout").on(table.organization_id, table.checkout_id),
    index("subscriptions_by_start").on(table.organization_id, table.started_at, table.id),
    index("subscriptions_by_period").on(table.organization_id, table.current_period_end, table.id),
    index("subscriptions_by_customer").on(table.organization_id, table.customer_id),
    index("subscriptions_by_product").on(table.organization_id, table.product_id),
    index("subscriptions_by_trial")
      .on(table.organization_id, table.trial_email_key)
      .where(sql`${table.trial_email_key} is not null`),
    index("subscriptions_with_seats").on(table.organization_id).where(sql`${table.seats} is not null`),
    index("subscriptions_by_end")
      .on(table.organization_id, sql`coalesce(${table.ended_at}, ${table.ends_at})`)
      .where(sql`coalesce(${table.ended_at}, ${table.ends_at}) is not null`),
    index("subscriptions_by_discount").on(table.organization_id, table.discount_id),
  ],
);

/** The prices that a subscription is paid at, in their order: they stay its own when the product's change (PRD-23). */
export const subscriptionPrices = pgTable(
  "subscription_prices",
  {
    organization_id: text().notNull(),
    subscription_id: uuid().notNull(),
    product_price_id: uuid().notNull(),
    /** What a period costs at this price, before discount and tax. */
    amount: integer().notNull(),
    order: integer().notNull(),
  },
  (table) => [
    ownedKey(table.subscription_id, table.product_price_id),
    references(table.subscription_id, subscriptions, "cascade"),
    references(table.product_price_id, productPrices, "cascade"),
    index("subscription_prices_of_price").on(table.organization_id, table.product_price_id),
  ],
);

/** What came about in a period and is billed with the next order: lines with all that their amounts follow from. */
export const subscriptionEntries = pgTable(
  "subscription_entries",
  {
    ...owned(),
    subscription_id: uuid().notNull(),
    line: jsonb().$type<LineTerms>().notNull(),
    /** The order that it was billed with; null until then. Not a foreign key, as orders point to subscriptions. */
    order_id: uuid(),
  },
  (table) => [
    ownedKey(table.id),
    references(table.subscription_id, subscriptions, "cascade"),
    index("subscription_entries_open")
      .on(table.organization_id, table.subscription_id)
      .where(sql`${table.order_id} is null`),
    index("subscription_entries_by_order").on(table.organization_id, table.order_id),
  ],
);

/** What a customer is to be told of a subscription by mail. It is gone once they are, or once there is nothing to be told. */
export const subscriptionLetters = pgTable(
  "subscription_letters",
  {
    ...owned(),
    subscription_id: uuid().notNull(),
    kind: text().$type<LetterKind>().notNull(),
    /** The order whose payment failed. Not a foreign key, as orders point to subscriptions. */
    order_id: uuid(),
    due_at: instant().notNull(),
  },
  (table) => [
    ownedKey(table.id),
    references(table.subscription_id, subscriptions, "cascade"),
    index("subscription_letters_due").on(table.organization_id, table.due_at),
    index("subscription_letters_of_subscription").on(table.organization_id, table.subscription_id),
  ],
);

/**
 * Who has begun a trial, or is beginning one: their customer, their address and their card each have one at a seller who says
 * so (CHK-53). Taken with the confirmation and given back where nothing comes of it, so that of two at once one gets it.
 */
export const trialClaims = pgTable(
  "trial_claims",
  {
    organization_id: text()
      .notNull()
      .references(() => organization.id, { onDelete: "cascade" }),
    /** What somebody is told by, as `card:` and what tells cards apart. */
    claim: text().notNull(),
    checkout_id: uuid().notNull(),
    created_at: instant().notNull(),
  },
  (table) => [ownedKey(table.claim), index("trial_claims_of_checkout").on(table.organization_id, table.checkout_id)],
);
