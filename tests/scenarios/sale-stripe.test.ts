import { eq } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { orders } from "../../server/billing/orders/tables.ts";
import { payments } from "../../server/billing/payments/tables.ts";
import { testIntents } from "../../server/platform/processors/tables.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { newId } from "../support/ids.ts";
import { type StripeStandIn, startStripe } from "../support/stripe-stand-in.ts";

/** A sale through Stripe's API, as a local server speaks it: calls that go wrong, and late successes. Its notices: `stripe-notices`. */

const webhookSecret = "whsec_of_these_tests";
const settings = {
  STRIPE_SECRET_KEY: "sk_test_1",
  STRIPE_PUBLISHABLE_KEY: "pk_test_1",
  STRIPE_WEBHOOK_SECRET: webhookSecret,
};
let floe: Floe;
let seller: Seller;
let standIn: StripeStandIn;
let productId: string;
beforeAll(async () => {
  standIn = await startStripe();
  floe = await start({ settings: { ...settings, STRIPE_API_URL: standIn.url } });
  standIn.follow(floe.clock);
  seller = await floe.seller();
  productId = (
    await seller.client.products.create({
      body: { name: "Field guide", prices: [{ amount_type: "fixed", price_amount: 1900 }] },
    })
  ).id;
});
afterAll(async () => {
  await floe?.close();
  await standIn?.close();
});

afterEach(() => standIn.calm());

const buyer = { customer_email: "buyer@example.com", customer_billing_address: { country: "FR" } };
const create = () => seller.client.checkouts.create({ body: { products: [productId] } });
const confirm = (secret: string, confirmation_token_id = "ctoken_visa") =>
  floe.request("POST", `/v1/checkouts/client/${secret}/confirm`, { body: { ...buyer, confirmation_token_id } });
const outcome = async (id: string) => ({
  status: (await seller.client.checkouts.get({ params: { id } })).status,
  orders: (await seller.client.orders.list({ query: { checkout_id: id } })).items.length,
  payments: (await seller.client.payments.list({ query: { checkout_id: id, sorting: "created_at" } })).items.map(
    (payment) => payment.status,
  ),
});
const intentOf = async (checkout_id: string) => {
  const [payment] = await floe.deps.db
    .select({ id: payments.id })
    .from(payments)
    .innerJoin(orders, eq(orders.id, payments.order_id))
    .where(eq(orders.checkout_id, checkout_id))
    .orderBy(payments.created_at);
  const intent = [...standIn.intents.values()].find(({ metadata }) => metadata.payment_id === payment?.id);
  if (!intent) throw new Error("Stripe has no such intent.");
  return intent;
};
const notify = (type: string, intent: object) => {
  const { body, signature } = standIn.notice(type, intent, webhookSecret, `evt_${newId()}`);
  return floe.request("POST", "/v1/integrations/stripe/webhook", { body, headers: { "stripe-signature": signature } });
};

test("a good card is charged and the order made; the browser is given the publishable key", async () => {
  const checkout = await create();
  expect(checkout.payment_processor_metadata).toEqual({ publishable_key: "pk_test_1" });
  expect((await confirm(checkout.client_secret)).status).toBe(200);
  expect(await outcome(checkout.id)).toEqual({ status: "succeeded", orders: 1, payments: ["succeeded"] });
  const [payment] = (await seller.client.payments.list({ query: { checkout_id: checkout.id } })).items;
  expect(payment).toMatchObject({
    processor: "stripe",
    method: "card",
    method_metadata: { brand: "visa", last4: "4242" },
  });
});

test("CHK-55: a refused card leaves the checkout open", async () => {
  const checkout = await create();
  expect(await confirm(checkout.client_secret, "ctoken_chargeDeclined")).toMatchObject({
    status: 400,
    json: { error: "PaymentError", detail: "Your card was declined." },
  });
  expect(await outcome(checkout.id)).toEqual({ status: "open", orders: 0, payments: ["failed"] });
});

test("a card of the test form, which is there for sandboxes, is Stripe's to judge here, and never charged as a test", async () => {
  const card = { number: "4242424242424242", exp_month: 12, exp_year: 2040, cvc: "123" };
  const typed = await floe.request("POST", "/v1/payment-processor/test/confirmation-tokens", { body: { card } });
  const before = standIn.requests.length;
  const checkout = await create();
  await confirm(checkout.client_secret, (typed.json as { id: string }).id);
  const asked = standIn.requests.slice(before).map(({ path }) => path);
  expect(asked).toContain("/v1/payment_intents");
  expect(await floe.deps.db.$count(testIntents)).toBe(0);
});

describe("a card that is kept", () => {
  const trial = { trial_interval: "day", trial_interval_count: 7 };
  /** Sell a subscription to somebody new; answers what Stripe was asked for. */
  const sell = async (fields: object, confirmation_token_id: string) => {
    const prices = [{ amount_type: "fixed", price_amount: 1900 }];
    const product = { name: "Journal", prices, recurring_interval: "month", ...fields };
    const { id: sold } = await seller.client.products.create({ body: product as never });
    const { id, client_secret } = await seller.client.checkouts.create({ body: { products: [sold] } });
    const before = standIn.requests.length;
    const body = { ...buyer, customer_email: `${newId()}@example.com`, confirmation_token_id };
    const { status } = await floe.request("POST", `/v1/checkouts/client/${client_secret}/confirm`, { body });
    const made = standIn.requests.slice(before).filter(({ method }) => method === "POST");
    return { id, status, made: made.map(({ path }) => path) };
  };

  test("SUB-03: with the first payment of a subscription, in the same go", async () => {
    const { id, status, made } = await sell({}, "ctoken_visa");
    expect([status, made]).toEqual([200, ["/v1/customers", "/v1/payment_intents"]]);
    const intent = [...standIn.intents.values()].at(-1);
    expect(intent).toMatchObject({ status: "succeeded", setup_future_usage: "off_session", amount: 1900 });
    expect(standIn.methods.get(String(intent?.payment_method))).toMatchObject({ customer: intent?.customer });
    expect(await outcome(id)).toMatchObject({ status: "succeeded", payments: ["succeeded"] });
  });

  test("CHK-42: without a payment where a trial begins, once the bank has been answered", async () => {
    const { id, status, made } = await sell(trial, "ctoken_threeDSecure2Required");
    expect([status, made]).toEqual([200, ["/v1/customers", "/v1/setup_intents"]]);
    const setup = [...standIn.setups.values()].at(-1);
    expect(setup).toMatchObject({ status: "requires_action", usage: "off_session" });
    expect((await outcome(id)).status).toBe("confirmed");
    standIn.authenticate(setup?.client_secret ?? "", true);
    const told = standIn.eventsOf(/^setup_intent.succeeded$/).at(-1);
    const { body, signature } = standIn.sign(told ?? {}, webhookSecret);
    const headers = { "stripe-signature": signature };
    expect((await floe.request("POST", "/v1/integrations/stripe/webhook", { body, headers })).status).toBe(200);
    await floe.runJobs();
    expect(await outcome(id)).toMatchObject({ status: "succeeded", payments: [] });
    expect(standIn.methods.get(String(setup?.payment_method))).toMatchObject({ customer: setup?.customer });
  });

  test("a refused one opens the checkout again", async () => {
    const { id, status } = await sell(trial, "ctoken_chargeDeclined");
    expect(status).toBe(400);
    expect(await outcome(id)).toEqual({ status: "open", orders: 0, payments: [] });
  });
});

describe("lost answers", () => {
  test("all of them lost: the sweep finds the intent by our own id, and the sale completes", async () => {
    const checkout = await create();
    standIn.loseAnswers(10);
    expect((await confirm(checkout.client_secret)).status).toBe(200);
    standIn.loseAnswers(0);
    expect(await outcome(checkout.id)).toEqual({ status: "confirmed", orders: 0, payments: ["pending"] });
    floe.clock.advance(3 * 60_000);
    await floe.runJobs();
    expect(await outcome(checkout.id)).toEqual({ status: "succeeded", orders: 1, payments: ["succeeded"] });
  });

  test("an attempt given up for lost that succeeds after all makes the order, while another attempt is under way", async () => {
    const checkout = await create();
    standIn.loseAnswers(10);
    await confirm(checkout.client_secret);
    standIn.loseAnswers(0);
    // The intent reached Stripe so late that the sweep did not find it.
    const lost = await intentOf(checkout.id);
    standIn.intents.delete(lost.id);
    floe.clock.advance(3 * 60_000);
    await floe.runJobs();
    expect(await outcome(checkout.id)).toEqual({ status: "open", orders: 0, payments: ["failed"] });
    floe.clock.advance(1000);
    await confirm(checkout.client_secret, "ctoken_threeDSecure2Required");
    const other = [...standIn.intents.values()].at(-1);
    expect(other?.status).toBe("requires_action");
    expect(await outcome(checkout.id)).toEqual({ status: "confirmed", orders: 0, payments: ["failed", "pending"] });
    standIn.intents.set(lost.id, lost);
    await notify("payment_intent.succeeded", lost);
    await floe.runJobs();
    // And the other attempt is given up at Stripe, so that nobody pays twice.
    expect(await outcome(checkout.id)).toEqual({ status: "succeeded", orders: 1, payments: ["succeeded", "failed"] });
    expect(other?.status).toBe("canceled");
  });
});

/** What Stripe has of a checkout's money, and what floe says of it. */
async function booksOf(checkout_id: string) {
  const ids = await floe.deps.db
    .select({ id: payments.id })
    .from(payments)
    .innerJoin(orders, eq(orders.id, payments.order_id))
    .where(eq(orders.checkout_id, checkout_id));
  const made = [...standIn.intents.values()].filter((one) => ids.some(({ id }) => id === one.metadata.payment_id));
  const back = [...standIn.refunds.values()].filter((one) => made.some(({ id }) => id === one.payment_intent));
  const taken = made.filter(({ status }) => status === "succeeded").reduce((sum, { amount }) => sum + amount, 0);
  const { items } = await seller.client.orders.list({ query: { checkout_id } });
  return {
    taken: back.reduce((sum, { amount }) => sum - amount, taken),
    paid: items.filter(({ status }) => status === "paid").reduce((sum, { total_amount }) => sum + total_amount, 0),
    unfinished: made.filter(({ status }) => status === "requires_action").length,
  };
}
const later = async (minutes: number) => {
  floe.clock.advance(minutes * 60_000);
  await floe.runJobs();
};
/** A checkout that was paid although an attempt before had been given up for lost, which has succeeded after all. */
async function payTwice() {
  const checkout = await create();
  standIn.trouble("lost", { times: 3 });
  await confirm(checkout.client_secret);
  const lost = await intentOf(checkout.id);
  standIn.intents.delete(lost.id);
  await later(3);
  await confirm(checkout.client_secret);
  standIn.intents.set(lost.id, lost);
  return { checkout, lost };
}

/** Calls that go wrong four times in a row, which is more often than one is repeated by itself. */
describe.each([
  ["a charge", /^POST .*payment_intents$/],
  ["a search for a charge", /^GET .*payment_intents/],
  ["giving a charge up", /cancel$/],
  ["a search for a refund", /^GET .*refunds/],
  ["a refund", /^POST .*refunds$/],
])("%s", (_name, of) => {
  test.each(["lost", "unreached", "rate_limit", "broken"] as const)(
    "%s: in the end what was taken is what was sold, for one sale, one given up, and one paid twice",
    async (kind) => {
      const { checkout: twice, lost } = await payTwice();
      const [sold, unanswered] = [await create(), await create()];
      standIn.trouble(kind, { of, times: 4 });
      await confirm(sold.client_secret);
      await confirm(unanswered.client_secret, "ctoken_threeDSecure2Required");
      await notify("payment_intent.succeeded", lost);
      await later(3);
      for (let times = 0; times < 4 && (await outcome(sold.id)).status !== "succeeded"; times += 1) {
        await confirm(sold.client_secret);
        await later(10);
      }
      await later(20);
      standIn.calm();
      for (const minutes of [60, 60]) await later(minutes);
      expect(await booksOf(sold.id)).toEqual({ taken: 1900, paid: 1900, unfinished: 0 });
      expect(await booksOf(twice.id)).toEqual({ taken: 1900, paid: 1900, unfinished: 0 });
      expect(await booksOf(unanswered.id)).toEqual({ taken: 0, paid: 0, unfinished: 0 });
      expect((await outcome(unanswered.id)).status).toMatch(/^(open|expired)$/);
    },
  );
});
