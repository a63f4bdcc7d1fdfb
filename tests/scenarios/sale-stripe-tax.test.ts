import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { recordProcessorEvent } from "../../server/billing/payments/notices.ts";
import { readSettings } from "../../server/platform/config.ts";
import type { TaxCalculator } from "../../server/platform/processors/tax-calculator.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { type StripeStandIn, startStripe } from "../support/stripe-stand-in.ts";

/** Sales whose tax Stripe computes and files: what is asked when, what goes wrong on the way, and what is reported of them. */

let floe: Floe;
let seller: Seller;
let standIn: StripeStandIn;
let real: TaxCalculator;
beforeAll(async () => {
  standIn = await startStripe();
  floe = await start({
    settings: {
      STRIPE_SECRET_KEY: "sk_test_1",
      STRIPE_PUBLISHABLE_KEY: "pk_test_1",
      STRIPE_API_URL: standIn.url,
      FLOE_TAX: "stripe",
    },
  });
  standIn.follow(floe.clock);
  seller = await floe.seller();
  if (!floe.deps.processors.tax) throw new Error("Nobody computes tax.");
  real = floe.deps.processors.tax;
});
afterAll(async () => {
  await floe?.close();
  await standIn?.close();
});
afterEach(() => {
  standIn.calm();
  floe.deps.processors.tax = real;
});

const usual = { amount_type: "fixed" as const, price_amount: 1000, price_currency: "usd" as const };
const product = async (price: object, more: object = {}): Promise<string> =>
  (await seller.client.products.create({ body: { name: "Guide", prices: [{ ...usual, ...price }], ...more } })).id;
const open = async (price: object = { tax_behavior: "exclusive" }, body: object = {}, more: object = {}) =>
  seller.client.checkouts.create({ body: { products: [await product(price, more)], ...body } });
const at = (country: string, more: object = {}) => ({ customer_billing_address: { country, ...more } });
const change = (client_secret: string, body: object) =>
  floe.client().checkoutClient.update({ params: { client_secret }, body });
let buyers = 0;
const confirm = (client_secret: string, body: object = {}) => {
  buyers += 1;
  const buyer = { customer_email: `buyer-${buyers}@example.com`, confirmation_token_id: "ctoken_visa" };
  return floe.request("POST", `/v1/checkouts/client/${client_secret}/confirm`, { body: { ...buyer, ...body } });
};
const amounts = ({ net_amount, tax_amount, total_amount, tax_behavior }: Record<string, unknown>) => [
  net_amount,
  tax_amount,
  total_amount,
  tax_behavior,
];
const asked = () => standIn.requests.filter(({ path }) => path === "/v1/tax/calculations").length;
const orderOf = async (checkout_id: string) => (await seller.client.orders.list({ query: { checkout_id } })).items[0];
/** What Stripe Tax was told of an order and its refunds. */
const reported = (...references: string[]) =>
  references.flatMap((reference) =>
    [...standIn.tax_transactions.values()]
      .filter((one) => one.reference === reference)
      .flatMap((one) => one.line_items.data.map(({ amount, amount_tax }) => [amount, amount_tax])),
  );
const outcome = async (id: string) => ({
  status: (await seller.client.checkouts.get({ params: { id } })).status,
  orders: (await seller.client.orders.list({ query: { checkout_id: id } })).items.length,
  charged: [...standIn.intents.values()].filter(({ status }) => status === "succeeded").length,
});
/** Something that happens once, between Stripe's answer about tax and what is made of it. */
const meanwhile = (happens: () => Promise<unknown>) => {
  floe.deps.processors.tax = {
    ...real,
    async calculate(request) {
      const answer = await real.calculate(request);
      floe.deps.processors.tax = real;
      await happens();
      return answer;
    },
  };
};
const killed = () => Promise.reject(new Error("killed"));

test.each([
  ["exclusive", [1000, 200, 1200, "exclusive"], [1000, 200]],
  ["inclusive", [833, 167, 1000, "inclusive"], [1000, 167]],
] as const)(
  "a sale with %s tax: shown, charged, explained and reported to the cent",
  async (tax_behavior, figures, told) => {
    const made = await open({ tax_behavior });
    expect(amounts(made)).toEqual([1000, null, 1000, null]);
    const shown = await change(made.client_secret, at("FR"));
    expect(amounts(shown)).toEqual(figures);
    const before = asked();
    expect((await confirm(made.client_secret, { quote: shown.quote })).json).toMatchObject({
      total_amount: figures[2],
    });
    expect(asked()).toBe(before);
    await floe.runJobs();
    const order = await orderOf(made.id);
    expect(order).toMatchObject({ net_amount: figures[0], tax_amount: figures[1], total_amount: figures[2] });
    const intent = [...standIn.intents.values()].at(-1);
    expect(intent?.amount).toBe(figures[2]);
    const { steps, derivation } = await seller.client.orders.explain({ params: { id: order?.id ?? "" } });
    expect(derivation.tax).toMatchObject({
      source: { name: "Stripe Tax" },
      given: { rates: [{ amount: figures[1] }] },
    });
    expect(steps.find(({ rule }) => rule === "tax_given")).toMatchObject({ amount: figures[1] });
    expect(reported(order?.id ?? "")).toEqual([told]);
  },
);

test("Stripe is asked again only for what it has not been asked", async () => {
  const made = await open(undefined, at("DE"));
  expect(made.tax_amount).toBe(190);
  const first = asked();
  await change(made.client_secret, { customer_name: "Grace" });
  await seller.client.checkouts.update({ params: { id: made.id }, body: { metadata: { a: "b" } } });
  expect(asked()).toBe(first);
  expect((await change(made.client_secret, at("FR"))).tax_amount).toBe(200);
  expect(asked()).toBe(first + 1);
});

test("nobody is asked where nothing is paid, and a business elsewhere in the union accounts for the tax itself", async () => {
  const before = asked();
  const free = await open({ amount_type: "free" }, at("FR"));
  expect([free.tax_amount, free.total_amount]).toEqual([0, 0]);
  expect(asked()).toBe(before);
  const made = await open();
  const number = { ...at("FR"), customer_tax_id: "FR40303265045" };
  expect(amounts(await change(made.client_secret, number))).toEqual([1000, 0, 1000, null]);
  expect(
    (
      await confirm(made.client_secret, {
        customer_billing_name: "Curie SA",
        ...at("FR", { line1: "1 Rue", city: "Paris", postal_code: "75001" }),
      })
    ).status,
  ).toBe(200);
  await floe.runJobs();
  expect(reported((await orderOf(made.id))?.id ?? "")).toEqual([[1000, 0]]);
});

test("a trial is not reported: nothing is sold with it yet", async () => {
  const trial = { recurring_interval: "month", trial_interval: "day", trial_interval_count: 7 };
  const made = await open(undefined, at("FR"), trial);
  expect(made.tax_amount).toBe(200);
  expect((await confirm(made.client_secret)).status).toBe(200);
  await floe.runJobs();
  const order = await orderOf(made.id);
  expect(order).toMatchObject({ tax_amount: 0, total_amount: 0 });
  expect(reported(order?.id ?? "")).toEqual([]);
});

test("an address that is changed while Stripe computes is not taxed as the one before", async () => {
  const made = await open();
  meanwhile(() => change(made.client_secret, at("DE")));
  expect((await change(made.client_secret, at("FR"))).tax_amount).toBe(190);
  meanwhile(() => change(made.client_secret, at("DE")));
  const answer = await confirm(made.client_secret, at("GR"));
  expect([answer.status, answer.json]).toMatchObject([200, { tax_amount: 240, total_amount: 1240 }]);
});

test("a checkout that is paid while Stripe computes for an update stays what was paid", async () => {
  const made = await open();
  let paid: { status: number } | undefined;
  meanwhile(async () => {
    paid = await confirm(made.client_secret, at("DE"));
  });
  await change(made.client_secret, at("FR"));
  expect(paid?.status).toBe(200);
  await floe.runJobs();
  expect(await orderOf(made.id)).toMatchObject({ tax_amount: 190, total_amount: 1190 });
  expect(await seller.client.checkouts.get({ params: { id: made.id } })).toMatchObject({ tax_amount: 190 });
});

test("CHK-18, CHK-48: without Stripe a checkout goes on with its tax unknown, and is not confirmed", async () => {
  const of = /tax.calculations/;
  standIn.trouble("unreached", { of, times: 9 });
  const made = await open();
  const shown = await change(made.client_secret, at("FR"));
  expect(amounts(shown)).toEqual([1000, null, 1000, null]);
  expect(floe.logged.join("\n")).toContain("The tax of a checkout was not computed.");
  const before = await outcome(made.id);
  const refused = await confirm(made.client_secret, { quote: shown.quote });
  expect([refused.status, refused.json]).toMatchObject([
    422,
    { detail: [{ loc: ["body", "customer_billing_address"], msg: "The tax for this address cannot be computed." }] },
  ]);
  expect(await outcome(made.id)).toEqual({ ...before, status: "open", orders: 0 });
  standIn.calm();
  // What the buyer was shown had no tax, so they are shown what is due now.
  const changed = await confirm(made.client_secret, { quote: shown.quote });
  expect([changed.status, changed.json]).toMatchObject([409, { checkout: { tax_amount: 200, total_amount: 1200 } }]);
  const { quote } = (changed.json as { checkout: { quote: string } }).checkout;
  expect((await confirm(made.client_secret, { quote })).status).toBe(200);
});

test("an address that Stripe does not find stays untaxed while it is typed, and is refused at its place", async () => {
  const made = await open();
  const texas = { state: "TX", line1: "1 Way", city: "Austin", postal_code: "nowhere" };
  expect((await change(made.client_secret, at("US", texas))).tax_amount).toBeNull();
  expect((await confirm(made.client_secret)).json).toMatchObject({
    detail: [{ loc: ["body", "customer_billing_address"] }],
  });
  const answer = await confirm(made.client_secret, at("US", { ...texas, postal_code: "73301" }));
  expect([answer.status, answer.json]).toMatchObject([200, { tax_amount: 83, total_amount: 1083 }]);
});

test("killed between Stripe's answer and what is written of it, a checkout is as it was, and goes on", async () => {
  meanwhile(killed);
  const id = await product({ tax_behavior: "exclusive" });
  const body = { products: [id], ...at("FR") };
  expect((await floe.request("POST", "/v1/checkouts/", { token: seller.key, body })).status).toBe(500);
  const [made] = (await seller.client.checkouts.list({ query: { product_id: id } })).items;
  expect(made).toMatchObject({ status: "open", tax_amount: null });
  const secret = made?.client_secret ?? "";
  meanwhile(killed);
  expect((await confirm(secret)).status).toBe(500);
  expect(await outcome(made?.id ?? "")).toMatchObject({ status: "open", orders: 0 });
  expect((await confirm(secret)).json).toMatchObject({ tax_amount: 200, total_amount: 1200 });
});

test("a repeated creation is one checkout, whether or not Stripe was asked for it", async () => {
  const id = await product({ tax_behavior: "exclusive" });
  const create = () =>
    floe.request("POST", "/v1/checkouts/", {
      token: seller.key,
      body: { products: [id], ...at("FR") },
      headers: { "idempotency-key": "one" },
    });
  meanwhile(killed);
  expect((await create()).status).toBe(500);
  const second = await create();
  expect((await create()).json).toEqual(second.json);
  expect((await seller.client.checkouts.list({ query: { product_id: id } })).items).toHaveLength(1);
});

test("RFD-05: what goes back is reported with its share of the tax, the rest with the rest, and what came back is undone", async () => {
  const made = await open({ tax_behavior: "inclusive", price_amount: 9999 }, at("FR"));
  await confirm(made.client_secret);
  const order = await orderOf(made.id);
  const order_id = order?.id ?? "";
  expect(order).toMatchObject({ net_amount: 8332, tax_amount: 1667 });
  // Refunds are told of after the sale, even where nobody could be told of that before.
  standIn.trouble("unreached", { of: /tax.transactions/, times: 999 });
  const give = (amount: number) =>
    seller.client.refunds.create({ body: { order_id, amount, reason: "customer_request" } });
  const part = await give(1001);
  expect(part).toMatchObject({ status: "succeeded", amount: 1001, tax_amount: 200 });
  await floe.runJobs();
  expect(reported(order_id, part.id)).toEqual([]);
  standIn.calm();
  // Stripe's answers are lost: it is told again, and was told once.
  standIn.trouble("lost", { of: /tax.transactions/, times: 7 });
  const rest = await give(8332 - 1001);
  for (let turn = 0; turn < 6; turn += 1) {
    floe.clock.advance(20 * 60_000);
    await floe.runJobs();
  }
  expect(reported(order_id, part.id, rest.id)).toEqual([
    [9999, 1667],
    [-1201, -200],
    [-8798, -1467],
  ]);
  expect(standIn.tax_transactions.size).toBe(
    new Set([...standIn.tax_transactions.values()].map((one) => one.reference)).size,
  );
});

/** The bank does not take the money after all, and Stripe tells of it. */
async function failRefund(refund_id: string): Promise<void> {
  const at_stripe = [...standIn.refunds.values()].find(({ metadata }) => metadata.refund_id === refund_id);
  const intent = standIn.intents.get(String(at_stripe?.payment_intent));
  standIn.moveRefund(at_stripe?.id ?? "", "failed", "lost_or_stolen_card");
  await recordProcessorEvent(floe.deps, {
    kind: "refund",
    id: `evt_${refund_id}`,
    account: floe.deps.processor.account,
    organization_id: seller.organization_id,
    payment_id: intent?.metadata.payment_id ?? "",
    intent_processor_id: intent?.id ?? "",
    processor_id: at_stripe?.id ?? "",
    refund_id,
  });
  await floe.runJobs();
}

test("a refund that fails in the end is taken back at Stripe Tax too", async () => {
  const made = await open(undefined, at("DE"));
  await confirm(made.client_secret);
  const order_id = (await orderOf(made.id))?.id ?? "";
  const refund = await seller.client.refunds.create({ body: { order_id, amount: 100, reason: "customer_request" } });
  await floe.runJobs();
  expect(reported(refund.id)).toEqual([[-100, -19]]);
  await failRefund(refund.id);
  expect(await orderOf(made.id)).toMatchObject({ refunded_amount: 0 });
  expect(reported(`${refund.id}_undone`)).toEqual([[100, 19]]);
});

test("FLOE_TAX=stripe is refused without the account that it would ask", () => {
  expect(() => readSettings({ FLOE_TAX: "stripe" }, {})).toThrow("FLOE_TAX=stripe needs STRIPE_SECRET_KEY");
  expect(() => readSettings({ FLOE_TAX: "elsewhere" }, {})).toThrow("FLOE_TAX");
  expect(readSettings({}, {}).FLOE_TAX).toBe("registrations");
});
