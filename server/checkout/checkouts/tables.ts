import { sql } from "drizzle-orm";
import { boolean, index, integer, jsonb, pgTable, text, uuid } from "drizzle-orm/pg-core";
import type { Address } from "../../../shared/addresses.ts";
import type { Checkout } from "../../../shared/api/checkouts.ts";
import type { Interval } from "../../../shared/calendar.ts";
import type { Quote } from "../../../shared/pricing.ts";
import { orders } from "../../billing/orders/tables.ts";
import { subscriptions } from "../../billing/subscriptions/tables.ts";
import { discounts } from "../../catalog/discounts/tables.ts";
import { productPrices, products } from "../../catalog/products/tables.ts";
import { customers } from "../../customers/customers/tables.ts";
import { owned } from "../../identity/organizations/tables.ts";
import { instant, metadata, ownedKey, references, searchIndex } from "../../platform/db/columns.ts";

/** A buyer on the way to an order. */
export const checkouts = pgTable(
  "checkouts",
  {
    ...owned(),
    status: text().$type<Checkout["status"]>().notNull().default("open"),
    /** Sealed: it opens the checkout, and is a part of its address. */
    client_secret: text().notNull(),
    expires_at: instant().notNull(),
    success_url: text(),
    return_url: text(),
    embed_origin: text(),
    /** The products on offer, in the seller's order. */
    product_ids: jsonb().$type<string[]>().notNull(),
    product_id: uuid().notNull(),
    product_price_id: uuid().notNull(),
    /** The prices that were made for this checkout alone, by product; null where it sells at those of the catalogue. */
    own_price_ids: jsonb().$type<Record<string, string[]>>(),
    seats: integer(),
    min_seats: integer(),
    max_seats: integer(),
    /** What the buyer wants to pay where they may choose; null where they have not said. */
    chosen_amount: integer(),
    discount_id: uuid(),
    trial_interval: text().$type<Interval>(),
    trial_interval_count: integer(),
    /** When a trial that begins now ends; moves with each change, until the checkout is confirmed. */
    trial_end: instant(),
    /** The free subscription that is upgraded. */
    subscription_id: uuid(),
    /** The amounts to pay, computed when an input changes, and copied everywhere else. */
    quote: jsonb().$type<Quote>().notNull(),
    allow_discount_codes: boolean().notNull().default(true),
    require_billing_address: boolean().notNull().default(false),
    allow_trial: boolean().notNull().default(true),
    is_business_customer: boolean().notNull().default(false),
    customer_id: uuid(),
    /** Whether it was the seller who said whose checkout this is; otherwise it is whoever typed an address. */
    is_customer_named: boolean().notNull().default(false),
    /** Whether the customer came into being with this checkout: then nobody else's is known of them. */
    is_customer_made: boolean().notNull().default(false),
    external_customer_id: text(),
    customer_name: text(),
    customer_email: text(),
    customer_ip_address: text(),
    customer_billing_name: text(),
    customer_billing_address: jsonb().$type<Address>(),
    /** The number and its format. */
    customer_tax_id: jsonb().$type<[string, string]>(),
    locale: text(),
    payment_method_type: text(),
    /** What the browser needs to finish a challenge; the secret in it is sealed. */
    payment_processor_metadata: jsonb().$type<Checkout["payment_processor_metadata"]>().notNull().default({}),
    /** The order that it is opened with when it is first confirmed. */
    order_id: uuid(),
    metadata: metadata(),
    customer_metadata: metadata(),
    custom_field_data: jsonb().$type<Checkout["custom_field_data"]>().notNull().default({}),
  },
  (table) => [
    ownedKey(table.id),
    references(table.product_id, products),
    references(table.product_price_id, productPrices),
    references(table.customer_id, customers),
    references(table.order_id, orders),
    references(table.discount_id, discounts),
    references(table.subscription_id, subscriptions),
    index("checkouts_by_creation").on(table.organization_id, table.created_at, table.id),
    index("checkouts_by_expiry").on(table.organization_id, table.expires_at, table.id),
    index("checkouts_by_status").on(table.organization_id, table.status, table.id),
    index("checkouts_by_product").on(table.organization_id, table.product_id, table.id),
    searchIndex("checkouts_search", table.customer_email),
    index("checkouts_by_customer").on(table.organization_id, table.customer_id),
    // An order or a subscription that goes is looked for here by the database.
    index("checkouts_of_order").on(table.organization_id, table.order_id).where(sql`${table.order_id} is not null`),
    index("checkouts_of_subscription")
      .on(table.organization_id, table.subscription_id)
      .where(sql`${table.subscription_id} is not null`),
    // A user's, of all sellers: they move when a guest signs in.
    index("checkouts_by_external_customer").on(table.external_customer_id),
    index("checkouts_by_due_time").on(table.expires_at, table.organization_id).where(sql`${table.status} = 'open'`),
    index("checkouts_due").on(table.organization_id, table.expires_at).where(sql`${table.status} = 'open'`),
  ],
);

/** Whose checkout a client secret opens: it is all that a buyer's browser sends. */
export const checkoutSecrets = pgTable("checkout_secrets", {
  /** HMAC-SHA-256 with the server's secret. */
  secret_hash: text().primaryKey(),
  organization_id: text().notNull(),
  checkout_id: uuid().notNull(),
});
