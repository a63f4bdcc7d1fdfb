import Stripe from "stripe";
import { z } from "zod";
import { type Attempt, type Intent, type Notice, type Processor, ProcessorError } from "./processor.ts";

export type StripeOptions = {
  secret_key: string;
  publishable_key: string;
  webhook_secret?: string | undefined;
  /** Another address than Stripe's own, for a stand-in. */
  api?: { host: string; port: number; protocol: "http" | "https" };
};

const timeout_ms = 30_000;
const searched_before_seconds = 300;

const statuses: Record<string, Intent["status"]> = {
  succeeded: "succeeded",
  processing: "processing",
  requires_capture: "processing",
  requires_action: "requires_action",
  requires_payment_method: "failed",
  requires_confirmation: "failed",
  canceled: "failed",
};

function intentOf(intent: Stripe.PaymentIntent): Intent {
  const charge = typeof intent.latest_charge === "object" ? intent.latest_charge : null;
  const card = charge?.payment_method_details?.card;
  const status = statuses[intent.status] ?? "processing";
  const { code, decline_code, message } = intent.last_payment_error ?? {};
  return {
    payment_id: intent.metadata.payment_id ?? "",
    processor_id: intent.id,
    status,
    amount: intent.amount,
    currency: intent.currency,
    client_secret: intent.client_secret ?? "",
    decline:
      status === "failed"
        ? { reason: decline_code ?? code ?? "card_declined", message: message ?? "The payment was not completed." }
        : null,
    card: card
      ? { brand: card.brand ?? "card", last4: card.last4 ?? "", exp_month: card.exp_month, exp_year: card.exp_year }
      : null,
  };
}

/** Stripe, through its official package. */
export function stripeProcessor({ secret_key, publishable_key, webhook_secret, api }: StripeOptions): Processor {
  const stripe = new Stripe(secret_key, { timeout: timeout_ms, maxNetworkRetries: 2, telemetry: false, ...api });
  const expand = ["latest_charge"];
  const find = async ({ payment_id, processor_id, created_at }: Attempt): Promise<Stripe.PaymentIntent | null> => {
    if (processor_id) return stripe.paymentIntents.retrieve(processor_id, { expand });
    // The answer with its id was lost. Lists, unlike searches, know what was made a moment ago.
    const since = (created_at.getTime() - (created_at.getTime() % 1000)) / 1000 - searched_before_seconds;
    for await (const intent of stripe.paymentIntents.list({
      created: { gte: since },
      limit: 100,
      expand: ["data.latest_charge"],
    })) {
      if (intent.metadata.payment_id === payment_id) return intent;
    }
    return null;
  };
  return {
    publishable_key,
    async confirm({ payment_id, amount, currency, confirmation_token_id, description, email }) {
      try {
        const made = await stripe.paymentIntents.create(
          {
            amount,
            currency,
            confirm: true,
            description,
            receipt_email: email,
            metadata: { payment_id },
            automatic_payment_methods: { enabled: true, allow_redirects: "never" },
            ...(confirmation_token_id.startsWith("pm_")
              ? { payment_method: confirmation_token_id }
              : { confirmation_token: confirmation_token_id }),
            expand,
          },
          { idempotencyKey: payment_id },
        );
        return intentOf(made);
      } catch (error) {
        if (error instanceof Stripe.errors.StripeCardError && error.payment_intent)
          return intentOf(error.payment_intent);
        if (error instanceof Stripe.errors.StripeInvalidRequestError) throw new ProcessorError(error.message);
        throw error;
      }
    },
    async retrieve(attempt) {
      const found = await find(attempt);
      return found && intentOf(found);
    },
    async cancel(attempt) {
      const found = await find(attempt);
      if (!found || found.status === "succeeded" || found.status === "canceled") return found && intentOf(found);
      return intentOf(await stripe.paymentIntents.cancel(found.id, { expand }));
    },
    ...(webhook_secret
      ? { readNotice: (body: Buffer, signature: string) => readNotice(stripe, body, signature, webhook_secret) }
      : {}),
  };
}

async function readNotice(
  stripe: Stripe,
  body: Buffer,
  signature: string,
  secret: string,
): Promise<Notice | undefined> {
  const event = await stripe.webhooks.constructEventAsync(body, signature, secret);
  switch (event.type) {
    case "payment_intent.succeeded":
    case "payment_intent.processing":
    case "payment_intent.payment_failed":
    case "payment_intent.canceled": {
      const { id, metadata } = event.data.object;
      // An intent that is not of our making says nothing to us.
      const payment_id = z.uuid().safeParse(metadata.payment_id);
      return payment_id.success ? { id: event.id, payment_id: payment_id.data, processor_id: id } : undefined;
    }
    default:
      return undefined;
  }
}
