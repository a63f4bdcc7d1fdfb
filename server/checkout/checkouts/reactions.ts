import { hashQuote, type OrderAggregate, type OrderRow } from "../../billing/orders/rules.ts";
import type { FailedPayment, WaitingPayment } from "../../billing/payments/settlement.ts";
import { releaseTrial } from "../../billing/subscriptions/trials.ts";
import { releaseDiscount } from "../../catalog/discounts/redemption.ts";
import type { Ctx, Deps, Tx } from "../../platform/context.ts";
import { emit } from "../../platform/events/events.ts";
import { moveState } from "../../platform/states.ts";
import type { CheckoutAggregate, CheckoutRow } from "./rules.ts";
import { sealChallenge, serializeCheckout } from "./serialize.ts";
import { checkoutStates } from "./states.ts";
import { loadCheckout, lockCheckout, updateCheckout } from "./store.ts";

/** Say what has become of a checkout. */
export function emitCheckout(
  tx: Tx,
  ctx: Deps | Ctx,
  type: "checkout.created" | "checkout.updated" | "checkout.expired",
  aggregate: CheckoutAggregate,
): Promise<void> {
  return emit(tx, ctx, aggregate.row.organization_id, type, serializeCheckout(aggregate, ctx));
}

/** Change a checkout for what became of its order, and say so. `plan` answers nothing where nothing is to be changed. */
async function changeFor(
  tx: Tx,
  ctx: Deps | Ctx,
  { organization_id, checkout_id }: OrderRow,
  plan: (row: CheckoutRow) => Partial<CheckoutRow> | undefined,
): Promise<void> {
  if (checkout_id === null) return;
  const row = await lockCheckout(tx, organization_id, checkout_id);
  const patch = row && plan(row);
  if (!patch) return;
  const changed = await updateCheckout(tx, row, { ...patch, modified_at: ctx.clock.now() });
  await emitCheckout(tx, ctx, "checkout.updated", await loadCheckout(tx, changed));
}

/** Its order is settled: the checkout has done what it was made for. */
export const completeCheckout = (tx: Tx, ctx: Deps | Ctx, settled: OrderAggregate) =>
  changeFor(tx, ctx, settled.order, (row) => ({
    ...adoptTerms(row, settled),
    status: moveState(checkoutStates, row, "succeeded"),
    payment_processor_metadata: {},
  }));

/** What was paid for counts, where the buyer has chosen something else since. */
function adoptTerms(row: CheckoutRow, { order, items }: OrderAggregate): Partial<CheckoutRow> {
  const { customer_id, product_id, discount_id, seats } = order;
  const quote = order.begins?.quote ?? order.derivation;
  if (
    row.customer_id === customer_id &&
    hashQuote({ customer_id, product_id: row.product_id }, row.quote) === hashQuote({ customer_id, product_id }, quote)
  )
    return {};
  const product_price_id =
    order.begins?.price_ids[0] ?? items.find((item) => item.product_price_id !== null)?.product_price_id;
  return {
    product_id,
    customer_id,
    seats,
    discount_id: order.begins ? (quote.discount?.id ?? null) : discount_id,
    ...(product_price_id ? { product_price_id } : {}),
    quote,
  };
}

/** An attempt to pay came to nothing: the buyer may try again. */
export async function reopenCheckout(tx: Tx, ctx: Deps | Ctx, { order }: FailedPayment): Promise<void> {
  const { checkout_id, organization_id } = order;
  if (checkout_id === null) return;
  await changeFor(tx, ctx, order, (row) =>
    row.status === "confirmed"
      ? { status: moveState(checkoutStates, row, "open"), payment_processor_metadata: {} }
      : undefined,
  );
  // What was not paid for has used up nothing (DSC-13).
  if (order.discount_id !== null || order.begins?.quote.discount)
    await releaseDiscount(tx, { organization_id, id: checkout_id });
  if (order.begins?.trial_end) await releaseTrial(tx, { organization_id, id: checkout_id });
}

/** The browser is told how an attempt stands, and what it needs to finish a challenge. */
export const recordIntent = (tx: Tx, ctx: Deps | Ctx, { order, intent }: { order: OrderRow; intent: WaitingPayment }) =>
  changeFor(tx, ctx, order, (row) =>
    row.status === "confirmed" && row.payment_processor_metadata.intent_status !== intent.status
      ? { payment_processor_metadata: sealChallenge(row.id, intent, ctx.config) }
      : undefined,
  );
