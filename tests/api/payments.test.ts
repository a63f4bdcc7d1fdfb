import { eq } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { payments } from "../../server/billing/payments/tables.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";

let floe: Floe;
let seller: Seller;
let [cheap, dear]: { id: string; client_secret: string }[] = [];
beforeAll(async () => {
  floe = await start();
  seller = await floe.seller();
  const open = async (name: string, price_amount: number) => {
    const product = await seller.client.products.create({
      body: { name, prices: [{ amount_type: "fixed", price_amount }] },
    });
    return seller.client.checkouts.create({ body: { products: [product.id] } });
  };
  [cheap, dear] = [await open("Map", 700), await open("Guide", 1900)];
  const pay = async (client_secret: string, email: string, confirmation_token_id: string) => {
    const body = { customer_email: email, customer_billing_address: { country: "FR" }, confirmation_token_id };
    const answer = await floe.request("POST", `/v1/checkouts/client/${client_secret}/confirm`, { body });
    floe.clock.advance(1000);
    return answer.status;
  };
  expect(await pay(cheap.client_secret, "ada@example.com", "pm_card_chargeDeclinedInsufficientFunds")).toBe(400);
  expect(await pay(cheap.client_secret, "ada@example.com", "pm_card_mastercard")).toBe(200);
  expect(await pay(dear.client_secret, "bob@example.com", "pm_card_threeDSecure2Required")).toBe(200);
});
afterAll(() => floe.close());

const list = async (query: object = {}) => (await seller.client.payments.list({ query })).items;
const amounts = async (query: object) => (await list(query)).map(({ amount, status }) => `${amount} ${status}`);

describe("payments", () => {
  test("a success names its order and its card in four digits", async () => {
    const [order] = (await seller.client.orders.list({ query: {} })).items;
    const [payment] = await list({ status: "succeeded" });
    expect(payment).toMatchObject({
      processor: "stripe",
      status: "succeeded",
      amount: 700,
      currency: "usd",
      method: "card",
      method_metadata: { brand: "mastercard", last4: "4444" },
      trigger: "purchase",
      decline_reason: null,
      decline_message: null,
      organization_id: seller.organization_id,
      checkout_id: cheap?.id,
      order_id: order?.id,
    });
    expect(await seller.client.payments.get({ params: { id: payment?.id ?? "" } })).toEqual(payment);
  });

  test("a failure stays on record with its reason, and names the order that was paid after all", async () => {
    const [order] = (await seller.client.orders.list({ query: {} })).items;
    const [payment] = await list({ status: "failed" });
    expect(payment).toMatchObject({
      decline_reason: "insufficient_funds",
      decline_message: "Your card has insufficient funds.",
      order_id: order?.id,
      checkout_id: cheap?.id,
    });
  });

  test("while nobody has paid there is no order to be named, or asked for", async () => {
    const [payment] = await list({ status: "pending" });
    expect(payment).toMatchObject({ order_id: null, checkout_id: dear?.id });
    const [row] = await floe.deps.db.select().from(payments).where(eq(payments.status, "pending"));
    expect(await amounts({ order_id: row?.order_id ?? "" })).toEqual([]);
    const answer = await floe.request("GET", `/v1/orders/${row?.order_id}`, { token: seller.key });
    expect(answer.status).toBe(404);
    const patched = { token: seller.key, body: { billing_name: "Eve" } };
    expect((await floe.request("PATCH", `/v1/orders/${row?.order_id}`, patched)).status).toBe(404);
  });

  test("what is only the server's stays there", async () => {
    const answer = await floe.request("GET", "/v1/payments/", { token: seller.key });
    for (const secret of ["client_secret", "confirmation_token_id", "reconcile_due_at", "exp_month", "pm_card"])
      expect(answer.text).not.toContain(secret);
  });

  test("lists filter and sort", async () => {
    expect(await amounts({})).toEqual(["1900 pending", "700 succeeded", "700 failed"]);
    expect(await amounts({ checkout_id: dear?.id })).toEqual(["1900 pending"]);
    expect(await amounts({ status: ["failed", "pending"] })).toEqual(["1900 pending", "700 failed"]);
    expect(await amounts({ method: "card" })).toHaveLength(3);
    expect(await amounts({ method: "ideal" })).toEqual([]);
    expect(await amounts({ customer_email: "ADA@example.com" })).toHaveLength(2);
    const [bought] = await list({ status: "succeeded" });
    expect(await amounts({ order_id: bought?.order_id ?? "" })).toEqual(["700 succeeded", "700 failed"]);
    const [ada] = (await seller.client.customers.list({ query: { email: "ada@example.com" } })).items;
    expect(await amounts({ customer_id: ada?.id ?? "" })).toHaveLength(2);
    expect(await amounts({ sorting: "-amount" })).toEqual(["1900 pending", expect.any(String), expect.any(String)]);
    expect(await amounts({ sorting: "status" })).toEqual(["700 failed", "1900 pending", "700 succeeded"]);
    expect((await seller.client.payments.list({ query: { limit: 2 } })).pagination).toEqual({
      total_count: 3,
      max_page: 2,
    });
  });
});

describe("the card form keeps and repeats nothing of a card it does not take", () => {
  const number = "4111111111111111";
  test.each([
    ["another number", { number, exp_month: 12, exp_year: 2040, cvc: "987" }],
    ["a number as a number", { number: Number(number), exp_month: 12, exp_year: 2040, cvc: "987" }],
    [
      "a number with text around it",
      { number: `${number} is the card of Mrs. Nobody, who lives here`, exp_month: 12, exp_year: 2040, cvc: "987" },
    ],
    ["a code that is too long", { number, exp_month: 12, exp_year: 2040, cvc: `987${number}` }],
  ])("%s", async (_, card) => {
    const answer = await floe.request("POST", "/v1/payment-processor/test/confirmation-tokens", { body: { card } });
    expect(answer.status).toBe(422);
    expect(answer.text).not.toContain(number);
    expect(answer.text).not.toContain("987");
    expect(floe.logged.join("\n")).not.toContain(number);
  });

  test("an unknown challenge is 404, and bad answers 422", async () => {
    const answer = (body: unknown) =>
      floe.request("POST", "/v1/payment-processor/test/intents/pi_nothing/authenticate", { body });
    expect((await answer({ approved: true })).status).toBe(404);
    for (const body of [{}, { approved: "yes" }, [], "null"]) expect((await answer(body)).status).toBe(422);
  });
});
