/** Where a server takes the events of Stripe, after its address. */
export const stripeWebhookPath = "/v1/integrations/stripe/webhook";

/** The types of events that the server acts on. `readEvent` in `stripe-events.ts` reads each of them. */
export const stripeEventTypes = [
  "payment_intent.succeeded",
  "payment_intent.processing",
  "payment_intent.payment_failed",
  "payment_intent.canceled",
  "setup_intent.succeeded",
  "setup_intent.setup_failed",
  "setup_intent.canceled",
  "refund.created",
  "refund.updated",
  "refund.failed",
  "charge.dispute.created",
  "charge.dispute.updated",
  "charge.dispute.closed",
] as const;
