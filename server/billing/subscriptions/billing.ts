import { ApiError } from "../../../shared/errors.ts";
import type { Quote } from "../../../shared/pricing.ts";
import { isInGoodStanding } from "../../identity/organizations/rules.ts";
import type { Ctx, Deps, Tx } from "../../platform/context.ts";
import type { RowKey } from "../../platform/db/rows.ts";
import { transactAll } from "../../platform/db/unit-of-work.ts";
import { sendSignal } from "../../platform/events/signals.ts";
import { createId } from "../../platform/ids.ts";
import { allSettledOrThrow } from "../../platform/promises.ts";
import { moveState } from "../../platform/states.ts";
import { deletePeriods } from "../../usage/meters/attribution.ts";
import type { OrderAggregate } from "../orders/rules.ts";
import { billOrder, isQuiet, recordPaymentAttempt, withdrawOrder } from "../orders/service.ts";
import { lockOrder } from "../orders/store.ts";
import { findUnderWay } from "../payments/methods.ts";
import { allowsPayments, type PaymentRow } from "../payments/rules.ts";
import { chargePayments, type DueCharge, startSavedPayment } from "../payments/settlement.ts";
import type { ComputedTax, TaxQuestion } from "../tax/computed.ts";
import { findTaxedSeller } from "../tax/store.ts";
import { isCredit } from "./credits.ts";
import { isOfUse, planFailure } from "./dunning.ts";
import { getMeterPeriod } from "./meter-clock.ts";
import { attributeUsage, lockMeters } from "./metering.ts";
import { type PlanInput, planCycle, planEnd, planMeterCycle, planResume, type SubscriptionPlan } from "./plan.ts";
import { loadPlanInput } from "./plan-input.ts";
import { reduceUnpaidOrders } from "./reductions.ts";
import {
  findCycle,
  findDueTime,
  findReminderTime,
  type Retry,
  type SubscriptionAggregate,
  type SubscriptionRow,
} from "./rules.ts";
import {
  emitSubscription,
  enqueueCustomerEmail,
  getLetter,
  planOrder,
  scheduleStateEvent,
  subscriptionEntitlementsChanged,
} from "./serialize.ts";
import { subscriptionStates } from "./states.ts";
import * as store from "./store.ts";
import { billFor, openBillTaxation, requestDraftTax } from "./tax.ts";

/** A card that is to be charged as soon as what was written is committed. */
export type PendingCharge = { payment: PaymentRow; description: string };

/** Write down what a plan makes of a subscription, and say so; what it bills is left to the caller. */
export async function writePlan(
  tx: Tx,
  ctx: Deps | Ctx,
  { aggregate }: PlanInput,
  plan: Pick<SubscriptionPlan, "patch" | "choice" | "discount" | "entries" | "taken" | "events">,
  more: Partial<SubscriptionRow> = {},
): Promise<SubscriptionAggregate> {
  const now = ctx.clock.now();
  const { patch, choice, discount, entries, taken, events } = plan;
  const { organization_id, id: subscription_id } = aggregate.row;
  const { product, prices } = choice ?? aggregate;
  const asked = { ...patch, ...more, modified_at: now };
  const wanted = { ...asked, ...getMeterPeriod({ ...aggregate.row, ...asked }, aggregate.row, product, now) };
  const due_at = findDueTime({ ...aggregate.row, ...wanted }, aggregate.retries);
  const reminder_due_at = findReminderTime({ ...aggregate.row, ...wanted }, now);
  const row = await store.updateSubscription(tx, aggregate.row, { due_at, reminder_due_at, ...wanted });
  if (choice)
    await store.replacePrices(
      tx,
      row,
      choice.prices.map(({ id, amount }) => ({ product_price_id: id, amount })),
    );
  await store.insertEntries(
    tx,
    entries.map((line) => ({ id: createId(now), organization_id, created_at: now, subscription_id, line })),
  );
  const uses = await attributeUsage(tx, ctx, aggregate, { row, prices, product }, taken);
  const after = {
    ...aggregate,
    row,
    product,
    prices,
    uses,
    discount: discount === undefined ? aggregate.discount : discount,
  };
  await emitSubscription(tx, ctx, events, after, { before: aggregate.row, isPutOff: entries.length > 0 });
  scheduleStateEvent(tx, ctx, aggregate);
  if (row.status !== aggregate.row.status || row.product_id !== aggregate.row.product_id)
    await sendSignal(tx, ctx, subscriptionEntitlementsChanged, row);
  return after;
}

const getParts = ({ row, customer, product, discount }: SubscriptionAggregate) => ({
  customer,
  product,
  discount,
  subscription: row,
});

/**
 * Carry a plan out, with the order that it asks for, on the terms of `quote`: the card is to be charged when this is committed.
 */
export async function applyPlan(
  tx: Tx,
  ctx: Deps | Ctx,
  ground: PlanInput,
  plan: SubscriptionPlan,
  { quote, waiting }: { quote: Quote | null; waiting: readonly string[] },
): Promise<{ aggregate: SubscriptionAggregate; charge: PendingCharge | null }> {
  const ends = plan.patch.ended_at != null;
  const from = ends ? { ...ground, aggregate: { ...ground.aggregate, retries: [] } } : ground;
  const after = await writePlan(tx, ctx, from, plan);
  // What a period that began, or a pause, took into its lines is not billed again.
  const begins = plan.patch.current_period_start ?? plan.patch.current_meter_period_start;
  const isOver = begins != null || plan.patch.paused_at != null || ends;
  const isLeft = ({ window_ids }: { window_ids: string[] }) =>
    !plan.taken?.some((one) => one.window_ids.some((id) => window_ids.includes(id)));
  if (isOver && ground.usage?.some((one) => one.ended_at !== null && isLeft(one)))
    await deletePeriods(tx, after.row.organization_id, after.row.id, { until: ends ? null : (begins ?? null) });
  if (ends) await withdrawAll(tx, ctx, after, waiting);
  const { bill } = plan;
  if (!bill || !quote) {
    await enqueueCustomerEmail(tx, ctx, after, getLetter(plan, false));
    return { aggregate: await reduceUnpaid(tx, ctx, after, plan), charge: null };
  }
  const { discount } = bill.discount ? after : { discount: null };
  const parts = { ...getParts(after), discount };
  const billed = await billOrder(tx, ctx, planOrder(ground, plan, bill, quote), parts);
  await store.billEntries(tx, billed.order, [...bill.entry_ids, ...(ground.settled_entry_ids ?? [])]);
  await enqueueCustomerEmail(tx, ctx, after, getLetter(plan, !isQuiet(billed.order)));
  const charge =
    billed.order.status === "paid" ? null : await startCharge(tx, ctx, after, billed, "subscription_cycle");
  return { aggregate: await reduceUnpaid(tx, ctx, after, plan), charge };
}

/** Have a plan's lines that give back what is unpaid reduce it; answers how the subscription stands then. */
export async function reduceUnpaid(
  tx: Tx,
  ctx: Deps | Ctx,
  after: SubscriptionAggregate,
  { entries }: Pick<SubscriptionPlan, "entries">,
): Promise<SubscriptionAggregate> {
  if (!entries.some((line) => isCredit({ line }))) return after;
  const reduced = await reduceUnpaidOrders(tx, ctx, after);
  if (reduced.length === 0) return after;
  return (await store.findSubscription(tx, after.row.organization_id, after.row.id)) ?? after;
}

/** Write down that the card of a subscription is to be charged; where there is none, the payment has failed (ORD-15, ORG-05). */
async function startCharge(
  tx: Tx,
  ctx: Deps | Ctx,
  aggregate: SubscriptionAggregate,
  whole: OrderAggregate,
  trigger: "subscription_cycle" | "retry_dunning",
): Promise<PendingCharge | null> {
  const isOpen = allowsPayments(ctx);
  const method = isOpen ? await store.findCard(tx, ctx, aggregate) : undefined;
  if (!method) {
    await recordPaymentFailure(tx, ctx, aggregate, whole, {
      reason: isOpen ? null : "processor_unavailable",
      isTold: isOpen,
    });
    return null;
  }
  return {
    payment: await startSavedPayment(tx, ctx, whole, method, trigger),
    description: whole.order.description,
  };
}

/**
 * A payment of an order of a subscription has failed (SUB-49 to SUB-51): it is past due, and the card is charged again later; or
 * that was the last time, and it ends. The caller holds the locks of the order and the subscription.
 */
export async function recordPaymentFailure(
  tx: Tx,
  ctx: Deps | Ctx,
  aggregate: SubscriptionAggregate,
  whole: OrderAggregate,
  { reason, isTold = false }: { reason: string | null; isTold?: boolean },
): Promise<void> {
  const now = ctx.clock.now();
  const { row } = aggregate;
  const { order } = whole;
  const failure = planFailure(row, order, reason, now);
  if (failure.is_over) {
    await endUnpaid(tx, ctx, aggregate);
    return;
  }
  const { failed_payments, next_payment_attempt_at } = failure;
  const isCounted = failed_payments > order.failed_payments;
  const isFirst = isCounted && row.past_due_at === null && row.ended_at === null && !isOfUse(order);
  const isRunning = row.status === "active" || row.status === "trialing";
  const status = isRunning ? moveState(subscriptionStates, row, "past_due") : row.status;
  const others = aggregate.retries.filter((retry) => retry.order_id !== order.id);
  const retries: Retry[] = next_payment_attempt_at
    ? [...others, { order_id: order.id, failed_payments, next_payment_attempt_at }]
    : others;
  await recordPaymentAttempt(tx, ctx, whole, { failed_payments, next_payment_attempt_at }, isTold);
  const patch = isFirst ? { status, past_due_at: now } : {};
  const plan = { patch, choice: null, entries: [], bill: null };
  if (isFirst) {
    // What a pause has billed makes nobody past due until it goes on.
    const isPastDue = status === "past_due";
    const events = ["subscription.updated", ...(isPastDue ? (["subscription.past_due"] as const) : [])] as const;
    await writePlan(
      tx,
      ctx,
      { aggregate: { ...aggregate, retries }, entries: [], pending: null },
      { ...plan, events: [...events] },
    );
  } else await store.updateSubscription(tx, row, { due_at: findDueTime(row, retries) });
  if (isCounted) await enqueueCustomerEmail(tx, ctx, aggregate, "payment_failed", order.id);
}

/** It was tried often enough: the subscription ends, and its orders wait no longer (WHK-35). */
async function endUnpaid(tx: Tx, ctx: Deps | Ctx, aggregate: SubscriptionAggregate): Promise<void> {
  const ground = { aggregate: { ...aggregate, retries: [] }, entries: [], pending: null };
  const after = await writePlan(tx, ctx, ground, planEnd(ground, ctx.clock.now()));
  await withdrawAll(tx, ctx, after, await store.findWaiting(tx, after.row));
  await enqueueCustomerEmail(tx, ctx, after, "ended");
}

/** Void these orders of a subscription: nobody waits for their money any more. */
export async function withdrawAll(
  tx: Tx,
  ctx: Deps | Ctx,
  { row }: SubscriptionAggregate,
  ids: readonly string[],
): Promise<void> {
  for (const id of ids) {
    const whole = await lockOrder(tx, row.organization_id, id);
    if (whole) await withdrawOrder(tx, ctx, whole);
  }
}

/** So many periods at most are caught up at once; the rest is due still. */
const stepsMax = 24;
const blockedPauseMs = 60 * 60 * 1000;
const changingPauseMs = 60 * 1000;
const untaxedPauseMs = 10 * 60 * 1000;

/** A subscription of which something is due, by the clock of `deps`. */
export type DueSubscription = { deps: Deps | Ctx; key: RowKey };

/** Do what is due of a subscription. */
export const processDueSubscription = (deps: Deps | Ctx, key: RowKey): Promise<void> =>
  processDueSubscriptions([{ deps, key }]);

/** How many are billed in one transaction. */
const sideBySide = 100;

/**
 * Do what is due of subscriptions of one seller, of each one thing after the other: those of many in one transaction, whose cards
 * are charged after it, while the next ones are billed. Whatever is broken off is due still, or is the reconciliation's.
 */
export async function processDueSubscriptions(due: readonly DueSubscription[], together = sideBySide): Promise<void> {
  const taxes = new Map<DueSubscription, ComputedTax | null>();
  let going = due;
  for (let left = stepsMax; left > 0 && going.length > 0; left -= 1) {
    // What two of one customer take of the same balance, they take one after the other.
    const customers = new Set<string>();
    const claimCustomer = (id: string): boolean => !customers.has(id) && customers.add(id).has(id);
    const next: DueSubscription[] = [];
    let charges: DueCharge[] = [];
    // The last group is of nobody: what is left then are the cards of the one before.
    for (let from = 0; from < going.length + together; from += together) {
      const group = going.slice(from, from + together);
      const [steps] = await allSettledOrThrow(runSteps(group, taxes, claimCustomer), chargePayments(charges));
      for (const { one, asks } of steps) if (asks) taxes.set(one, await requestDraftTax(one.deps, one.key.id, asks));
      charges = steps.flatMap(({ one: { deps }, charges: own }) => own.map((charge) => ({ deps, ...charge })));
      next.push(...steps.filter(({ goesOn }) => goesOn).map(({ one }) => one));
    }
    going = next;
  }
}

async function runSteps(
  group: readonly DueSubscription[],
  taxes: Map<DueSubscription, ComputedTax | null>,
  takeCustomer: (id: string) => boolean,
): Promise<(Step & { one: DueSubscription })[]> {
  const [first] = group;
  if (!first) return [];
  return transactAll(first.deps, group, async (tx, one) => {
    const tax = taxes.get(one);
    taxes.delete(one);
    return { one, ...(await runStep(tx, one.deps, one.key, tax, takeCustomer)) };
  });
}

/** Asks: what a service is to say of the tax before anything is written. */
type Step = { goesOn: boolean; charges: PendingCharge[]; asks?: TaxQuestion | null };
const still: Step = { goesOn: false, charges: [] };
const buildStep = (charge: PendingCharge | null): Step => ({ goesOn: true, charges: charge ? [charge] : [] });

/** `tax`: what a service says of the bill that is due, null where it did not say. */
async function runStep(
  tx: Tx,
  ctx: Deps | Ctx,
  { organization_id, id }: RowKey,
  tax: ComputedTax | null | undefined,
  takeCustomer: (id: string) => boolean,
): Promise<Step> {
  const now = ctx.clock.now();
  // Servers side by side find the same rows due: each does what no other is at, instead of waiting for it.
  if (!(await store.claimDue(tx, { organization_id, id }))) return still;
  const found = await store.lockWithOrders(tx, organization_id, id);
  if (!found || found.row.due_at === null || found.row.due_at > now) return still;
  const { row, retries } = found;
  if (!takeCustomer(row.customer_id)) return { goesOn: true, charges: [] };
  const putOff = async (due_at: Date | null): Promise<Step> => {
    await store.updateSubscription(tx, row, { due_at });
    return still;
  };
  // What is being paid for at this moment is settled, or given up, first.
  if (row.change_order_id !== null) return putOff(new Date(now.getTime() + changingPauseMs));
  const seller = await findTaxedSeller(tx, organization_id);
  if (!seller || !isInGoodStanding(seller.seller)) return putOff(new Date(now.getTime() + blockedPauseMs));
  const first = findDueTime(row, retries);
  if (first === null || first > now) return putOff(first);
  if (row.card_due_at !== null && row.card_due_at <= now) return chargeLeft(tx, ctx, found);
  const [retry] = retries;
  if (retry && retry.next_payment_attempt_at <= first) return buildStep(await tryAgain(tx, ctx, found, retry));
  await lockMeters(tx, ctx, found);
  const ground = { ...(await loadPlanInput(tx, found, { isLocked: true })), isDue: true };
  // However late this is looked at, the calendar does not move.
  const plan = planDue(ground, now);
  const { bill } = plan;
  const billed = bill && billFor(ctx, ground, { ...plan, bill }, seller, openBillTaxation(ctx, seller, now, tax));
  // Nothing is billed with a tax that nobody has said; what was said of other terms is asked for again.
  if (billed?.asks) {
    if (tax === null) return putOff(new Date(now.getTime() + untaxedPauseMs));
    return { goesOn: true, charges: [], asks: billed.asks };
  }
  const { aggregate, charge } = await applyPlan(tx, ctx, ground, plan, {
    quote: billed?.quote ?? null,
    waiting: found.waiting,
  });
  // What comes of the charge falls due later.
  const next = aggregate.row.due_at;
  return { ...buildStep(charge), goesOn: next !== null && next <= now };
}

/** What is due of a subscription besides payments that are tried again. */
function planDue(ground: PlanInput, now: Date): SubscriptionPlan {
  const { row } = ground.aggregate;
  if (row.status === "paused") return planResume(ground, row.resumes_at ?? now);
  const cycle = findCycle(row);
  return cycle?.isOfUse ? planMeterCycle(ground, cycle.at) : planCycle(ground, now);
}

/** Charge a card that was just left with all that is unpaid (SUB-53); who is leaving by now is not charged (SUB-54). */
async function chargeLeft(tx: Tx, ctx: Deps | Ctx, aggregate: SubscriptionAggregate): Promise<Step> {
  const row = { ...aggregate.row, card_due_at: null };
  await store.updateSubscription(tx, row, { card_due_at: null, due_at: findDueTime(row, aggregate.retries) });
  const method =
    row.cancel_at_period_end || !allowsPayments(ctx) ? undefined : await store.findCard(tx, ctx, aggregate);
  const charges: PendingCharge[] = [];
  for (const { id } of method ? await store.findUnpaid(tx, row) : []) {
    const whole = await lockOrder(tx, row.organization_id, id);
    // What is being paid at this moment is not charged besides.
    if (!method || !whole || (await findUnderWay(tx, whole.order))) continue;
    const payment = await startSavedPayment(tx, ctx, whole, method, "retry_payment_method_update");
    charges.push({ payment, description: whole.order.description });
  }
  return { goesOn: true, charges };
}

/** Charge the card of an order once more. */
async function tryAgain(
  tx: Tx,
  ctx: Deps | Ctx,
  aggregate: SubscriptionAggregate,
  retry: Retry,
): Promise<PendingCharge | null> {
  const { row } = aggregate;
  const [reduced] = await reduceUnpaidOrders(tx, ctx, aggregate, retry.order_id);
  if (reduced?.isPaid) return null;
  const whole = await lockOrder(tx, row.organization_id, retry.order_id);
  if (!whole) throw new Error(`The order ${retry.order_id} is gone.`);
  const retries = aggregate.retries.filter(({ order_id }) => order_id !== retry.order_id);
  const under_way = new Date(ctx.clock.now().getTime() + changingPauseMs);
  try {
    const charge = await startCharge(tx, ctx, { ...aggregate, retries }, whole, "retry_dunning");
    if (charge === null) return null;
    await recordPaymentAttempt(tx, ctx, whole, { next_payment_attempt_at: null });
    await store.updateSubscription(tx, row, { due_at: findDueTime(row, retries) });
    return charge;
  } catch (error) {
    // Its owner is paying it at this moment.
    if (!(error instanceof ApiError) || error.error !== "PaymentAlreadyInProgress") throw error;
    const later = [...retries, { ...retry, next_payment_attempt_at: under_way }];
    await recordPaymentAttempt(tx, ctx, whole, { next_payment_attempt_at: under_way });
    await store.updateSubscription(tx, row, { due_at: findDueTime(row, later) });
    return null;
  }
}
