import { and, eq, gt, gte, inArray, isNotNull, isNull, lt, ne, or, sql } from "drizzle-orm";
import { alias } from "drizzle-orm/pg-core";
import { addUp } from "../../shared/money.ts";
import { computeAmount, computeTaxes } from "../../shared/pricing.ts";
import { disputes } from "../disputes/tables.ts";
import type { Database } from "../lib/context.ts";
import { isAmong } from "../lib/rows.ts";
import { computeTotals, type OrderItemRow, type OrderRow } from "../orders/rules.ts";
import { orderItems, orders } from "../orders/tables.ts";
import { held } from "../refunds/rules.ts";
import { refunds } from "../refunds/tables.ts";
import { isCredit, type SoldLine, type SoldOrder } from "./credits.ts";
import type { EntryRow, SubscriptionAggregate, SubscriptionRow } from "./rules.ts";
import { getTaxPlace } from "./tax.ts";

type Sold = { item: OrderItemRow; order: OrderRow };
/** Money, and the tax in it. */
type Gross = { amount: number; tax_amount: number };

const live = ["pending", "paid", "partially_refunded", "refunded"] as const;
/** An order that begins a subscription is settled moments before the period that it is for begins. */
const settling_ms = 60 * 60 * 1000;

/** The lines with an amount that a subscription was billed for its period that runs, and those with these ids. */
function selectSold(db: Database, row: SubscriptionRow, ids: readonly string[]) {
  const { organization_id, current_period_start } = row;
  return db
    .select({ item: orderItems, order: orders })
    .from(orderItems)
    .innerJoin(orders, and(eq(orders.organization_id, orderItems.organization_id), eq(orders.id, orderItems.order_id)))
    .where(
      and(
        eq(orders.organization_id, organization_id),
        eq(orders.subscription_id, row.id),
        inArray(orders.status, [...live]),
        isNotNull(orders.invoice_number),
        gt(orderItems.amount, 0),
        or(
          gte(orderItems.start_timestamp, current_period_start),
          and(isNull(orderItems.start_timestamp), eq(orders.billing_reason, "subscription_create")),
          ids.length > 0 ? inArray(orderItems.id, [...ids]) : undefined,
        ),
      ),
    )
    .orderBy(orders.id, orderItems.id);
}

/** What a checkout sold is of the period that runs where that began with it: such lines name no time. */
function pickOfPeriod(
  rows: readonly Sold[],
  { current_period_start }: SubscriptionRow,
  ids: ReadonlySet<string>,
): Sold[] {
  const isBilled = rows.some(({ order }) => order.period_start?.getTime() === current_period_start.getTime());
  return rows.filter(({ item, order }) => {
    if (ids.has(item.id) || item.start_timestamp !== null) return true;
    return !isBilled && Math.abs(current_period_start.getTime() - order.created_at.getTime()) <= settling_ms;
  });
}

type Reversing = Pick<OrderItemRow, "amount" | "tax_amount" | "reverses_item_id">;
/** What a line gives back with its tax, both above zero. One that does not name what it gives back is taxed as its order. */
function computeGross({ amount, tax_amount, reverses_item_id }: Reversing, order: OrderRow): Gross {
  const { tax } = order.derivation;
  const own =
    reverses_item_id === null ? addUp(computeTaxes(0 - amount, tax).map((one) => one.amount)) : 0 - tax_amount;
  return { amount: order.tax_behavior === "inclusive" ? 0 - amount : own - amount, tax_amount: own };
}

const addGross = (all: readonly Gross[]): Gross => ({
  amount: addUp(all.map(({ amount }) => amount)),
  tax_amount: addUp(all.map(({ tax_amount }) => tax_amount)),
});

/** What has gone back of orders, or is on its way, by refunds and disputes; `reversed`: what that took back of credits. */
async function findReturned(db: Database, organization_id: string, ids: readonly string[]) {
  const refunded = await db
    .select({
      order_id: refunds.order_id,
      pending: sql<number>`coalesce(sum(${refunds.amount} + ${refunds.tax_amount}) filter (where ${refunds.status} = 'pending'), 0)::int`,
      pending_tax: sql<number>`coalesce(sum(${refunds.tax_amount}) filter (where ${refunds.status} = 'pending'), 0)::int`,
      reversed: sql<number>`coalesce(sum(${refunds.balance_amount}) filter (where ${refunds.status} = 'succeeded'), 0)::int`,
    })
    .from(refunds)
    .where(and(isAmong(organization_id, refunds.order_id, ids), eq(refunds.is_surplus, false)))
    .groupBy(refunds.order_id);
  const disputed = await db
    .select({
      order_id: disputes.order_id,
      amount: sql<number>`sum(${disputes.amount} + ${disputes.tax_amount})::int`,
      tax_amount: sql<number>`sum(${disputes.tax_amount})::int`,
    })
    .from(disputes)
    .where(
      and(
        isAmong(organization_id, disputes.order_id, ids),
        eq(disputes.is_surplus, false),
        inArray(disputes.status, [...held]),
      ),
    )
    .groupBy(disputes.order_id);
  const refundedOf = new Map(refunded.map((one) => [one.order_id, one]));
  const disputedOf = new Map(disputed.map((one) => [one.order_id, one]));
  return (order: OrderRow): Gross & { reversed: number } => {
    const { pending = 0, pending_tax = 0, reversed = 0 } = refundedOf.get(order.id) ?? {};
    const { amount = 0, tax_amount = 0 } = disputedOf.get(order.id) ?? {};
    return {
      amount: order.refunded_amount + order.refunded_tax_amount + pending + amount,
      tax_amount: order.refunded_tax_amount + pending_tax + tax_amount,
      reversed,
    };
  };
}

/** The lines of orders that give something back within their own order, and those of any order that give back what these sold. */
async function findReversing(db: Database, organization_id: string, ids: readonly string[]) {
  const source = alias(orderItems, "source");
  const own = await db
    .select()
    .from(orderItems)
    .where(and(isAmong(organization_id, orderItems.order_id, ids), lt(orderItems.amount, 0)));
  const reversing = await db
    .select({ source_id: source.id, source_order_id: source.order_id, item: orderItems, order: orders })
    .from(source)
    .innerJoin(
      orderItems,
      and(eq(orderItems.organization_id, source.organization_id), eq(orderItems.reverses_item_id, source.id)),
    )
    .innerJoin(orders, and(eq(orders.organization_id, orderItems.organization_id), eq(orders.id, orderItems.order_id)))
    .where(and(isAmong(organization_id, source.order_id, ids), ne(orders.status, "void")));
  return { own: Map.groupBy(own, ({ order_id }) => order_id), reversing };
}

/** What was given back of a line, as the prices of its own order count it. */
const countAs = ({ amount, tax_amount }: Gross, order: OrderRow): number =>
  order.tax_behavior === "inclusive" ? amount : amount - tax_amount;

/**
 * What a subscription was sold for its period that runs, or is named by what waits to be billed, and what can still be given back
 * of it. `isLocked`: the orders are kept from changing until the transaction ends, so that nothing goes back twice.
 */
export async function loadSold(
  db: Database,
  { row, customer }: Pick<SubscriptionAggregate, "row" | "customer">,
  entries: readonly Pick<EntryRow, "id" | "line">[],
  isLocked: boolean,
): Promise<SoldLine[]> {
  const { organization_id } = row;
  const here = getTaxPlace(customer.billing_address, customer.tax_id);
  const named = new Set(entries.flatMap(({ line }) => (line.reverses?.order_id ? [line.reverses.item_id] : [])));
  const query = selectSold(db, row, [...named]);
  const rows = pickOfPeriod(await (isLocked ? query.for("no key update", { of: orders }) : query), row, named);
  const waiting = listWaiting(entries);
  if (rows.length === 0) return waiting;
  const ids = [...new Set(rows.map(({ order }) => order.id))];
  const returned = await findReturned(db, organization_id, ids);
  const { own, reversing } = await findReversing(db, organization_id, ids);
  const grossOf = (which: (one: (typeof reversing)[number]) => boolean): Gross =>
    addGross(reversing.filter(which).map(({ item, order }) => computeGross(item, order)));
  const soldOrders = new Map(
    rows.map(({ order }): [string, SoldOrder] => {
      // What an order gives back was paid before: its other lines are paid with that, too.
      const within = addGross((own.get(order.id) ?? []).map((item) => computeGross(item, order)));
      const credited = grossOf(({ source_order_id }) => source_order_id === order.id);
      const back = returned(order);
      const left = computeTotals(order).total_amount + within.amount - back.amount;
      const sold: SoldOrder = {
        id: order.id,
        is_open: order.status === "pending",
        tax: order.derivation.tax,
        is_elsewhere: getTaxPlace(order.billing_address, order.customer_tax_id) !== here,
        taxed_amount: order.subtotal_amount - order.discount_amount,
        left_amount: Math.max(0, left - Math.max(0, credited.amount - back.reversed)),
        left_tax_amount: Math.max(0, order.tax_amount + within.tax_amount - back.tax_amount - credited.tax_amount),
      };
      return [order.id, sold];
    }),
  );
  const lines = rows.map(({ item, order }): SoldLine => {
    const discounted = order.derivation.lines[item.position]?.discount_amount ?? 0;
    return {
      item_id: item.id,
      product_price_id: item.product_price_id,
      order: soldOrders.get(order.id) ?? null,
      start: item.start_timestamp ?? row.current_period_start,
      amount: item.amount - discounted,
      reversed_amount: countAs(
        grossOf(({ source_id }) => source_id === item.id),
        order,
      ),
    };
  });
  return [...lines, ...waiting];
}

/** What was sold and waits to be billed, less what waits to be given back of it. */
function listWaiting(entries: readonly Pick<EntryRow, "id" | "line">[]): SoldLine[] {
  const back = entries.filter(isCredit);
  return entries.flatMap(({ id, line }) => {
    const amount = computeAmount(line.source);
    if (!line.proration || amount <= 0 || !line.period) return [];
    const reversed = back.filter(({ line: { reverses } }) => reverses?.order_id === null && reverses.item_id === id);
    return [
      {
        item_id: id,
        product_price_id: line.product_price_id,
        order: null,
        start: new Date(line.period.start),
        amount,
        reversed_amount: 0 - addUp(reversed.map((one) => computeAmount(one.line.source))),
      },
    ];
  });
}
