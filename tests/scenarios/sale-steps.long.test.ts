import { eq } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { orders } from "../../server/billing/orders/tables.ts";
import { payments } from "../../server/billing/payments/tables.ts";
import { events } from "../../server/platform/db/tables.ts";
import { testIntents } from "../../server/platform/processors/tables.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { watchStatements } from "../support/statements.ts";

/**
 * A sale that is broken off at each of its statements in turn, those of the test processor among them. What is charged must
 * always end in exactly one order, and what is not must leave the checkout open.
 */

let floe: Floe;
let seller: Seller;
let productId: string;
let freeId: string;
beforeAll(async () => {
  floe = await start({ embedded: true });
  seller = await floe.seller();
  productId = (
    await seller.client.products.create({
      body: { name: "Guide", prices: [{ amount_type: "fixed", price_amount: 1900 }] },
    })
  ).id;
  freeId = (await seller.client.products.create({ body: { name: "Sample", prices: [{ amount_type: "free" }] } })).id;
});
afterAll(() => floe?.close());

const states = async (checkout_id: string) => {
  const attempts = await floe.deps.db
    .select({ status: payments.status, intent: testIntents.status })
    .from(payments)
    .innerJoin(orders, eq(orders.id, payments.order_id))
    .leftJoin(testIntents, eq(testIntents.payment_id, payments.id))
    .where(eq(orders.checkout_id, checkout_id));
  return {
    checkout: (await seller.client.checkouts.get({ params: { id: checkout_id } })).status,
    orders: (await seller.client.orders.list({ query: { checkout_id } })).items.length,
    charged: attempts.filter(({ intent }) => intent === "succeeded").length,
    attempts: attempts.map(({ status }) => status),
  };
};
const eventsOf = async (checkout_id: string) => {
  const rows = await floe.deps.db
    .select()
    .from(events)
    .where(eq(events.organization_id, seller.organization_id))
    .orderBy(events.seq);
  const isAbout = (data: unknown) =>
    (data as { id?: string; checkout_id?: string }).id === checkout_id ||
    (data as { checkout_id?: string }).checkout_id === checkout_id;
  return rows
    .filter(({ data }) => isAbout(data))
    .map(({ type, data }) => (type === "checkout.updated" ? `${type} ${(data as { status: string }).status}` : type));
};

let buyers = 0;
/** Confirm a new checkout of a new buyer, with the statement of this number failing; 0 lets all of them pass. */
async function attempt(at: number, { product = productId, token = "pm_card_visa" } = {}) {
  const checkout = await seller.client.checkouts.create({ body: { products: [product] } });
  buyers += 1;
  const body = {
    customer_email: `buyer-${buyers}@example.com`,
    customer_billing_address: { country: "FR" },
    confirmation_token_id: token,
  };
  const confirm = () => floe.request("POST", `/v1/checkouts/client/${checkout.client_secret}/confirm`, { body });
  const statements: string[] = [];
  const watch = watchStatements(floe, (statement, number) => {
    statements.push(statement);
    if (number === at) throw new Error(`broken off at ${number}`);
  });
  const answer = await confirm().finally(watch.stop);
  // Everything works again, and time passes.
  floe.clock.advance(3 * 60_000);
  await floe.runJobs();
  return { checkout, confirm, answer, statements };
}
const untouched = { checkout: "open", orders: 0, charged: 0, attempts: [] };
const sold = { checkout: "succeeded", orders: 1, charged: 1, attempts: ["succeeded"] };
const whole = [
  "checkout.created",
  "checkout.updated confirmed",
  "order.created",
  "order.updated",
  "order.paid",
  "checkout.updated succeeded",
];
/** The statement with which the processor takes the money: up to here nothing is charged. */
const isCharge = (statement: string) => statement.startsWith('insert into "test_intents"');

test("WHK-30: undisturbed, a sale says these things, and asks the database at most 28 times", async () => {
  const { checkout, answer, statements } = await attempt(0);
  expect(answer.status).toBe(200);
  expect(await states(checkout.id)).toEqual(sold);
  expect(await eventsOf(checkout.id)).toEqual(whole);
  // Two transactions begin and end besides.
  expect(statements.length + 4, statements.join("\n")).toBeLessThanOrEqual(28);
});

test("broken off at any statement before the card is charged nothing has happened, and it can be paid", async () => {
  const { statements } = await attempt(0);
  const charged_at = statements.findIndex(isCharge) + 1;
  expect(charged_at).toBeGreaterThan(5);
  const written = statements.findIndex((statement) => statement.includes('insert into "events"')) + 1;
  for (let at = 1; at <= charged_at; at += 1) {
    const { checkout, confirm, answer } = await attempt(at);
    const state = await states(checkout.id);
    // Once it is written that the card will be charged, the processor's failure is the payment's.
    if (state.attempts.length === 0) expect([at, state]).toEqual([at, untouched]);
    else expect([at, state]).toEqual([at, { ...untouched, attempts: ["failed"] }]);
    expect(state.attempts.length === 0, `statement ${at}`).toBe(at <= written);
    expect(answer.status).toBe(state.attempts.length === 0 ? 500 : 200);
    expect(answer.text).not.toContain("broken off");
    expect([at, (await confirm()).status]).toEqual([at, 200]);
    expect(await states(checkout.id)).toMatchObject({ checkout: "succeeded", orders: 1, charged: 1 });
    const retried = state.attempts.length === 0 ? [] : ["checkout.updated confirmed", "checkout.updated open"];
    expect(await eventsOf(checkout.id)).toEqual([whole[0], ...retried, ...whole.slice(1)]);
  }
});

test("broken off at any statement after the card is charged the sale completes by itself, once", async () => {
  const { statements } = await attempt(0);
  const charged_at = statements.findIndex(isCharge) + 1;
  for (let at = charged_at + 1; at <= statements.length; at += 1) {
    const { checkout, confirm, answer } = await attempt(at);
    expect([at, answer.status, (answer.json as { status: string }).status]).toEqual([at, 200, "confirmed"]);
    expect([at, await states(checkout.id)]).toEqual([at, sold]);
    expect(await eventsOf(checkout.id)).toEqual(whole);
    expect((await confirm()).status).not.toBe(200);
    expect(await states(checkout.id)).toEqual(sold);
  }
});

describe("broken off at any statement", () => {
  test("while a refused card is written down: the checkout opens again, and nothing is owed", async () => {
    const { statements } = await attempt(0, { token: "pm_card_chargeDeclined" });
    for (let at = statements.findIndex(isCharge) + 2; at <= statements.length; at += 1) {
      const { checkout } = await attempt(at, { token: "pm_card_chargeDeclined" });
      expect([at, await states(checkout.id)]).toEqual([
        at,
        { checkout: "open", orders: 0, charged: 0, attempts: ["failed"] },
      ]);
    }
  });

  test("a free sale never stays in between", async () => {
    const { statements } = await attempt(0, { product: freeId });
    for (let at = 1; at <= statements.length; at += 1) {
      const { checkout, confirm } = await attempt(at, { product: freeId });
      expect([at, (await states(checkout.id)).checkout]).toEqual([at, "open"]);
      expect((await confirm()).status).toBe(200);
      await floe.runJobs();
      expect(await states(checkout.id)).toEqual({ checkout: "succeeded", orders: 1, charged: 0, attempts: [] });
    }
  });
});

test("invoice numbers have no gap from all that was broken off (ORD-19)", async () => {
  const { items } = await seller.client.orders.list({ query: { limit: 100, sorting: "invoice_number" } });
  const numbers = items.map((order) => Number(order.invoice_number.slice(-4)));
  expect(numbers.length).toBeGreaterThan(10);
  expect(numbers).toEqual(numbers.map((_, index) => index + 1));
});
