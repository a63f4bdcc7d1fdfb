import { and, eq, lt, ne } from "drizzle-orm";
import { alias } from "drizzle-orm/pg-core";
import { addUp, computeFraction } from "../../../shared/money.ts";
import { computeTaxes } from "../../../shared/pricing.ts";
import type { Database } from "../../platform/context.ts";
import { isAmong } from "../../platform/db/rows.ts";
import { computeTotals, type OrderItemRow, type OrderRow } from "./rules.ts";
import { orderItems, orders } from "./tables.ts";

/** Money with the tax in it, and that tax. */
export type GrossAmount = { amount: number; tax_amount: number };

type Reversing = Pick<OrderItemRow, "amount" | "tax_amount" | "position">;
/** What a line gives back, above zero. One that was computed without what it gives back is taxed as its order. */
function computeGross({ amount, tax_amount, position }: Reversing, { derivation, ...order }: OrderRow): GrossAmount {
  const own = derivation.lines[position]?.reverses
    ? 0 - tax_amount
    : addUp(computeTaxes(0 - amount, derivation.tax).map((one) => one.amount));
  return { amount: order.tax_behavior === "inclusive" ? 0 - amount : own - amount, tax_amount: own };
}

const addGross = (all: readonly GrossAmount[]): GrossAmount => ({
  amount: addUp(all.map(({ amount }) => amount)),
  tax_amount: addUp(all.map(({ tax_amount }) => tax_amount)),
});

/** What was given back of an order's lines, and how much of it became its customer's credit. */
export type CreditedLines = GrossAmount & {
  credit_amount: number;
  /** What of it was given back before the order was paid: by lines of its own, and by what reduces what is due. */
  reduced: GrossAmount;
  /** What the lines of the order that cost something were worth: what the order asked for, and what it gave back itself. */
  worth: GrossAmount;
  /** What was given back of one line, as the prices of its order count it. */
  reversedOf(item_id: string): number;
};

/** What was given back of each of these orders. Void orders give nothing back. */
export async function loadCredited(
  db: Database,
  organization_id: string,
  sold: readonly OrderRow[],
): Promise<Map<string, CreditedLines>> {
  const ids = sold.map(({ id }) => id);
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
  return new Map(
    sold.map((order): [string, CreditedLines] => {
      const within = addGross(own.flatMap((item) => (item.order_id === order.id ? [computeGross(item, order)] : [])));
      const lines = reversing
        .filter(({ source_order_id }) => source_order_id === order.id)
        .map((one) => ({ ...one, gross: computeGross(one.item, one.order) }));
      const byOrder = Map.groupBy(lines, (one) => one.order.id);
      const credits = [...byOrder.values()].map((some) => {
        // What reduces an unpaid order is nobody's credit.
        const from = some[0]?.order;
        const total = from && from.reduces_order_id === null ? computeTotals(from).total_amount : 0;
        return Math.min(Math.max(0, 0 - total), addUp(some.map(({ gross }) => gross.amount)));
      });
      return [
        order.id,
        {
          ...addGross(lines.map(({ gross }) => gross)),
          reduced: addGross([
            { amount: order.reduced_amount + order.reduced_tax_amount, tax_amount: order.reduced_tax_amount },
            ...lines.flatMap((one) => (one.order.id === order.id ? [one.gross] : [])),
          ]),
          credit_amount: addUp(credits),
          worth: {
            // A debt that was asked for with it was paid with it.
            amount: computeTotals(order).total_amount + within.amount + Math.max(0, order.applied_balance_amount),
            tax_amount: order.tax_amount + within.tax_amount,
          },
          reversedOf: (item_id) => {
            const { amount, tax_amount } = addGross(
              lines.flatMap(({ source_id, gross }) => (source_id === item_id ? [gross] : [])),
            );
            return order.tax_behavior === "inclusive" ? amount : amount - tax_amount;
          },
        },
      ];
    }),
  );
}

/**
 * What is taken back of the credit that was given for an order, as money of it goes back in another way (RFD-13): as much as goes
 * back of what the customer still has of it, and in any case what is more in all than the order was worth. `returned`: all that has
 * gone back of the order, with `change`, which goes back now.
 */
export function planRecall(
  credited: GrossAmount & Pick<CreditedLines, "credit_amount" | "worth">,
  order: Pick<OrderRow, "recalled_amount" | "recalled_tax_amount">,
  { returned, change, balance }: { returned: GrossAmount; change: number; balance: number },
): GrossAmount {
  const { worth } = credited;
  const left = Math.max(0, credited.amount - order.recalled_amount);
  const left_tax = Math.max(0, credited.tax_amount - order.recalled_tax_amount);
  const excess = returned.amount + left - worth.amount;
  const excess_tax = Math.min(left_tax, returned.tax_amount + left_tax - worth.tax_amount);
  const held = Math.min(change, Math.max(0, balance), credited.credit_amount - order.recalled_amount);
  const amount = Math.min(left, Math.max(0, excess, excess_tax, held));
  const share = left === 0 ? 0 : computeFraction(left_tax, amount, left);
  return { amount, tax_amount: Math.min(left_tax, amount, Math.max(share, excess_tax)) };
}
