import type { TaxCalculator } from "./tax-calculator.ts";

/**
 * The interface to a card processor. Every charge, set-up and refund carries our own id as its idempotency key, so that it
 * can be repeated after a crash. The `retrieve` methods return the actual state after a response was lost.
 */
export type Processor = {
  /** The processor account, such as `stripe_test`: ids of one account are unknown to another. */
  account: string;
  /**
   * Charge `amount` minor units to the card just entered. The same `payment_id` returns the same intent, charged at most
   * once.
   */
  confirm(charge: Charge): Promise<Intent>;
  /** Read the card that a buyer has just entered; null if the processor does not know it. Nothing is charged or saved. */
  readCard(confirmation_token_id: string): Promise<Pick<Intent, "card" | "fingerprint"> | null>;
  /** Save a card for later charges without charging it. The same `setup_id` returns the same set-up. */
  saveMethod(setup: MethodSetup): Promise<SetupOutcome>;
  /** The current state of a set-up; null if the processor never received it. */
  retrieveSetup(attempt: SetupAttempt): Promise<SetupOutcome | null>;
  /** Cancel an unfinished set-up, so that it can no longer succeed; returns the state afterwards. */
  cancelSetup(attempt: SetupAttempt): Promise<SetupOutcome | null>;
  /**
   * Delete a customer and their cards at the processor; `processor_ids` are the processor's own ids of the customer.
   * Repeating it changes nothing.
   */
  forgetCustomer(one: { id: string; processor_ids: readonly string[] }): Promise<void>;
  /** Charge a saved card off-session. The same `payment_id` returns the same intent. */
  chargeSaved(charge: SavedCharge): Promise<Intent>;
  /** Refund money. The same `refund_id`, however much later, returns the same refund in its current state. */
  refund(refund: RefundRequest): Promise<RefundOutcome>;
  /** The current state of a refund, also of one made at the processor; null if none exists. */
  retrieveRefund(processor_id: string): Promise<RefundOutcome | null>;
  /** The current state of a dispute; null if none exists. */
  retrieveDispute(processor_id: string): Promise<Dispute | null>;
  /** Accept a dispute: it is lost immediately. A closed dispute is not changed. */
  acceptDispute(processor_id: string): Promise<Dispute>;
  /** The current intent of a payment; null if the processor never received it. */
  retrieve(attempt: Attempt): Promise<Intent | null>;
  /** Cancel an unfinished intent, so that it can no longer succeed; returns the state afterwards. */
  cancel(attempt: Attempt): Promise<Intent | null>;
  /** Every charge of ours since a time, the newest first. Absent where the processor keeps its books in this database. */
  listCharges?(since: Date): AsyncIterable<ListedCharge>;
  /** Every refund and dispute of our charges since a time, as notices of them. */
  listReturns?(since: Date): AsyncIterable<RefundEvent | DisputeEvent>;
  /** Read a signed event. Throws if the signature is wrong; returns undefined if the event concerns none of our objects. */
  readEvent?(body: Buffer, signature: string): Promise<ProcessorEvent | undefined>;
  /** How the account is set up at the processor. Throws if the processor does not accept the server's key. */
  inspect?(): Promise<ProcessorSetup>;
  /** The key with which the browser collects a card; null if the built-in test form does it. */
  publishable_key: string | null;
  /** Present on the test processor alone. */
  test?: TestControls;
};

/**
 * `own` is the configured processor, `tax` its tax calculator if one is configured, and `test` the processor of sandboxes.
 * Without a configured processor, `own` and `test` are the same.
 */
export type Processors = { own: Processor; tax: TaxCalculator | null; test: Processor };

/** Whether an account moves no real money: that of the test processor, or of Stripe in its test mode. */
export const isTestAccount = (account: string): boolean => account === "test" || account.startsWith("stripe_test");

/**
 * Whether what is sold now is sold as a test: in a sandbox, by Stripe in its test mode, or with test cards. A server that takes
 * no payments at all gives away only what is free, which is no test.
 */
export const acceptsTestPayments = ({
  config,
  processor,
  sandbox,
}: {
  config: { test_cards: boolean };
  processor: Pick<Processor, "account" | "test">;
  sandbox: boolean;
}): boolean => sandbox || (processor.test === undefined ? isTestAccount(processor.account) : config.test_cards);

/** The addresses to which the processor sends events, with the types of events for each; `*` is every type. */
export type ProcessorSetup = { webhooks: { url: string; events: readonly string[]; isEnabled: boolean }[] };

/** The owner of a card. `processor_id` is null until the processor knows the owner. */
export type CardOwner = { id: string; processor_id: string | null; email: string; name: string | null };

type PaymentTerms = {
  organization_id: string;
  payment_id: string;
  /** Minor units. */
  amount: number;
  currency: string;
  description: string;
  email: string;
  /** What the processor keeps with the charge beside the ids of organization and payment. */
  reference?: ChargeReference | undefined;
};
/** What a charge is for, in the words of this database. */
export type ChargeReference = Readonly<Record<string, string>>;
export type Charge = PaymentTerms & {
  confirmation_token_id: string;
  /** The customer for whom the card is saved with the charge; null if the card is used once. */
  keep: { customer: CardOwner } | null;
};
/** A charge of a saved method: the processor's own ids of the customer and the card. */
export type SavedCharge = PaymentTerms & {
  customer_processor_id: string;
  method_processor_id: string;
  /** Whether the charge may have been made so long ago that its idempotency key is forgotten. It is looked for first. */
  may_exist?: boolean;
};

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
  /** The saved card; null until the set-up has succeeded. */
  method: Method | null;
  decline: Decline | null;
};
/** Identifies an earlier set-up. */
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

/** Identifies an earlier charge. */
export type Attempt = { payment_id: string; processor_id: string | null; created_at: Date };

export type Card = { brand: string; last4: string; exp_month: number; exp_year: number };
/** A card saved at the processor. */
export type Method = {
  processor_id: string;
  customer_processor_id: string;
  /** Equal for equal card numbers, whichever customer enters them; never the number itself. */
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
  /** Whether all of its money went back; absent otherwise. */
  is_returned?: true;
  /** The card saved with the charge; present if the charge succeeded and `keep` was set. */
  method: Method | null;
};

/** A charge with what the processor keeps with it. */
export type ListedCharge = Intent & {
  reference: ChargeReference;
  created_at: Date;
  refunded_amount: number;
  is_disputed: boolean;
};

/**
 * A notice that an intent, a set-up, a refund or a dispute has changed. The state is retrieved from the processor, because
 * events arrive late, twice and out of order.
 */
export type ProcessorEvent = PaymentEvent | SetupEvent | RefundEvent | DisputeEvent;
/** `id` is the processor's id of the event, `processor_id` that of its object. */
type Told = { id: string; account: string; processor_id: string; organization_id: string };
export type PaymentEvent = Told & { kind: "payment"; payment_id: string };
export type SetupEvent = Told & { kind: "setup"; setup_id: string };
/** A notice about the charge of one of our payments. */
type OfCharge = Told & { payment_id: string; intent_processor_id: string };
/** `refund_id`: ours; null where it was made at the processor itself. */
export type RefundEvent = OfCharge & { kind: "refund"; refund_id: string | null };
export type DisputeEvent = OfCharge & { kind: "dispute" };

export type CardInput = { number: string; exp_month: number; exp_year: number; cvc: string };

/** The result of a 3-D Secure challenge. */
export type ProcessorAnswer = { kind: "payment"; outcome: Intent } | { kind: "setup"; outcome: SetupOutcome };

/** Controls of the test processor. The test form creates tokens and answers 3-D Secure challenges; tests use the others. */
export type TestControls = {
  tokenize(card: CardInput): Promise<string>;
  /** Returns null if no such intent or set-up exists. */
  authenticate(client_secret: string, approved: boolean): Promise<ProcessorAnswer | null>;
  /** Open a dispute of a charge, as a buyer does at their bank. */
  openDispute(intent_processor_id: string): Promise<Dispute>;
  /** Decide a dispute, as the bank does. */
  decideDispute(processor_id: string, status: Dispute["status"]): Promise<Dispute>;
  /** Create a refund at the processor itself. */
  refundElsewhere(intent_processor_id: string, amount: number): Promise<RefundOutcome>;
};

/**
 * The processor rejected the request and did nothing. `message` is a sentence for the buyer; `code` is a machine name such
 * as `charge_disputed`.
 */
export class ProcessorError extends Error {
  override readonly name = "ProcessorError";
  readonly code: string | null;
  constructor(message: string, code: string | null = null) {
    super(message);
    this.code = code;
  }
}

/** Whether the processor rejected a request by its rate limit, so that the same request can be sent again. */
export const isTurnedAway = (error: unknown): boolean => error instanceof ProcessorError && error.code === "rate_limit";
