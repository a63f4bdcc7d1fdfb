import { boolean, index, integer, jsonb, pgTable, text, uniqueIndex, uuid } from "drizzle-orm/pg-core";
import type { Address } from "../../shared/addresses.ts";
import type { Order } from "../../shared/api/orders.ts";
import { customers } from "../customers/tables.ts";
import { metadata, ownedKey, references, stamps } from "../lib/columns.ts";
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
    customer_id: uuid().notNull(),
    product_id: uuid().notNull(),
    checkout_id: uuid(),
    metadata: metadata(),
    custom_field_data: jsonb().$type<Order["custom_field_data"]>().notNull().default({}),
  },
  (table) => [
    ownedKey(table.id),
    references(table.customer_id, customers),
    references(table.product_id, products),
    uniqueIndex("orders_invoice").on(table.organization_id, table.invoice_number),
    index("orders_by_creation").on(table.organization_id, table.created_at, table.id),
    // One checkout never makes two orders.
    uniqueIndex("orders_checkout").on(table.organization_id, table.checkout_id),
    index("orders_by_customer").on(table.organization_id, table.customer_id),
    index("orders_by_product").on(table.organization_id, table.product_id),
  ],
);

export const orderItems = pgTable(
  "order_items",
  {
    id: uuid().notNull(),
    organization_id: text().notNull(),
    order_id: uuid().notNull(),
    ...stamps(),
    label: text().notNull(),
    amount: integer().notNull(),
    tax_amount: integer().notNull().default(0),
    proration: boolean().notNull().default(false),
    product_price_id: uuid(),
  },
  (table) => [
    ownedKey(table.id),
    references(table.order_id, orders, "cascade"),
    index("order_items_by_order").on(table.organization_id, table.order_id),
  ],
);
