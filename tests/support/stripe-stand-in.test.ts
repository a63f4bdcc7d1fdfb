import Stripe from "stripe";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { apiVersion } from "./stripe-description.ts";
import { type StripeStandIn, startStripe } from "./stripe-stand-in.ts";

/** The stand-in itself: it knows what Stripe knows and refuses what Stripe refuses, so that a test with it says something. */

let standIn: StripeStandIn;
let stripe: Stripe;
beforeEach(async () => {
  standIn = await startStripe();
  const { hostname: host, port } = new URL(standIn.url);
  stripe = new Stripe("sk_test_1", {
    host,
    port,
    protocol: "http",
    apiVersion: apiVersion as Stripe.LatestApiVersion,
    maxNetworkRetries: 0,
    telemetry: false,
  });
});
afterEach(async () => {
  await standIn.close();
});

const good = { amount: 1900, currency: "usd", confirm: true, payment_method: "pm_card_visa" };
const headers = {
  authorization: "Bearer sk_test_1",
  "stripe-version": apiVersion,
  "content-type": "application/x-www-form-urlencoded",
};
const ask = (method: string, path: string, body?: string, more: Record<string, string> = {}) =>
  fetch(`${standIn.url}${path}`, { method, headers: { ...headers, ...more }, ...(body === undefined ? {} : { body }) });

test.each<[string, string, string, string?, Record<string, string>?]>([
  ["a path that Stripe lacks", "GET", "/v1/payment_intent/pi_1"],
  ["a method that a path lacks", "DELETE", "/v1/payment_intents/pi_1"],
  ["an unknown parameter", "POST", "/v1/payment_intents", "amount=1900&currency=usd&color=red"],
  [
    "one below the first level",
    "POST",
    "/v1/payment_intents",
    "amount=1900&currency=usd&automatic_payment_methods[enabled]=true&automatic_payment_methods[never]=1",
  ],
  ["a wrong type", "POST", "/v1/payment_intents", "amount=much&currency=usd"],
  ["part of a unit", "POST", "/v1/payment_intents", "amount=19.5&currency=usd"],
  ["a word that is none of those listed", "POST", "/v1/refunds", "payment_intent=pi_1&reason=regret"],
  ["a required parameter left out", "POST", "/v1/payment_intents", "amount=1900"],
  ["an unknown one in the query", "GET", "/v1/payment_intents?color=red"],
  ["a wrong type in the query", "GET", "/v1/payment_intents?limit=all"],
  ["a body with what takes none", "GET", "/v1/customers/search"],
  ["another version", "GET", "/v1/refunds/re_1", undefined, { "stripe-version": "2020-08-27" }],
  ["no key", "GET", "/v1/refunds/re_1", undefined, { authorization: "" }],
  ["a body that is no form", "POST", "/v1/refunds", "{}", { "content-type": "application/json" }],
])("refuses %s, and says so at its end", async (_name, method, path, body, more) => {
  expect((await ask(method, path, body, more)).status).toBe(400);
  const other = await startStripe();
  const [fault] = standIn.takeFaults();
  expect(fault).toContain(path.split("?")[0]?.replace(/\/(re|pi)_1$/, ""));
  await other.close();
});

test("whoever spoke to it wrongly is told when it is closed", async () => {
  const other = await startStripe();
  await fetch(`${other.url}/v1/nothing`);
  await expect(other.close()).rejects.toThrow("there is no GET /v1/nothing");
});

describe("idempotency keys", () => {
  const one = { idempotencyKey: "key-1" };
  test("the same request again is answered as the first, a refusal too, for a day", async () => {
    const first = await stripe.paymentIntents.create(good, one);
    expect(await stripe.paymentIntents.create(good, one)).toEqual(first);
    standIn.advance(86_401);
    expect((await stripe.paymentIntents.create(good, one)).id).not.toBe(first.id);
    const declined = { ...good, payment_method: "pm_card_chargeDeclined" };
    for (let times = 0; times < 2; times += 1)
      await expect(stripe.paymentIntents.create(declined, { idempotencyKey: "key-2" })).rejects.toThrow("declined");
    expect(standIn.intents.size).toBe(3);
  });
  test("another request under the same key is refused, and is a fault", async () => {
    await stripe.paymentIntents.create(good, one);
    await expect(stripe.paymentIntents.create({ ...good, amount: 2000 }, one)).rejects.toThrow("same parameters");
    expect(standIn.takeFaults()).toHaveLength(1);
    expect(standIn.intents.size).toBe(1);
  });
  test("while the first is being done, the second is told to wait", async () => {
    standIn.wait(200);
    const [first, second] = await Promise.allSettled([
      stripe.paymentIntents.create(good, one),
      stripe.paymentIntents.create(good, one),
    ]);
    expect([first.status, second.status].sort()).toEqual(["fulfilled", "rejected"]);
    expect(standIn.intents.size).toBe(1);
  });
});

describe("trouble", () => {
  const charge = () => stripe.paymentIntents.create(good, { idempotencyKey: "key" });
  test.each([
    ["lost", "StripeConnectionError", 1],
    ["unreached", "StripeConnectionError", 0],
    ["rate_limit", "StripeRateLimitError", 0],
    ["broken", "StripeAPIError", 1],
  ] as const)("%s is a %s, with %d intents made", async (trouble, type, made) => {
    // The package asks once more by itself where a connection was closed.
    standIn.trouble(trouble, { times: type === "StripeConnectionError" ? 2 : 1 });
    await expect(charge()).rejects.toMatchObject({ type });
    expect(standIn.intents.size).toBe(made);
    if (trouble === "broken") await expect(charge()).rejects.toMatchObject({ type });
    else expect((await charge()).status).toBe("succeeded");
    expect(standIn.intents.size).toBe(1);
  });
});

test("what is newer than a minute is not found by a search", async () => {
  const { id } = await stripe.customers.create({ metadata: { customer_id: "c-1" } });
  const search = async () =>
    (await stripe.customers.search({ query: "metadata['customer_id']:'c-1'" })).data.map((one) => one.id);
  expect(await search()).toEqual([]);
  standIn.advance(61);
  expect(await search()).toEqual([id]);
});

test("a token from the card form is good for one use", async () => {
  const card = { brand: "visa", last4: "4242", exp_month: 12, exp_year: 2040 };
  const confirmation_token = standIn.tokenize({ card, scenario: "success" });
  const charge = () =>
    stripe.paymentIntents.create({ amount: 1900, currency: "usd", confirm: true, confirmation_token });
  const { payment_method_preview } = await stripe.confirmationTokens.retrieve(confirmation_token);
  expect(payment_method_preview?.card).toMatchObject({ last4: "4242", fingerprint: expect.any(String) });
  expect((await charge()).status).toBe("succeeded");
  await expect(charge()).rejects.toThrow("already been used");
});

test("its events carry the objects as Stripe describes them", async () => {
  const customer = (await stripe.customers.create({})).id;
  const { id } = await stripe.paymentIntents.create({ ...good, customer, setup_future_usage: "off_session" });
  await stripe.setupIntents.create({ customer, confirm: true, payment_method: "pm_card_visa" });
  const refund = await stripe.refunds.create({ payment_intent: id, amount: 500 });
  standIn.moveRefund(refund.id, "failed", "lost_or_stolen_card");
  standIn.moveDispute(standIn.dispute(id).id, "won");
  expect(standIn.eventsOf(/./).map(({ type }) => type)).toEqual([
    "payment_intent.created",
    "payment_intent.succeeded",
    "setup_intent.created",
    "setup_intent.succeeded",
    "refund.created",
    "refund.failed",
    "charge.dispute.created",
    "charge.dispute.closed",
  ]);
});
