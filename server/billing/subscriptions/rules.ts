import { addInterval, type Interval } from "../../../shared/calendar.ts";
import { computeQuote, type DiscountTerms, type LineTerms, untaxed } from "../../../shared/pricing.ts";
import { type DiscountRow, findDiscountTerms } from "../../catalog/discounts/rules.ts";
import type { PricedProduct, PriceRow } from "../../catalog/products/rules.ts";
import type { CustomerRow } from "../../customers/customers/rules.ts";
import type { PaidUsage } from "../../usage/meters/attribution.ts";
import type { subscriptionEntries, subscriptionLetters, subscriptions } from "./tables.ts";

export type SubscriptionRow = typeof subscriptions.$inferSelect;
export type EntryRow = typeof subscriptionEntries.$inferSelect;
export type LetterRow = typeof subscriptionLetters.$inferSelect;
/** A price that a subscription is paid at, and what a period costs at it before discount and tax. */
export type PaidPrice = PriceRow & { amount: number };
/** An order of a subscription whose card is charged again by itself. */
export type Retry = { order_id: string; failed_payments: number; next_payment_attempt_at: Date };
/** A subscription with all that it is answered with. */
export type SubscriptionAggregate = {
  row: SubscriptionRow;
  customer: CustomerRow;
  product: PricedProduct;
  discount: DiscountRow | null;
  prices: PaidPrice[];
  retries: Retry[];
  /** What runs on its account of what its prices count. */
  uses?: PaidUsage[];
};

/** States in which a customer has what they pay for. */
export const active = ["trialing", "active"] as const satisfies SubscriptionRow["status"][];
/** States in which periods go on and are billed (SUB-01). */
export const billable = [...active, "past_due"] as const satisfies SubscriptionRow["status"][];
export const isBillable = (status: SubscriptionRow["status"]): boolean =>
  (billable as readonly string[]).includes(status);
/** States from which nothing comes any more. */
export const revoked = ["canceled", "unpaid"] as const satisfies SubscriptionRow["status"][];

type Period = Pick<
  SubscriptionRow,
  | "status"
  | "anchor_day"
  | "started_at"
  | "current_period_start"
  | "current_period_end"
  | "trial_start"
  | "trial_end"
  | "discount_applied_at"
  | "due_at"
>;

/** The first period of a subscription: its trial, or what is paid for now (SUB-03, SUB-05). */
export function planStart(
  now: Date,
  trial_end: Date | null,
  { recurring_interval, recurring_interval_count }: { recurring_interval: Interval; recurring_interval_count: number },
): Period {
  const anchor = trial_end ?? now;
  const current_period_end = trial_end ?? addInterval(now, recurring_interval, recurring_interval_count);
  return {
    status: trial_end ? "trialing" : "active",
    anchor_day: anchor.getUTCDate(),
    started_at: now,
    current_period_start: now,
    current_period_end,
    trial_start: trial_end && now,
    trial_end,
    discount_applied_at: trial_end ? null : now,
    due_at: current_period_end,
  };
}

const dayMs = 24 * 60 * 60 * 1000;
/** How long before the end of a trial, and of a longer period, its customer is told what is charged then. */
const trialNoticeMs = 3 * dayMs;
const renewalNoticeMs = 7 * dayMs;
/** Who pays each month knows. */
const shortPeriodMs = 31 * dayMs;

type Coming = Pick<
  SubscriptionRow,
  | "status"
  | "amount"
  | "current_period_start"
  | "current_period_end"
  | "cancel_at_period_end"
  | "pause_at_period_end"
  | "reminder_due_at"
> & { billing_held_at?: Date | null };

/** When a customer is to be told of the charge that comes next; null where none comes, or they know, or have been told. */
export function findReminderTime(row: Coming, now: Date): Date | null {
  const { status, amount, current_period_start: start, current_period_end: end } = row;
  if (row.billing_held_at != null) return null;
  const isTrial = status === "trialing";
  if (!(isTrial || status === "active") || amount === 0) return null;
  if (row.cancel_at_period_end || row.pause_at_period_end) return null;
  if (!isTrial && end.getTime() - start.getTime() <= shortPeriodMs) return null;
  const at = new Date(end.getTime() - (isTrial ? trialNoticeMs : renewalNoticeMs));
  if (at <= start) return null;
  // What was due before is left as it is: waiting still, or done.
  return at > now || row.reminder_due_at?.getTime() === at.getTime() ? at : null;
}

/**
 * When the period of a subscription ends, or before that the one with whose end its use is billed: not while it is behind with
 * payments (SUB-26). Null: there is none.
 */
export function findCycle({
  status,
  current_period_end,
  current_meter_period_end,
}: Pick<SubscriptionRow, "status" | "current_period_end" | "current_meter_period_end">): {
  at: Date;
  isOfUse: boolean;
} | null {
  if (!isBillable(status)) return null;
  const isOfUse =
    status === "active" && current_meter_period_end !== null && current_meter_period_end < current_period_end;
  return { at: isOfUse ? current_meter_period_end : current_period_end, isOfUse };
}

/** When a subscription is to be looked at next: its period or pause ends, or a card is charged again; null: never. */
export function findDueTime(row: SubscriptionRow, retries: readonly Retry[]): Date | null {
  const { status, resumes_at, card_due_at } = row;
  // Where it comes from bills it: nothing of it is due here until it is switched (MOV-10).
  if (row.billing_held_at !== null) return null;
  const cycle = findCycle(row);
  const times = retries.map(({ next_payment_attempt_at }) => next_payment_attempt_at);
  if (cycle) times.push(cycle.at);
  if (card_due_at) times.push(card_due_at);
  if (status === "paused" && resumes_at) times.push(resumes_at);
  return times.reduce<Date | null>((first, time) => (first === null || time < first ? time : first), null);
}

export const findTerms = (discount: DiscountRow | null, currency: string): DiscountTerms | null =>
  (discount && findDiscountTerms(discount, currency)) ?? null;

/** Whether a discount is over for a period that begins at `start` (DSC-22). The first month counts as one. */
function isExpired(discount: DiscountRow, applied_at: Date, start: Date): boolean {
  if (discount.duration === "forever") return false;
  const months = discount.duration === "once" ? 0 : (discount.duration_in_months ?? 1) - 1;
  return start > addInterval(applied_at, "month", months);
}

export const isReducedBy = (lines: LineTerms[], discount: DiscountTerms): boolean =>
  computeQuote({ currency: "", seats: null, lines, discount, tax: untaxed }).discount_amount > 0;

/** The products that a discount is limited to; none where it is good for all (DSC-05). */
export type DiscountLimit = { discount_id: string; product_ids: readonly string[] };

/** Whether the discount of a subscription ends with a change to a product, because it is not good for it (SUB-64). */
export const isDiscountEnded = (
  {
    aggregate: { discount, product },
    limit,
  }: { aggregate: Pick<SubscriptionAggregate, "discount" | "product">; limit?: DiscountLimit | undefined },
  to: { product: Pick<SubscriptionAggregate["product"], "id"> },
): boolean =>
  discount !== null &&
  to.product.id !== product.id &&
  limit?.discount_id === discount.id &&
  limit.product_ids.length > 0 &&
  !limit.product_ids.includes(to.product.id);

/**
 * The discount of a period that begins at `start`, by whatever way it begins. It is over where its time is, which counts from the
 * first order that it has reduced (DSC-21, DSC-22). `isEnded`: it ends whatever its time is.
 */
export function renewDiscount(
  { row, discount }: Pick<SubscriptionAggregate, "row" | "discount">,
  start: Date,
  { isReduced, isEnded }: { isReduced: (terms: DiscountTerms) => boolean; isEnded: boolean },
) {
  const applied_at = row.discount_applied_at;
  const isOver = discount !== null && (isEnded || (applied_at !== null && isExpired(discount, applied_at, start)));
  const kept = isOver ? null : discount;
  const terms = findTerms(kept, row.currency);
  const first = terms && isReduced(terms) ? start : null;
  return {
    kept,
    terms,
    change: isOver ? { discount: null } : {},
    columns: {
      discount_applied_at: kept && (applied_at ?? first),
      period_discount: terms,
      ...(isOver ? { discount_id: null } : {}),
    },
  };
}

/** What is taken off use within a period: a percentage, as a fixed discount is for what the period costs (SUB-26). */
export function getUsageDiscount(
  { row, discount }: Pick<SubscriptionAggregate, "row" | "discount">,
  at: Date,
): DiscountTerms | null {
  if (discount?.type !== "percentage") return null;
  const { discount_applied_at, period_discount } = row;
  return discount_applied_at && isExpired(discount, discount_applied_at, at) ? null : period_discount;
}

/**
 * The scheduled change of a period that begins at `start`. A period that begins before the day that the customer was told, because
 * its end was moved, keeps the old price, and the change waits (SUB-67).
 */
export function selectDuePending<Offer>(
  { aggregate: { row }, pending }: { aggregate: Pick<SubscriptionAggregate, "row">; pending: Offer | null },
  start: Date,
): { pending: Offer | null; pending_update: SubscriptionRow["pending_update"] } {
  const { pending_update } = row;
  const isEarly = pending_update?.not_before !== undefined && start < new Date(pending_update.not_before);
  return isEarly ? { pending: null, pending_update } : { pending, pending_update: null };
}
