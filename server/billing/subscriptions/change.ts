import { z } from "zod";
import { type Subscription, SubscriptionPreview, type SubscriptionUpdate } from "../../../shared/api/subscriptions.ts";
import { ApiError, fault, invalid, notFound } from "../../../shared/errors.ts";
import { formatMoney } from "../../../shared/money.ts";
import { redeemDiscount } from "../../catalog/discounts/redemption.ts";
import { type Ctx, type Database, requireOrganization, type Tx } from "../../platform/context.ts";
import type { RowKey } from "../../platform/db/rows.ts";
import { transact } from "../../platform/db/unit-of-work.ts";
import { findBalance, lockBalance } from "../orders/balances.ts";
import { openOrder, recordPaymentAttempt } from "../orders/service.ts";
import { lockOrder } from "../orders/store.ts";
import { findChargeable } from "../payments/methods.ts";
import { allowsPayments, assertPayments } from "../payments/rules.ts";
import { chargePayment, startSavedPayment } from "../payments/settlement.ts";
import type { ComputedTax, TaxQuestion } from "../tax/computed.ts";
import type { TaxedSeller } from "../tax/rules.ts";
import { findTaxedSeller } from "../tax/store.ts";
import { applyPlan, type PendingCharge, processDueSubscription } from "./billing.ts";
import { lockMeters } from "./metering.ts";
import { getChoice, isCosting, type SubscribedOffer } from "./plan.ts";
import { computeChargedNow, describePreview, type Evaluation, evaluate, isQuoteOf, readQuoteTime } from "./preview.ts";
import { findDueTime, isDiscountEnded, type SubscriptionAggregate } from "./rules.ts";
import { planOrder, serializeSubscription } from "./serialize.ts";
import * as store from "./store.ts";
import { requestDraftTax } from "./tax.ts";

type Update = z.output<typeof SubscriptionUpdate>;

async function findSeller(db: Database, organization_id: string): Promise<TaxedSeller> {
  const seller = await findTaxedSeller(db, organization_id);
  if (!seller) throw notFound();
  return seller;
}

/** A subscription as it stands by now: what was due of it is done first. */
async function findCurrent(ctx: Ctx, key: RowKey): Promise<SubscriptionAggregate> {
  const found = await store.findSubscription(ctx.db, key.organization_id, key.id);
  if (!found) throw notFound();
  const { due_at } = found.row;
  if (due_at === null || due_at > ctx.clock.now()) return found;
  await processDueSubscription({ ...ctx, extraWrites: [] }, key);
  return (await store.findSubscription(ctx.db, key.organization_id, key.id)) ?? found;
}

const serialize = (ctx: Ctx, aggregate: SubscriptionAggregate): Subscription =>
  serializeSubscription(aggregate, ctx.config);
const getKey = (ctx: Ctx, id: string): RowKey => ({ organization_id: requireOrganization(ctx), id });
const getAccount = ({ row }: SubscriptionAggregate) => row;

/** What a change would do. Nothing is written. A tax that a service does not say is left unknown. */
export async function previewChange(ctx: Ctx, id: string, body: Update): Promise<SubscriptionPreview> {
  const key = getKey(ctx, id);
  const found = await store.findSubscription(ctx.db, key.organization_id, id);
  if (!found) throw notFound();
  assertReleased(found);
  if ("payment_method_id" in body) await checkCard(ctx.db, ctx, found, body.payment_method_id);
  const seller = await findSeller(ctx.db, key.organization_id);
  const readBalance = () => findBalance(ctx.db, getAccount(found));
  const given = { ctx, seller, at: ctx.clock.now(), isLocked: false, readBalance };
  const first = await evaluate(ctx.db, found, body, { ...given, tax: undefined });
  const evaluation = first.asks
    ? await evaluate(ctx.db, found, body, { ...given, tax: await requestDraftTax(ctx, id, first.asks) })
    : first;
  checkMaximum(ctx, evaluation, body);
  return describePreview(evaluation, body, ctx.config);
}

/** Refuse a change of a subscription that the product it comes from still bills: it would be changed in one of two places (MOV-10). */
function assertReleased({ row }: SubscriptionAggregate): void {
  if (row.billing_held_at === null) return;
  const message = "This subscription is still billed where it comes from. It can be changed here after it is switched.";
  throw new ApiError("SubscriptionLocked", message);
}

/** What was written of a change: the card that is to be charged for it, and whether it waits for that. */
type Written = { aggregate: SubscriptionAggregate; charge: PendingCharge | null; waits: boolean };

/** The tax of a change is to be known before anything of it is written: what was begun is undone. */
class TaxWanted extends Error {
  override readonly name = "TaxWanted";
  readonly wanted: TaxQuestion;
  constructor(wanted: TaxQuestion) {
    super("The tax of a change is to be asked for.");
    this.wanted = wanted;
  }
}
/** How often a service is asked for one change: again where the terms have changed meanwhile. */
const askedMax = 4;

/** Write a change down, once all is known that it is written with. */
async function writeTaxed(ctx: Ctx, key: RowKey, body: Update): Promise<Written> {
  const at = ctx.clock.now();
  let tax: ComputedTax | null | undefined;
  for (let times = 0; ; times += 1) {
    try {
      const known = tax;
      return await transact(ctx, (tx) => writeChange(tx, ctx, key, body, { now: at, tax: known }));
    } catch (error) {
      if (!(error instanceof TaxWanted)) throw error;
      tax = times < askedMax ? await requestDraftTax(ctx, key.id, error.wanted) : null;
      if (tax === null)
        throw new ApiError("ServiceUnavailable", "The tax of this change cannot be computed now. Nothing has changed.");
    }
  }
}

/**
 * Change a subscription. What costs something now is charged first, and comes true with the payment; refused, nothing has
 * changed. A change that was quoted is charged exactly so, or refused with what it would come to now.
 */
export async function changeSubscription(ctx: Ctx, id: string, body: Update): Promise<Subscription> {
  const key = getKey(ctx, id);
  await findCurrent(ctx, key);
  const { aggregate, charge, waits } = await writeTaxed(ctx, key, body);
  if (charge) {
    const { status, message } = await chargePayment(ctx, charge.payment, charge.description);
    if (waits && status === "failed") throw new ApiError("PaymentFailed", message ?? "The payment was declined.");
    if (waits && status === "pending")
      throw new ApiError(
        "SubscriptionLocked",
        "The payment of this change is under way. Look at it again in a moment.",
      );
  }
  if ("payment_method_id" in body) await payWaiting(ctx, aggregate);
  else if (!charge) return serialize(ctx, aggregate);
  return serialize(ctx, (await store.findSubscription(ctx.db, key.organization_id, id)) ?? aggregate);
}

/** `now` stays the same where a change is written anew with its tax, since what it comes to is less with every moment. */
async function writeChange(
  tx: Tx,
  ctx: Ctx,
  key: RowKey,
  body: Update,
  { now, tax }: { now: Date; tax: ComputedTax | null | undefined },
): Promise<Written> {
  const found = await store.lockWithOrders(tx, key.organization_id, key.id);
  if (!found) throw notFound();
  assertReleased(found);
  if (found.row.change_order_id !== null)
    throw new ApiError("SubscriptionLocked", "This subscription is being changed right now. Try again in a moment.");
  await lockMeters(tx, ctx, found);
  const seller = await findSeller(tx, key.organization_id);
  const readBalance = () => lockBalance(tx, getAccount(found));
  const at = body.quote ? readQuoteTime(body.quote, now) : now;
  const evaluateAt = async (time: Date): Promise<Evaluation> => {
    const evaluation = await evaluate(tx, found, body, { ctx, seller, at: time, tax, isLocked: true, readBalance });
    if (evaluation.asks) throw new TaxWanted(evaluation.asks);
    return evaluation;
  };
  const evaluation = at && (await evaluateAt(at));
  if (!evaluation || (body.quote && !isQuoteOf(body.quote, evaluation, body, ctx.config)))
    throw rejectQuote(ctx, await evaluateAt(now), body);
  checkMaximum(ctx, evaluation, body);
  const { ground, plan, redeems, charge } = evaluation;
  if ("payment_method_id" in body) await checkCard(tx, ctx, found, body.payment_method_id);
  await checkPayable(tx, ctx, evaluation);
  const isNothing = Object.keys(plan.patch).length === 0 && !plan.choice && !plan.bill && plan.entries.length === 0;
  if (isNothing) return { aggregate: found, charge: null, waits: false };
  if (redeems) {
    const { id: customer_id, email } = found.customer;
    await redeemDiscount(tx, ctx, redeems, { subscription_id: key.id, customer_id, email: email ?? "", card: null });
  }
  if (plan.bill?.billing_reason === "subscription_update" && charge && !charge.met.is_paid)
    return { aggregate: found, charge: await startChange(tx, ctx, evaluation), waits: true };
  if ("cancel_at_period_end" in body) await updateDunningSchedule(tx, ctx, found, body.cancel_at_period_end);
  return {
    ...(await applyPlan(tx, ctx, ground, plan, { quote: charge?.quote ?? null, waiting: found.waiting })),
    waits: false,
  };
}

/**
 * What a subscription is changed to: an offer, now or with the next period, or by resuming it. Or the same offer, if it costs
 * something only without the former discount.
 */
function findTarget({ ground: { aggregate }, plan, pending }: Evaluation): SubscribedOffer | null {
  const offer = getChoice(aggregate);
  const to = plan.choice ?? pending;
  if (to || plan.events.includes("subscription.resumed")) return to ?? offer;
  return isCosting(offer, aggregate.discount) ? null : offer;
}

/**
 * Refuse a change to what costs something, now or with a later order, while there is no card that could be charged, by a
 * customer or by a seller (CUP-29): nothing but a card pays for a subscription.
 */
async function checkPayable(tx: Tx, ctx: Ctx, evaluation: Evaluation): Promise<void> {
  const { ground, plan } = evaluation;
  const { aggregate } = ground;
  const to = findTarget(evaluation);
  if (!to) return;
  const left = isDiscountEnded(ground, to) ? null : aggregate.discount;
  if (!isCosting(to, plan.discount === undefined ? left : plan.discount)) return;
  assertPayments(ctx);
  if (!(await store.findCard(tx, ctx, aggregate)))
    throw new ApiError(
      "MissingPaymentMethod",
      ctx.actor.kind === "customer"
        ? "Add a card first: there is none that could be charged for this."
        : "The customer has no card that could be charged for this. Send them a link to the portal, where they add one.",
    );
}

/** The answer to a change that was agreed to on other terms: these, and nothing has changed. */
function rejectQuote(ctx: Ctx, evaluation: Evaluation, body: Update): ApiError {
  const preview = z.encode(SubscriptionPreview, describePreview(evaluation, body, ctx.config));
  const msg = "What this change comes to is another thing by now. Look at it again before you make it.";
  return new ApiError("QuoteChanged", msg, {}, { preview });
}

/**
 * Refuse a change that would charge more than whoever makes it allows (SUB-65). A quote does not bind usage, so the amount can be
 * more than the one that was previewed.
 */
function checkMaximum(ctx: Ctx, evaluation: Evaluation, body: Update): void {
  const amount = computeChargedNow(evaluation);
  if (body.maximum_amount === undefined || amount <= body.maximum_amount) return;
  const { currency } = evaluation.ground.aggregate.row;
  const [charged, allowed] = [amount, body.maximum_amount].map((units) => formatMoney(units, currency));
  const preview = z.encode(SubscriptionPreview, describePreview(evaluation, body, ctx.config));
  const msg = `This change would charge ${charged} now, more than the maximum of ${allowed}. Nothing has changed.`;
  throw new ApiError("MaximumAmountExceeded", msg, {}, { preview });
}

async function checkCard(db: Database, { processor }: Ctx, { row }: SubscriptionAggregate, id: string): Promise<void> {
  if (!(await findChargeable(db, row, processor.account, [id])))
    throw invalid(fault(["payment_method_id"], "The customer has no such card.", "value_error", id));
}

/**
 * Write down a change that is to be paid first: an order in the making holds what becomes of the subscription with it, and
 * until it is paid, or is not, nothing else changes (SUB-39).
 */
async function startChange(tx: Tx, ctx: Ctx, { ground, plan, charge }: Evaluation): Promise<PendingCharge> {
  const { aggregate } = ground;
  const { bill, choice } = plan;
  const method = await store.findCard(tx, ctx, aggregate);
  if (!method) throw new ApiError("PaymentFailed", "The customer has no card that could be charged.");
  if (!bill || !charge) throw new Error("A change that is paid first lacks its bill.");
  const prices = choice?.prices.map(({ id, amount }) => ({ product_price_id: id, amount })) ?? null;
  const order = await openOrder(tx, ctx, {
    ...planOrder(ground, plan, bill, charge.quote),
    applied_balance_amount: charge.met.applied_balance_amount,
    changes: {
      patch: plan.patch,
      prices,
      entry_ids: [...bill.entry_ids, ...(ground.settled_entry_ids ?? [])],
      entries: plan.entries,
      taken: [...(plan.taken ?? [])],
    },
  });
  await store.updateSubscription(tx, aggregate.row, { change_order_id: order.id });
  const whole = { order, customer: aggregate.customer };
  const payment = await startSavedPayment(tx, ctx, whole, method, "subscription_cycle");
  return { payment, description: order.description };
}

/** Who is leaving is not charged again; who stays after all is, at once (SUB-54, SUB-56). */
async function updateDunningSchedule(
  tx: Tx,
  ctx: Ctx,
  found: SubscriptionAggregate & { waiting: string[] },
  leaves: boolean,
) {
  const { row } = found;
  if (row.status !== "past_due") return;
  const now = ctx.clock.now();
  // What has not been asked for yet is asked for once, also of who leaves.
  const retries = found.retries.filter(({ failed_payments }) => failed_payments === 0);
  for (const order_id of found.waiting) {
    const whole = await lockOrder(tx, row.organization_id, order_id);
    if (!whole || whole.order.failed_payments === 0) continue;
    await recordPaymentAttempt(tx, ctx, whole, { next_payment_attempt_at: leaves ? null : now });
    const { failed_payments } = whole.order;
    if (!leaves) retries.push({ order_id, failed_payments, next_payment_attempt_at: now });
  }
  found.retries.splice(0, found.retries.length, ...retries);
  await store.updateSubscription(tx, row, { due_at: findDueTime(row, retries) });
}

/** Charge a card that has just been chosen with all that waits. Where it is refused, the schedule stays as it was (SUB-53). */
async function payWaiting(ctx: Ctx, aggregate: SubscriptionAggregate): Promise<void> {
  const { row } = aggregate;
  // Who is leaving is not charged again (SUB-54).
  if (!allowsPayments(ctx) || row.cancel_at_period_end || row.ended_at !== null) return;
  for (const order_id of await store.findWaiting(ctx.db, row)) {
    const charge = await transact(ctx, async (tx) => {
      const whole = await lockOrder(tx, row.organization_id, order_id);
      const method = await store.findCard(tx, ctx, aggregate);
      if (whole?.order.status !== "pending" || whole.order.failed_payments === 0 || !method) return null;
      const payment = await startSavedPayment(tx, ctx, whole, method, "retry_payment_method_update");
      return { payment, description: whole.order.description };
    });
    if (charge) await chargePayment(ctx, charge.payment, charge.description);
  }
}
