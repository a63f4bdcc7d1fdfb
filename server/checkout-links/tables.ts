import { type SQL, sql } from "drizzle-orm";
import { type AnyPgColumn, boolean, index, integer, pgTable, primaryKey, text, uuid } from "drizzle-orm/pg-core";
import type { CheckoutLink } from "../../shared/api/checkout-links.ts";
import { discounts } from "../discounts/tables.ts";
import { metadata } from "../lib/columns.ts";
import { owned } from "../organizations/tables.ts";
import { products } from "../products/tables.ts";

/** As much of a URL as an index surely takes, whatever letters it is written in. */
export const sortableUrl = (column: AnyPgColumn): SQL => sql`left(${column}, 600)`;

/** Addresses that open checkouts. The secret is kept as it is: it is part of a public address (TOK-03). */
export const checkoutLinks = pgTable(
  "checkout_links",
  {
    ...owned(),
    client_secret: text().notNull().unique(),
    label: text(),
    trial_interval: text().$type<CheckoutLink["trial_interval"]>(),
    trial_interval_count: integer(),
    allow_discount_codes: boolean().notNull(),
    require_billing_address: boolean().notNull(),
    discount_id: uuid().references(() => discounts.id),
    seats: integer(),
    success_url: text(),
    return_url: text(),
    metadata: metadata(),
  },
  (table) => [
    index("checkout_links_by_creation").on(table.organization_id, table.created_at, table.id),
    index("checkout_links_by_label").on(table.organization_id, table.label, table.id),
    index("checkout_links_by_codes").on(table.organization_id, table.allow_discount_codes, table.id),
    index("checkout_links_by_success_url").on(table.organization_id, sortableUrl(table.success_url), table.id),
  ],
);

/** The products on offer at a link, in their order. */
export const checkoutLinkProducts = pgTable(
  "checkout_link_products",
  {
    checkout_link_id: uuid()
      .notNull()
      .references(() => checkoutLinks.id, { onDelete: "cascade" }),
    product_id: uuid()
      .notNull()
      .references(() => products.id, { onDelete: "cascade" }),
    order: integer().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.checkout_link_id, table.product_id] }),
    index("checkout_link_products_of_product").on(table.product_id),
  ],
);
