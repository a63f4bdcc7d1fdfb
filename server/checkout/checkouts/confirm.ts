import { z } from "zod";
import {
  type CheckoutConfirm,
  CheckoutPublic,
  type CheckoutPublicConfirmed,
} from "../../../shared/api/checkout-client.ts";
import { ApiError, fault, invalid } from "../../../shared/errors.ts";
import { formatMoney } from "../../../shared/money.ts";
import { requiresWithdrawalConsent } from "../../../shared/withdrawal.ts";
import { type NewOrder, openOrder, reopenOrder, scheduleSettlement } from "../../billing/orders/service.ts";
import { findFingerprint } from "../../billing/payments/methods.ts";
import type { PaymentRow, SetupRow } from "../../billing/payments/rules.ts";
import { assertPayments } from "../../billing/payments/rules.ts";
import { chargePayment, type SettledPayment, startPayment } from "../../billing/payments/settlement.ts";
import { executeSetup, startSetup } from "../../billing/payments/setups.ts";
import { type ComputedTax, openTaxation, type TaxQuestion } from "../../billing/tax/computed.ts";
import { checkAnswers } from "../../catalog/custom-fields/rules.ts";
import { checkRedeemable, redeemDiscount } from "../../catalog/discounts/redemption.ts";
import type { PriceRow } from "../../catalog/products/rules.ts";
import type { CustomerRow } from "../../customers/customers/rules.ts";
import { openSessionAtEnd } from "../../customers/sessions/service.ts";
import { assertMoneyMoves } from "../../identity/organizations/rules.ts";
import type { Config } from "../../platform/config.ts";
import type { Ctx, Tx } from "../../platform/context.ts";
import { transact } from "../../platform/db/unit-of-work.ts";
import { moveState } from "../../platform/states.ts";
import {
  checkSubscribed,
  checkSubscribing,
  checkTrialled,
  lockOfBuyer,
  type OpenedCheckout,
  requiresCard,
} from "./access.ts";
import { findNamedDiscount } from "./choose.ts";
import { findOrCreateCustomer } from "./customer.ts";
import { planChange, type SentUpdate } from "./plan-update.ts";
import { computeFlags, computeTrialQuote, isChargeable } from "./quote.ts";
import { emitCheckout } from "./reactions.ts";
import {
  type CheckoutAggregate,
  type CheckoutRow,
  checkComplete,
  checkProduct,
  getPrices,
  getProduct,
} from "./rules.ts";
import { sealChallenge, serializePublicCheckout } from "./serialize.ts";
import { isSignedQuote } from "./signed-quote.ts";
import { checkoutStates } from "./states.ts";
import { updateCheckout } from "./store.ts";
import { findWanted, requireTax, taxUnknown } from "./tax.ts";

/**
 * What was written. Refused: the buyer was shown other terms, which they are to see first. Asks: which card it is, or what tax
 * is due, has to be known before anything is written.
 */
type Written = OpenedCheckout & {
  payment: PaymentRow | null;
  setup: SetupRow | null;
  isRefused: boolean;
  asks: "card" | TaxQuestion | null;
  /** What opens the buyer's portal. */
  portal_token: string | null;
};
/** How often others are asked for one confirmation: each once, and again where the checkout was changed meanwhile. */
const askedMax = 4;
type Agreed = {
  token: string | null | undefined;
  quote: string | null | undefined;
  /** Undefined where the page did not ask, as those of sellers' own clients. */
  consent: string | null | undefined;
};
/** What was asked of others since the confirmation was sent. */
type Known = {
  /** What tells the card from others; undefined where nobody has asked, null where the processor does not say. */
  card?: string | null;
  tax?: ComputedTax;
};

/**
 * Confirm a checkout: everything is written down in one transaction, and only then is the processor asked. What becomes of
 * the payment reaches the checkout through its order.
 */
export async function confirmCheckout(
  asked: Ctx,
  client_secret: string,
  { confirmation_token_id, quote, withdrawal_consent, ...sent }: z.output<typeof CheckoutConfirm>,
): Promise<z.output<typeof CheckoutPublicConfirmed>> {
  const agreed = { token: confirmation_token_id, quote, consent: withdrawal_consent };
  const known: Known = {};
  const write = () =>
    transact(asked, (tx) => writeConfirmation(tx, asked, client_secret, sent, { ...agreed, ...known }));
  let written = await write();
  // Which card it is says the processor alone, and which tax is due perhaps a service: nobody is asked in a transaction.
  for (let times = 0; written.asks; times += 1) {
    if (times === askedMax)
      throw new ApiError("CheckoutLocked", "This checkout is being changed right now. Try again.");
    const { aggregate, asks } = written;
    if (asks === "card")
      known.card = await findFingerprint(asked, aggregate.row.organization_id, confirmation_token_id ?? "");
    else known.tax = await requireTax(written.ctx, aggregate, asks);
    written = await write();
  }
  const { aggregate, seller, payment, setup, ctx, isRefused, portal_token } = written;
  if (isRefused) throw rejectQuote(serializePublicCheckout(aggregate, seller, ctx));
  const settled = payment
    ? await chargePayment(ctx, payment, getProduct(aggregate).name)
    : setup && (await executeSetup(ctx, setup));
  if (settled?.status === "failed") throw new ApiError("PaymentError", settled.message ?? "The payment was declined.");
  const row = {
    ...aggregate.row,
    payment_processor_metadata: describeChallenge(aggregate.row.id, settled, ctx.config),
  };
  const answer = serializePublicCheckout({ ...aggregate, row }, seller, ctx);
  return { ...answer, status: "confirmed", customer_session_token: portal_token };
}

/**
 * A session for the buyer. There is none for a customer who was found by an address alone: whoever types it would act as its
 * owner, who can prove in the portal who they are (CHK-50).
 */
function openPortal(
  tx: Tx,
  ctx: Ctx,
  { organization_id, customer_id, is_customer_named, is_customer_made }: CheckoutRow,
): string | null {
  if (customer_id === null || !(is_customer_named || is_customer_made)) return null;
  return openSessionAtEnd(ctx, tx, { id: customer_id, organization_id });
}

/** What the browser needs to finish a challenge. */
const describeChallenge = (
  checkout_id: string,
  settled: SettledPayment | null,
  config: Config,
): Record<string, string> =>
  settled?.intent && settled.status === "pending" ? sealChallenge(checkout_id, settled.intent, config) : {};

/** The answer to a buyer who agreed to other terms than those that hold now: these, and nothing is charged. */
function rejectQuote(checkout: CheckoutPublic): ApiError {
  const total = formatMoney(checkout.total_amount, checkout.currency);
  const msg = `What is to be paid has changed, to ${total}. Look at it again before you pay.`;
  return new ApiError("QuoteChanged", msg, {}, { checkout: z.encode(CheckoutPublic, checkout) });
}

async function writeConfirmation(
  tx: Tx,
  asked: Ctx,
  client_secret: string,
  sent: SentUpdate,
  { token, quote: agreed, consent, card, tax }: Agreed & Known,
): Promise<Written> {
  const opened = await lockOfBuyer(tx, asked, client_secret);
  const { aggregate: before, seller, ctx } = opened;
  assertMoneyMoves(seller);
  const now = ctx.clock.now();
  const named = await findNamedDiscount(tx, before.row, sent, false);
  const { aggregate: filled, patch } = planChange(before, sent, "confirmation", {
    now,
    discount: named,
    taxation: openTaxation(ctx, opened, tax),
  });
  const wantedTax = findWanted(ctx, filled, seller);
  const unwritten = { ...opened, aggregate: filled, payment: null, setup: null, isRefused: false, portal_token: null };
  if (wantedTax) return { ...unwritten, asks: wantedTax };
  const product = getProduct(filled);
  if (agreed && !isSignedQuote(agreed, filled.row, product, ctx)) {
    const row = await updateCheckout(tx, before.row, { ...patch, modified_at: now });
    const aggregate = { ...filled, row };
    await emitCheckout(tx, ctx, "checkout.updated", aggregate);
    return { ...unwritten, aggregate, isRefused: true, asks: null };
  }
  // The order in which a buyer is refused is Polar's (CHK-48); the discount is looked at again when it is taken.
  await checkSubscribed(tx, seller, filled);
  if (filled.discount) checkRedeemable(filled.discount, now);
  const { quote, trial_end } = filled.row;
  const prices = getPrices(filled);
  const flags = computeFlags({ quote, prices, product, discount: filled.discount, trial_end });
  if (flags.is_payment_form_required) assertPayments(ctx);
  const faults = checkComplete(filled.row, flags.is_payment_form_required, token);
  // What stands may have been answered before a bound was moved, so it is looked at again (CUF-08).
  faults.push(...checkAnswers(product.fields, filled.row.custom_field_data, { complete: true }).faults);
  // The page sends null where its box is not ticked. Clients of sellers do not send the field and answer for the consent.
  const country = filled.row.customer_billing_address?.country;
  if (consent === null && requiresWithdrawalConsent(country, { ...filled.row, ...flags }))
    faults.push(fault(["withdrawal_consent"], "Field required", "missing"));
  const unsold = checkProduct(product, ["product_id"], product.id);
  if (unsold) faults.push(unsold);
  else if (filled.price.is_archived)
    faults.push(fault(["product_price_id"], "Price is archived.", "value_error", filled.price.id));
  if (quote.tax_amount === null && faults.length === 0) faults.push(taxUnknown);
  if (faults.length > 0) throw invalid(...faults);
  if (token && card === undefined && requiresCard(seller, filled)) return { ...unwritten, asks: "card" };

  const { customer, isNew } = await findOrCreateCustomer(tx, ctx, filled.row);
  await checkSubscribing(tx, seller, filled, customer.id);
  // A team may have no address of its own; the buyer's is asked for then.
  const email = customer.email ?? filled.row.customer_email ?? "";
  const withdrawal_consent = consent ? { version: consent, agreed_at: now.toISOString() } : null;
  const wanted = { ...planOrder(filled, prices, customer, now), withdrawal_consent };
  const { order_id } = before.row;
  const order = order_id === null ? await openOrder(tx, ctx, wanted) : await reopenOrder(tx, ctx, order_id, wanted);
  const row = await updateCheckout(tx, before.row, {
    ...patch,
    status: moveState(checkoutStates, before.row, "confirmed"),
    customer_id: customer.id,
    is_customer_made: before.row.is_customer_made || isNew,
    customer_email: email,
    order_id: order.id,
    modified_at: ctx.clock.now(),
  });
  if (filled.discount) {
    const taker = { checkout_id: row.id, order_id: order.id, customer_id: customer.id, email, card: card ?? null };
    await redeemDiscount(tx, ctx, filled.discount, taker);
  }
  if (trial_end) await checkTrialled(tx, seller, before.row, customer, { email, card: card ?? null, now });
  const aggregate = { ...filled, row };
  await emitCheckout(tx, ctx, "checkout.updated", aggregate);
  // Before anything is charged: what was paid is not answered with a failure for want of it.
  const written = { ...unwritten, aggregate, asks: null, portal_token: openPortal(tx, ctx, row) };
  if (flags.is_payment_required) {
    const keep = flags.is_payment_setup_required;
    const payer = { email, confirmation_token_id: token ?? "", keep };
    return { ...written, payment: await startPayment(tx, ctx, order, payer) };
  }
  // Nothing is due today, and the card is kept for what will be.
  if (flags.is_payment_setup_required)
    return { ...written, setup: await startSetup(tx, ctx, order, { email, confirmation_token_id: token ?? "" }) };
  await scheduleSettlement(tx, ctx, order);
  return written;
}

/** The order that a checkout is paid by (ORD-07, ORD-10), and the subscription that begins with it. */
function planOrder(
  { row, ...aggregate }: CheckoutAggregate,
  prices: readonly PriceRow[],
  customer: CustomerRow,
  now: Date,
): NewOrder {
  const { quote, trial_end } = row;
  const product = getProduct({ row, ...aggregate });
  const isRecurring = product.recurring_interval !== null;
  return {
    organization_id: row.organization_id,
    billing_reason: isRecurring ? (row.subscription_id ? "subscription_update" : "subscription_create") : "purchase",
    billing_name: customer.billing_name ?? row.customer_billing_name ?? row.customer_name,
    billing_address: row.customer_billing_address ?? customer.billing_address,
    customer_tax_id: row.customer_tax_id ?? customer.tax_id,
    description: product.name,
    customer_id: customer.id,
    product_id: product.id,
    checkout_id: row.id,
    metadata: row.metadata,
    custom_field_data: row.custom_field_data,
    // Too little for a card: nothing is charged now, and it is owed (ORD-04).
    applied_balance_amount: trial_end || isChargeable(quote) ? 0 : 0 - quote.total_amount,
    quote: trial_end ? computeTrialQuote(quote, product, now, trial_end) : quote,
    begins: isRecurring
      ? {
          quote,
          price_ids: prices.map(({ id }) => id),
          trial_end: trial_end?.toISOString() ?? null,
          upgrades: row.subscription_id,
        }
      : null,
  };
}
