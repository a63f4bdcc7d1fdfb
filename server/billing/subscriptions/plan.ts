import { addInterval, type Interval } from "../../../shared/calendar.ts";
import { addUp } from "../../../shared/money.ts";
import {
  allocateDiscount,
  computeAmount,
  computeQuote,
  type DiscountTerms,
  type LineTerms,
  type Quote,
} from "../../../shared/pricing.ts";
import type { TaxTreatment } from "../../../shared/tax.ts";
import type { DiscountRow } from "../../catalog/discounts/rules.ts";
import { planLines } from "../../catalog/products/lines.ts";
import type { PricedProduct, PriceRow } from "../../catalog/products/rules.ts";
import { moveState } from "../../platform/states.ts";
import type { BilledUsage } from "../../usage/meters/attribution.ts";
import type { OrderRow } from "../orders/rules.ts";
import type { SoldLine } from "./credits.ts";
import { computeNextMeterPeriod, getMeterPeriod } from "./meter-clock.ts";
import { computeMetering, getMeterStart, type MeteredLines, type Usage } from "./metering.ts";
import {
  type DiscountLimit,
  type EntryRow,
  findTerms,
  getUsageDiscount,
  isDiscountEnded,
  isReducedBy,
  type PaidPrice,
  renewDiscount,
  type SubscriptionAggregate,
  type SubscriptionRow,
  selectDuePending,
} from "./rules.ts";
import { subscriptionStates } from "./states.ts";

/** What is said of a subscription, in this order. */
export type SubscriptionEvent =
  | "subscription.created"
  | "subscription.cycled"
  | "subscription.updated"
  | "subscription.active"
  | "subscription.paused"
  | "subscription.resumed"
  | "subscription.uncanceled"
  | "subscription.past_due"
  | "subscription.canceled"
  | "subscription.revoked";

/** What a subscription is paid for: a product at its prices, for so many seats. */
export type SubscribedOffer = { product: PricedProduct; prices: PaidPrice[]; seats: number | null };

/** What of a subscription its plans are made from. */
type Planned = Pick<SubscriptionAggregate, "row" | "product" | "discount" | "prices">;

/** A subscription, what waits to be billed with its next order, and what it changes to with its next period. */
export type PlanInput<Aggregate extends Planned = SubscriptionAggregate> = {
  aggregate: Aggregate;
  entries: readonly Pick<EntryRow, "id" | "line">[];
  /** What waited to be billed and of which nothing is left. */
  settled_entry_ids?: readonly string[];
  /** Whether the calendar asks for the plan, and no request. */
  isDue?: boolean;
  /** What was sold for the period that runs; absent where nothing can be given back of it. */
  sold?: readonly SoldLine[];
  /** The prices that the entries are of: they may be others than are paid by now. */
  entryPrices?: readonly PriceRow[];
  pending: SubscribedOffer | null;
  /** The products that a discount of the subscription is limited to, where it may change to another product. */
  limit?: DiscountLimit;
  /** What was used and is to be billed; absent where no price is of use. */
  usage?: Usage;
  /** The prices that it is of, where they are not paid any more. */
  usagePrices?: readonly PriceRow[];
};

/** An order that is to be made. */
export type OrderDraft = {
  billing_reason: OrderRow["billing_reason"];
  occasion: OrderRow["occasion"];
  lines: LineTerms[];
  discount: DiscountTerms | null;
  /** The period that it is for, of which each is billed once; null where it is for what is left over. */
  period_start: Date | null;
  entry_ids: string[];
};

/** What is to become of a subscription: columns, what it is paid for, what is kept for the next bill, what is billed, what is said. */
export type SubscriptionPlan = {
  patch: Partial<SubscriptionRow>;
  choice: SubscribedOffer | null;
  /** The discount from now on; absent: as it was. */
  discount?: DiscountRow | null;
  entries: LineTerms[];
  bill: OrderDraft | null;
  /** What a change asks for in exchange for the rest of the period, before tax; negative: what it gives back. */
  exchanged_amount?: number;
  /** What the lines of use take of periods. */
  taken?: readonly BilledUsage[];
  events: SubscriptionEvent[];
};

export type BillingPeriod = { start: Date; end: Date };
export const computePeriod = ({ start, end }: BillingPeriod) => ({
  start: start.toISOString(),
  end: end.toISOString(),
});
export const getChoice = ({ product, prices, row }: Omit<Planned, "discount">): SubscribedOffer => ({
  product,
  prices,
  seats: row.seats,
});

const getLines = (
  price: PriceRow & { amount?: number },
  { product, seats }: Omit<SubscribedOffer, "prices">,
): LineTerms[] =>
  planLines(price, {
    product,
    seats,
    // What the buyer chose stays as it was.
    chosen: () => ({
      rule: "chosen",
      by: "buyer",
      amount: price.amount ?? price.preset_amount ?? price.minimum_amount ?? 0,
    }),
  });

/** These prices with what each comes to for so many seats; what a buyer chose before is kept. */
export const payPrices = (
  prices: readonly (PriceRow & { amount?: number })[],
  rest: Omit<SubscribedOffer, "prices">,
): PaidPrice[] =>
  prices.map((price) => ({
    ...price,
    amount: addUp(getLines(price, rest).map(({ source }) => computeAmount(source))),
  }));

/** How many seats there are at these prices, where there were so many: as many, as far as they can be bought; null without seats. */
export function limitSeats(prices: readonly PriceRow[], seats: number | null): number | null {
  const tiers = prices.find(({ amount_type }) => amount_type === "seat_based")?.seat_tiers;
  if (!tiers) return null;
  return Math.min(Math.max(seats ?? 0, tiers.minimum_seats), tiers.maximum_seats ?? Number.MAX_SAFE_INTEGER);
}

/**
 * What a subscription changes to with its next period, at the prices that stood when that was asked for. `wanted`, `prices`: the
 * product and the prices that the change names; absent where it is about seats alone.
 */
export function resolvePendingChange(
  { row, product, prices: own }: Omit<Planned, "discount">,
  { wanted, prices }: { wanted?: PricedProduct | undefined; prices: readonly PriceRow[] },
): SubscribedOffer {
  const wished = row.pending_update?.seats ?? row.seats;
  if (!wanted) return { product, prices: payPrices(own, { product, seats: wished }), seats: wished };
  const seats = limitSeats(prices, wished);
  return { product: wanted, prices: payPrices(prices, { product: wanted, seats }), seats };
}

/** The lines of a period. */
const buildStaticLines = (choice: SubscribedOffer, times: BillingPeriod): LineTerms[] =>
  choice.prices.flatMap((price) => getLines(price, choice)).map((line) => ({ ...line, period: computePeriod(times) }));

/** What a period costs before tax, after the discount (SUB-04). */
export function computePlanAmount(choice: SubscribedOffer, discount: DiscountRow | null, currency: string): number {
  const amounts = choice.prices.map(({ amount }) => amount);
  return addUp(amounts) - addUp(allocateDiscount(amounts, findTerms(discount, currency)));
}

/** Whether a plan costs something: each period, or by what is used. */
export function isCosting({ prices }: SubscribedOffer, discount: DiscountRow | null): boolean {
  const isGift = discount?.type === "percentage" && discount.basis_points === 10_000 && discount.duration === "forever";
  if (isGift) return false;
  const isMetered = prices.some(({ amount_type }) => amount_type === "metered_unit");
  return isMetered || addUp(prices.map(({ amount }) => amount)) > 0;
}

/** A bill with its amounts, as it is taxed. */
export const computeBillQuote = (
  bill: OrderDraft,
  { currency, seats }: Pick<SubscriptionRow, "currency" | "seats">,
  tax: TaxTreatment,
): Quote => computeQuote({ currency, seats, lines: bill.lines, discount: bill.discount, tax });

export const getInterval = (
  { product }: SubscribedOffer,
  row: SubscriptionRow,
): { interval: Interval; count: number } =>
  product.recurring_interval === null
    ? { interval: row.recurring_interval, count: row.recurring_interval_count }
    : { interval: product.recurring_interval, count: product.recurring_interval_count ?? 1 };

/**
 * What is billed of what was used until a time, or of all, at the prices of then; a trial's usage is free (SUB-17, MTR-29). `of`: of the
 * meters of these prices alone.
 */
export function computeGroundMetering(
  { aggregate: { row, prices }, usage, usagePrices = [] }: Omit<PlanInput<Planned>, "entries" | "pending">,
  until: Date | null,
  { ends_at, closed_at = until, of }: { ends_at?: Date; closed_at?: Date | null; of?: readonly PriceRow[] } = {},
): MeteredLines {
  if (!usage || row.status === "trialing") return { lines: [], taken: [] };
  const meters = of && new Set(of.map(({ meter_id }) => meter_id));
  const some = meters ? usage.filter(({ meter_id }) => meters.has(meter_id)) : usage;
  const end = ends_at ?? row.current_meter_period_end ?? row.current_period_end;
  const period = { start: getMeterStart(row), end, closed_at: closed_at ?? end, isStretch: of !== undefined };
  return computeMetering([...prices, ...usagePrices], some, { currency: row.currency, until, period });
}

/** The columns of what a subscription is paid for. */
export const getColumns = (
  choice: SubscribedOffer,
  row: SubscriptionRow,
  discount: DiscountRow | null,
): Partial<SubscriptionRow> => {
  const { interval, count } = getInterval(choice, row);
  return {
    product_id: choice.product.id,
    seats: choice.seats,
    recurring_interval: interval,
    recurring_interval_count: count,
    amount: computePlanAmount(choice, discount, row.currency),
  };
};

/** Begin a period at `start` and bill it with what has come about until then. An expired discount ends (SUB-13, DSC-23). */
function beginPeriod(
  ground: PlanInput<Planned>,
  start: Date,
  anchor_day: number,
  occasion: OrderRow["occasion"],
): SubscriptionPlan {
  const { aggregate, entries } = ground;
  const { row } = aggregate;
  const { pending, pending_update } = selectDuePending(ground, start);
  const choice = pending ?? getChoice(aggregate);
  const { interval, count } = getInterval(choice, row);
  const end = addInterval(start, interval, count, anchor_day);
  const used = computeGroundMetering(ground, start);
  const lines = [...buildStaticLines(choice, { start, end }), ...entries.map(({ line }) => line), ...used.lines];
  const { kept, terms, change, columns } = renewDiscount(aggregate, start, {
    isReduced: (some) => isReducedBy(lines, some),
    isEnded: isDiscountEnded(ground, choice),
  });
  const begun = { ...row, status: "active" as const, anchor_day, current_period_start: start, current_period_end: end };
  return {
    patch: {
      ...getMeterPeriod(begun, null, choice.product, start),
      ...getColumns(choice, row, kept),
      ...columns,
      anchor_day,
      current_period_start: start,
      current_period_end: end,
      pending_update,
    },
    choice: pending,
    ...change,
    entries: [],
    // Of use alone there is nothing to bill while there is none (SUB-18).
    bill:
      lines.length === 0
        ? null
        : {
            billing_reason: "subscription_cycle",
            occasion,
            lines,
            discount: terms,
            period_start: start,
            entry_ids: entries.map(({ id }) => id),
          },
    taken: used.taken,
    events: [],
  };
}

/** What is left to be billed when no period follows, or none for now. */
const buildLastBill = (
  entries: PlanInput["entries"],
  used: LineTerms[],
  { occasion, discount }: Pick<OrderDraft, "discount"> & { occasion: "paused" | "ended" },
): OrderDraft | null => {
  const lines = [...entries.map(({ line }) => line), ...used];
  // Of nothing that is owed nobody is told (SUB-12).
  return lines.every(({ source }) => computeAmount(source) === 0)
    ? null
    : {
        billing_reason: "subscription_cycle",
        occasion,
        lines,
        discount,
        period_start: null,
        entry_ids: entries.map(({ id }) => id),
      };
};

/**
 * The period of a subscription, or its trial, is over: it ends, pauses, or the next period begins, never later than the one
 * before it ended, however late this is looked at (SUB-12 to SUB-15).
 */
export function planCycle(ground: PlanInput<Planned>, now: Date): SubscriptionPlan {
  const { row } = ground.aggregate;
  if (row.cancel_at_period_end)
    return planEnd(ground, now, { canceled_at: row.canceled_at ?? now, ends_at: row.ends_at ?? now });
  if (row.pause_at_period_end) {
    const used = computeGroundMetering(ground, row.current_period_end);
    return {
      patch: { status: moveState(subscriptionStates, row, "paused"), pause_at_period_end: false, paused_at: now },
      choice: null,
      entries: [],
      taken: used.taken,
      bill: buildLastBill(ground.entries, used.lines, {
        occasion: "paused",
        discount: getUsageDiscount(ground.aggregate, now),
      }),
      events: ["subscription.updated", "subscription.paused"],
    };
  }
  const start = row.current_period_end;
  const isTrial = row.status === "trialing";
  const plan = beginPeriod(ground, start, isTrial ? start.getUTCDate() : row.anchor_day, isTrial ? "trial_over" : null);
  const status = isTrial ? moveState(subscriptionStates, row, "active") : row.status;
  return { ...plan, patch: { ...plan.patch, status }, events: ["subscription.cycled", "subscription.updated"] };
}

/** Usage is billed within a period, by the product's own interval (SUB-26). A fixed discount applies to the period alone. */
export function planMeterCycle(ground: PlanInput<Planned>, start: Date): SubscriptionPlan {
  const { aggregate } = ground;
  const { row, product } = aggregate;
  const { lines, taken } = computeGroundMetering(ground, start);
  const terms = getUsageDiscount(aggregate, start);
  const isFirst = terms !== null && row.discount_applied_at === null && isReducedBy(lines, terms);
  return {
    patch: { ...computeNextMeterPeriod(row, product, start), ...(isFirst ? { discount_applied_at: start } : {}) },
    choice: null,
    entries: [],
    bill:
      lines.length === 0
        ? null
        : {
            ...{ billing_reason: "subscription_meter_cycle", occasion: null, lines, discount: terms },
            ...{ period_start: null, entry_ids: [] },
          },
    taken,
    events: ["subscription.updated"],
  };
}

/** A subscription ends now, for good. What it owes for use is billed, unless it ends because nobody pays. */
export function planEnd(
  ground: PlanInput<Planned>,
  now: Date,
  ends: Pick<SubscriptionRow, "canceled_at" | "ends_at"> = { canceled_at: now, ends_at: now },
): SubscriptionPlan {
  const period_end = ground.aggregate.row.current_period_end;
  const { lines, taken } = computeGroundMetering(ground, period_end > now ? null : period_end, {
    ends_at: now,
    closed_at: now,
  });
  return {
    patch: {
      ...ends,
      status: moveState(subscriptionStates, ground.aggregate.row, "canceled"),
      ended_at: now,
      pending_update: null,
      pause_at_period_end: false,
      resumes_at: null,
      card_due_at: null,
    },
    choice: null,
    entries: [],
    bill: buildLastBill(ground.entries, lines, { occasion: "ended", discount: null }),
    taken,
    events: ["subscription.updated", "subscription.canceled", "subscription.revoked"],
  };
}

/** A paused subscription goes on: a new period begins at `start`, and is billed. Who was behind with payments still is. */
export function planResume(ground: PlanInput, start: Date): SubscriptionPlan {
  const plan = beginPeriod(ground, start, start.getUTCDate(), "resumed");
  const { row } = ground.aggregate;
  const isBehind = row.past_due_at !== null;
  const status = moveState(subscriptionStates, row, isBehind ? "past_due" : "active");
  return {
    ...plan,
    patch: { ...plan.patch, status, paused_at: null, resumes_at: null },
    events: ["subscription.updated", ...(isBehind ? [] : (["subscription.active"] as const)), "subscription.resumed"],
  };
}

/** A trial ends now instead of later: the first period that is paid begins (SUB-45). */
export function planTrialEnd(ground: PlanInput, now: Date): SubscriptionPlan {
  const plan = beginPeriod(ground, now, now.getUTCDate(), "trial_over");
  return {
    ...plan,
    patch: { ...plan.patch, status: moveState(subscriptionStates, ground.aggregate.row, "active"), trial_end: now },
    events: ["subscription.cycled", "subscription.updated"],
  };
}
