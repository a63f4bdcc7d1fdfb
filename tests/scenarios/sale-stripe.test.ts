import { eq } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { orders } from "../../server/orders/tables.ts";
import { payments, processorEvents } from "../../server/payments/tables.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { newId } from "../support/ids.ts";
import { type StripeStandIn, startStripe } from "../support/stripe-stand-in.ts";

/** A sale through Stripe's API, as a local server speaks it: its notices, its lost answers, and its late successes. */

const webhook_secret = "whsec_of_these_tests";
const settings = {
  STRIPE_SECRET_KEY: "sk_test_1",
  STRIPE_PUBLISHABLE_KEY: "pk_test_1",
  STRIPE_WEBHOOK_SECRET: webhook_secret,
};
let floe: Floe;
let seller: Seller;
let standIn: StripeStandIn;
let product_id: string;
beforeAll(async () => {
  standIn = await startStripe();
  floe = await start({ settings: { ...settings, STRIPE_API_URL: standIn.url } });
  seller = await floe.seller();
  product_id = (
    await seller.client.products.create({
      body: { name: "Field guide", prices: [{ amount_type: "fixed", price_amount: 1900 }] },
    })
  ).id;
});
afterAll(async () => {
  await floe?.close();
  await standIn?.close();
});

const buyer = { customer_email: "buyer@example.com", customer_billing_address: { country: "FR" } };
const create = () => seller.client.checkouts.create({ body: { products: [product_id] } });
const confirm = (secret: string, confirmation_token_id = "ctoken_visa") =>
  floe.request("POST", `/v1/checkouts/client/${secret}/confirm`, { body: { ...buyer, confirmation_token_id } });
const outcome = async (id: string) => ({
  status: (await seller.client.checkouts.get({ params: { id } })).status,
  orders: (await seller.client.orders.list({ query: { checkout_id: id } })).items.length,
  payments: (await seller.client.payments.list({ query: { checkout_id: id, sorting: "created_at" } })).items.map(
    (payment) => payment.status,
  ),
});
const post = (body: string, signature?: string) =>
  floe.request("POST", "/v1/integrations/stripe/webhook", {
    body,
    headers: signature === undefined ? {} : { "stripe-signature": signature },
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
const notify = (type: string, intent: object, id = `evt_${newId()}`) => {
  const { body, signature } = standIn.notice(type, intent, webhook_secret, id);
  return post(body, signature);
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

test("the test card form is not served", async () => {
  const body = { card: { number: "4242424242424242", exp_month: 12, exp_year: 2040, cvc: "123" } };
  expect((await floe.request("POST", "/v1/payment-processor/test/confirmation-tokens", { body })).status).toBe(404);
});

describe("notices", () => {
  const challenge = async () => {
    const checkout = await create();
    const answer = await confirm(checkout.client_secret, "ctoken_threeDSecure2Required");
    expect(answer.json).toMatchObject({
      payment_processor_metadata: {
        publishable_key: "pk_test_1",
        intent_status: "requires_action",
        intent_client_secret: expect.any(String),
      },
    });
    return { checkout, intent: await intentOf(checkout.id) };
  };

  test("CHK-51: the sale is made once Stripe has said so, and once only", async () => {
    const { checkout, intent } = await challenge();
    standIn.authenticate(intent.client_secret, true);
    for (let times = 0; times < 3; times += 1)
      expect((await notify("payment_intent.succeeded", intent, "evt_same")).json).toEqual({ received: true });
    await notify("payment_intent.succeeded", intent);
    expect((await outcome(checkout.id)).status).toBe("confirmed");
    await floe.runJobs();
    expect(await outcome(checkout.id)).toEqual({ status: "succeeded", orders: 1, payments: ["succeeded"] });
    expect(await floe.deps.db.select().from(processorEvents).where(eq(processorEvents.id, "evt_same"))).toHaveLength(1);
  });

  test("what a notice says is not believed: a failure told late does not undo a success", async () => {
    const { checkout, intent } = await challenge();
    standIn.authenticate(intent.client_secret, true);
    await notify("payment_intent.payment_failed", { ...intent, status: "requires_payment_method" });
    await floe.runJobs();
    expect(await outcome(checkout.id)).toEqual({ status: "succeeded", orders: 1, payments: ["succeeded"] });
    await notify("payment_intent.payment_failed", { ...intent, status: "requires_payment_method" });
    await floe.runJobs();
    expect((await outcome(checkout.id)).status).toBe("succeeded");
  });

  test("CHK-55: a refused challenge opens the checkout again", async () => {
    const { checkout, intent } = await challenge();
    standIn.authenticate(intent.client_secret, false);
    await notify("payment_intent.payment_failed", intent);
    await floe.runJobs();
    expect(await outcome(checkout.id)).toEqual({ status: "open", orders: 0, payments: ["failed"] });
  });

  test("unsigned and wrongly signed ones are refused; those of others are accepted and mean nothing", async () => {
    const { checkout, intent } = await challenge();
    standIn.authenticate(intent.client_secret, true);
    const { body } = standIn.notice("payment_intent.succeeded", intent, webhook_secret);
    expect((await post(body)).status).toBe(403);
    expect((await post(body, "t=1,v1=00")).status).toBe(403);
    expect(
      (await post(body, standIn.notice("payment_intent.succeeded", intent, "whsec_another").signature)).status,
    ).toBe(403);
    for (const payment_id of [newId(), "theirs", undefined]) {
      expect(
        (
          await notify("payment_intent.succeeded", {
            ...intent,
            metadata: payment_id ? { ...intent.metadata, payment_id } : {},
          })
        ).status,
      ).toBe(200);
    }
    await floe.runJobs();
    expect((await outcome(checkout.id)).status).toBe("confirmed");
  });

  test("one that names another intent for our payment does not move it", async () => {
    const { checkout, intent } = await challenge();
    const stranger = { ...intent, id: "pi_stranger", status: "succeeded" };
    await notify("payment_intent.succeeded", stranger);
    await floe.runJobs();
    expect(await outcome(checkout.id)).toEqual({ status: "confirmed", orders: 0, payments: ["pending"] });
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
