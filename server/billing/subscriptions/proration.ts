import { addInterval } from "../../../shared/calendar.ts";
import { addUp } from "../../../shared/money.ts";
import {
  allocateDiscount,
  computeAmount,
  type Discounted,
  type DiscountTerms,
  type LineTerms,
} from "../../../shared/pricing.ts";
import type { PriceRow } from "../../catalog/products/rules.ts";
import { resolveCredits } from "./credits.ts";
import { findClosing, getMeterStart, type MeteredLines } from "./metering.ts";
import {
  type BillingPeriod,
  computeGroundMetering,
  computePeriod,
  getChoice,
  getColumns,
  getInterval,
  type OrderDraft,
  type PlanInput,
  planTrialEnd,
  type SubscribedOffer,
  type SubscriptionEvent,
  type SubscriptionPlan,
} from "./plan.ts";
import {
  getUsageDiscount,
  isDiscountEnded,
  renewDiscount,
  type SubscriptionAggregate,
  type SubscriptionRow,
} from "./rules.ts";

export type Proration = "invoice" | "prorate" | "reset";

/** Prices that are given back, and asked for, in part; use, gifts and what a buyer chose are not (SUB-36). */
const isProrated = ({ amount_type }: PriceRow): boolean => amount_type === "fixed" || amount_type === "seat_based";

/** What each price costs, and its share of a discount. */
function reduceAll({ prices }: SubscribedOffer, terms: DiscountTerms | null): (Discounted & { id: string })[] {
  const some = prices.filter(isProrated);
  const shares = allocateDiscount(
    some.map(({ amount }) => amount),
    terms,
  );
  return some.map(({ id, amount }, index) => ({ id, amount, discount_amount: shares[index] ?? 0 }));
}

const isReduced = (choice: SubscribedOffer, terms: DiscountTerms): boolean =>
  reduceAll(choice, terms).some(({ discount_amount }) => discount_amount > 0);

const nothing: Discounted = { amount: 0, discount_amount: 0 };
const toMilliseconds = (from: Date, to: Date): number => to.getTime() - from.getTime();
const date = new Intl.DateTimeFormat("en-US", { dateStyle: "medium", timeZone: "UTC" });
const matchDuring = ({ start, end }: BillingPeriod): string => `From ${date.format(start)} to ${date.format(end)}`;

/** Lines that ask for or give back nothing are left out. */
const withAmount = (lines: LineTerms[]): LineTerms[] => lines.filter(({ source }) => computeAmount(source) !== 0);

const isPartial = (
  label: string,
  times: BillingPeriod,
  source: { id: string | null; before: Discounted; after: Discounted; part: number; whole: number },
  cut: "rounded" | "truncated" = "rounded",
): LineTerms => {
  const { id, ...terms } = source;
  const pickAmounts = ({ amount, discount_amount }: Discounted) => ({ amount, discount_amount });
  return {
    label,
    product_price_id: id,
    proration: true,
    source: { ...terms, before: pickAmounts(terms.before), after: pickAmounts(terms.after), rule: "prorated", cut },
    period: computePeriod(times),
  };
};

/** What is given back for the rest of the period, and what is asked for instead (SUB-36, SUB-37). */
function exchangeLines(
  aggregate: SubscriptionAggregate,
  to: SubscribedOffer,
  now: Date,
  { fresh, terms }: { fresh: BillingPeriod | null; terms: DiscountTerms | null },
): LineTerms[] {
  const { row, product } = aggregate;
  const rest = { start: now, end: row.current_period_end };
  const share = {
    part: toMilliseconds(now, row.current_period_end),
    whole: toMilliseconds(row.current_period_start, row.current_period_end),
  };
  const old = share.part > 0 ? reduceAll(getChoice(aggregate), row.period_discount) : [];
  const asked = fresh ?? rest;
  const shareAfter = fresh ? { part: 1, whole: 1 } : share;
  return withAmount([
    ...old.map(({ id, ...before }) =>
      isPartial(`Remaining time on ${product.name} — ${matchDuring(rest)}`, rest, {
        id,
        before,
        after: nothing,
        ...share,
      }),
    ),
    ...(shareAfter.part > 0 ? reduceAll(to, terms) : []).map(({ id, ...after }) =>
      isPartial(`${to.product.name} — ${matchDuring(asked)}`, asked, { id, before: nothing, after, ...shareAfter }),
    ),
  ]);
}

/** Other seats for the rest of the period: one line, of what they cost more or less (SUB-47). */
function computeSeatLines(aggregate: SubscriptionAggregate, to: SubscribedOffer, now: Date): LineTerms[] {
  const { row, product } = aggregate;
  const share = {
    part: toMilliseconds(now, row.current_period_end),
    whole: toMilliseconds(row.current_period_start, row.current_period_end),
  };
  if (share.part <= 0) return [];
  const terms = row.period_discount;
  const computeTotal = (choice: SubscribedOffer): Discounted => {
    const prices = reduceAll(choice, terms);
    const sum = (field: keyof Discounted) => addUp(prices.map((price) => price[field]));
    return { amount: sum("amount"), discount_amount: sum("discount_amount") };
  };
  const id = to.prices.find(({ amount_type }) => amount_type === "seat_based")?.id ?? null;
  const label = `${product.name} (${row.seats} → ${to.seats} seats)`;
  const rest = { start: now, end: row.current_period_end };
  const terms_of_line = { id, before: computeTotal(getChoice(aggregate)), after: computeTotal(to), ...share };
  return withAmount([isPartial(label, rest, terms_of_line, "truncated")]);
}

/**
 * A subscription changes to another product, other prices or other seats now: what that comes to for the rest of the period is
 * billed now or with the next order. Where the length of periods changes, or is asked to begin anew, a period begins now.
 */
export function planChange(ground: PlanInput, to: SubscribedOffer, behavior: Proration, now: Date): SubscriptionPlan {
  const { aggregate, entries, sold = [] } = ground;
  const { row, discount } = aggregate;
  const { interval, count } = getInterval(to, row);
  const events: SubscriptionEvent[] = ["subscription.updated"];
  // Of a product that the discount is not good for, nothing is taken off from now on (SUB-64).
  const isEnded = isDiscountEnded(ground, to);
  const ended = isEnded ? ({ discount_id: null, discount_applied_at: null } as const) : {};
  const change = isEnded ? { discount: null } : {};
  const left = isEnded ? null : discount;
  if (row.status === "trialing") {
    const columns = { ...getColumns(to, row, left), ...ended, pending_update: null };
    return { ...planTrialChange(ground, to, columns, now), ...change };
  }
  const isAnew = behavior === "reset" || interval !== row.recurring_interval || count !== row.recurring_interval_count;
  const fresh = isAnew ? { start: now, end: addInterval(now, interval, count) } : null;
  const isSeats = fresh === null && to.product.id === aggregate.product.id && to.seats !== row.seats;
  // A period that begins has the discount only if its time is not over; the running one keeps what it was billed with.
  const renewed = fresh && renewDiscount(aggregate, now, { isReduced: (some) => isReduced(to, some), isEnded });
  const terms = renewed ? renewed.terms : isEnded ? null : row.period_discount;
  const asked = isSeats ? computeSeatLines(aggregate, to, now) : exchangeLines(aggregate, to, now, { fresh, terms });
  const exchanged_amount = addUp(asked.map(({ source }) => computeAmount(source)));
  const { lines: billed, unpaid } = resolveCredits(asked, sold);
  // What is less in all than what is not paid yet asks for nothing now.
  const isCovered = unpaid.length > 0 && addUp([...billed, ...unpaid].map(({ source }) => computeAmount(source))) <= 0;
  const lines = isCovered ? [] : billed;
  const kept = isCovered ? [...unpaid, ...billed] : unpaid;
  const columns = { ...getColumns(to, row, renewed ? renewed.kept : left), pending_update: null };
  const begun = fresh && { anchor_day: now.getUTCDate(), current_period_start: now, current_period_end: fresh.end };
  const patch = { ...columns, ...begun, ...(isEnded ? { ...ended, period_discount: null } : {}), ...renewed?.columns };
  const { lines: used, taken } = closeUsage(ground, to, fresh, now);
  if (behavior === "prorate" && !fresh)
    return {
      patch,
      choice: to,
      ...change,
      exchanged_amount,
      entries: [...lines, ...kept, ...used],
      bill: null,
      taken,
      events,
    };
  const whole = [...lines, ...entries.map(({ line }) => line), ...used];
  const bill: OrderDraft | null =
    whole.length === 0
      ? null
      : {
          billing_reason: "subscription_update",
          occasion: null,
          lines: whole,
          // A proration has had its share of it (ORD-09); what was used has a percentage off.
          discount: getUsageDiscount(aggregate, now),
          // Of one that began at this very moment there is a bill.
          period_start: fresh && now > row.current_period_start ? now : null,
          entry_ids: entries.map(({ id }) => id),
        };
  return { patch, choice: to, ...change, ...renewed?.change, exchanged_amount, entries: kept, bill, taken, events };
}

/** What was used at prices that end with a change (SUB-22): all of it where the period is cut off. */
function closeUsage(ground: PlanInput, to: SubscribedOffer, fresh: BillingPeriod | null, now: Date): MeteredLines {
  const { aggregate } = ground;
  const isCut = fresh !== null && now > getMeterStart(aggregate.row);
  return computeGroundMetering(ground, null, {
    closed_at: now,
    of: findClosing(aggregate, { prices: to.prices, isCut }),
  });
}

/** A change in a trial costs nothing; its end is that of the new product's trial, which may be past already (SUB-42, SUB-48). */
function planTrialChange(
  ground: PlanInput,
  to: SubscribedOffer,
  columns: Partial<SubscriptionRow>,
  now: Date,
): SubscriptionPlan {
  const { row, product } = ground.aggregate;
  const { trial_interval, trial_interval_count } = to.product;
  const plan: SubscriptionPlan = {
    patch: columns,
    choice: to,
    entries: [],
    bill: null,
    events: ["subscription.updated"],
  };
  if (to.product.id === product.id) return plan;
  const end =
    trial_interval && trial_interval_count
      ? addInterval(row.trial_start ?? row.started_at, trial_interval, trial_interval_count)
      : now;
  if (end <= now) return planTrialEnd({ ...ground, pending: to }, now);
  return { ...plan, patch: { ...columns, trial_end: end, current_period_end: end, anchor_day: end.getUTCDate() } };
}
