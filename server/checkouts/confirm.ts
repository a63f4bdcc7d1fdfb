import type { z } from "zod";
import type { CheckoutConfirm, CheckoutPublicConfirmed } from "../../shared/api/checkout-client.ts";
import { ApiError, fault, invalid } from "../../shared/errors.ts";
import { checkAnswers } from "../custom-fields/rules.ts";
import type { CustomerRow } from "../customers/rules.ts";
import type { Ctx, Tx } from "../lib/context.ts";
import { transact } from "../lib/unit-of-work.ts";
import { type NewOrder, openOrder, reopenOrder } from "../orders/service.ts";
import { isReadyForPayment } from "../organizations/rules.ts";
import type { PaymentRow } from "../payments/rules.ts";
import { chargePayment, type Settled, startPayment } from "../payments/settlement.ts";
import { lockOfBuyer, type Opened } from "./access.ts";
import { findOrCreateCustomer } from "./customer.ts";
import { planChange } from "./plan-update.ts";
import { computeFlags, quotePrice } from "./quote.ts";
import { emitCheckout } from "./reactions.ts";
import { type CheckoutAggregate, checkComplete, checkProduct, moveCheckout, productOf } from "./rules.ts";
import { serializePublicCheckout } from "./serialize.ts";
import { updateCheckout } from "./store.ts";

type Written = Opened & { payment: PaymentRow | null };

/**
 * Confirm a checkout: everything is written down in one transaction, and only then is the processor asked. What becomes of
 * the payment reaches the checkout through its order.
 */
export async function confirmCheckout(
  asked: Ctx,
  client_secret: string,
  { confirmation_token_id, ...sent }: z.output<typeof CheckoutConfirm>,
): Promise<z.output<typeof CheckoutPublicConfirmed>> {
  const written = await transact(asked, (tx) =>
    writeConfirmation(tx, asked, client_secret, sent, confirmation_token_id),
  );
  const { aggregate, seller, payment, ctx } = written;
  const settled = payment && (await chargePayment(ctx, payment, productOf(aggregate).name));
  if (settled?.status === "failed") throw new ApiError("PaymentError", settled.message ?? "The payment was declined.");
  const row = { ...aggregate.row, payment_processor_metadata: describeChallenge(settled) };
  // A session would let whoever typed an address act as its owner; customers prove who they are in the portal (CHK-50).
  const answer = serializePublicCheckout({ ...aggregate, row }, seller, ctx);
  return { ...answer, status: "confirmed", customer_session_token: null };
}

/** What the browser needs to finish a challenge. */
const describeChallenge = (settled: Settled | null): Record<string, string> =>
  settled?.intent && settled.status === "pending"
    ? { intent_status: settled.intent.status, intent_client_secret: settled.intent.client_secret }
    : {};

async function writeConfirmation(
  tx: Tx,
  asked: Ctx,
  client_secret: string,
  sent: Parameters<typeof planChange>[1],
  token: string | null | undefined,
): Promise<Written> {
  const { aggregate: before, seller, ctx } = await lockOfBuyer(tx, asked, client_secret);
  const { aggregate: filled, patch } = planChange(before, sent, "confirmation");
  const product = productOf(filled);
  const quote = quotePrice(product, filled.price, filled.row.quote.subtotal_amount);
  const flags = computeFlags(quote, filled.price);
  if (flags.is_payment_required && !isReadyForPayment(seller))
    throw new ApiError("PaymentNotReady", "This organization cannot take payments now.");
  const faults = checkComplete(filled.row, flags.is_payment_form_required, token);
  // What stands may have been answered before a bound was moved, so it is looked at again (CUF-08).
  faults.push(...checkAnswers(product.fields, filled.row.custom_field_data, { complete: true }).faults);
  const unsold = checkProduct(product, ["product_id"], product.id);
  if (unsold) faults.push(unsold);
  else if (filled.price.is_archived)
    faults.push(fault(["product_price_id"], "Price is archived.", "value_error", filled.price.id));
  if (faults.length > 0) throw invalid(...faults);

  const customer = await findOrCreateCustomer(tx, ctx, filled.row);
  // A team may have no address of its own; the buyer's is asked for then.
  const email = customer.email ?? filled.row.customer_email ?? "";
  const wanted = planOrder({ ...filled, row: { ...filled.row, quote } }, customer);
  const { order_id } = before.row;
  const order = order_id === null ? await openOrder(tx, ctx, wanted) : await reopenOrder(tx, ctx, order_id, wanted);
  const row = await updateCheckout(tx, before.row, {
    ...patch,
    quote,
    status: moveCheckout(before.row, "confirmed"),
    customer_id: customer.id,
    customer_email: email,
    order_id: order.id,
    modified_at: ctx.clock.now(),
  });
  const aggregate = { ...filled, row };
  await emitCheckout(tx, ctx, "checkout.updated", aggregate);
  if (flags.is_payment_required) {
    const payer = { email, confirmation_token_id: token ?? "", keep: false };
    return { aggregate, seller, ctx, payment: await startPayment(tx, ctx, order, payer) };
  }
  await ctx.jobs.send(tx, "orders.settle_free", { organization_id: order.organization_id, order_id: order.id });
  return { aggregate, seller, ctx, payment: null };
}

/** The order that a checkout is paid by (ORD-10). */
function planOrder(aggregate: CheckoutAggregate, customer: CustomerRow): NewOrder {
  const { row } = aggregate;
  const product = productOf(aggregate);
  return {
    organization_id: row.organization_id,
    billing_reason: "purchase",
    billing_name: customer.billing_name ?? row.customer_billing_name ?? row.customer_name,
    billing_address: row.customer_billing_address ?? customer.billing_address,
    description: product.name,
    customer_id: customer.id,
    product_id: product.id,
    checkout_id: row.id,
    metadata: row.metadata,
    custom_field_data: row.custom_field_data,
    quote: row.quote,
  };
}
