import { addInterval, type Interval } from "../../shared/calendar.ts";
import type { CustomerRow } from "../customers/rules.ts";
import type { DiscountRow } from "../discounts/rules.ts";
import type { PricedProduct, PriceRow } from "../products/rules.ts";
import type { subscriptions } from "./tables.ts";

export type SubscriptionRow = typeof subscriptions.$inferSelect;
/** A subscription with all that it is answered with. */
export type SubscriptionAggregate = {
  row: SubscriptionRow;
  customer: CustomerRow;
  product: PricedProduct;
  discount: DiscountRow | null;
  prices: PriceRow[];
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
>;

/** The first period of a subscription: its trial, or what is paid for now (SUB-03, SUB-05). */
export function planStart(
  now: Date,
  trial_end: Date | null,
  { recurring_interval, recurring_interval_count }: { recurring_interval: Interval; recurring_interval_count: number },
): Period {
  const anchor = trial_end ?? now;
  return {
    status: trial_end ? "trialing" : "active",
    anchor_day: anchor.getUTCDate(),
    started_at: now,
    current_period_start: now,
    current_period_end: trial_end ?? addInterval(now, recurring_interval, recurring_interval_count),
    trial_start: trial_end && now,
    trial_end,
    discount_applied_at: trial_end ? null : now,
  };
}
