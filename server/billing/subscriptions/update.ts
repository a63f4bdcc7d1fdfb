import type { z } from "zod";
import type { SubscriptionUpdate } from "../../../shared/api/subscriptions.ts";
import { ApiError, fault, invalid } from "../../../shared/errors.ts";
import { coversProduct, isRedeemable, type LimitedDiscount } from "../../catalog/discounts/rules.ts";
import type { PricedProduct } from "../../catalog/products/rules.ts";
import { listChanges } from "../../platform/db/rows.ts";
import { createId } from "../../platform/ids.ts";
import { moveState } from "../../platform/states.ts";
import { findClosing } from "./metering.ts";
import {
  computeGroundMetering,
  computePlanAmount,
  getChoice,
  limitSeats,
  type PlanInput,
  payPrices,
  planEnd,
  planResume,
  planTrialEnd,
  type SubscribedOffer,
  type SubscriptionEvent,
  type SubscriptionPlan,
} from "./plan.ts";
import { projectPlan } from "./projection.ts";
import { type Proration, planChange } from "./proration.ts";
import { findTerms, isBillable, type SubscriptionRow } from "./rules.ts";
import { subscriptionStates } from "./states.ts";
import type { PendingUpdate } from "./tables.ts";

type Update = z.output<typeof SubscriptionUpdate>;
type Behavior = Proration | "next_period";

/** What an update names, as far as there is such a thing, and what the seller does with the rest of a period by default. */
export type RequestedOffer = {
  product: PricedProduct | undefined;
  discount: LimitedDiscount | undefined;
  proration: Behavior;
  /** How many of its seats are given. */
  seated: number;
  /** Whether nothing is given back for the rest of the period: a customer has its included units (SUB-66). */
  keepsPaid: boolean;
};

/** How an update is decided: the plan, and what besides it follows. */
export type UpdateDecision = { plan: SubscriptionPlan; redeems: LimitedDiscount | null };

const nothing: SubscriptionPlan = { patch: {}, choice: null, entries: [], bill: null, events: [] };
const updated: SubscriptionEvent[] = ["subscription.updated"];

const rejectCanceled = (msg = "This subscription is canceled, or will be at the end of its period.") =>
  new ApiError("AlreadyCanceledSubscription", msg);
const rejectInactive = (msg: string) => new ApiError("InactiveSubscription", msg);
const buildFault = (field: string, msg: string, input?: unknown) => invalid(fault([field], msg, "value_error", input));

/** What comes to an end, or has ended, is changed no more (SUB-33, SUB-46). */
function checkGoesOn(row: SubscriptionRow): void {
  if (row.ended_at !== null || row.cancel_at_period_end) throw rejectCanceled();
  if (!isBillable(row.status)) throw rejectInactive("This subscription is paused. Resume it first.");
}

/** The prices of a product in the currency of a subscription, or the refusal (SUB-33). */
function chooseProduct({ aggregate }: PlanInput, id: string, product: PricedProduct | undefined): SubscribedOffer {
  const { row } = aggregate;
  const buildProductFault = (msg: string) => buildFault("product_id", msg, id);
  if (!product) throw buildProductFault("Product does not exist.");
  if (product.is_archived) throw buildProductFault("Product is archived.");
  if (product.recurring_interval === null) throw buildProductFault("Product is not a recurring product.");
  const prices = product.prices.filter(({ price_currency }) => price_currency === row.currency);
  if (prices.length === 0) throw buildProductFault("Product has no price in the currency of the subscription.");
  if (prices.some(({ amount_type }) => amount_type === "custom"))
    throw buildProductFault("Subscriptions cannot change to a product whose price the buyer chooses.");
  const seats = limitSeats(prices, row.seats);
  if (seats === null && row.seats !== null)
    throw buildProductFault("A subscription with seats cannot change to a product without.");
  return { product, prices: payPrices(prices, { product, seats }), seats };
}

/** A change that is put off until the next period. One that waits already is replaced in what is sent (SUB-34). */
function putOff(row: SubscriptionRow, sent: Partial<PendingUpdate>, now: Date): SubscriptionPlan {
  const { pending_update: had } = row;
  const time = now.toISOString();
  const wanted = {
    product_id: had?.product_id ?? null,
    price_ids: had?.price_ids ?? null,
    seats: had?.seats ?? null,
    ...(had?.not_before !== undefined && sent.product_id === undefined && { not_before: had.not_before }),
    ...sent,
  };
  // What waits already is not put off anew (WHK-40).
  if (had && Object.keys(listChanges(had, wanted, ["product_id", "price_ids", "seats"])).length === 0) return nothing;
  const pending_update: PendingUpdate = {
    id: had?.id ?? createId(now),
    created_at: had?.created_at ?? time,
    modified_at: had ? time : null,
    ...wanted,
  };
  return { ...nothing, patch: { pending_update }, events: updated };
}

/** Nothing changes but that what was put off is forgotten (WHK-40). */
const clearPending = (row: SubscriptionRow): SubscriptionPlan =>
  row.pending_update ? { ...nothing, patch: { pending_update: null }, events: updated } : nothing;

/** A change now. If it would give back what is not to be given back, it waits for the next period (SUB-66). */
function changeNow(
  ground: PlanInput,
  to: SubscribedOffer,
  { behavior, keepsPaid, sent }: { behavior: Proration; keepsPaid: boolean; sent: Partial<PendingUpdate> },
  now: Date,
): SubscriptionPlan {
  const plan = planChange(ground, to, behavior, now);
  return keepsPaid && (plan.exchanged_amount ?? 0) < 0 ? putOff(ground.aggregate.row, sent, now) : plan;
}

function planProduct(
  ground: PlanInput,
  id: string,
  { product, keepsPaid }: RequestedOffer,
  behavior: Behavior,
  now: Date,
): SubscriptionPlan {
  const { row, prices } = ground.aggregate;
  checkGoesOn(row);
  const to = chooseProduct(ground, id, product);
  const ids = to.prices.map((price) => price.id);
  const isSame = id === row.product_id && ids.join() === prices.map((price) => price.id).join();
  if (isSame) return clearPending(row);
  const sent = { product_id: id, price_ids: ids };
  if (behavior === "next_period") return putOff(row, sent, now);
  return changeNow(ground, to, { behavior, keepsPaid, sent }, now);
}

function planSeats(
  ground: PlanInput,
  seats: number,
  { behavior, seated, keepsPaid }: { behavior: Behavior; seated: number; keepsPaid: boolean },
  now: Date,
): SubscriptionPlan {
  const { row, prices, product } = ground.aggregate;
  checkGoesOn(row);
  const tiers = prices.find(({ amount_type }) => amount_type === "seat_based")?.seat_tiers;
  if (!tiers) throw new ApiError("NotASeatBasedSubscription", "This subscription has no seats.");
  if (seats < tiers.minimum_seats)
    throw new ApiError("BadRequest", `At least ${tiers.minimum_seats} seats must be bought.`);
  if (tiers.maximum_seats !== null && seats > tiers.maximum_seats)
    throw new ApiError("BadRequest", `At most ${tiers.maximum_seats} seats can be bought.`);
  if (seats < seated) throw new ApiError("SeatsAlreadyAssigned", `${seated} seats are given. Take some back first.`);
  if (seats > seatsMost) throw new ApiError("BadRequest", `At most ${seatsMost} seats can be bought.`);
  const had = row.pending_update;
  // Seats that were to change with the next period stay as they are after all; another product still comes.
  if (seats === row.seats) return had?.product_id ? putOff(row, { seats: null }, now) : clearPending(row);
  if (behavior === "next_period") return putOff(row, { seats }, now);
  const to = { product, prices: payPrices(prices, { product, seats }), seats };
  return changeNow(ground, to, { behavior, keepsPaid, sent: { seats } }, now);
}
const seatsMost = 10_000;

/** Another discount is billed from the next period on; what a period costs says so now (SUB-44). */
function planDiscount(
  { aggregate }: PlanInput,
  id: string | null,
  { discount, product_id }: Pick<RequestedOffer, "discount"> & { product_id: string },
  now: Date,
): SubscriptionPlan {
  const { row } = aggregate;
  checkGoesOn(row);
  const none = { discount_id: null, discount_applied_at: null };
  const computeAmountOf = (one: LimitedDiscount | null) => computePlanAmount(getChoice(aggregate), one, row.currency);
  if (id === null) {
    if (row.discount_id === null) return nothing;
    return { ...nothing, patch: { ...none, amount: computeAmountOf(null) }, discount: null, events: updated };
  }
  if (id === row.discount_id)
    throw buildFault("discount_id", "This discount is already applied to the subscription.", id);
  const isGood =
    discount && coversProduct(discount, product_id) && isRedeemable(discount, now) && findTerms(discount, row.currency);
  if (!isGood) throw buildFault("discount_id", "Discount does not exist.", id);
  const patch = { discount_id: id, discount_applied_at: null, amount: computeAmountOf(discount) };
  return { ...nothing, patch, discount, events: updated };
}

/** The trial ends at another time, or an active subscription gets one (SUB-45). */
function planTrial(ground: PlanInput, trial_end: Date | "now", now: Date): SubscriptionPlan {
  const { row } = ground.aggregate;
  if (row.ended_at === null && row.cancel_at_period_end) throw rejectCanceled();
  if (row.status !== "trialing" && row.status !== "active")
    throw rejectInactive("Only an active subscription can have a trial.");
  if (trial_end === "now") {
    if (row.status === "trialing") return planTrialEnd(ground, now);
    throw buildFault("trial_end", "This subscription has no trial that could end.", trial_end);
  }
  const least = row.status === "trialing" ? now : row.current_period_end;
  if (trial_end <= least) {
    const msg = row.status === "trialing" ? "Must be in the future." : "Must be after the period that runs.";
    throw buildFault("trial_end", msg, trial_end.toISOString());
  }
  const patch = {
    status: row.status === "trialing" ? row.status : moveState(subscriptionStates, row, "trialing"),
    trial_start: row.status === "trialing" ? row.trial_start : now,
    trial_end,
    current_period_end: trial_end,
    anchor_day: trial_end.getUTCDate(),
  };
  // What was used until a trial begins is none of its use.
  const isCut = row.status !== "trialing";
  const of = isCut ? findClosing(ground.aggregate, { prices: [], isCut }) : [];
  const { lines, taken } = computeGroundMetering(ground, null, { closed_at: now, of });
  return { ...nothing, patch, entries: lines, taken, events: updated };
}

type Said = { customer_cancellation_reason?: unknown; customer_cancellation_comment?: string | null | undefined };
/** What is said about the end is kept where something is (SUB-31). */
const pickSaid = (body: Said): Partial<SubscriptionRow> =>
  Object.fromEntries(
    (["customer_cancellation_reason", "customer_cancellation_comment"] as const).flatMap((field) =>
      body[field] ? [[field, body[field]]] : [],
    ),
  );

function planCancel({ aggregate: { row } }: PlanInput, ends: boolean, said: Said, now: Date): SubscriptionPlan {
  if (!ends) {
    if (row.ended_at !== null) throw new ApiError("ResourceUnavailable", "This subscription has ended.");
    if (!row.cancel_at_period_end) throw new ApiError("BadRequest", "This subscription is not about to end.");
    const cleared = { customer_cancellation_reason: null, customer_cancellation_comment: null };
    const patch = { ...cleared, cancel_at_period_end: false, ends_at: null, canceled_at: null };
    return { ...nothing, patch, events: [...updated, "subscription.uncanceled"] };
  }
  if (row.ended_at !== null || row.cancel_at_period_end) throw rejectCanceled();
  if (!isBillable(row.status)) throw rejectInactive("This subscription is paused; it can be resumed, or ended now.");
  const patch = {
    ...pickSaid(said),
    cancel_at_period_end: true,
    canceled_at: now,
    ends_at: row.current_period_end,
    pause_at_period_end: false,
    resumes_at: null,
  };
  return { ...nothing, patch, events: [...updated, "subscription.canceled"] };
}

/** End a subscription now, even if it was to end later (SUB-30). */
export function planRevoke(ground: PlanInput, said: Said, now: Date): SubscriptionPlan {
  const { row } = ground.aggregate;
  if (row.ended_at !== null || (!isBillable(row.status) && row.status !== "paused"))
    throw rejectCanceled("This subscription has ended already.");
  const plan = planEnd(ground, now);
  return { ...plan, patch: { ...plan.patch, ...pickSaid(said) } };
}

function planPause({ aggregate: { row } }: PlanInput, pauses: boolean, resumes_at: Date | null): SubscriptionPlan {
  if (!pauses) {
    if (!row.pause_at_period_end) throw new ApiError("BadRequest", "This subscription is not about to pause.");
    return { ...nothing, patch: { pause_at_period_end: false, resumes_at: null }, events: updated };
  }
  if (row.ended_at !== null || row.cancel_at_period_end) throw rejectCanceled();
  if (row.status !== "active") throw rejectInactive("Only an active subscription can pause.");
  if (resumes_at && resumes_at <= row.current_period_end)
    throw buildFault("resumes_at", "Must be after the period that runs.", resumes_at.toISOString());
  if (row.pause_at_period_end && row.resumes_at?.getTime() === resumes_at?.getTime()) return nothing;
  return { ...nothing, patch: { pause_at_period_end: true, resumes_at }, events: updated };
}

function planPeriodEnd({ aggregate: { row } }: PlanInput, current_period_end: Date, now: Date): SubscriptionPlan {
  checkGoesOn(row);
  if (row.status === "trialing") throw rejectInactive("The end of a trial is changed as its trial_end.");
  if (current_period_end <= now)
    throw buildFault("current_billing_period_end", "Must be in the future.", current_period_end.toISOString());
  if (current_period_end.getTime() === row.current_period_end.getTime()) return nothing;
  const patch = { current_period_end, anchor_day: current_period_end.getUTCDate() };
  return { ...nothing, patch, events: updated };
}

const order: SubscriptionEvent[] = [
  "subscription.cycled",
  "subscription.updated",
  "subscription.active",
  "subscription.paused",
  "subscription.resumed",
  "subscription.uncanceled",
  "subscription.past_due",
  "subscription.canceled",
  "subscription.revoked",
];

/** One change after the other, as one. */
function chain(ground: PlanInput, steps: readonly ((ground: PlanInput) => SubscriptionPlan)[]): SubscriptionPlan {
  let at = ground;
  let whole = nothing;
  for (const step of steps) {
    const plan = step(at);
    at = projectPlan(at, plan);
    const { discount = whole.discount, ...rest } = plan;
    const events = new Set([...whole.events, ...plan.events]);
    whole = {
      ...rest,
      patch: { ...whole.patch, ...plan.patch },
      choice: plan.choice ?? whole.choice,
      ...(discount === undefined ? {} : { discount }),
      entries: [...whole.entries, ...plan.entries],
      bill: plan.bill ?? whole.bill,
      taken: [...(whole.taken ?? []), ...(plan.taken ?? [])],
      events: order.filter((event) => events.has(event)),
    };
  }
  return whole;
}

/** What an update makes of a subscription at a time, or the refusal; nothing is written (SUB-27). */
export function planUpdate(ground: PlanInput, body: Update, named: RequestedOffer, now: Date): UpdateDecision {
  const wrapPlan = (plan: SubscriptionPlan): UpdateDecision => ({ plan, redeems: null });
  if ("seats" in body) {
    const { proration_behavior: behavior = named.proration } = body;
    const { seated, keepsPaid } = named;
    return wrapPlan(planSeats(ground, body.seats, { behavior, seated, keepsPaid }, now));
  }
  if ("current_billing_period_end" in body)
    return wrapPlan(planPeriodEnd(ground, body.current_billing_period_end, now));
  if ("cancel_at_period_end" in body) return wrapPlan(planCancel(ground, body.cancel_at_period_end, body, now));
  if ("revoke" in body) return wrapPlan(planRevoke(ground, body, now));
  if ("pause_at_period_end" in body)
    return wrapPlan(planPause(ground, body.pause_at_period_end, body.resumes_at ?? null));
  if ("resume" in body) {
    if (ground.aggregate.row.status !== "paused") throw new ApiError("BadRequest", "This subscription is not paused.");
    return wrapPlan(planResume(ground, now));
  }
  if ("pending_update" in body) return wrapPlan(clearPending(ground.aggregate.row));
  if ("payment_method_id" in body) {
    const { payment_method_id } = body;
    const isSame = ground.aggregate.row.payment_method_id === payment_method_id;
    return wrapPlan(isSame ? nothing : { ...nothing, patch: { payment_method_id }, events: updated });
  }
  const { metadata, product_id, discount_id, trial_end, proration_behavior } = body;
  const steps: ((at: PlanInput) => SubscriptionPlan)[] = [];
  if (metadata !== undefined)
    steps.push(({ aggregate: { row } }) => {
      const patch = listChanges(row, { metadata }, ["metadata"]);
      return Object.keys(patch).length === 0 ? nothing : { ...nothing, patch, events: updated };
    });
  const behavior = proration_behavior ?? named.proration;
  if (discount_id !== undefined) {
    // A discount that is sent with another product is for that one.
    const own = ground.aggregate.row.product_id;
    const covered = { discount: named.discount, product_id: behavior === "next_period" ? own : (product_id ?? own) };
    steps.push((at) => planDiscount(at, discount_id, covered, now));
  }
  if (product_id !== undefined) steps.push((at) => planProduct(at, product_id, named, behavior, now));
  if (trial_end !== undefined) steps.push((at) => planTrial(at, trial_end, now));
  const plan = chain(ground, steps);
  return { plan, redeems: plan.discount ? (named.discount ?? null) : null };
}
