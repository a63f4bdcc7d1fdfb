import Stripe from "stripe";
import { z } from "zod";
import {
  type Attempt,
  type Card,
  type Decline,
  type Intent,
  type MethodSetup,
  type Processor,
  ProcessorError,
  type ProcessorEvent,
  type RefundOutcome,
  type SetupOutcome,
} from "./processor.ts";

export type StripeOptions = {
  secret_key: string;
  publishable_key: string;
  webhook_secret?: string | undefined;
  /** Where Stripe is, or a stand-in for it. */
  api_url?: string;
  /** How long an answer may take. */
  timeout_ms?: number;
};

/** The version of the API that is spoken; the description that the tests judge by is of the same one. */
const api_version: string = "2026-08-26.dahlia";
/** With two repetitions less than the two minutes after which an answer counts as lost. */
const usual_timeout_ms = 25_000;
const repetitions_max = 2;
/** An intent is looked for among those made this long before and after it was written down here. */
const searched_before_s = 300;
const searched_after_s = 3600;

/** Stripe's package as it is used here. */
function openStripe({ secret_key, api_url, timeout_ms = usual_timeout_ms }: StripeOptions): Stripe {
  const { protocol, hostname, port } = new URL(api_url ?? "https://api.stripe.com");
  return new Stripe(secret_key, {
    apiVersion: api_version as Stripe.LatestApiVersion,
    host: hostname,
    port: port === "" ? (protocol === "https:" ? 443 : 80) : port,
    protocol: protocol === "https:" ? "https" : "http",
    timeout: timeout_ms,
    maxNetworkRetries: repetitions_max,
    telemetry: false,
  });
}

const statuses: Record<string, Intent["status"]> = {
  succeeded: "succeeded",
  processing: "processing",
  requires_capture: "processing",
  requires_action: "requires_action",
  requires_payment_method: "failed",
  requires_confirmation: "failed",
  canceled: "failed",
};
const refund_statuses: Record<string, RefundOutcome["status"]> = {
  succeeded: "succeeded",
  failed: "failed",
  canceled: "failed",
};

function cardOf(
  card: Stripe.PaymentMethod.Card | Stripe.Charge.PaymentMethodDetails.Card | null | undefined,
): Card | null {
  if (!card) return null;
  const { brand, last4, exp_month, exp_year } = card;
  return { brand: brand ?? "card", last4: last4 ?? "", exp_month, exp_year };
}

function declineOf(
  error: { code?: string; decline_code?: string; message?: string } | null,
  fallback: string,
): Decline {
  return {
    reason: error?.decline_code ?? error?.code ?? "card_declined",
    message: error?.message ?? fallback,
  };
}

function intentOf(intent: Stripe.PaymentIntent): Intent {
  const charge = typeof intent.latest_charge === "object" ? intent.latest_charge : null;
  const status = statuses[intent.status] ?? "processing";
  return {
    organization_id: intent.metadata.organization_id ?? "",
    payment_id: intent.metadata.payment_id ?? "",
    processor_id: intent.id,
    status,
    amount: intent.amount,
    currency: intent.currency,
    client_secret: intent.client_secret ?? "",
    decline: status === "failed" ? declineOf(intent.last_payment_error, "The payment was not completed.") : null,
    card: cardOf(charge?.payment_method_details?.card),
  };
}

/** Make a charge or a set-up; a refused card is an outcome, a request that Stripe does not take is the buyer's to mend. */
async function orRefused<T>(
  work: () => Promise<T>,
  fromError: (error: Stripe.errors.StripeCardError) => T | undefined,
) {
  try {
    return await work();
  } catch (error) {
    const refused = error instanceof Stripe.errors.StripeCardError ? fromError(error) : undefined;
    if (refused) return refused;
    if (error instanceof Stripe.errors.StripeInvalidRequestError) throw new ProcessorError(error.message);
    throw error;
  }
}

const byToken = (token: string) =>
  token.startsWith("pm_") ? { payment_method: token } : { confirmation_token: token };

/** Stripe, through its official package. */
export function stripeProcessor(options: StripeOptions): Processor {
  const { publishable_key, webhook_secret } = options;
  const stripe = openStripe(options);
  const expand = ["latest_charge"];
  const find = async ({ payment_id, processor_id, created_at }: Attempt): Promise<Stripe.PaymentIntent | null> => {
    if (processor_id) return stripe.paymentIntents.retrieve(processor_id, { expand });
    // The answer with its id was lost. Lists, unlike searches, know what was made a moment ago.
    const written_at = (created_at.getTime() - (created_at.getTime() % 1000)) / 1000;
    for await (const intent of stripe.paymentIntents.list({
      created: { gte: written_at - searched_before_s, lte: written_at + searched_after_s },
      limit: 100,
      expand: ["data.latest_charge"],
    })) {
      if (intent.metadata.payment_id === payment_id) return intent;
    }
    return null;
  };
  const charge = (
    {
      organization_id,
      payment_id,
      amount,
      currency,
      description,
      email,
    }: Parameters<Processor["confirm"]>[0] | Parameters<Processor["chargeSaved"]>[0],
    by: Partial<Stripe.PaymentIntentCreateParams>,
  ): Promise<Intent> =>
    orRefused(
      async () =>
        intentOf(
          await stripe.paymentIntents.create(
            {
              amount,
              currency,
              confirm: true,
              description,
              receipt_email: email,
              metadata: { organization_id, payment_id },
              ...by,
              expand,
            },
            { idempotencyKey: payment_id },
          ),
        ),
      ({ payment_intent }) => payment_intent && intentOf(payment_intent),
    );
  return {
    publishable_key,
    confirm: (one) =>
      charge(one, {
        automatic_payment_methods: { enabled: true, allow_redirects: "never" },
        ...byToken(one.confirmation_token_id),
      }),
    chargeSaved: (one) =>
      charge(one, {
        customer: one.customer_processor_id,
        payment_method: one.method_processor_id,
        off_session: true,
      }),
    async saveMethod(setup) {
      const customer = await findOrCreateCustomer(stripe, setup.customer);
      return orRefused(
        async () =>
          setupOf(
            setup.setup_id,
            await stripe.setupIntents.create(
              {
                customer,
                confirm: true,
                usage: "off_session",
                metadata: { setup_id: setup.setup_id },
                automatic_payment_methods: { enabled: true, allow_redirects: "never" },
                ...byToken(setup.confirmation_token_id),
                expand: ["payment_method"],
              },
              { idempotencyKey: setup.setup_id },
            ),
          ),
        ({ setup_intent }) => setup_intent && setupOf(setup.setup_id, setup_intent),
      );
    },
    retrieveSetup: async ({ setup_id, processor_id }) =>
      setupOf(setup_id, await stripe.setupIntents.retrieve(processor_id, { expand: ["payment_method"] })),
    async refund({ refund_id, intent_processor_id, amount, reason }) {
      // Stripe forgets idempotency keys after some days; the refund itself is there for ever.
      for await (const known of stripe.refunds.list({ payment_intent: intent_processor_id, limit: 100 }))
        if (known.metadata?.refund_id === refund_id) return refundOf(refund_id, known);
      const params = { payment_intent: intent_processor_id, amount, reason, metadata: { refund_id } };
      return orRefused(
        async () => refundOf(refund_id, await stripe.refunds.create(params, { idempotencyKey: refund_id })),
        () => undefined,
      );
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
      ? { readEvent: (body: Buffer, signature: string) => readEvent(stripe, body, signature, webhook_secret) }
      : {}),
  };
}

/** Stripe's id of our customer. The same customer again: the same id, since their own id is the idempotency key. */
async function findOrCreateCustomer(stripe: Stripe, { id, processor_id, email, name }: MethodSetup["customer"]) {
  if (processor_id) return processor_id;
  const made = await stripe.customers.create(
    { email, ...(name ? { name } : {}), metadata: { customer_id: id } },
    { idempotencyKey: `customer_${id}` },
  );
  return made.id;
}

function setupOf(setup_id: string, setup: Stripe.SetupIntent): SetupOutcome {
  const status = statuses[setup.status] ?? "processing";
  const method = typeof setup.payment_method === "object" ? setup.payment_method : null;
  const card = cardOf(method?.card);
  return {
    setup_id,
    processor_id: setup.id,
    status,
    client_secret: setup.client_secret ?? "",
    customer_processor_id: typeof setup.customer === "string" ? setup.customer : (setup.customer?.id ?? ""),
    method: status === "succeeded" && method && card ? { processor_id: method.id, card } : null,
    decline: status === "failed" ? declineOf(setup.last_setup_error, "The card was not accepted.") : null,
  };
}

function refundOf(refund_id: string, refund: Stripe.Refund): RefundOutcome {
  const status = refund_statuses[refund.status ?? ""] ?? "pending";
  const failure_reason = status === "failed" ? (refund.failure_reason ?? refund.status) : null;
  return { refund_id, processor_id: refund.id, status, failure_reason };
}

const Ours = z.object({ organization_id: z.uuid(), payment_id: z.uuid() });

async function readEvent(
  stripe: Stripe,
  body: Buffer,
  signature: string,
  secret: string,
): Promise<ProcessorEvent | undefined> {
  const event = await stripe.webhooks.constructEventAsync(body, signature, secret);
  switch (event.type) {
    case "payment_intent.succeeded":
    case "payment_intent.processing":
    case "payment_intent.payment_failed":
    case "payment_intent.canceled": {
      const { id, metadata } = event.data.object;
      // An intent that is not of our making says nothing to us.
      const ours = Ours.safeParse(metadata);
      return ours.success ? { id: event.id, ...ours.data, processor_id: id } : undefined;
    }
    default:
      return undefined;
  }
}
