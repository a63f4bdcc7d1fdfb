import type { OrderRow } from "../orders/rules.ts";
import type { SubscriptionRow } from "./rules.ts";

/** How long after each failed payment the card is charged again, in days (SUB-50). */
export const retryDays = [2, 5, 7, 7] as const;

const minuteMs = 60 * 1000;
const dayMs = 24 * 60 * minuteMs;
const retryDaysTotal = retryDays.reduce<number>((sum, days) => sum + days, 0);

/** Refusals that another try of the same card will not mend: it is charged once more, at the last moment (SUB-51). */
const finalReasons: ReadonlySet<string> = new Set([
  "authentication_required",
  "card_not_supported",
  "card_velocity_exceeded",
  "currency_not_supported",
  "do_not_honor",
  "expired_card",
  "fraudulent",
  "incorrect_number",
  "invalid_account",
  "invalid_cvc",
  "invalid_expiry_month",
  "invalid_expiry_year",
  "invalid_number",
  "lost_card",
  "merchant_blacklist",
  "new_account_information_available",
  "no_action_taken",
  "not_permitted",
  "pickup_card",
  "restricted_card",
  "revocation_of_all_authorizations",
  "revocation_of_authorization",
  "security_violation",
  "service_not_allowed",
  "stolen_card",
  "stop_payment_order",
  "transaction_not_allowed",
]);

/** Reasons that are not the card's: nothing was asked of it, and the payment counts for nothing. */
const unaskedReasons: ReadonlySet<string> = new Set(["processor_unavailable"]);
export const unaskedPauseMs = 10 * minuteMs;

/** Whether a payment failed for a reason that is not the card's. */
export const isUnasked = (reason: string | null): boolean => reason !== null && unaskedReasons.has(reason);

/** When a subscription that has not been paid since then ends, whatever is tried (SUB-51). */
export const computeDeadline = (past_due_at: Date): Date =>
  new Date(past_due_at.getTime() + retryDaysTotal * dayMs + minuteMs);

/** What follows a payment that failed: another try at a time, counted or not, or the end of the subscription. */
export type Failure =
  | { is_over: true }
  | { is_over: false; failed_payments: number; next_payment_attempt_at: Date | null };

/** Whether an order is of use within a period: nobody loses what they have paid for by it (SUB-26). */
export const isOfUse = ({ billing_reason }: Pick<OrderRow, "billing_reason">): boolean =>
  billing_reason === "subscription_meter_cycle";

/**
 * Decide about a failed payment of an order of which `failed_payments` have failed before (SUB-49 to SUB-55). Who is leaving or has
 * gone is asked for it once: what was under way as they left, or was left to be paid then, and failed, is not tried again (SUB-54).
 */
export function planFailure(
  {
    past_due_at,
    cancel_at_period_end,
    ended_at,
  }: Pick<SubscriptionRow, "past_due_at" | "cancel_at_period_end" | "ended_at">,
  order: Pick<OrderRow, "billing_reason" | "failed_payments">,
  reason: string | null,
  now: Date,
): Failure {
  const { failed_payments } = order;
  if (isUnasked(reason)) {
    const isOnce = (cancel_at_period_end || ended_at !== null) && failed_payments > 0;
    const next_payment_attempt_at = isOnce ? null : new Date(now.getTime() + unaskedPauseMs);
    return { is_over: false, failed_payments, next_payment_attempt_at };
  }
  const counted = { is_over: false, failed_payments: failed_payments + 1 } as const;
  const left = { ...counted, next_payment_attempt_at: null };
  if (ended_at !== null) return left;
  const deadline = computeDeadline(past_due_at ?? now);
  const days = retryDays[failed_payments];
  if (now >= deadline || days === undefined)
    return isOfUse(order) ? { is_over: false, failed_payments, next_payment_attempt_at: null } : { is_over: true };
  if (cancel_at_period_end) return left;
  const next = new Date(now.getTime() + days * dayMs);
  const isFinal = reason !== null && finalReasons.has(reason);
  return { ...counted, next_payment_attempt_at: isFinal || next > deadline ? deadline : next };
}
