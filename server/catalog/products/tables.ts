import { sql } from "drizzle-orm";
import { boolean, index, integer, jsonb, pgTable, text, uuid } from "drizzle-orm/pg-core";
import type { ProductPrice } from "../../../shared/api/prices.ts";
import type { Product } from "../../../shared/api/products.ts";
import { organization, owned } from "../../identity/organizations/tables.ts";
import { metadata, ownedKey, references, searchIndex } from "../../platform/db/columns.ts";
import { meters } from "../../usage/meters/tables.ts";
import { benefits } from "../benefits/tables.ts";
import { customFields } from "../custom-fields/tables.ts";
import { files } from "../files/tables.ts";

type Interval = Product["recurring_interval"];
type Seats = Extract<ProductPrice, { amount_type: "seat_based" }>["seat_tiers"];

/** What is sold. There is no deleting, only archiving (PRD-28). */
export const products = pgTable(
  "products",
  {
    ...owned(),
    name: text().notNull(),
    description: text(),
    visibility: text().$type<Product["visibility"]>().notNull().default("public"),
    /** Null for a one-time purchase (PRD-02). */
    recurring_interval: text().$type<Interval>(),
    recurring_interval_count: integer(),
    trial_interval: text().$type<Interval>(),
    trial_interval_count: integer(),
    meter_interval: text().$type<Interval>(),
    meter_interval_count: integer(),
    is_archived: boolean().notNull().default(false),
    /** Kind and amount of the oldest price on sale, by which lists are sorted: no index looks into another table (PRD-35). */
    sort_amount_type: text(),
    sort_amount: integer(),
    metadata: metadata(),
  },
  (table) => [
    ownedKey(table.id),
    index("products_by_creation").on(table.organization_id, table.created_at, table.id),
    index("products_by_amount_type").on(table.organization_id, table.sort_amount_type, table.id),
    index("products_by_amount").on(table.organization_id, table.sort_amount, table.id),
    index("products_by_name").on(table.organization_id, table.name, table.id),
    searchIndex("products_search", table.name),
    index("products_metadata").using("gin", sql`${table.metadata} jsonb_path_ops`),
  ],
);

/** Who sells a product: a buyer who comes from a page of the seller names the product alone. */
export const productSellers = pgTable("product_sellers", {
  product_id: uuid().primaryKey(),
  organization_id: text()
    .notNull()
    .references(() => organization.id, { onDelete: "cascade" }),
});

/** A way to pay for a product. Nothing of it ever changes but `is_archived`: what was bought is paid as it was bought (PRD-22). */
export const productPrices = pgTable(
  "product_prices",
  {
    ...owned(),
    product_id: uuid().notNull(),
    /** `ad_hoc` prices were made for one checkout and belong to no list. */
    source: text().$type<ProductPrice["source"]>().notNull().default("catalog"),
    is_archived: boolean().notNull().default(false),
    amount_type: text().$type<ProductPrice["amount_type"]>().notNull(),
    price_currency: text().notNull(),
    tax_behavior: text().$type<ProductPrice["tax_behavior"]>(),
    price_amount: integer(),
    minimum_amount: integer(),
    maximum_amount: integer(),
    preset_amount: integer(),
    /** A decimal as text: it is never a float (PRD-11). */
    unit_amount: text(),
    cap_amount: integer(),
    meter_id: uuid(),
    seat_tiers: jsonb().$type<Seats>(),
  },
  (table) => [
    ownedKey(table.id),
    references(table.product_id, products, "cascade"),
    references(table.meter_id, meters),
    index("product_prices_of_product").on(table.organization_id, table.product_id, table.created_at, table.id),
    index("product_prices_of_meter")
      .on(table.organization_id, table.meter_id)
      .where(sql`${table.meter_id} is not null`),
  ],
);

/** The benefits of a product, in their order (PRD-32). */
export const productBenefits = pgTable(
  "product_benefits",
  {
    organization_id: text().notNull(),
    product_id: uuid().notNull(),
    benefit_id: uuid().notNull(),
    order: integer().notNull(),
  },
  (table) => [
    ownedKey(table.product_id, table.benefit_id),
    references(table.product_id, products, "cascade"),
    references(table.benefit_id, benefits, "cascade"),
    index("product_benefits_of_benefit").on(table.organization_id, table.benefit_id),
  ],
);

/** The pictures of a product, in their order (PRD-29). */
export const productMedias = pgTable(
  "product_medias",
  {
    organization_id: text().notNull(),
    product_id: uuid().notNull(),
    file_id: uuid().notNull(),
    order: integer().notNull(),
  },
  (table) => [
    ownedKey(table.product_id, table.file_id),
    references(table.product_id, products, "cascade"),
    references(table.file_id, files, "cascade"),
    index("product_medias_of_file").on(table.organization_id, table.file_id),
  ],
);

/** Which fields the checkout of a product asks for, and in which order (PRD-31). */
export const productCustomFields = pgTable(
  "product_custom_fields",
  {
    organization_id: text().notNull(),
    product_id: uuid().notNull(),
    custom_field_id: uuid().notNull(),
    order: integer().notNull(),
    required: boolean().notNull(),
  },
  (table) => [
    ownedKey(table.product_id, table.custom_field_id),
    references(table.product_id, products, "cascade"),
    references(table.custom_field_id, customFields, "cascade"),
    index("product_custom_fields_of_field").on(table.organization_id, table.custom_field_id),
  ],
);
