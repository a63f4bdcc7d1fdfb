import { and, eq, gt, gte, inArray, isNotNull, isNull, or, sql } from "drizzle-orm";
import { addUp } from "../../../shared/money.ts";
import { computeAmount } from "../../../shared/pricing.ts";
import type { Database } from "../../platform/context.ts";
import { isAmong } from "../../platform/db/rows.ts";
import { disputes } from "../disputes/tables.ts";
import { type GrossAmount, loadCredited } from "../orders/credits.ts";
import type { OrderItemRow, OrderRow } from "../orders/rules.ts";
import { orderItems, orders } from "../orders/tables.ts";
import { held } from "../refunds/rules.ts";
import { refunds } from "../refunds/tables.ts";
import { isCredit, type SoldLine, type SoldOrder } from "./credits.ts";
import type { EntryRow, SubscriptionAggregate, SubscriptionRow } from "./rules.ts";
import { getTaxPlace } from "./tax.ts";

type Sold = { item: OrderItemRow; order: OrderRow };

const live = ["pending", "paid", "partially_refunded", "refunded"] as const;
/** An order that begins a subscription is settled moments before the period that it is for begins. */
const settlingMs = 60 * 60 * 1000;

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
    return !isBilled && Math.abs(current_period_start.getTime() - order.created_at.getTime()) <= settlingMs;
  });
}

/** What has gone back of orders, or is on its way, by refunds and disputes. */
async function findReturned(db: Database, organization_id: string, ids: readonly string[]) {
  const refunded = await db
    .select({
      order_id: refunds.order_id,
      pending: sql<number>`coalesce(sum(${refunds.amount} + ${refunds.tax_amount}) filter (where ${refunds.status} = 'pending'), 0)::int`,
      pending_tax: sql<number>`coalesce(sum(${refunds.tax_amount}) filter (where ${refunds.status} = 'pending'), 0)::int`,
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
  return (order: OrderRow): GrossAmount => {
    const { pending = 0, pending_tax = 0 } = refundedOf.get(order.id) ?? {};
    const { amount = 0, tax_amount = 0 } = disputedOf.get(order.id) ?? {};
    return {
      amount: order.refunded_amount + order.refunded_tax_amount + pending + amount,
      tax_amount: order.refunded_tax_amount + pending_tax + tax_amount,
    };
  };
}

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
  const soldRows = [...new Map(rows.map(({ order }) => [order.id, order])).values()];
  const creditedOf = await loadCredited(db, organization_id, soldRows);
  const soldOrders = new Map(
    soldRows.map((order): [string, SoldOrder] => {
      const back = returned(order);
      const credited = creditedOf.get(order.id);
      const worth = credited?.worth ?? { amount: 0, tax_amount: 0 };
      const credit = Math.max(0, (credited?.amount ?? 0) - order.recalled_amount);
      const credit_tax = Math.max(0, (credited?.tax_amount ?? 0) - order.recalled_tax_amount);
      const sold: SoldOrder = {
        id: order.id,
        invoice_number: order.invoice_number,
        is_open: order.status === "pending",
        tax: order.derivation.tax,
        is_elsewhere: getTaxPlace(order.billing_address, order.customer_tax_id) !== here,
        taxed_amount: order.subtotal_amount - order.discount_amount,
        left_amount: Math.max(0, worth.amount - back.amount - credit),
        left_tax_amount: Math.max(0, worth.tax_amount - back.tax_amount - credit_tax),
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
      reversed_amount: creditedOf.get(order.id)?.reversedOf(item.id) ?? 0,
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
