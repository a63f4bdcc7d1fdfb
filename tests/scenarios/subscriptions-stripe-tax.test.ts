import { readFileSync } from "node:fs";
import { and, eq, isNull, sql } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { recordProcessorEvent } from "../../server/billing/payments/notices.ts";
import { taxReports } from "../../server/billing/tax-reports/tables.ts";
import { customers } from "../../server/customers/customers/tables.ts";
import type { TaxCalculator } from "../../server/platform/processors/tax-calculator.ts";
import { type Floe, start } from "../support/floe.ts";
import { openShop } from "../support/story.ts";
import { type StripeStandIn, startStripe } from "../support/stripe-stand-in.ts";

/** Subscriptions whose tax Stripe computes and files: renewals, changes, what goes back, and what goes wrong on the way. */

let floe: Floe;
let standIn: StripeStandIn;
let real: TaxCalculator;
let shop: Awaited<ReturnType<typeof openShop>>;
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

const calculations = { of: /tax.calculations/, times: 99 };
/** Somebody in France subscribes on the first of March, for 10.00 and the tax a month. */
async function begin(more: object = {}, amount = 1000) {
  shop = await openShop(floe, "2027-03-01");
  const price = { amount_type: "fixed", price_amount: amount, tax_behavior: "exclusive", ...more };
  const product = await shop.sells("Pro", [price]);
  const id = await shop.subscribes(product, {
    buyer: { confirmation_token_id: "ctoken_visa", customer_billing_address: { country: "FR" } },
  });
  return { id, product, customer_id: (await shop.get(id)).customer_id };
}
const moves = (customer_id: string, country: string) =>
  shop.accepted("PATCH", `/v1/customers/${customer_id}`, { billing_address: { country } });
const last = async (id: string) => {
  const query = { subscription_id: [id], limit: 1 } as never;
  const [order] = (await shop.seller.client.orders.list({ query })).items;
  if (!order) throw new Error("There is no order.");
  return order;
};
/** What Stripe Tax was told under these names. */
const reported = (...references: string[]) =>
  references.flatMap((reference) =>
    [...standIn.tax_transactions.values()]
      .filter((one) => one.reference === reference)
      .flatMap((one) => one.line_items.data.map(({ amount, amount_tax }) => [amount, amount_tax])),
  );
const asked = () => standIn.requests.filter(({ path }) => path === "/v1/tax/calculations").length;
const charged = () => [...standIn.intents.values()].filter(({ status }) => status === "succeeded").length;
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

test.each([
  ["exclusive", [1000, 200, 1200], [1000, 200], [-500, -100]],
  ["inclusive", [833, 167, 1000], [1000, 167], [-600, -100]],
])(
  "a renewal with %s tax is billed, explained, reported and refunded to the cent",
  async (tax_behavior, figures, told, back) => {
    const { id } = await begin({ tax_behavior });
    const before = asked();
    await shop.on("2027-04-01");
    expect(asked()).toBe(before + 1);
    const order = await last(id);
    expect([order.net_amount, order.tax_amount, order.total_amount, order.status]).toEqual([...figures, "paid"]);
    const { derivation } = await shop.seller.client.orders.explain({ params: { id: order.id } });
    expect(derivation.tax).toMatchObject({
      source: { name: "Stripe Tax" },
      given: { rates: [{ amount: figures[1] }] },
    });
    expect(reported(order.id)).toEqual([told]);
    const refund = await shop.accepted("POST", "/v1/refunds/", { order_id: order.id, amount: 500, reason: "other" });
    await floe.runJobs();
    expect(reported(String(refund.id))).toEqual([back]);
  },
);

test("while Stripe is away a renewal waits, and is billed once when it is back, for its own period", async () => {
  const { id } = await begin();
  const before = charged();
  standIn.trouble("unreached", calculations);
  await shop.on("2027-04-01");
  expect(await shop.orders(id)).toEqual(["2027-03-01 create 1200 paid"]);
  expect(await shop.state(id)).toBe("active 1000 2027-03-01 to 2027-04-01");
  expect(floe.logged.join("\n")).toContain("The tax of a subscription was not computed.");
  standIn.calm();
  // It is looked at again after a pause, not at once.
  await floe.runJobs();
  expect(await shop.orders(id)).toHaveLength(1);
  await shop.on("2027-04-01T00:10:00Z");
  await floe.runJobs();
  expect(await shop.orders(id)).toEqual(["2027-03-01 create 1200 paid", "2027-04-01T00:10 cycle 1200 paid"]);
  expect(await shop.state(id)).toBe("active 1000 2027-04-01 to 2027-05-01");
  expect(charged()).toBe(before + 1);
});

test("who moves while Stripe computes is taxed where they are", async () => {
  const { id, customer_id } = await begin();
  meanwhile(() => moves(customer_id, "DE"));
  await shop.on("2027-04-01");
  expect(await last(id)).toMatchObject({ tax_amount: 190, total_amount: 1190, status: "paid" });
});

test("killed between Stripe's answer and what is written of it, a renewal is made once", async () => {
  const { id } = await begin();
  const before = charged();
  meanwhile(() => Promise.reject(new Error("killed")));
  await shop.on("2027-04-01");
  expect(await shop.orders(id)).toHaveLength(1);
  floe.clock.advance(60_000);
  await floe.runJobs();
  expect((await shop.orders(id)).length).toBe(2);
  expect(await last(id)).toMatchObject({ tax_amount: 200, status: "paid" });
  expect(charged()).toBe(before + 1);
});

test("a customer of whom nobody knows where they are is billed without tax, and Stripe is not asked", async () => {
  const { id, customer_id } = await begin();
  await floe.deps.db.update(customers).set({ billing_address: null }).where(eq(customers.id, customer_id));
  const before = asked();
  await shop.on("2027-04-01");
  expect(await last(id)).toMatchObject({ tax_amount: 0, total_amount: 1000 });
  expect(asked()).toBe(before);
});

test("a forecast is by what Stripe said last, and says that the tax is not known where the customer has moved since", async () => {
  const { id, customer_id } = await begin();
  const before = asked();
  const first = async () => (await shop.seller.client.subscriptions.forecast({ params: { id } })).charges[0];
  expect(await first()).toMatchObject({ due_amount: 1200, derivation: { tax_amount: 200 } });
  await moves(customer_id, "DE");
  expect(await first()).toMatchObject({
    due_amount: 1000,
    derivation: { tax_amount: null, tax: { reason: "unknown" } },
  });
  expect(asked()).toBe(before);
});

test("a change is charged as it was previewed, though Stripe is asked twice; without Stripe it is not made", async () => {
  const { id } = await begin();
  const dear = await shop.sells("Max", [{ amount_type: "fixed", price_amount: 3000, tax_behavior: "exclusive" }]);
  const body = { product_id: dear, proration_behavior: "invoice" };
  await shop.set("2027-03-16T12:00:00Z");
  const { quote, charge } = await shop.previews(id, body);
  expect(charge).toMatchObject({
    due_amount: 1200,
    derivation: { tax_amount: 200, tax: { source: { name: "Stripe Tax" } } },
  });
  standIn.trouble("unreached", calculations);
  const before = [await shop.orders(id), await shop.state(id)];
  expect(await shop.changes(id, { ...body, quote })).toMatch(/^503/);
  expect([await shop.orders(id), await shop.state(id)]).toEqual(before);
  const unknown = await shop.previews(id, body);
  expect(unknown.charge).toMatchObject({ due_amount: 1000, derivation: { tax_amount: null } });
  standIn.calm();
  // What was shown without its tax is shown anew before it is charged.
  expect(await shop.changes(id, { ...body, quote: unknown.quote })).toMatch(/^409 QuoteChanged/);
  expect(await shop.changes(id, { ...body, quote })).toBe("done");
  const order = await last(id);
  expect(order).toMatchObject({ net_amount: 1000, tax_amount: 200, total_amount: 1200, status: "paid" });
  await floe.runJobs();
  expect(reported(order.id)).toEqual([[1000, 200]]);
});

test("what a change gives back is given back with its tax, and is reported as no sale", async () => {
  const { id } = await begin({}, 3000);
  const small = await shop.sells("Mini", [{ amount_type: "fixed", price_amount: 1000, tax_behavior: "exclusive" }]);
  await shop.set("2027-03-16T12:00:00Z");
  expect(await shop.changes(id, { product_id: small, proration_behavior: "invoice" })).toBe("done");
  const order = await last(id);
  expect(order).toMatchObject({ net_amount: -1000, tax_amount: -200, total_amount: -1200 });
  await floe.runJobs();
  expect(reported(order.id)).toEqual([]);
});

test.each([
  ["exclusive", [10_000, 2000], [-5000, -1000], 6000],
  ["inclusive", [10_000, 1667], [-5000, -834], 5000],
])(
  "an order that was reduced while it was unpaid is filed for what was paid (%s)",
  async (behavior, sale, less, due) => {
    shop = await openShop(floe, "2027-03-31");
    const price = (price_amount: number) => [{ amount_type: "fixed", price_amount, tax_behavior: behavior }];
    const small = await shop.sells("Small", price(1000));
    const big = await shop.sells("Big", price(10_000), { trial_interval: "day", trial_interval_count: 1 });
    const buyer = { customer_billing_address: { country: "FR" }, confirmation_token_id: "ctoken_chargeCustomerFail" };
    const id = await shop.subscribes(big, { buyer });
    await shop.on("2027-04-01");
    const open = await last(id);
    expect([open.status, open.tax_amount]).toEqual(["pending", sale[1]]);
    await shop.on("2027-04-16");
    expect(await shop.changes(id, { product_id: small, proration_behavior: "prorate" })).toBe("done");
    const reduced = await shop.seller.client.orders.get({ params: { id: open.id } });
    expect([reduced.due_amount, reported(open.id)]).toEqual([due, []]);
    const { customer_id } = await shop.get(id);
    expect(await shop.changes(id, { payment_method_id: await shop.leaves(customer_id, "ctoken_visa") })).toBe("done");
    // An earlier version reported the whole sale alone; the migration adds the reversal once.
    const { db } = floe.deps;
    const count = () => db.$count(taxReports, eq(taxReports.order_id, open.id));
    expect(await count()).toBe(2);
    await db.delete(taxReports).where(and(eq(taxReports.order_id, open.id), eq(taxReports.kind, "refund")));
    await floe.runJobs();
    expect([reported(open.id), reported(`${open.id}_reduction`), await count()]).toEqual([[sale], [], 1]);
    const migration = readFileSync("server/migrations/0021_reversed_reductions.sql", "utf8");
    for (let times = 0; times < 2; times += 1) await db.execute(sql.raw(migration));
    expect(await count()).toBe(2);
    await db.update(taxReports).set({ due_at: floe.clock.now() }).where(isNull(taxReports.processor_id));
    await floe.runJobs();
    expect((await shop.seller.client.orders.get({ params: { id: open.id } })).status).toBe("paid");
    expect([reported(open.id), reported(`${open.id}_reduction`)]).toEqual([[sale], [less]]);
  },
);

test("a dispute that is lost is told to Stripe Tax, less what had gone back before, once", async () => {
  const { id } = await begin();
  await shop.on("2027-04-01");
  const order = await last(id);
  await shop.accepted("POST", "/v1/refunds/", { order_id: order.id, amount: 400, reason: "other" });
  const [payment] = (await shop.seller.client.payments.list({ query: { order_id: [order.id] } as never })).items;
  const intent = [...standIn.intents.values()].find(({ metadata }) => metadata.payment_id === payment?.id);
  const dispute = standIn.dispute(intent?.id ?? "", "fraudulent", 1200);
  const told = async (name: string) => {
    await recordProcessorEvent(floe.deps, {
      kind: "dispute",
      id: `evt_${dispute.id}_${name}`,
      account: floe.deps.processor.account,
      organization_id: shop.seller.organization_id,
      payment_id: payment?.id ?? "",
      intent_processor_id: intent?.id ?? "",
      processor_id: dispute.id,
    });
    await floe.runJobs();
  };
  await told("begun");
  const [known] = (await shop.seller.client.disputes.list({ query: { order_id: [order.id] } as never })).items;
  expect(reported(known?.id ?? "")).toEqual([]);
  standIn.moveDispute(dispute.id, "lost");
  await told("lost");
  await told("again");
  expect(reported(known?.id ?? "")).toEqual([[-600, -120]]);
  // The bank has thought better of it.
  standIn.moveDispute(dispute.id, "won");
  await told("won");
  await told("won again");
  expect([reported(known?.id ?? ""), reported(`${known?.id}_undone`)]).toEqual([[[-600, -120]], [[600, 120]]]);
});
