import { and, asc, eq, gte, inArray, isNotNull, isNull, lte, type SQL, type SQLWrapper, sql } from "drizzle-orm";
import type { orders as operations } from "../../../shared/api/orders.ts";
import { ApiError } from "../../../shared/errors.ts";
import { discounts } from "../../catalog/discounts/tables.ts";
import { products } from "../../catalog/products/tables.ts";
import type { Erased } from "../../customers/customers/rules.ts";
import { matchExternalIds } from "../../customers/customers/store.ts";
import { customers } from "../../customers/customers/tables.ts";
import { clearIfNamed, reduceToRegion } from "../../platform/anonymize.ts";
import type { Database, Tx } from "../../platform/context.ts";
import { writeArray } from "../../platform/db/arrays.ts";
import { countMatching } from "../../platform/db/counters.ts";
import { defineLoader } from "../../platform/db/loaders.ts";
import {
  computeOffset,
  type ListQuery,
  limitPage,
  matchAny,
  matchFilters,
  matchMetadata,
  matchOrganizations,
  matchPresence,
  matchText,
  orderBy,
  type Paging,
  readPage,
  selectIds,
} from "../../platform/db/page.ts";
import {
  addRowsAtEnd,
  insertRows,
  isAmong,
  joinByKey,
  matchKey,
  type RowKey,
  readRows,
  updateRows,
} from "../../platform/db/rows.ts";
import { readSqlState } from "../../platform/loggable.ts";
import { moveState } from "../../platform/states.ts";
import { subscriptions } from "../subscriptions/tables.ts";
import type { ExportedOrder, OrderAggregate, OrderItemRow, OrderRow } from "./rules.ts";
import { orderStates } from "./states.ts";
import { computeSortedAmounts, orderConfirmations, orderItems, orders } from "./tables.ts";

/** Which orders are meant. */
type Filter = ListQuery<typeof operations.list> & {
  /** Part of the name of the product. */
  query?: string | undefined;
};
export type OrderFilter = Omit<Filter, keyof Paging | "sorting">;

const sortable = {
  ...computeSortedAmounts(orders),
  created_at: orders.created_at,
  status: orders.status,
  invoice_number: orders.invoice_number,
  customer: customers.email,
  product: products.name,
  discount: discounts.name,
  subscription: orders.subscription_id,
};

/** With customer, product and lines in the same row. Orders without a number are in the making, and shown to nobody. */
const lines = sql<OrderItemRow[]>`(
  select coalesce(json_agg(to_jsonb(i) order by i.position), '[]')
  from ${orderItems} i where i.organization_id = ${orders}.organization_id and i.order_id = ${orders}.id
)`.mapWith((list: unknown) => readRows(orderItems, list));

/** What is read of an order to answer it, and the tables that it comes from. */
export const aggregate = {
  order: orders,
  customer: customers,
  product: products,
  discount: discounts,
  subscription: subscriptions,
  items: lines,
};
export const ofCustomer = joinByKey(orders.customer_id, customers);
export const ofProduct = joinByKey(orders.product_id, products);
export const ofDiscount = joinByKey(orders.discount_id, discounts);
export const ofSubscription = joinByKey(orders.subscription_id, subscriptions);
const isNumbered = isNotNull(orders.invoice_number);

const select = (db: Database) =>
  db
    .select(aggregate)
    .from(orders)
    .innerJoin(customers, ofCustomer)
    .innerJoin(products, ofProduct)
    .leftJoin(discounts, ofDiscount)
    .leftJoin(subscriptions, ofSubscription);

/** What is asked for (ORD-29). */
function matchAsked(organizations: readonly string[], filter: OrderFilter): SQL | undefined {
  const matchProducts = (where: SQL | undefined) =>
    sql`${orders.product_id} in (select ${products.id} from ${products}
      where ${and(matchOrganizations(products.organization_id, organizations), where)})`;
  return matchFilters(filter, {
    id: matchAny(orders.id),
    product_id: matchAny(orders.product_id),
    product_billing_type: (kinds) =>
      kinds.length > 1
        ? undefined
        : matchProducts(matchPresence(products.recurring_interval)(kinds[0] === "recurring")),
    discount_id: matchAny(orders.discount_id),
    subscription_id: matchAny(orders.subscription_id),
    customer_id: matchAny(orders.customer_id),
    external_customer_id: matchExternalIds(orders.customer_id, organizations),
    checkout_id: matchAny(orders.checkout_id),
    status: matchAny(orders.status),
    invoice_number: matchAny(orders.invoice_number),
    created_after: (at) => gte(orders.created_at, at),
    created_before: (at) => lte(orders.created_at, at),
    metadata: matchMetadata(orders.metadata),
    query: (text) => matchProducts(matchText(products.name)(text)),
  });
}

/** Of the orders that are shown. */
const isMeant = (organizations: readonly string[], asked: SQL | undefined): SQL | undefined =>
  and(matchOrganizations(orders.organization_id, organizations), isNumbered, asked);

/** What orders are of, few of which have many orders: an order has the name of it to be sorted by. */
const namers = { product: [products, orders.product_id], discount: [discounts, orders.discount_id] } as const;

/**
 * The ids of a page in the order of such names. Of each name there need to be no more than the page ends with, so that of a
 * million orders a few are looked at. Orders of nothing of the kind come last, or first where the order is turned round.
 */
function selectByName(organizations: readonly string[], where: SQL | undefined, key: string, filter: Paging): SQL {
  const [table, column] = namers[key.replace("-", "") as keyof typeof namers];
  const direction = sql.raw(key.startsWith("-") ? "desc" : "asc");
  const most = computeOffset(filter) + filter.limit;
  const selectSome = (of: SQL) =>
    sql`select ${orders.id} as id from ${orders} where ${and(where, of)} order by ${orders.id} ${direction} limit ${most}`;
  return sql`(select page.id from (
    select ${table.name} as name, own.id from ${table} cross join lateral (
      ${selectSome(and(eq(orders.organization_id, table.organization_id), eq(column, table.id)) as SQL)}) own
    where ${matchOrganizations(table.organization_id, organizations)}
    union all select null, own.id from (${selectSome(isNull(column))}) own
  ) page order by page.name ${direction}, page.id ${direction} limit ${filter.limit} offset ${computeOffset(filter)})`;
}

/** One page of orders, and how many there are. */
export async function listOrders(db: Database, organizations: readonly string[], filter: Filter) {
  const asked = matchAsked(organizations, filter);
  const where = isMeant(organizations, asked);
  const order = orderBy(filter.sorting, sortable, orders.id);
  const [key = "", ...others] = filter.sorting;
  const isNamed = (one: string) => one.replace("-", "") in namers;
  const isByName = others.length === 0 && isNamed(key);
  const isOwn = !filter.sorting.some((one) => isNamed(one) || one.endsWith("customer"));
  const [limit, offset] = [limitPage(filter, asked), computeOffset(filter)];
  const matchAmong = (ids: SQLWrapper) =>
    select(db).where(and(matchOrganizations(orders.organization_id, organizations), inArray(orders.id, ids)));
  // How many have what is asked for may be far from the guess: joined at once, what they are of was read for all, many times over.
  const page = isByName
    ? matchAmong(selectByName(organizations, where, key, filter))
    : asked && isOwn
      ? matchAmong(selectIds(db, orders, where, order, limit, offset))
      : select(db).where(where).limit(limit).offset(offset);
  const count = () => db.$count(orders, where);
  return readPage<OrderAggregate>(
    () => page.orderBy(...order),
    () => countMatching(db, organizations, "orders", asked, count),
  );
}

const exportPage = 500;
const exported = {
  id: orders.id,
  created_at: orders.created_at,
  status: orders.status,
  billing_reason: orders.billing_reason,
  currency: orders.currency,
  subtotal_amount: orders.subtotal_amount,
  discount_amount: orders.discount_amount,
  tax_amount: orders.tax_amount,
  tax_behavior: orders.tax_behavior,
  refunded_amount: orders.refunded_amount,
  billing_name: orders.billing_name,
  billing_address: orders.billing_address,
  invoice_number: orders.invoice_number,
  receipt_number: orders.receipt_number,
  description: orders.description,
  email: customers.email,
  customer_name: customers.name,
};
/** All that is asked for, the oldest first, a page at a time: each is found where the one before it ended. */
export async function* iterateOrders(
  db: Database,
  organizations: readonly string[],
  filter: OrderFilter,
): AsyncGenerator<ExportedOrder[]> {
  let last: ExportedOrder | undefined;
  do {
    const rows = await findNextOrders(db, organizations, filter, last, exportPage);
    yield rows;
    last = rows.length === exportPage ? rows.at(-1) : undefined;
  } while (last);
}

/** So many of what is asked for, after the one that was seen last; the oldest first. */
export function findNextOrders(
  db: Database,
  organizations: readonly string[],
  filter: OrderFilter,
  last: { at: string; id: string } | undefined,
  limit: number,
): Promise<ExportedOrder[]> {
  // The time as text, because a date here knows no microseconds, and would find the last one again.
  const further = last && sql`(${orders.created_at}, ${orders.id}) > (${last.at}::timestamptz, ${last.id}::uuid)`;
  return db
    .select({ ...exported, at: sql<string>`${orders.created_at}::text` })
    .from(orders)
    .innerJoin(customers, ofCustomer)
    .innerJoin(products, ofProduct)
    .where(and(isMeant(organizations, matchAsked(organizations, filter)), further))
    .orderBy(asc(orders.created_at), asc(orders.id))
    .limit(limit);
}

/** An order of an organization with everything it is answered with; undefined while its sale is in the making. */
export async function findOrder(
  db: Database,
  organization_id: string,
  id: string,
): Promise<OrderAggregate | undefined> {
  const [found] = await select(db).where(and(matchKey(orders, { organization_id, id }), isNumbered));
  return found;
}

/** The same, in the making too, kept from changing until the transaction ends. */
export async function lockOrder(tx: Tx, organization_id: string, id: string): Promise<OrderAggregate | undefined> {
  const [found] = await select(tx)
    .where(matchKey(orders, { organization_id, id }))
    .for("no key update", { of: orders });
  return found;
}

/** What gives back lines of an order that waits for its money, kept from changing until the transaction ends. */
export const lockReductions = (tx: Tx, { organization_id, id }: RowKey): Promise<OrderAggregate[]> =>
  select(tx)
    .where(
      and(eq(orders.organization_id, organization_id), eq(orders.reduces_order_id, id), eq(orders.status, "pending")),
    )
    .orderBy(orders.id)
    .for("no key update", { of: orders });

const lockNotAvailable = "55P03";

/** Do what takes a lock without waiting; where another has it, the sale is refused for now (CHK-28). */
export async function rejectIfLocked<T>(work: PromiseLike<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (readSqlState(error) !== lockNotAvailable) throw error;
    throw new ApiError("CheckoutLocked", "This checkout is being changed or paid right now. Try again.");
  }
}

/** An order alone, kept from changing until the transaction ends; refused at once while another has it. */
export async function lockOrderOrRefuse(tx: Tx, key: RowKey): Promise<OrderRow | undefined> {
  const [row] = await rejectIfLocked(
    tx.select().from(orders).where(matchKey(orders, key)).for("no key update", { noWait: true }),
  );
  return row;
}

/** Add an order. */
export const insertOrder = defineLoader(async (tx: Tx, values: (typeof orders.$inferInsert)[]): Promise<OrderRow[]> => {
  const rows = await insertRows(tx, orders, values);
  return values.map(({ id }) => {
    const row = rows.find((one) => one.id === id);
    if (!row) throw new Error("The order was not written.");
    return row;
  });
});

/** Put these lines on an order, in place of what it had. */
export async function replaceItems(tx: Tx, order: OrderRow, items: (typeof orderItems.$inferInsert)[]): Promise<void> {
  await tx
    .delete(orderItems)
    .where(and(eq(orderItems.organization_id, order.organization_id), eq(orderItems.order_id, order.id)));
  await insertItems(tx, items);
}

/** Add the lines of a new order. */
export const insertItems = defineLoader(
  async (tx: Tx, lists: (typeof orderItems.$inferInsert)[][]): Promise<OrderItemRow[][]> => {
    const items = lists.flat();
    const rows = await insertRows(tx, orderItems, items);
    const byId = new Map(rows.map((row) => [row.id, row]));
    return lists.map((list) => list.flatMap(({ id }) => byId.get(id) ?? []));
  },
);

/** Change columns of an order that the caller has locked. */
export async function updateOrder(
  tx: Tx,
  { organization_id, id }: RowKey,
  patch: Partial<OrderRow>,
): Promise<OrderRow> {
  const row = await gatherUpdates(tx, { key: { organization_id, id }, patch });
  if (!row) throw new Error(`The order ${id} is gone.`);
  return row;
}

const gatherUpdates = defineLoader((tx: Tx, changes: { key: RowKey; patch: Partial<OrderRow> }[]) =>
  updateRows(tx, orders, changes),
);

/** Have the buyer of an order told that it is paid. */
export const noteConfirmation = defineLoader(
  async (tx: Tx, due: (typeof orderConfirmations.$inferInsert)[]): Promise<undefined[]> => {
    addRowsAtEnd(tx, orderConfirmations, due);
    return due.map(() => undefined);
  },
);

/** Those of these orders whose buyers are still to be told that they are paid; from here on they are not. */
export async function claimConfirmations(
  tx: Tx,
  organization_id: string,
  ids: readonly string[],
): Promise<OrderAggregate[]> {
  // The first row from each place on, so that each is looked up by its key: a database takes this table, which is empty most of
  // the time, for one that is read as a whole.
  const found = sql`select found.ctid from unnest(${writeArray(ids, "uuid")}) as wanted (id) cross join lateral (
      select due.ctid, due.organization_id, due.order_id from ${orderConfirmations} as due
      where (due.organization_id, due.order_id) >= (${organization_id}, wanted.id)
      order by due.organization_id, due.order_id limit 1) as found
    where (found.organization_id, found.order_id) = (${organization_id}, wanted.id)`;
  const taken = await tx
    .delete(orderConfirmations)
    .where(sql`ctid = any(array(${found}))`)
    .returning({ id: orderConfirmations.order_id });
  const mine = taken.map(({ id }) => id);
  return mine.length === 0
    ? []
    : select(tx)
        .where(isAmong(organization_id, orders.id, mine))
        .orderBy(orders.id);
}

/** Give up an order that waits for its money. False where somebody is at it at this moment: nothing was done, and it is to be asked again. */
export async function voidPending(tx: Tx, organization_id: string, id: string, now: Date): Promise<boolean> {
  const key = matchKey(orders, { organization_id, id });
  const [order] = await tx
    .select({ id: orders.id, status: orders.status })
    .from(orders)
    .where(key)
    .for("no key update", { skipLocked: true });
  if (order?.status === "pending")
    await tx
      .update(orders)
      .set({ status: moveState(orderStates, order, "void"), modified_at: now })
      .where(key);
  return order !== undefined;
}

/** Forget a buyer, but for what an invoice says of them, which stays for the tax office. */
export async function eraseBuyer(tx: Tx, person: Erased): Promise<void> {
  const isBilled = isNotNull(orders.invoice_number);
  await tx
    .update(orders)
    .set({
      billing_name: sql`case when ${isBilled} then ${orders.billing_name} end`,
      billing_address: sql`case when ${isBilled} then ${orders.billing_address} else ${reduceToRegion(orders.billing_address)} end`,
      customer_tax_id: sql`case when ${isBilled} then ${orders.customer_tax_id} end`,
      custom_field_data: {},
      metadata: clearIfNamed(orders.metadata, person),
    })
    .where(and(eq(orders.organization_id, person.organization_id), eq(orders.customer_id, person.id)));
}
