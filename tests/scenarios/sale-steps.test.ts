import { eq } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Deps } from "../../server/lib/context.ts";
import { events } from "../../server/lib/tables.ts";
import { payments } from "../../server/payments/tables.ts";
import { testIntents } from "../../server/processors/tables.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";

/**
 * A sale that is broken off at each of its steps in turn. Every step that writes ends in an event, and each event's job is
 * a place to fail; what is charged must always end in exactly one order, and what is not must leave the checkout open.
 */

let failing_at = 0;
let steps = 0;
const brittle = ({ jobs }: Deps): Partial<Deps> => ({
  jobs: {
    ...jobs,
    async send(tx, name, payload) {
      steps += 1;
      if (steps === failing_at) throw new Error(`broken off at step ${steps}`);
      return jobs.send(tx, name, payload);
    },
  },
});

let floe: Floe;
let seller: Seller;
let product_id: string;
let free_id: string;
beforeAll(async () => {
  floe = await start({ replace: brittle });
  seller = await floe.seller();
  product_id = (
    await seller.client.products.create({
      body: { name: "Guide", prices: [{ amount_type: "fixed", price_amount: 1900 }] },
    })
  ).id;
  free_id = (await seller.client.products.create({ body: { name: "Sample", prices: [{ amount_type: "free" }] } })).id;
});
afterAll(() => floe.close());

const states = async (checkout_id: string) => {
  const attempts = await floe.deps.db
    .select({ status: payments.status, intent: testIntents.status })
    .from(payments)
    .leftJoin(testIntents, eq(testIntents.payment_id, payments.id))
    .where(eq(payments.checkout_id, checkout_id));
  return {
    checkout: (await seller.client.checkouts.get({ params: { id: checkout_id } })).status,
    orders: (await seller.client.orders.list({ query: { checkout_id } })).items.length,
    charged: attempts.filter(({ intent }) => intent === "succeeded").length,
    attempts: attempts.map(({ status }) => status),
  };
};
const told = async (checkout_id: string) => {
  const rows = await floe.deps.db
    .select()
    .from(events)
    .where(eq(events.organization_id, seller.organization_id))
    .orderBy(events.seq);
  const about = (data: unknown) =>
    (data as { id?: string; checkout_id?: string }).id === checkout_id ||
    (data as { checkout_id?: string }).checkout_id === checkout_id;
  return rows
    .filter(({ data }) => about(data))
    .map(({ type, data }) => (type === "checkout.updated" ? `${type} ${(data as { status: string }).status}` : type));
};

async function attempt(at: number, { product = product_id, token = "pm_card_visa" } = {}) {
  [failing_at, steps] = [0, 0];
  const checkout = await seller.client.checkouts.create({ body: { products: [product] } });
  const body = {
    customer_email: `step-${at}-${token}@example.com`,
    customer_billing_address: { country: "FR" },
    confirmation_token_id: token,
  };
  const confirm = () => floe.request("POST", `/v1/checkouts/client/${checkout.client_secret}/confirm`, { body });
  [failing_at, steps] = [at, 0];
  const answer = await confirm();
  const reached = steps;
  // Everything works again, and time passes.
  failing_at = 0;
  floe.clock.advance(3 * 60_000);
  await floe.runJobs();
  return { checkout, confirm, answer, reached };
}
const steps_of_a_sale = [
  "customer.created",
  "customer.state_changed",
  "checkout confirmed",
  "order.created",
  "order.updated",
  "order.paid",
  "checkout succeeded",
];
const sold = { checkout: "succeeded", orders: 1, charged: 1, attempts: ["succeeded"] };
const whole = [
  "checkout.created",
  "checkout.updated confirmed",
  "order.created",
  "order.updated",
  "order.paid",
  "checkout.updated succeeded",
];

test("WHK-30: undisturbed, a sale has these steps", async () => {
  const { checkout, reached, answer } = await attempt(0);
  expect([answer.status, reached]).toEqual([200, steps_of_a_sale.length]);
  expect(await states(checkout.id)).toEqual(sold);
  expect(await told(checkout.id)).toEqual(whole);
});

describe("broken off", () => {
  test.each(steps_of_a_sale.slice(0, 3).map((name, index) => [name, index + 1] as const))(
    "at %s: nothing has happened, and it can be paid",
    async (_, at) => {
      const { checkout, confirm, answer } = await attempt(at);
      expect(answer.status).toBe(500);
      expect(answer.text).not.toContain("broken off");
      expect(await states(checkout.id)).toEqual({ checkout: "open", orders: 0, charged: 0, attempts: [] });
      expect((await confirm()).status).toBe(200);
      expect(await states(checkout.id)).toEqual(sold);
      expect(await told(checkout.id)).toEqual(whole);
    },
  );

  test.each(steps_of_a_sale.slice(3).map((name, index) => [name, index + 4] as const))(
    "at %s: the card is charged, so the sale completes by itself, once",
    async (_, at) => {
      const { checkout, confirm, answer } = await attempt(at);
      expect(answer).toMatchObject({ status: 200, json: { status: "confirmed" } });
      expect(await states(checkout.id)).toEqual(sold);
      expect(await told(checkout.id)).toEqual(whole);
      expect((await confirm()).status).not.toBe(200);
      expect(await states(checkout.id)).toEqual(sold);
    },
  );

  test("while a refused card is written down: the checkout opens again, and nothing is owed", async () => {
    const { checkout } = await attempt(4, { token: "pm_card_chargeDeclined" });
    expect(await states(checkout.id)).toEqual({ checkout: "open", orders: 0, charged: 0, attempts: ["failed"] });
  });

  test.each([1, 2, 3, 4])("a free sale at step %d: it never stays in between", async (at) => {
    const { checkout, confirm } = await attempt(at, { product: free_id });
    expect((await states(checkout.id)).checkout).toBe("open");
    expect((await confirm()).status).toBe(200);
    await floe.runJobs();
    expect(await states(checkout.id)).toEqual({ checkout: "succeeded", orders: 1, charged: 0, attempts: [] });
  });

  test("invoice numbers have no gap from all that was broken off (ORD-19)", async () => {
    const numbers = (await seller.client.orders.list({ query: { limit: 100, sorting: "invoice_number" } })).items.map(
      (order) => Number(order.invoice_number.slice(-4)),
    );
    expect(numbers.length).toBeGreaterThan(10);
    expect(numbers).toEqual(numbers.map((_, index) => index + 1));
  });
});
