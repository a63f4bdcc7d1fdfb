import type { TaxCalculator } from "./tax-calculator.ts";

/**
 * The card payment provider, as few verbs. Every charge, set-up and refund carries our own id as its idempotency key, so that
 * it can be repeated after a crash; what begins with `retrieve` tells the truth about one whose answer was lost.
 */
export type Processor = {
  /** In whose books it writes, as `stripe_test`: what one account keeps, another does not know. */
  account: string;
  /** Charge `amount` minor units to the card that the buyer has just entered. The same `payment_id` again: the same intent, charged at most once. */
  confirm(charge: Charge): Promise<Intent>;
  /** Which card a buyer has just entered; null when it is not known. Nothing is charged or kept. */
  readCard(confirmation_token_id: string): Promise<Pick<Intent, "card" | "fingerprint"> | null>;
  /** Keep a card for later charges, without charging it. The same `setup_id` again: the same set-up. */
  saveMethod(setup: MethodSetup): Promise<SetupOutcome>;
  /** How a set-up stands by now; null when the processor never received it. */
  retrieveSetup(attempt: SetupAttempt): Promise<SetupOutcome | null>;
  /** Give an unfinished set-up up, so that it can no longer succeed; answers what is true afterwards. */
  cancelSetup(attempt: SetupAttempt): Promise<SetupOutcome | null>;
  /**
   * Forget a customer of ours, known to the processor by these ids of its own if it said so, with their cards. Asked again, it
   * changes nothing.
   */
  forgetCustomer(one: { id: string; processor_ids: readonly string[] }): Promise<void>;
  /** Charge a card that was kept, while its owner is away. The same `payment_id` again: the same intent. */
  chargeSaved(charge: SavedCharge): Promise<Intent>;
  /** Give money back. The same `refund_id` again, however much later: the same refund, as it stands by then. */
  refund(refund: RefundRequest): Promise<RefundOutcome>;
  /** How a refund stands by now, whoever made it; null when there is none. */
  retrieveRefund(processor_id: string): Promise<RefundOutcome | null>;
  /** How a dispute stands by now; null when there is none. */
  retrieveDispute(processor_id: string): Promise<Dispute | null>;
  /** Let the buyer have it: the dispute is lost at once. One that has ended stays as it is. */
  acceptDispute(processor_id: string): Promise<Dispute>;
  /** What became of the intent made for this payment; null when the processor never received it. */
  retrieve(attempt: Attempt): Promise<Intent | null>;
  /** Give an unfinished intent up, so that it can no longer succeed; answers what is true afterwards. */
  cancel(attempt: Attempt): Promise<Intent | null>;
  /** Read a signed event; throws when the signature is wrong, answers undefined when it says nothing about what is ours. */
  readEvent?(body: Buffer, signature: string): Promise<ProcessorEvent | undefined>;
  /** What the browser needs to collect a card; null where the built-in test form does it. */
  publishable_key: string | null;
  /** Present on the test processor alone. */
  test?: TestControls;
};

/**
 * The one that the settings name, with what computes the tax of its charges where they name that; and the one of sandboxes.
 * Without a real one they are the same.
 */
export type Processors = { own: Processor; tax: TaxCalculator | null; test: Processor };

/** Who owns a card. `processor_id`: null until the processor knows them. */
export type CardOwner = { id: string; processor_id: string | null; email: string; name: string | null };

type PaymentTerms = {
  organization_id: string;
  payment_id: string;
  /** Minor units. */
  amount: number;
  currency: string;
  description: string;
  email: string;
};
export type Charge = PaymentTerms & {
  confirmation_token_id: string;
  /** Whose card is kept for later charges in the same go; null where it is used once. */
  keep: { customer: CardOwner } | null;
};
/** A charge of a saved method: the processor's own ids of the customer and the card. */
export type SavedCharge = PaymentTerms & { customer_processor_id: string; method_processor_id: string };

export type MethodSetup = {
  organization_id: string;
  setup_id: string;
  confirmation_token_id: string;
  customer: CardOwner;
};
export type SetupOutcome = {
  organization_id: string;
  setup_id: string;
  processor_id: string;
  status: IntentStatus;
  /** Given to the browser to finish a challenge. */
  client_secret: string;
  /** The card that was kept; null until the set-up has succeeded. */
  method: Method | null;
  decline: Decline | null;
};
/** How an earlier set-up is found again. */
export type SetupAttempt = { setup_id: string; processor_id: string | null; created_at: Date };

export type RefundRequest = {
  refund_id: string;
  /** The processor's own id of the intent that took the money. */
  intent_processor_id: string;
  /** Minor units. */
  amount: number;
  reason: "duplicate" | "fraudulent" | "requested_by_customer";
};
export type RefundOutcome = {
  /** Ours; null where it was made at the processor itself. */
  refund_id: string | null;
  processor_id: string;
  intent_processor_id: string;
  amount: number;
  currency: string;
  /** In the processor's words. */
  reason: string | null;
  status: "pending" | "succeeded" | "failed";
  /** A machine name; present when failed. */
  failure_reason: string | null;
  created_at: Date;
};

export type Dispute = {
  processor_id: string;
  intent_processor_id: string;
  /** The payment that is disputed, where its intent says so. */
  organization_id: string | null;
  payment_id: string | null;
  status: "prevented" | "early_warning" | "needs_response" | "under_review" | "lost" | "won";
  amount: number;
  currency: string;
  /** In the processor's words, as `fraudulent`. */
  reason: string;
  created_at: Date;
  evidence_due_at: Date | null;
};

/** How an earlier charge is found again. */
export type Attempt = { payment_id: string; processor_id: string | null; created_at: Date };

export type Card = { brand: string; last4: string; exp_month: number; exp_year: number };
/** A card that is kept at the processor. */
export type Method = {
  processor_id: string;
  customer_processor_id: string;
  /** The same for the same number, whoever types it, and never the number. */
  fingerprint: string | null;
  card: Card;
};
/** A machine name (`card_declined`) and a sentence for the buyer. */
export type Decline = { reason: string; message: string };

export type IntentStatus = "succeeded" | "processing" | "requires_action" | "failed";
export type Intent = {
  organization_id: string;
  payment_id: string;
  processor_id: string;
  status: IntentStatus;
  amount: number;
  currency: string;
  /** Given to the browser to finish a challenge. */
  client_secret: string;
  /** Present when failed. */
  decline: Decline | null;
  card: Card | null;
  /** The card's, as `Method` has it. */
  fingerprint: string | null;
  /** The card that was kept with the charge; present when it succeeded and was to be kept. */
  method: Method | null;
};

/**
 * The processor's word that something became of an intent, a set-up, a refund or a dispute. What it is, is asked for: events
 * come late, twice and out of order.
 */
export type ProcessorEvent = PaymentEvent | SetupEvent | RefundEvent | DisputeEvent;
/** `id`: the processor's own of the event. `processor_id`: of what it is about. */
type Told = { id: string; account: string; processor_id: string; organization_id: string };
export type PaymentEvent = Told & { kind: "payment"; payment_id: string };
export type SetupEvent = Told & { kind: "setup"; setup_id: string };
/** Of the money that a payment of ours took. */
type OfCharge = Told & { payment_id: string; intent_processor_id: string };
/** `refund_id`: ours; null where it was made at the processor itself. */
export type RefundEvent = OfCharge & { kind: "refund"; refund_id: string | null };
export type DisputeEvent = OfCharge & { kind: "dispute" };

export type CardInput = { number: string; exp_month: number; exp_year: number; cvc: string };

/** What became of a challenge. */
export type ProcessorAnswer = { kind: "payment"; outcome: Intent } | { kind: "setup"; outcome: SetupOutcome };

/** What the test form may do: turn a test card into a token, and answer a 3-D Secure challenge. And what tests may. */
export type TestControls = {
  tokenize(card: CardInput): Promise<string>;
  /** Null when there is no such intent or set-up. */
  authenticate(client_secret: string, approved: boolean): Promise<ProcessorAnswer | null>;
  /** A buyer goes to their bank about a charge. */
  openDispute(intent_processor_id: string): Promise<Dispute>;
  /** The bank has looked at it. */
  decideDispute(processor_id: string, status: Dispute["status"]): Promise<Dispute>;
  /** Money is given back at the processor itself. */
  refundElsewhere(intent_processor_id: string, amount: number): Promise<RefundOutcome>;
};

/** The processor refused the request itself: a sentence for the buyer, and its machine name, as `charge_disputed`. Nothing was done. */
export class ProcessorError extends Error {
  override readonly name = "ProcessorError";
  readonly code: string | null;
  constructor(message: string, code: string | null = null) {
    super(message);
    this.code = code;
  }
}

/** Whether the processor turned a request away unread, as too many came at once: it can be made again as it is. */
export const isTurnedAway = (error: unknown): boolean => error instanceof ProcessorError && error.code === "rate_limit";
