/**
 * The card payment provider, as few verbs. Every call carries our own id as its idempotency key, so that it can be
 * repeated after a crash; `retrieve` tells the truth about an intent whose answer was lost.
 */
export type Processor = {
  /** Start or repeat a charge of `amount` minor units. Same `payment_id`: same intent, charged at most once. */
  confirm(charge: Charge): Promise<Intent>;
  /** What became of the intent made for this payment; null when the processor never heard of it. */
  retrieve(payment_id: string): Promise<Intent | null>;
  /** What the browser needs to collect a card: the publishable key, or null for the built-in test form. */
  publishable_key: string | null;
};

export type Charge = {
  payment_id: string;
  amount: number;
  currency: string;
  confirmation_token_id: string;
  description: string;
  email: string;
};

export type Intent = {
  processor_id: string;
  status: "succeeded" | "processing" | "requires_action" | "failed";
  /** Given to the browser to finish a challenge. */
  client_secret: string;
  /** Present when failed: a machine name (`card_declined`) and a sentence for the buyer. */
  decline: { reason: string; message: string } | null;
  card: { brand: string; last4: string; exp_month: number; exp_year: number } | null;
};

/** The processor refused the request itself (unknown token, live card in test mode, …): a sentence for the buyer. */
export class ProcessorError extends Error {
  override readonly name = "ProcessorError";
}
