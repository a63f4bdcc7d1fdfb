import { createHash } from "node:crypto";
import Stripe from "stripe";
import {
  type Attempt,
  type CardOwner,
  type Charge,
  type Intent,
  type Processor,
  ProcessorError,
  type SetupAttempt,
} from "./processor.ts";
import { getCard, getDispute, getIntent, getSetup, refundOf } from "./stripe-answers.ts";
import { getAccount, ignoreMissing, listStripeWebhooks, readEvent } from "./stripe-events.ts";
import { findOfCustomer, isKeyOfOther, listCharges, listReturns, searchIntent } from "./stripe-search.ts";

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
const usualTimeoutMs = 25_000;
const repetitionsMax = 2;
/** An intent is looked for among those made this long before and after it was written down here. */
const searchedBeforeS = 300;
const searchedAfterS = 3600;

/** Stripe's package as it is used here. */
export function openStripe({
  secret_key,
  api_url,
  timeout_ms = usualTimeoutMs,
}: Pick<StripeOptions, "secret_key" | "api_url" | "timeout_ms">): Stripe {
  const { protocol, hostname, port } = new URL(api_url ?? "https://api.stripe.com");
  return new Stripe(secret_key, {
    apiVersion: api_version as Stripe.LatestApiVersion,
    host: hostname,
    port: port === "" ? (protocol === "https:" ? 443 : 80) : port,
    protocol: protocol === "https:" ? "https" : "http",
    timeout: timeout_ms,
    maxNetworkRetries: repetitionsMax,
    telemetry: false,
  });
}

const busy = "Too many payments are being made at this moment. You have not been charged; try again.";

/** Make a charge or a set-up; a refused card is an outcome, a request that Stripe does not take is the buyer's to mend. */
async function catchRefused<T>(
  work: () => Promise<T>,
  fromError: (error: Stripe.errors.StripeCardError) => T | undefined,
) {
  try {
    return await work();
  } catch (error) {
    const refused = error instanceof Stripe.errors.StripeCardError ? fromError(error) : undefined;
    if (refused) return refused;
    if (error instanceof Stripe.errors.StripeInvalidRequestError)
      throw new ProcessorError(error.message, error.code ?? null);
    // It was turned away unread.
    if (error instanceof Stripe.errors.StripeRateLimitError) throw new ProcessorError(busy, "rate_limit");
    throw error;
  }
}

/** Lists, unlike searches, know what was made a moment ago. */
function readSince({ created_at }: { created_at: Date }) {
  const written_at = (created_at.getTime() - (created_at.getTime() % 1000)) / 1000;
  return { created: { gte: written_at - searchedBeforeS, lte: written_at + searchedAfterS }, limit: 100 };
}

/** A card that was just entered, or one in a wallet: what needs no other page to be completed. The card form offers the same. */
const isEntered = (token: string) => ({
  automatic_payment_methods: { enabled: true, allow_redirects: "never" as const },
  allowed_payment_method_types: ["card" as const],
  ...(token.startsWith("pm_") ? { payment_method: token } : { confirmation_token: token }),
});
const descriptionLengthMax = 1000;

/** Stripe, through its official package. */
export function createStripeProcessor(options: StripeOptions): Processor {
  const { publishable_key, webhook_secret } = options;
  const stripe = openStripe(options);
  const expand = ["latest_charge"];
  const find = async ({ payment_id, processor_id, created_at }: Attempt): Promise<Stripe.PaymentIntent | null> => {
    if (processor_id) return stripe.paymentIntents.retrieve(processor_id, { expand });
    // The answer with its id was lost.
    const search = { ...readSince({ created_at }), expand: ["data.latest_charge"] };
    for await (const intent of stripe.paymentIntents.list(search))
      if (intent.metadata.payment_id === payment_id) return intent;
    // It may have been made before a backup was restored.
    return searchIntent(stripe, payment_id);
  };
  const findSetup = async ({
    setup_id,
    processor_id,
    created_at,
  }: SetupAttempt): Promise<Stripe.SetupIntent | null> => {
    if (processor_id) return stripe.setupIntents.retrieve(processor_id, { expand: ["payment_method"] });
    const search = { ...readSince({ created_at }), expand: ["data.payment_method"] };
    for await (const setup of stripe.setupIntents.list(search)) if (setup.metadata?.setup_id === setup_id) return setup;
    return null;
  };
  const account = getAccount(/_live_/.test(options.secret_key));
  const charge = async (
    { payment_id, amount, currency, description, ...one }: Omit<Charge, "confirmation_token_id" | "keep">,
    by: Partial<Stripe.PaymentIntentCreateParams>,
    idempotencyKey = payment_id,
  ): Promise<Intent> => {
    const metadata = { organization_id: one.organization_id, payment_id, ...one.reference };
    const text = description.slice(0, descriptionLengthMax);
    const terms = { amount, currency, confirm: true, description: text, metadata, ...by, expand };
    return getIntent(await stripe.paymentIntents.create(terms, { idempotencyKey }));
  };
  const catchDeclined = async (one: { payment_id: string }, work: () => Promise<Intent>): Promise<Intent> => {
    try {
      return await catchRefused(work, ({ payment_intent }) => payment_intent && getIntent(payment_intent));
    } catch (error) {
      if (!isKeyOfOther(error)) throw error;
      // The key stands for the same attempt, in other words: it was made before a backup was restored.
      const known = await searchIntent(stripe, one.payment_id);
      if (!known) throw error;
      return getIntent(known);
    }
  };
  return {
    account,
    publishable_key,
    confirm: ({ keep, ...one }) =>
      catchDeclined(one, () => {
        const card = isEntered(one.confirmation_token_id);
        if (!keep) return charge(one, card);
        return getCustomerToken(stripe, keep.customer, one.payment_id, (customer, key) =>
          charge(one, { ...card, customer, setup_future_usage: "off_session" }, key),
        );
      }),
    async readCard(token) {
      const card = token.startsWith("pm_")
        ? (await ignoreMissing(stripe.paymentMethods.retrieve(token)))?.card
        : (await ignoreMissing(stripe.confirmationTokens.retrieve(token)))?.payment_method_preview?.card;
      return card ? { card: getCard(card), fingerprint: card.fingerprint ?? null } : null;
    },
    async chargeSaved(one) {
      const { customer_processor_id: customer, method_processor_id: payment_method } = one;
      const findMade = async () => {
        const known = await findOfCustomer(stripe, customer, one.payment_id);
        return known && getIntent(known);
      };
      const known = one.may_exist ? await findMade() : null;
      if (known) return known;
      try {
        return await catchDeclined(one, () => charge(one, { customer, payment_method, off_session: true }));
      } catch (error) {
        // A search knows what is some minutes old, a list of the customer's knows all.
        const made = isKeyOfOther(error) ? await findMade() : null;
        if (!made) throw error;
        return made;
      }
    },
    saveMethod: ({ organization_id, setup_id, customer, confirmation_token_id }) =>
      catchRefused(
        () =>
          getCustomerToken(stripe, customer, setup_id, async (id, idempotencyKey) => {
            const terms = {
              customer: id,
              confirm: true,
              usage: "off_session" as const,
              metadata: { organization_id, setup_id },
              ...isEntered(confirmation_token_id),
              expand: ["payment_method"],
            };
            return getSetup(await stripe.setupIntents.create(terms, { idempotencyKey }));
          }),
        ({ setup_intent }) => setup_intent && getSetup(setup_intent),
      ),
    async forgetCustomer({ id, processor_ids }) {
      const { data } = await searchCustomers(stripe, id);
      for (const known of new Set([...processor_ids, ...data.map((one) => one.id)]))
        await stripe.customers.del(known).catch((error: unknown) => {
          if (!isMissing(error)) throw error;
        });
    },
    async retrieveSetup(attempt) {
      const found = await findSetup(attempt);
      return found && getSetup(found);
    },
    async cancelSetup(attempt) {
      const found = await findSetup(attempt);
      if (!found || found.status === "succeeded" || found.status === "canceled") return found && getSetup(found);
      return getSetup(await stripe.setupIntents.cancel(found.id, { expand: ["payment_method"] }));
    },
    async refund({ refund_id, intent_processor_id, amount, reason }) {
      // Stripe forgets idempotency keys after some days; the refund itself is there for ever.
      for await (const known of stripe.refunds.list({ payment_intent: intent_processor_id, limit: 100 }))
        if (known.metadata?.refund_id === refund_id) return refundOf(known);
      const params = { payment_intent: intent_processor_id, amount, reason, metadata: { refund_id } };
      return catchRefused(
        async () => refundOf(await stripe.refunds.create(params, { idempotencyKey: refund_id })),
        () => undefined,
      );
    },
    async retrieveRefund(processor_id) {
      const found = await ignoreMissing(stripe.refunds.retrieve(processor_id));
      return found && refundOf(found);
    },
    async retrieveDispute(processor_id) {
      const found = await ignoreMissing(stripe.disputes.retrieve(processor_id, { expand: ["payment_intent"] }));
      return found && getDispute(found);
    },
    async acceptDispute(processor_id) {
      const found = getDispute(await stripe.disputes.retrieve(processor_id, { expand: ["payment_intent"] }));
      const isOver = found.status === "won" || found.status === "lost" || found.status === "prevented";
      return isOver ? found : getDispute(await stripe.disputes.close(processor_id, { expand: ["payment_intent"] }));
    },
    async retrieve(attempt) {
      const found = await find(attempt);
      return found && getIntent(found);
    },
    async cancel(attempt) {
      const found = await find(attempt);
      if (!found || found.status === "succeeded" || found.status === "canceled") return found && getIntent(found);
      return getIntent(await stripe.paymentIntents.cancel(found.id, { expand }));
    },
    listCharges: (since) => listCharges(stripe, since),
    listReturns: (since) => listReturns(stripe, account, since),
    inspect: async () => ({ webhooks: await listStripeWebhooks(stripe) }),
    ...(webhook_secret
      ? { readEvent: (body: Buffer, signature: string) => readEvent(stripe, body, signature, webhook_secret) }
      : {}),
  };
}

/**
 * Make something for our customer, under `key`. A customer whom Stripe does not know any more, as one that was deleted there,
 * is made anew: nothing was made for the one that is gone, so it may be asked for again under another key.
 */
async function getCustomerToken<T>(
  stripe: Stripe,
  owner: CardOwner,
  key: string,
  make: (customer: string, key: string) => Promise<T>,
): Promise<T> {
  try {
    return await make(owner.processor_id ?? (await findOrCreateCustomer(stripe, owner)), key);
  } catch (error) {
    if (!isMissing(error) || error.param !== "customer") throw error;
    return make(await findOrCreateCustomer(stripe, owner), `${key}_again`);
  }
}

const isMissing = (error: unknown): error is Stripe.errors.StripeInvalidRequestError =>
  error instanceof Stripe.errors.StripeInvalidRequestError && error.code === "resource_missing";

/** Those whom Stripe knows as our customer, but for the last minutes. */
const searchCustomers = (stripe: Stripe, id: string) =>
  stripe.customers.search({ query: `metadata['customer_id']:'${id}'`, limit: 10 });

/**
 * Stripe's id of our customer, by which our own is kept there. A search finds what is some minutes old; what is newer is the
 * same by its idempotency key, which stands for the same words: who has another name by now has another.
 */
async function findOrCreateCustomer(stripe: Stripe, { id, processor_id, email, name }: CardOwner): Promise<string> {
  const { data } = await searchCustomers(stripe, id);
  const known = data.find((one) => one.id !== processor_id);
  if (known) return known.id;
  const words = createHash("sha256")
    .update(JSON.stringify([email, name, processor_id]))
    .digest("base64url");
  const made = await stripe.customers.create(
    { email, ...(name ? { name } : {}), metadata: { customer_id: id } },
    { idempotencyKey: `customer_${id}_${words}` },
  );
  return made.id;
}
