/** What Stripe answers, in the shapes of every processor. */
import type Stripe from "stripe";
import type { Card, Decline, Dispute, Intent, Method, RefundOutcome, SetupOutcome } from "./processor.ts";
import { getId, OurPayment } from "./stripe-events.ts";

const statuses: Record<string, Intent["status"]> = {
  succeeded: "succeeded",
  processing: "processing",
  requires_capture: "processing",
  requires_action: "requires_action",
  requires_payment_method: "failed",
  requires_confirmation: "failed",
  canceled: "failed",
};
const refundStatuses: Record<string, RefundOutcome["status"]> = {
  succeeded: "succeeded",
  failed: "failed",
  canceled: "failed",
};

/** A dispute in the words of the wire; an inquiry that ended cost nothing. */
const disputeStatuses: Record<string, Dispute["status"]> = {
  warning_needs_response: "early_warning",
  warning_under_review: "early_warning",
  warning_closed: "prevented",
  prevented: "prevented",
  needs_response: "needs_response",
  appeal_needs_response: "needs_response",
  under_review: "under_review",
  appeal_under_review: "under_review",
  won: "won",
  lost: "lost",
};

export function getCard(
  card: Stripe.PaymentMethod.Card | Stripe.Charge.PaymentMethodDetails.Card | null | undefined,
): Card | null {
  if (!card) return null;
  const { brand, last4, exp_month, exp_year } = card;
  return { brand: brand ?? "card", last4: last4 ?? "", exp_month, exp_year };
}

export function getDecline(
  error: { code?: string; decline_code?: string; message?: string } | null,
  fallback: string,
): Decline {
  return {
    reason: error?.decline_code ?? error?.code ?? "card_declined",
    message: error?.message ?? fallback,
  };
}

const getMoment = (seconds: number): Date => new Date(seconds * 1000);

export function getIntent(intent: Stripe.PaymentIntent): Intent {
  const charge = typeof intent.latest_charge === "object" ? intent.latest_charge : null;
  const status = statuses[intent.status] ?? "processing";
  // A card that was refused is on the error.
  const details = charge?.payment_method_details?.card ?? intent.last_payment_error?.payment_method?.card;
  const [card, fingerprint] = [getCard(details), details?.fingerprint ?? null];
  const kept = status === "succeeded" && intent.setup_future_usage && intent.customer && intent.payment_method;
  return {
    organization_id: intent.metadata.organization_id ?? "",
    payment_id: intent.metadata.payment_id ?? "",
    processor_id: intent.id,
    status,
    amount: intent.amount,
    currency: intent.currency,
    client_secret: intent.client_secret ?? "",
    decline: status === "failed" ? getDecline(intent.last_payment_error, "The payment was not completed.") : null,
    card,
    fingerprint,
    ...(charge?.refunded && { is_returned: true as const }),
    method:
      kept && card ? findSavedMethod(getId(intent.payment_method), getId(intent.customer), fingerprint, card) : null,
  };
}
const findSavedMethod = (
  processor_id: string,
  customer_processor_id: string,
  fingerprint: string | null,
  card: Card,
): Method => ({ processor_id, customer_processor_id, fingerprint, card });

export function getSetup(setup: Stripe.SetupIntent): SetupOutcome {
  const status = statuses[setup.status] ?? "processing";
  const method = typeof setup.payment_method === "object" ? setup.payment_method : null;
  const card = getCard(method?.card);
  const kept = status === "succeeded" && method && card;
  return {
    organization_id: setup.metadata?.organization_id ?? "",
    setup_id: setup.metadata?.setup_id ?? "",
    processor_id: setup.id,
    status,
    client_secret: setup.client_secret ?? "",
    method: kept ? findSavedMethod(method.id, getId(setup.customer), method.card?.fingerprint ?? null, card) : null,
    decline: status === "failed" ? getDecline(setup.last_setup_error, "The card was not accepted.") : null,
  };
}

export function refundOf(refund: Stripe.Refund): RefundOutcome {
  const status = refundStatuses[refund.status ?? ""] ?? "pending";
  return {
    refund_id: refund.metadata?.refund_id ?? null,
    processor_id: refund.id,
    intent_processor_id: getId(refund.payment_intent),
    amount: refund.amount,
    currency: refund.currency,
    reason: refund.reason,
    status,
    failure_reason: status === "failed" ? (refund.failure_reason ?? refund.status) : null,
    created_at: getMoment(refund.created),
  };
}

export function getDispute(dispute: Stripe.Dispute): Dispute {
  const { payment_intent: intent, evidence_details } = dispute;
  const ours = OurPayment.safeParse(typeof intent === "object" ? intent?.metadata : undefined);
  return {
    processor_id: dispute.id,
    intent_processor_id: getId(intent),
    ...(ours.success ? ours.data : { organization_id: null, payment_id: null }),
    status: disputeStatuses[dispute.status] ?? "under_review",
    amount: dispute.amount,
    currency: dispute.currency,
    reason: dispute.reason,
    created_at: getMoment(dispute.created),
    evidence_due_at: evidence_details?.due_by ? getMoment(evidence_details.due_by) : null,
  };
}
