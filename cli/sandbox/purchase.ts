/** A purchase in a sandbox: the seller makes the checkout, and all that follows is what the buyer's browser would send. */

import * as routes from "../../shared/routes.ts";
import { testProcessorPaths } from "../../shared/test-processor-paths.ts";
import type { Context } from "../context.ts";
import { Fault, isFault } from "../fault.ts";
import { pause } from "../pause.ts";
import { request } from "../request.ts";
import { readAmount } from "../resource/amounts.ts";

export type Wish = {
  product_id: string;
  email: string;
  /** A test number, or a name for scripts such as pm_card_visa. */
  card: string;
  country: string;
  seats?: number;
  /** As it was typed, in the currency of the checkout. */
  amount?: string;
  discount_code?: string;
  answers: Record<string, string>;
  takesTrial: boolean;
  approvesChallenge: boolean;
};
type Grant = { type: string; description: string; state: "granted" | "waiting" | "failed"; error: string | null };
export type Bought = {
  checkout_id: string;
  customer_id: string;
  order: Awaited<ReturnType<typeof findOrder>>;
  subscription: Awaited<ReturnType<typeof findSubscription>>;
  benefits: (Grant & { license_key: string | null })[];
  seats: number | null;
};

const [pollMs, saleMsMax, grantsMsMax] = [250, 60_000, 20_000];
const asBuyer = { auth: false, organization: false } as const;
/** They wait for the buyer to connect an account elsewhere, which no terminal does. */
const needsAccount: ReadonlySet<string> = new Set(["discord", "github_repository", "slack_shared_channel"]);

/** Buy it, and wait until the sale is complete and the benefits are there. `note` is called with what happens on the way. */
export async function buyProduct(context: Context, wish: Wish, note: (text: string) => void): Promise<Bought> {
  const checkout = await openCheckout(context, wish);
  const { client_secret, id: checkout_id } = checkout;
  const confirmed = await request(
    context,
    routes.checkoutClient.confirm,
    {
      params: { client_secret },
      body: {
        quote: checkout.quote,
        ...(checkout.is_payment_form_required && { confirmation_token_id: await readToken(context, wish.card) }),
      },
    },
    asBuyer,
  ).catch((error: unknown) => {
    throw describeRefusal(error, wish);
  });
  await resolveChallenge(context, confirmed, wish, note);
  const { customer_id } = await awaitEnd(context, client_secret, checkout_id);
  if (customer_id === null) throw new Fault("error", `the checkout ${checkout_id} ended without a customer`);
  const token = confirmed.customer_session_token ?? (await openSession(context, customer_id));
  const subscription = await findSubscription(context, token, checkout_id);
  const expected = checkout.seats === null ? checkout.product.benefits.length : 0;
  return {
    ...{ checkout_id, customer_id, subscription, seats: checkout.seats },
    order: await findOrder(context, client_secret),
    benefits: await awaitBenefits(context, token, checkout_id, expected),
  };
}

/** The checkout with what the buyer fills in. */
async function openCheckout(context: Context, wish: Wish) {
  const made = await request(context, routes.checkouts.create, { body: { products: [wish.product_id] } });
  const params = { client_secret: made.client_secret };
  const { email, seats, amount, discount_code, country, answers } = wish;
  const body = {
    customer_email: email,
    customer_name: email.split("@")[0] ?? email,
    customer_billing_address: { country },
    ...(seats !== undefined && { seats }),
    ...(amount !== undefined && { amount: readAmount(amount, made.currency) }),
    ...(discount_code !== undefined && { discount_code }),
    ...(!wish.takesTrial && { allow_trial: false as const }),
    ...(Object.keys(answers).length > 0 && { custom_field_data: readAnswers(made, answers) }),
  };
  return request(context, routes.checkoutClient.update, { params, body }, asBuyer);
}

type Questions = { attached_custom_fields: { custom_field: { slug: string; type: string } }[] };

/** Answers to the questions of the seller, as their types want them. */
function readAnswers({ attached_custom_fields: asked }: Questions, answers: Record<string, string>) {
  const types = new Map(asked.map(({ custom_field: { slug, type } }) => [slug, type]));
  const unknown = Object.keys(answers).filter((slug) => !types.has(slug));
  if (unknown.length > 0)
    throw new Fault("usage", `the product does not ask for ${unknown.join(", ")}`, {
      hint: types.size > 0 ? `It asks for ${[...types.keys()].join(", ")}.` : "It asks for nothing.",
    });
  return Object.fromEntries(
    Object.entries(answers).map(([slug, text]) => {
      const type = types.get(slug);
      return [slug, type === "number" ? Number(text) : type === "checkbox" ? text === "true" : text];
    }),
  );
}

/** What the card form would turn a number into; names for scripts stand for themselves. */
async function readToken(context: Context, card: string): Promise<string> {
  if (card.startsWith("pm_")) return card;
  const number = card.replaceAll(/[\s-]/g, "");
  const isAmex = /^3[47]/.test(number);
  const form = { number, exp_month: 12, exp_year: new Date().getFullYear() + 5, cvc: isAmex ? "1234" : "123" };
  const call = { method: "POST", path: testProcessorPaths.tokens, body: { card: form }, ...asBuyer };
  return ((await context.call(call)) as { id: string }).id;
}

/** Say what to try after a purchase that was refused: nothing was bought. */
function describeRefusal(error: unknown, { email }: Wish): unknown {
  if (!isFault(error)) return error;
  const hint =
    error.parts.name === "TrialAlreadyRedeemed"
      ? "Buy with another address, or without the trial: --no-trial"
      : undefined;
  if (error.parts.name === "AlreadyActiveSubscriptionError")
    return new Fault(error.kind, error.message, {
      ...error.parts,
      hint: `See what they have: \`floe subscriptions list --customer-id ${email}\``,
    });
  return hint === undefined ? error : new Fault(error.kind, error.message, { ...error.parts, hint });
}

type Confirmed = { payment_processor_metadata: Record<string, string> };

/** The question of the bank, as the buyer would answer it. */
async function resolveChallenge(
  context: Context,
  { payment_processor_metadata: { intent_status, intent_client_secret } }: Confirmed,
  { approvesChallenge }: Wish,
  note: (text: string) => void,
): Promise<void> {
  if (intent_status !== "requires_action" || intent_client_secret === undefined) return;
  note(`The bank asks its customer (3-D Secure): ${approvesChallenge ? "approved" : "refused"}.`);
  await context.call({
    method: "POST",
    path: testProcessorPaths.authenticate,
    params: { client_secret: intent_client_secret },
    body: { approved: approvesChallenge },
    ...asBuyer,
  });
}

/** Ask again until it is so, or the time is over. */
async function poll<T>(context: Context, ms: number, find: () => Promise<T | undefined>): Promise<T | undefined> {
  for (const ends = Date.now() + ms; ; ) {
    const found = await find();
    if (found !== undefined) return found;
    if (context.io.signal.aborted) throw new Fault("interrupted", "stopped; the purchase goes on without this command");
    if (Date.now() > ends) return undefined;
    await pause(pollMs, context.io.signal);
  }
}

async function awaitEnd(context: Context, client_secret: string, id: string) {
  const ended = await poll(context, saleMsMax, async () => {
    const now = await request(context, routes.checkoutClient.get, { params: { client_secret } }, asBuyer);
    if (now.status !== "confirmed") return now;
    return undefined;
  });
  if (ended?.status === "succeeded") return ended;
  if (ended)
    throw new Fault("error", "the payment failed, and nothing was bought", { hint: "See: `floe payments list`" });
  throw new Fault("error", `the checkout ${id} was not complete within ${saleMsMax / 1000} s`, {
    hint: "Background jobs may not run. Run: `floe doctor`",
  });
}

/** For a buyer whom the checkout does not sign in, as they had bought before. */
const openSession = async (context: Context, customer_id: string): Promise<string> =>
  (await request(context, routes.customerSessions.create, { body: { customer_id } })).token;

/** The order, as the page of the confirmation shows it; null where nothing was ordered yet. */
async function findOrder(context: Context, client_secret: string) {
  try {
    return await request(context, routes.checkoutClient.order, { params: { client_secret } }, asBuyer);
  } catch (error) {
    if (isFault(error) && error.kind === "not_found") return null;
    throw error;
  }
}

const authorize = (token: string) => ({ token, organization: false });

async function findSubscription(context: Context, token: string, checkout_id: string) {
  const query = { limit: 100 };
  const { items } = await request(context, routes.portalSubscriptions.list, { query }, authorize(token));
  return items.find((one) => one.checkout_id === checkout_id) ?? null;
}

/** What the buyer was given, once every benefit that needs no account elsewhere is there or has failed. */
async function awaitBenefits(context: Context, token: string, checkout_id: string, expected: number) {
  const list = async () => {
    const query = { checkout_id, limit: 100 };
    return (await request(context, routes.portalGrants.list, { query }, authorize(token))).items;
  };
  const isSettled = ({ is_granted, error, benefit }: Awaited<ReturnType<typeof list>>[number]): boolean =>
    is_granted || error !== null || needsAccount.has(benefit.type);
  if (expected === 0) return [];
  await poll(context, grantsMsMax, async () => {
    const grants = await list();
    return grants.length >= expected && grants.every(isSettled) ? grants : undefined;
  });
  const described = (await list()).map(async ({ benefit, is_granted, error, properties }) => ({
    type: benefit.type,
    description: benefit.description,
    state: is_granted ? ("granted" as const) : error ? ("failed" as const) : ("waiting" as const),
    error: error?.message ?? null,
    license_key: await readKey(context, token, properties.license_key_id),
  }));
  return Promise.all(described);
}

async function readKey(context: Context, token: string, id: string | undefined): Promise<string | null> {
  if (id === undefined) return null;
  return (await request(context, routes.portalKeys.get, { params: { id } }, authorize(token))).key;
}
