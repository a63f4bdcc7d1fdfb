import { sql } from "drizzle-orm";
import { boolean, index, integer, jsonb, pgTable, text, uniqueIndex, uuid } from "drizzle-orm/pg-core";
import type { Discount } from "../../../shared/api/discounts.ts";
import { customers } from "../../customers/customers/tables.ts";
import { owned } from "../../identity/organizations/tables.ts";
import { instant, metadata, ownedKey, references, searchIndex } from "../../platform/db/columns.ts";
import { products } from "../products/tables.ts";

/** Prices taken off. Deleting keeps the row, because subscriptions that have it keep it (DSC-08). */
export const discounts = pgTable(
  "discounts",
  {
    ...owned(),
    deleted_at: instant(),
    name: text().notNull(),
    /** As typed; compared in lower case (DSC-01). */
    code: text(),
    type: text().$type<Discount["type"]>().notNull(),
    /** By currency, of a fixed discount; `currency` is the one that older clients read. */
    amounts: jsonb().$type<Record<string, number>>(),
    currency: text(),
    basis_points: integer(),
    duration: text().$type<Discount["duration"]>().notNull(),
    duration_in_months: integer(),
    starts_at: instant(),
    ends_at: instant(),
    max_redemptions: integer(),
    max_redemptions_per_customer: integer(),
    /** How many redemptions are counted; those that are not yet stand in `discount_redemptions` as such (DSC-11). */
    redemptions_count: integer().notNull().default(0),
    metadata: metadata(),
  },
  (table) => [
    ownedKey(table.id),
    uniqueIndex("discounts_code")
      .on(table.organization_id, sql`lower(${table.code})`)
      .where(sql`${table.deleted_at} is null`),
    index("discounts_by_creation")
      .on(table.organization_id, table.created_at, table.id)
      .where(sql`${table.deleted_at} is null`),
    index("discounts_by_name").on(table.organization_id, table.name, table.id).where(sql`${table.deleted_at} is null`),
    index("discounts_by_code").on(table.organization_id, table.code, table.id).where(sql`${table.deleted_at} is null`),
    index("discounts_by_redemptions")
      .on(table.organization_id, table.redemptions_count, table.id)
      .where(sql`${table.deleted_at} is null`),
    index("discounts_by_end")
      .on(table.organization_id, table.ends_at, table.id)
      .where(sql`${table.deleted_at} is null`),
    searchIndex("discounts_search", table.name, table.code),
  ],
);

/** The products a discount is limited to; without any it is good for all (DSC-05). */
export const discountProducts = pgTable(
  "discount_products",
  {
    organization_id: text().notNull(),
    discount_id: uuid().notNull(),
    product_id: uuid().notNull(),
    order: integer().notNull(),
  },
  (table) => [
    ownedKey(table.discount_id, table.product_id),
    references(table.discount_id, discounts, "cascade"),
    references(table.product_id, products, "cascade"),
    index("discount_products_of_product").on(table.organization_id, table.product_id),
  ],
);

/**
 * A discount that somebody took (DSC-11). Where it has no limit, nothing is locked to take it: its row is counted later, so
 * that a code that is sent to thousands holds up none of them.
 */
export const discountRedemptions = pgTable(
  "discount_redemptions",
  {
    ...owned(),
    discount_id: uuid().notNull(),
    /** The checkout and the order that it was taken for; of one that a subscription was given later, the subscription (DSC-14). */
    checkout_id: uuid(),
    order_id: uuid(),
    subscription_id: uuid(),
    customer_id: uuid().notNull(),
    /** The address as it is compared: small, without what follows a plus (DSC-15). */
    email_key: text().notNull(),
    /** What tells the card that they pay with from others, where that matters (DSC-15). */
    card: text(),
    is_counted: boolean().notNull(),
  },
  (table) => [
    ownedKey(table.id),
    references(table.discount_id, discounts),
    references(table.customer_id, customers),
    uniqueIndex("discount_redemptions_of_checkout").on(table.organization_id, table.checkout_id),
    index("discount_redemptions_by_customer").on(table.organization_id, table.discount_id, table.customer_id),
    index("discount_redemptions_by_email").on(table.organization_id, table.discount_id, table.email_key),
    index("discount_redemptions_by_card").on(table.organization_id, table.discount_id, table.card),
    index("discount_redemptions_uncounted")
      .on(table.organization_id, table.discount_id)
      .where(sql`not ${table.is_counted}`),
  ],
);
