/**
 * The card payment provider, as few verbs. Every charge carries our own payment id as its idempotency key, so that it can
 * be repeated after a crash; `retrieve` tells the truth about an intent whose answer was lost.
 */
export type Processor = {
  /** Charge `amount` minor units. The same `payment_id` again: the same intent, charged at most once. */
  confirm(charge: Charge): Promise<Intent>;
  /** What became of the intent made for this payment; null when the processor never heard of it. */
  retrieve(attempt: Attempt): Promise<Intent | null>;
  /** Give an unfinished intent up, so that it can no longer succeed; answers what is true afterwards. */
  cancel(attempt: Attempt): Promise<Intent | null>;
  /** Read a signed notice; throws when the signature is wrong, answers undefined when it says nothing about a payment of ours. */
  readNotice?(body: Buffer, signature: string): Promise<Notice | undefined>;
  /** What the browser needs to collect a card; null where the built-in test form does it. */
  publishable_key: string | null;
  /** Present on the test processor alone. */
  test?: TestDesk;
};

export type Charge = {
  payment_id: string;
  amount: number;
  currency: string;
  confirmation_token_id: string;
  description: string;
  email: string;
};

/** How an earlier charge is found again. */
export type Attempt = { payment_id: string; processor_id: string | null; created_at: Date };

export type Card = { brand: string; last4: string; exp_month: number; exp_year: number };

export type Intent = {
  payment_id: string;
  processor_id: string;
  status: "succeeded" | "processing" | "requires_action" | "failed";
  amount: number;
  currency: string;
  /** Given to the browser to finish a challenge. */
  client_secret: string;
  /** Present when failed: a machine name (`card_declined`) and a sentence for the buyer. */
  decline: { reason: string; message: string } | null;
  card: Card | null;
};

/** The processor's word that something became of an intent. What it is, is asked for: notices come late, twice and out of order. */
export type Notice = { id: string; payment_id: string; processor_id: string };

export type CardInput = { number: string; exp_month: number; exp_year: number; cvc: string };

/** What the test form may do: turn a test card into a token, and answer a 3-D Secure challenge. */
export type TestDesk = {
  tokenize(card: CardInput): Promise<string>;
  /** Null when there is no such intent. */
  authenticate(client_secret: string, approved: boolean): Promise<Intent | null>;
};

/** The processor refused the request itself: a sentence for the buyer. Nothing was charged. */
export class ProcessorError extends Error {
  override readonly name = "ProcessorError";
}
