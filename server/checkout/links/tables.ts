import { type SQL, sql } from "drizzle-orm";
import { type AnyPgColumn, boolean, index, integer, pgTable, text, uuid } from "drizzle-orm/pg-core";
import type { CheckoutLink } from "../../../shared/api/checkout-links.ts";
import { discounts } from "../../catalog/discounts/tables.ts";
import { products } from "../../catalog/products/tables.ts";
import { organization, owned } from "../../identity/organizations/tables.ts";
import { metadata, ownedKey, references } from "../../platform/db/columns.ts";

/** As much of a URL as an index surely takes, whatever letters it is written in. */
export const truncateSortableUrl = (column: AnyPgColumn): SQL => sql`left(${column}, 600)`;

/** Addresses that open checkouts. The secret is kept as it is: it is part of a public address (TOK-03). */
export const checkoutLinks = pgTable(
  "checkout_links",
  {
    ...owned(),
    client_secret: text().notNull(),
    label: text(),
    trial_interval: text().$type<CheckoutLink["trial_interval"]>(),
    trial_interval_count: integer(),
    allow_discount_codes: boolean().notNull(),
    require_billing_address: boolean().notNull(),
    discount_id: uuid(),
    seats: integer(),
    success_url: text(),
    return_url: text(),
    metadata: metadata(),
  },
  (table) => [
    ownedKey(table.id),
    references(table.discount_id, discounts),
    index("checkout_links_by_creation").on(table.organization_id, table.created_at, table.id),
    index("checkout_links_by_label").on(table.organization_id, table.label, table.id),
    index("checkout_links_by_codes").on(table.organization_id, table.allow_discount_codes, table.id),
    index("checkout_links_by_success_url").on(table.organization_id, truncateSortableUrl(table.success_url), table.id),
  ],
);

/** Which link a secret opens: whoever comes with one does not say of which organization it is. */
export const checkoutLinkSecrets = pgTable("checkout_link_secrets", {
  client_secret: text().primaryKey(),
  organization_id: text()
    .notNull()
    .references(() => organization.id, { onDelete: "cascade" }),
  checkout_link_id: uuid().notNull(),
});

/** The products on offer at a link, in their order. */
export const checkoutLinkProducts = pgTable(
  "checkout_link_products",
  {
    organization_id: text().notNull(),
    checkout_link_id: uuid().notNull(),
    product_id: uuid().notNull(),
    order: integer().notNull(),
  },
  (table) => [
    ownedKey(table.checkout_link_id, table.product_id),
    references(table.checkout_link_id, checkoutLinks, "cascade"),
    references(table.product_id, products, "cascade"),
    index("checkout_link_products_of_product").on(table.organization_id, table.product_id),
  ],
);
