import type { Card, Dispute, Intent, RefundOutcome } from "./processor.ts";

type Outcome = Pick<Intent, "status" | "decline">;

const isDeclined = (reason: string, message: string): Outcome => ({ status: "failed", decline: { reason, message } });
const success: Outcome = { status: "succeeded", decline: null };
const challenge: Outcome = { status: "requires_action", decline: null };

/** What can happen to a test card, by scenario, while its owner is there. */
export const outcomes: Record<string, Outcome> = {
  success,
  challenge,
  /** Asks its owner whenever they are there, and never again while they are away, once it is kept. */
  challenge_until_kept: challenge,
  card_declined: isDeclined("card_declined", "Your card was declined."),
  insufficient_funds: isDeclined("insufficient_funds", "Your card has insufficient funds."),
  expired_card: isDeclined("expired_card", "Your card has expired."),
  lost_card: isDeclined("lost_card", "Your card was declined."),
  incorrect_cvc: isDeclined("incorrect_cvc", "Your card's security code is incorrect."),
  processing_error: isDeclined(
    "processing_error",
    "An error occurred while processing your card. Try again in a little bit.",
  ),
  /** Can be kept, and is refused whenever it is charged later. */
  charge_customer_fail: isDeclined("card_declined", "Your card was declined."),
  authentication_failed: isDeclined("authentication_required", "Your bank did not approve the payment."),
  refund_pending: success,
  refund_fails: success,
  dispute_fraudulent: success,
  dispute_not_received: success,
  dispute_inquiry: success,
};

/** What becomes of a card that is to be kept: only whether it may be, since nothing is charged. */
export const findSetupOutcome = (scenario: string): Outcome | undefined =>
  scenario === "charge_customer_fail" ? success : outcomes[scenario];

/** What becomes of a card that is charged while its owner is away: nobody answers a challenge. */
export function findSavedOutcome(scenario: string): Outcome | undefined {
  if (scenario === "challenge_until_kept") return success;
  return scenario === "challenge"
    ? isDeclined("authentication_required", "Your bank asks you to approve this payment yourself.")
    : outcomes[scenario];
}

/** How a refund stands at first, and later on, where that is another thing. */
export function refundStatuses(scenario: string): { first: RefundOutcome["status"]; later?: RefundOutcome["status"] } {
  if (scenario === "refund_pending") return { first: "pending", later: "succeeded" };
  return scenario === "refund_fails" ? { first: "succeeded", later: "failed" } : { first: "succeeded" };
}

/** How a charge is disputed as soon as it has succeeded. */
export const disputeStarts: Record<string, Pick<Dispute, "status" | "reason">> = {
  dispute_fraudulent: { status: "needs_response", reason: "fraudulent" },
  dispute_not_received: { status: "needs_response", reason: "product_not_received" },
  dispute_inquiry: { status: "early_warning", reason: "fraudulent" },
};

type TestCard = { brand: string; scenario: string };

/** The numbers that card processors publish for testing. */
export const testNumbers: Record<string, TestCard> = {
  "4242424242424242": { brand: "visa", scenario: "success" },
  "5555555555554444": { brand: "mastercard", scenario: "success" },
  "378282246310005": { brand: "amex", scenario: "success" },
  "4000000000000341": { brand: "visa", scenario: "charge_customer_fail" },
  "4000000000000002": { brand: "visa", scenario: "card_declined" },
  "4000000000009995": { brand: "visa", scenario: "insufficient_funds" },
  "4000000000009987": { brand: "visa", scenario: "lost_card" },
  "4000000000000069": { brand: "visa", scenario: "expired_card" },
  "4000000000000127": { brand: "visa", scenario: "incorrect_cvc" },
  "4000000000000119": { brand: "visa", scenario: "processing_error" },
  "4000002500003155": { brand: "visa", scenario: "challenge_until_kept" },
  "4000002760003184": { brand: "visa", scenario: "challenge" },
  "4000000000003220": { brand: "visa", scenario: "challenge" },
  "4000000000007726": { brand: "visa", scenario: "refund_pending" },
  "4000000000005126": { brand: "visa", scenario: "refund_fails" },
  "4000000000000259": { brand: "visa", scenario: "dispute_fraudulent" },
  "4000000000002685": { brand: "visa", scenario: "dispute_not_received" },
  "4000000000001976": { brand: "visa", scenario: "dispute_inquiry" },
};

const buildCard = (brand: string, last4: string, scenario: string) => ({
  card: { brand, last4, exp_month: 12, exp_year: 2040 } satisfies Card,
  scenario,
});

/** The payment methods that Stripe publishes for scripts, usable wherever a confirmation token is asked for. */
export const testMethods: Record<string, { card: Card; scenario: string }> = {
  pm_card_visa: buildCard("visa", "4242", "success"),
  pm_card_visa_debit: buildCard("visa", "5556", "success"),
  pm_card_mastercard: buildCard("mastercard", "4444", "success"),
  pm_card_amex: buildCard("amex", "0005", "success"),
  pm_card_chargeDeclined: buildCard("visa", "0002", "card_declined"),
  pm_card_visa_chargeDeclined: buildCard("visa", "0002", "card_declined"),
  pm_card_chargeDeclinedInsufficientFunds: buildCard("visa", "9995", "insufficient_funds"),
  pm_card_visa_chargeDeclinedInsufficientFunds: buildCard("visa", "9995", "insufficient_funds"),
  pm_card_visa_chargeDeclinedLostCard: buildCard("visa", "9987", "lost_card"),
  pm_card_chargeDeclinedExpiredCard: buildCard("visa", "0069", "expired_card"),
  pm_card_visa_chargeDeclinedExpiredCard: buildCard("visa", "0069", "expired_card"),
  pm_card_chargeDeclinedIncorrectCvc: buildCard("visa", "0127", "incorrect_cvc"),
  pm_card_visa_chargeDeclinedIncorrectCvc: buildCard("visa", "0127", "incorrect_cvc"),
  pm_card_chargeDeclinedProcessingError: buildCard("visa", "0119", "processing_error"),
  pm_card_visa_chargeDeclinedProcessingError: buildCard("visa", "0119", "processing_error"),
  pm_card_chargeCustomerFail: buildCard("visa", "0341", "charge_customer_fail"),
  pm_card_threeDSecure2Required: buildCard("visa", "3220", "challenge"),
  pm_card_threeDSecureRequired: buildCard("visa", "3063", "challenge"),
  pm_card_authenticationRequired: buildCard("visa", "3184", "challenge"),
  pm_card_authenticationRequiredOnSetup: buildCard("visa", "3155", "challenge_until_kept"),
  pm_card_pendingRefund: buildCard("visa", "7726", "refund_pending"),
  pm_card_refundFail: buildCard("visa", "5126", "refund_fails"),
  pm_card_createDispute: buildCard("visa", "0259", "dispute_fraudulent"),
  pm_card_createDisputeProductNotReceived: buildCard("visa", "2685", "dispute_not_received"),
  pm_card_createDisputeInquiry: buildCard("visa", "1976", "dispute_inquiry"),
};
