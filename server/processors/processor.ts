/**
 * The card payment provider, as few verbs. Every charge, set-up and refund carries our own id as its idempotency key, so that
 * it can be repeated after a crash; `retrieve` tells the truth about an intent whose answer was lost.
 */
export type Processor = {
  /** Charge `amount` minor units to the card that the buyer has just entered. The same `payment_id` again: the same intent, charged at most once. */
  confirm(charge: Charge): Promise<Intent>;
  /** Keep a card for later charges, without charging it. The same `setup_id` again: the same set-up. */
  saveMethod(setup: MethodSetup): Promise<SetupOutcome>;
  /** How a set-up stands by now, as after a challenge. */
  retrieveSetup(setup: { setup_id: string; processor_id: string }): Promise<SetupOutcome>;
  /** Charge a card that was kept, while its owner is away. The same `payment_id` again: the same intent. */
  chargeSaved(charge: SavedCharge): Promise<Intent>;
  /** Give money back. The same `refund_id` again, however much later: the same refund, as it stands by then. */
  refund(refund: RefundRequest): Promise<RefundOutcome>;
  /** What became of the intent made for this payment; null when the processor never received it. */
  retrieve(attempt: Attempt): Promise<Intent | null>;
  /** Give an unfinished intent up, so that it can no longer succeed; answers what is true afterwards. */
  cancel(attempt: Attempt): Promise<Intent | null>;
  /** Read a signed event; throws when the signature is wrong, answers undefined when it says nothing about a payment of ours. */
  readEvent?(body: Buffer, signature: string): Promise<ProcessorEvent | undefined>;
  /** What the browser needs to collect a card; null where the built-in test form does it. */
  publishable_key: string | null;
  /** Present on the test processor alone. */
  test?: TestControls;
};

type PaymentTerms = {
  organization_id: string;
  payment_id: string;
  /** Minor units. */
  amount: number;
  currency: string;
  description: string;
  email: string;
};
export type Charge = PaymentTerms & { confirmation_token_id: string };
/** A charge of a saved method: the processor's own ids of the customer and the card. */
export type SavedCharge = PaymentTerms & { customer_processor_id: string; method_processor_id: string };

export type MethodSetup = {
  setup_id: string;
  confirmation_token_id: string;
  /** Who owns the card. `processor_id`: null until the processor knows them. */
  customer: { id: string; processor_id: string | null; email: string; name: string | null };
};
export type SetupOutcome = {
  setup_id: string;
  processor_id: string;
  status: "succeeded" | "processing" | "requires_action" | "failed";
  /** Given to the browser to finish a challenge. */
  client_secret: string;
  customer_processor_id: string;
  /** The card that was kept; null until the set-up has succeeded. */
  method: { processor_id: string; card: Card } | null;
  decline: Decline | null;
};

export type RefundRequest = {
  refund_id: string;
  /** The processor's own id of the intent that took the money. */
  intent_processor_id: string;
  /** Minor units. */
  amount: number;
  reason: "duplicate" | "fraudulent" | "requested_by_customer";
};
export type RefundOutcome = {
  refund_id: string;
  processor_id: string;
  status: "pending" | "succeeded" | "failed";
  /** A machine name; present when failed. */
  failure_reason: string | null;
};

/** How an earlier charge is found again. */
export type Attempt = { payment_id: string; processor_id: string | null; created_at: Date };

export type Card = { brand: string; last4: string; exp_month: number; exp_year: number };
/** A machine name (`card_declined`) and a sentence for the buyer. */
export type Decline = { reason: string; message: string };

export type Intent = {
  organization_id: string;
  payment_id: string;
  processor_id: string;
  status: "succeeded" | "processing" | "requires_action" | "failed";
  amount: number;
  currency: string;
  /** Given to the browser to finish a challenge. */
  client_secret: string;
  /** Present when failed. */
  decline: Decline | null;
  card: Card | null;
};

/**
 * The processor's word that something became of an intent. What it is, is asked for: events come late, twice and out of order.
 */
export type ProcessorEvent = { id: string; organization_id: string; payment_id: string; processor_id: string };

export type CardInput = { number: string; exp_month: number; exp_year: number; cvc: string };

/** What the test form may do: turn a test card into a token, and answer a 3-D Secure challenge. */
export type TestControls = {
  tokenize(card: CardInput): Promise<string>;
  /** Null when there is no such intent. */
  authenticate(client_secret: string, approved: boolean): Promise<Intent | null>;
};

/** The processor refused the request itself: a sentence for the buyer. Nothing was charged. */
export class ProcessorError extends Error {
  override readonly name = "ProcessorError";
}
