import { boolean, index, integer, jsonb, pgTable, text, uniqueIndex, uuid } from "drizzle-orm/pg-core";
import type { Address } from "../../shared/addresses.ts";
import type { Order } from "../../shared/api/orders.ts";
import { customers } from "../customers/tables.ts";
import { metadata, stamps } from "../lib/columns.ts";
import { owned } from "../organizations/tables.ts";
import { products } from "../products/tables.ts";

/** A sale. Amounts are in minor units, and related as in ORD-01. */
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
    applied_balance_amount: integer().notNull().default(0),
    refunded_amount: integer().notNull().default(0),
    refunded_tax_amount: integer().notNull().default(0),
    platform_fee_amount: integer().notNull().default(0),
    billing_name: text(),
    billing_address: jsonb().$type<Address>(),
    invoice_number: text().notNull(),
    is_invoice_generated: boolean().notNull().default(false),
    description: text().notNull(),
    customer_id: uuid()
      .notNull()
      .references(() => customers.id),
    product_id: uuid()
      .notNull()
      .references(() => products.id),
    /** Unique: one checkout never makes two orders. */
    checkout_id: uuid().unique(),
    metadata: metadata(),
    custom_field_data: jsonb().$type<Order["custom_field_data"]>().notNull().default({}),
  },
  (table) => [
    uniqueIndex("orders_invoice").on(table.organization_id, table.invoice_number),
    index("orders_by_creation").on(table.organization_id, table.created_at, table.id),
    index("orders_by_customer").on(table.customer_id),
    index("orders_by_product").on(table.product_id),
  ],
);

export const orderItems = pgTable(
  "order_items",
  {
    id: uuid().primaryKey(),
    order_id: uuid()
      .notNull()
      .references(() => orders.id, { onDelete: "cascade" }),
    ...stamps(),
    label: text().notNull(),
    amount: integer().notNull(),
    tax_amount: integer().notNull().default(0),
    proration: boolean().notNull().default(false),
    product_price_id: uuid(),
  },
  (table) => [index("order_items_by_order").on(table.order_id)],
);
