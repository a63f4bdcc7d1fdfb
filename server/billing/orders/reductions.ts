import { getMinimumAmount } from "../../../shared/money.ts";
import { computeQuote, type LineTerms, type Quote } from "../../../shared/pricing.ts";
import type { Ctx, Deps, Tx } from "../../platform/context.ts";
import { runAtEnd } from "../../platform/db/unit-of-work.ts";
import { emitEach } from "../../platform/events/events.ts";
import { moveState } from "../../platform/states.ts";
import { computeTotals, hashReducedTerms, type OrderRow, serializeOrder } from "./rules.ts";
import { orderStates } from "./states.ts";
import * as store from "./store.ts";

/** What the lines of an order come to that are given back, all with the taxes that they were sold with. */
export function computeReduction({ currency, derivation }: OrderRow, lines: readonly LineTerms[]): Quote {
  const { given: _, ...tax } = derivation.tax;
  const apart = lines.map((line) => ({
    ...line,
    ...(line.reverses && { reverses: { ...line.reverses, is_apart: true } }),
  }));
  return computeQuote({ currency, seats: null, lines: apart, discount: null, tax });
}

/** The document of it, which says of the buyer what the order says. */
export const describeReduction = (order: OrderRow, quote: Quote) => ({
  organization_id: order.organization_id,
  billing_reason: "subscription_update" as const,
  billing_name: order.billing_name,
  billing_address: order.billing_address,
  customer_tax_id: order.customer_tax_id,
  description: order.description,
  customer_id: order.customer_id,
  product_id: order.product_id,
  subscription_id: order.subscription_id,
  checkout_id: null,
  begins: null,
  applied_balance_amount: 0,
  metadata: order.metadata,
  custom_field_data: order.custom_field_data,
  reduces_order_id: order.id,
  quote,
});

/**
 * What becomes of an order that is reduced. What it took of the balance beyond what is left of it goes back there; less than a card
 * can be charged with is owed (ORD-04). A payment that was tried for more than is due now pays it no more.
 */
export function planReduction(order: OrderRow, quote: Pick<Quote, "net_amount" | "tax_amount">) {
  const reduced_amount = order.reduced_amount - quote.net_amount;
  const reduced_tax_amount = order.reduced_tax_amount - (quote.tax_amount ?? 0);
  const { total_amount } = computeTotals(order);
  const left = total_amount + order.applied_balance_amount - reduced_amount - reduced_tax_amount;
  const isPaid = left < getMinimumAmount(order.currency);
  const balance_change = isPaid ? 0 - left : 0;
  return {
    reduced_amount,
    reduced_tax_amount,
    applied_balance_amount: order.applied_balance_amount + balance_change,
    terms: hashReducedTerms(order, { reduced_amount, reduced_tax_amount }),
    balance_change,
    isPaid,
  };
}

/** What reduced an order is paid with it, or void. The caller holds the lock of the order. */
export async function moveReductions(tx: Tx, ctx: Deps | Ctx, order: OrderRow, status: "paid" | "void"): Promise<void> {
  if (order.reduced_amount + order.reduced_tax_amount === 0) return;
  const now = ctx.clock.now();
  const isPaid = status === "paid";
  for (const { order: row, ...parts } of await store.lockReductions(tx, order)) {
    const columns = { status: moveState(orderStates, row, status), paid_at: isPaid ? now : null, modified_at: now };
    const moved = { ...row, ...columns };
    const types = ["order.updated" as const, ...(isPaid ? (["order.paid"] as const) : [])];
    await emitEach(tx, ctx, order.organization_id, types, () => serializeOrder({ ...parts, order: moved }));
    runAtEnd(tx, async () => {
      Object.assign(moved, await store.updateOrder(tx, row, columns));
    });
  }
}
