import type { RefundDispute } from "../../../shared/api/disputes.ts";
import type { Refund } from "../../../shared/api/refunds.ts";
import { ApiError, fault, invalid } from "../../../shared/errors.ts";
import { computeFraction, formatMoney, roundFractionHalfEven } from "../../../shared/money.ts";
import type { Mail } from "../../platform/mail-transport/mail.ts";
import { allowsTransition } from "../../platform/states.ts";
import { type AmountShare, computeRefundable, computeTotals, type OrderRow } from "../orders/rules.ts";
import { refundStates } from "./states.ts";
import type { refunds } from "./tables.ts";

export type RefundRow = typeof refunds.$inferSelect;
/** What is left to be refunded of an order. */
export type RefundableAmount = { refundable_amount: number; refundable_tax_amount: number };

/** What is left when what is under way has gone back too. */
export const subtractShare = (left: RefundableAmount, { amount, tax_amount }: AmountShare): RefundableAmount => ({
  refundable_amount: Math.max(0, left.refundable_amount - amount),
  refundable_tax_amount: Math.max(0, left.refundable_tax_amount - tax_amount),
});

/**
 * The tax that goes back with a refund of so much without tax (RFD-05): all that is left with the rest of the order, or else
 * its share, rounded half to even as hosted Polar does.
 */
export function computeTaxShare(order: OrderRow, left: RefundableAmount, amount: number): number {
  if (amount === left.refundable_amount) return left.refundable_tax_amount;
  const { net_amount } = computeTotals(order);
  if (order.tax_amount <= 0 || net_amount <= 0) return 0;
  return Math.min(roundFractionHalfEven(amount, order.tax_amount, net_amount), left.refundable_tax_amount);
}

/** The tax in so much of an order's total. */
export function computeTaxWithin(order: OrderRow, total: number): number {
  const { total_amount } = computeTotals(order);
  return total_amount > 0 && order.tax_amount > 0
    ? Math.min(computeFraction(order.tax_amount, total, total_amount), total)
    : 0;
}

/** What a refund of so much in all is without tax, and the tax in it: as it is made at the processor (RFD-07). */
export function splitTotal(order: OrderRow, left: RefundableAmount, total: number): AmountShare {
  const isRest = total === left.refundable_amount + left.refundable_tax_amount;
  const tax_amount = isRest
    ? left.refundable_tax_amount
    : Math.min(computeTaxWithin(order, total), left.refundable_tax_amount);
  return { amount: total - tax_amount, tax_amount };
}

/**
 * A refund as far as it fits into what is left of its order. Two that were computed side by side may round one unit into the
 * other's half; and at the processor more can go back than an order knows of.
 */
export function limitShare(left: RefundableAmount, { amount, tax_amount }: AmountShare): AmountShare {
  const total = Math.min(amount + tax_amount, left.refundable_amount + left.refundable_tax_amount);
  const net = Math.min(Math.max(amount, total - left.refundable_tax_amount), left.refundable_amount, total);
  return { amount: net, tax_amount: total - net };
}

type Asked = { amount: number; revoke_benefits: boolean };
type Standing = {
  isBlocked: boolean;
  status: OrderRow["status"];
  subscription_id: string | null;
  left: RefundableAmount;
};
/** A dispute in which the bank has taken the money; one that only asks or that was won leaves it here. */
export const held = ["needs_response", "under_review", "lost"] as const satisfies OrderRow["dispute_status"][];

/** Refuse a refund of money that the buyer's bank has taken back already (RFD-10). */
export function checkDisputed({ dispute_status }: Pick<OrderRow, "dispute_status">): void {
  if ((held as readonly unknown[]).includes(dispute_status)) throw createDisputedError();
}
export const createDisputedError = () =>
  new ApiError("RefundDisputedPayment", "The payment of this order is disputed, so it cannot be refunded.");
export const createRefundedError = () => new ApiError("RefundedAlready", "This order has been refunded already.");

/** Refuse a refund that may not be: the first of these that holds (RFD-03). */
export function checkRefund({ isBlocked, status, subscription_id, left }: Standing, asked: Asked): void {
  if (isBlocked) throw new ApiError("RefundsBlocked", "Refunds are blocked for this organization.");
  if (status === "refunded") throw createRefundedError();
  if (asked.revoke_benefits && subscription_id !== null)
    throw new ApiError(
      "RevokeSubscriptionBenefitsProhibited",
      "The benefits of a subscription are not taken back by a refund. Cancel the subscription instead.",
    );
  if (asked.amount > left.refundable_amount)
    throw invalid(fault(["amount"], "Refund amount exceeds refundable amount", "value_error", asked.amount));
}

const minuteMs = 60_000;
/** How long the processor has for a refund before it is asked again. */
export const refundAgainMs = 10 * minuteMs;

/** What the processor says of a refund; its own id is not known while it has said nothing. */
export type RefundStatusUpdate = Pick<RefundRow, "status" | "failure_reason" | "processor_id">;

/** What the processor's word makes of a refund. */
export function planOutcome(
  row: RefundRow,
  { status, processor_id, failure_reason }: RefundStatusUpdate,
  now: Date,
): Pick<RefundRow, "status" | "processor_id" | "failure_reason" | "due_at"> {
  const moved = allowsTransition(refundStates, row.status, status) ? status : row.status;
  return {
    status: moved,
    processor_id: row.processor_id ?? processor_id,
    failure_reason: moved === row.status ? row.failure_reason : failure_reason,
    due_at: moved === "pending" ? new Date(now.getTime() + refundAgainMs) : null,
  };
}

/** What counts of a refund on its order: what the buyer has. */
export const getCounts = ({ status, is_surplus, amount, tax_amount }: RefundRow): AmountShare =>
  status === "succeeded" && !is_surplus ? { amount, tax_amount } : { amount: 0, tax_amount: 0 };

/** Why money goes back, in the processor's words. */
export const getProcessorReason = (reason: Refund["reason"]): "duplicate" | "fraudulent" | "requested_by_customer" =>
  reason === "duplicate" || reason === "fraudulent" ? reason : "requested_by_customer";

const reasons: Record<string, Refund["reason"]> = {
  duplicate: "duplicate",
  fraudulent: "fraudulent",
  requested_by_customer: "customer_request",
};

/**
 * What a refund is that was made at the processor itself (RFD-07). While the bank only asks about a payment, giving it back is
 * what keeps it from being disputed, and what was bought goes back too (RFD-15).
 */
export function planHeard(row: RefundRow, order: OrderRow, total: number, reason: string | null) {
  const left = computeRefundable(order);
  const most = left.refundable_amount + left.refundable_tax_amount;
  const prevents = order.dispute_status === "early_warning" || order.dispute_status === "prevented";
  const share = row.is_surplus ? { amount: total, tax_amount: 0 } : splitTotal(order, left, Math.min(total, most));
  const known = reason !== null && Object.hasOwn(reasons, reason) ? reasons[reason] : undefined;
  return {
    ...share,
    reason: prevents ? ("dispute_prevention" as const) : (known ?? "other"),
    revoke_benefits: prevents,
  };
}

/** What is answered of a dispute. */
type Disputed = Omit<RefundDispute, "resolved" | "closed" | "past_due">;

/** A dispute as it is answered with a refund, and by itself. */
export function serializePreventedDispute(row: Disputed, now: Date): RefundDispute {
  const { id, created_at, modified_at, status, amount, tax_amount, currency, reason, order_id, payment_id } = row;
  const resolved = status === "won" || status === "lost";
  // After that there is nothing to answer any more.
  const evidence_due_by = status === "needs_response" || status === "early_warning" ? row.evidence_due_by : null;
  return {
    id,
    created_at,
    modified_at,
    status,
    resolved,
    closed: resolved || status === "prevented",
    amount,
    tax_amount,
    currency,
    reason,
    evidence_due_by,
    past_due: evidence_due_by !== null && evidence_due_by < now,
    order_id,
    payment_id,
  };
}

/** The dispute that a refund prevented. */
export const serializePrevented = (
  row: Omit<Disputed, "status"> & { status: RefundDispute["status"] | null },
  now: Date,
) => serializePreventedDispute({ ...row, status: row.status ?? "prevented" }, now);

/** A refund as it is answered, with the dispute that it prevented. */
export function serializeRefund(
  row: RefundRow,
  { subscription_id }: Pick<OrderRow, "subscription_id">,
  dispute: RefundDispute | null = null,
): Refund {
  const { id, created_at, modified_at, status, reason, amount, tax_amount, currency, organization_id } = row;
  const { order_id, customer_id, revoke_benefits, metadata } = row;
  return {
    id,
    created_at,
    modified_at,
    status,
    reason,
    amount,
    tax_amount,
    currency,
    organization_id,
    order_id,
    subscription_id,
    customer_id,
    revoke_benefits,
    dispute,
    metadata,
  };
}

/** Tells a member that a buyer paid twice, and what becomes of it. */
export function writeSurplusMail(
  to: string,
  organization: string,
  { status, amount, currency, order_id, failure_reason }: RefundRow,
): Mail {
  const money = formatMoney(amount, currency);
  return status === "failed"
    ? {
        to,
        subject: `A second payment to ${organization} could not be given back`,
        paragraphs: [
          `${money} was taken for what had been paid already, and the card processor did not give it back${failure_reason ? `: ${failure_reason}` : ""}.`,
          `Give it back by hand. The order is ${order_id}.`,
        ],
      }
    : {
        to,
        subject: `A second payment to ${organization} was given back`,
        paragraphs: [
          `${money} was taken for what had been paid already, so it went back to the buyer. There is nothing to do.`,
          `See: floe refunds list --order-id ${order_id}`,
        ],
      };
}
