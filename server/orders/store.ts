import { and, asc, count, eq, gte, inArray, isNotNull, isNull, lte, sql } from "drizzle-orm";
import { customers } from "../customers/tables.ts";
import type { Database, Tx } from "../lib/context.ts";
import { among, metadataMatches, offsetOf, orderBy, type Paging } from "../lib/page.ts";
import { followKey, matchKey, type RowKey } from "../lib/rows.ts";
import { products } from "../products/tables.ts";
import type { OrderRow, WholeOrder } from "./rules.ts";
import { orderItems, orders } from "./tables.ts";

type Filter = Paging & {
  organization_id?: string[] | undefined;
  product_id?: string[] | undefined;
  product_billing_type?: string[] | undefined;
  discount_id?: string[] | undefined;
  customer_id?: string[] | undefined;
  external_customer_id?: string[] | undefined;
  checkout_id?: string[] | undefined;
  subscription_id?: string[] | undefined;
  status?: string[] | undefined;
  created_after?: Date | undefined;
  created_before?: Date | undefined;
  metadata?: Record<string, string[] | undefined> | undefined;
  sorting: readonly string[];
};

const net = sql`(${orders.subtotal_amount} - ${orders.discount_amount})`;
const sortable = {
  created_at: orders.created_at,
  status: orders.status,
  invoice_number: orders.invoice_number,
  amount: sql`(${net} + ${orders.tax_amount})`,
  net_amount: net,
  customer: customers.email,
  product: products.name,
  // No order has one yet.
  discount: sql`null::text`,
  subscription: sql`null::text`,
};

/** With their customer and product in the same row; the lines come in one further statement. */
const whole = (db: Database) =>
  db
    .select({ order: orders, customer: customers, product: products })
    .from(orders)
    .innerJoin(customers, followKey(orders.customer_id, customers))
    .innerJoin(products, followKey(orders.product_id, products));

async function withItems(
  db: Database,
  organization_id: string,
  rows: Omit<WholeOrder, "items">[],
): Promise<WholeOrder[]> {
  if (rows.length === 0) return [];
  const ids = rows.map(({ order }) => order.id);
  const items = await db
    .select()
    .from(orderItems)
    .where(and(eq(orderItems.organization_id, organization_id), inArray(orderItems.order_id, ids)))
    .orderBy(asc(orderItems.created_at), asc(orderItems.id));
  const byOrder = Map.groupBy(items, (item) => item.order_id);
  return rows.map((row) => ({ ...row, items: byOrder.get(row.order.id) ?? [] }));
}

/** One page of orders, and how many there are (ORD-29). */
export async function listOrders(db: Database, organization_id: string, filter: Filter) {
  const kinds = filter.product_billing_type;
  const where = and(
    eq(orders.organization_id, organization_id),
    among(orders.organization_id, filter.organization_id),
    among(orders.product_id, filter.product_id),
    kinds === undefined || kinds.length > 1
      ? undefined
      : kinds[0] === "recurring"
        ? isNotNull(products.recurring_interval)
        : isNull(products.recurring_interval),
    filter.discount_id || filter.subscription_id ? sql`false` : undefined,
    among(orders.customer_id, filter.customer_id),
    filter.external_customer_id &&
      and(inArray(customers.external_id, filter.external_customer_id), isNull(customers.deleted_at)),
    among(orders.checkout_id, filter.checkout_id),
    among(orders.status, filter.status),
    filter.created_after && gte(orders.created_at, filter.created_after),
    filter.created_before && lte(orders.created_at, filter.created_before),
    metadataMatches(orders.metadata, filter.metadata),
  );
  const rows = await whole(db)
    .where(where)
    .orderBy(...orderBy(filter.sorting, sortable, orders.id))
    .limit(filter.limit)
    .offset(offsetOf(filter));
  const [row] = await db
    .select({ total: count() })
    .from(orders)
    .innerJoin(customers, followKey(orders.customer_id, customers))
    .innerJoin(products, followKey(orders.product_id, products))
    .where(where);
  return { items: await withItems(db, organization_id, rows), total: row?.total ?? 0 };
}

/** An order of an organization, whole. */
export async function findOrder(db: Database, organization_id: string, id: string): Promise<WholeOrder | undefined> {
  const rows = await whole(db).where(matchKey(orders, { organization_id, id }));
  return (await withItems(db, organization_id, rows))[0];
}

/** The order that a checkout made. */
export async function findOrderOfCheckout(
  db: Database,
  organization_id: string,
  checkout_id: string,
): Promise<OrderRow | undefined> {
  const [row] = await db
    .select()
    .from(orders)
    .where(and(eq(orders.organization_id, organization_id), eq(orders.checkout_id, checkout_id)));
  return row;
}

export async function insertOrder(
  tx: Tx,
  order: typeof orders.$inferInsert,
  items: (typeof orderItems.$inferInsert)[],
): Promise<void> {
  await tx.insert(orders).values(order);
  if (items.length > 0) await tx.insert(orderItems).values(items);
}

export async function lockOrder(tx: Tx, organization_id: string, id: string): Promise<OrderRow | undefined> {
  const [row] = await tx.select().from(orders).where(matchKey(orders, { organization_id, id })).for("update");
  return row;
}

export async function updateOrder(tx: Tx, key: RowKey, patch: Partial<OrderRow>): Promise<void> {
  await tx.update(orders).set(patch).where(matchKey(orders, key));
}
