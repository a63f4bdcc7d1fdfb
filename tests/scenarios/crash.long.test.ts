import { eq } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Processor } from "../../server/platform/processors/processor.ts";
import { testIntents } from "../../server/platform/processors/tables.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { startOnPostgres } from "../support/races.ts";

/** What a crash at a step of a payment leaves behind, and how the sweep mends it: the sale completes, or is cleanly unpaid. */

type Step = "before charging" | "after charging" | "lost for good" | "none";
let step: Step = "none";
const crash = () => {
  throw new Error("the process stops here");
};
const stopping = (processor: Processor): Processor => ({
  ...processor,
  async confirm(charge) {
    if (step === "before charging") crash();
    const intent = await processor.confirm(charge);
    if (step === "after charging") crash();
    return intent;
  },
  retrieve: (attempt) => (step === "lost for good" ? crash() : processor.retrieve(attempt)),
});

let floe: Floe;
let seller: Seller;
let productId: string;
beforeAll(async () => {
  floe = await start({ replace: ({ processor }) => ({ processor: stopping(processor) }) });
  seller = await floe.seller();
  const product = await seller.client.products.create({
    body: { name: "Field guide", prices: [{ amount_type: "fixed", price_amount: 1900 }] },
  });
  productId = product.id;
});
afterAll(() => floe.close());

const buyer = {
  customer_email: "buyer@example.com",
  customer_billing_address: { country: "FR" },
  confirmation_token_id: "pm_card_visa",
};
const confirm = (at: Floe, secret: string, body: object = {}) =>
  at.request("POST", `/v1/checkouts/client/${secret}/confirm`, { body: { ...buyer, ...body } });
const create = () => seller.client.checkouts.create({ body: { products: [productId] } });
const outcome = async (id: string) => ({
  status: (await seller.client.checkouts.get({ params: { id } })).status,
  orders: (await seller.client.orders.list({ query: { checkout_id: id } })).items.length,
  payments: (await seller.client.payments.list({ query: { checkout_id: id, sorting: "created_at" } })).items.map(
    (payment) => payment.status,
  ),
});
const later = async (minutes = 3) => {
  floe.clock.advance(minutes * 60_000);
  await floe.runJobs();
};

describe("the process dies", () => {
  test("after the card was charged: the sale completes, charged once", async () => {
    const checkout = await create();
    step = "after charging";
    expect((await confirm(floe, checkout.client_secret)).status).toBe(200);
    expect(await outcome(checkout.id)).toEqual({ status: "confirmed", orders: 0, payments: ["pending"] });
    step = "none";
    await later();
    expect(await outcome(checkout.id)).toEqual({ status: "succeeded", orders: 1, payments: ["succeeded"] });
    await later();
    expect((await outcome(checkout.id)).orders).toBe(1);
  });

  test("before the card was charged: it is cleanly unpaid, and can be paid", async () => {
    const checkout = await create();
    step = "before charging";
    await confirm(floe, checkout.client_secret);
    step = "none";
    await later();
    expect(await outcome(checkout.id)).toEqual({ status: "open", orders: 0, payments: ["failed"] });
    expect((await confirm(floe, checkout.client_secret)).status).toBe(200);
    expect(await outcome(checkout.id)).toEqual({ status: "succeeded", orders: 1, payments: ["failed", "succeeded"] });
  });

  test("with the card declined: the checkout opens again", async () => {
    const checkout = await create();
    step = "after charging";
    await confirm(floe, checkout.client_secret, { confirmation_token_id: "pm_card_chargeDeclined" });
    step = "none";
    await later();
    expect(await outcome(checkout.id)).toEqual({ status: "open", orders: 0, payments: ["failed"] });
  });

  test("and the processor is down for an hour: nothing is guessed, and it completes afterwards", async () => {
    const checkout = await create();
    step = "after charging";
    await confirm(floe, checkout.client_secret);
    step = "lost for good";
    for (let tries = 0; tries < 20; tries += 1) await later();
    expect(await outcome(checkout.id)).toEqual({ status: "confirmed", orders: 0, payments: ["pending"] });
    step = "none";
    // What has failed for an hour is tried again a quarter of an hour later.
    await later(16);
    expect(await outcome(checkout.id)).toEqual({ status: "succeeded", orders: 1, payments: ["succeeded"] });
  });

  test("with a free checkout confirmed: the sweep finishes it", async () => {
    const free = await seller.client.products.create({
      body: { name: "Free sample", prices: [{ amount_type: "free" }] },
    });
    const checkout = await seller.client.checkouts.create({ body: { products: [free.id] } });
    await confirm(floe, checkout.client_secret);
    expect((await outcome(checkout.id)).status).toBe("confirmed");
    await floe.runJobs();
    expect(await outcome(checkout.id)).toEqual({ status: "succeeded", orders: 1, payments: [] });
  });
});

describe("fifty at once, on PostgreSQL", () => {
  let real: Floe;
  beforeAll(async () => {
    real = await startOnPostgres();
  });
  afterAll(() => real?.close());

  test("CHK-54: confirming one checkout makes one order, one payment and one intent", async () => {
    const shop = await real.seller();
    const product = await shop.client.products.create({
      body: { name: "Field guide", prices: [{ amount_type: "fixed", price_amount: 1900 }] },
    });
    const checkout = await shop.client.checkouts.create({ body: { products: [product.id] } });
    const answers = await Promise.all(Array.from({ length: 50 }, () => confirm(real, checkout.client_secret)));
    const counted = Map.groupBy(answers, ({ status }) => status);
    expect(counted.get(200)).toHaveLength(1);
    expect([...counted.keys()].sort()).toEqual(expect.arrayContaining([200]));
    expect([...counted.keys()].every((status) => [200, 403, 409].includes(status))).toBe(true);
    expect((await shop.client.orders.list({ query: {} })).items).toMatchObject([
      { status: "paid", total_amount: 1900 },
    ]);
    const paid = (await shop.client.payments.list({ query: {} })).items;
    expect(paid).toMatchObject([{ status: "succeeded" }]);
    const intents = await real.deps.db.select().from(testIntents).where(eq(testIntents.amount, 1900));
    expect(intents).toHaveLength(1);
    expect((await shop.client.customers.list({ query: {} })).items).toHaveLength(1);
  });

  test("CUS-03: fifty first sales to one address make one customer, and fifty invoices without a gap", async () => {
    const shop = await real.seller("crowd");
    const product = await shop.client.products.create({
      body: { name: "Field guide", prices: [{ amount_type: "fixed", price_amount: 700 }] },
    });
    const checkouts = await Promise.all(
      Array.from({ length: 50 }, () => shop.client.checkouts.create({ body: { products: [product.id] } })),
    );
    const answers = await Promise.all(checkouts.map((checkout) => confirm(real, checkout.client_secret)));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    expect((await shop.client.customers.list({ query: {} })).items).toHaveLength(1);
    const orders = await shop.client.orders.list({ query: { limit: 100, sorting: "invoice_number" } });
    expect(orders.items.map((order) => Number(order.invoice_number.slice(-4)))).toEqual(
      Array.from({ length: 50 }, (_, index) => index + 1),
    );
  });

  test("the processor's word and the sweep at the same time finish a payment once", async () => {
    const shop = await real.seller("races");
    const product = await shop.client.products.create({
      body: { name: "Field guide", prices: [{ amount_type: "fixed", price_amount: 900 }] },
    });
    const checkout = await shop.client.checkouts.create({ body: { products: [product.id] } });
    const answer = await confirm(real, checkout.client_secret, {
      confirmation_token_id: "pm_card_threeDSecure2Required",
    });
    const secret = (answer.json as { payment_processor_metadata: { intent_client_secret: string } })
      .payment_processor_metadata.intent_client_secret;
    real.clock.advance(3 * 60_000);
    const approve = () =>
      real.request("POST", `/v1/payment-processor/test/intents/${secret}/authenticate`, { body: { approved: true } });
    await Promise.all([...Array.from({ length: 20 }, approve), real.runJobs(), real.runJobs()]);
    expect((await shop.client.orders.list({ query: {} })).items).toHaveLength(1);
    expect((await shop.client.payments.list({ query: {} })).items).toMatchObject([{ status: "succeeded" }]);
  });
});
