import { eq } from "drizzle-orm";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { orders } from "../../server/billing/orders/tables.ts";
import { recordProcessorEvent } from "../../server/billing/payments/notices.ts";
import { reconcilePayment, settlePayment } from "../../server/billing/payments/settlement.ts";
import { payments } from "../../server/billing/payments/tables.ts";
import { refunds } from "../../server/billing/refunds/tables.ts";
import { events } from "../../server/platform/db/tables.ts";
import type {
  Charge,
  Intent,
  Processor,
  ProcessorEvent,
  RefundOutcome,
} from "../../server/platform/processors/processor.ts";
import { doDueWork } from "../support/due-work.ts";
import type { Floe, Seller } from "../support/floe.ts";
import { startOnPostgres } from "../support/races.ts";

/**
 * Whatever confirmations, events, reconciliations, challenges, late successes and refunds do to one checkout, in any order and
 * at the same time, on a real PostgreSQL: in the end there is at most one paid order, and every further charge went back.
 */

/** What the processor is going to do with the next charge. */
type Behaviour = "succeed" | "decline" | "challenge" | "lost" | "lost and late";
type Held = Intent & { isHidden: boolean };

/** A processor far away: its answers get lost, and some of its charges come to light only later. */
function farProcessor() {
  const intents = new Map<string, Held>();
  const given = new Map<string, RefundOutcome>();
  let behaviour: Behaviour = "succeed";
  const decline = { reason: "card_declined", message: "Your card was declined." };
  const visible = (payment_id: string): Intent | null => {
    const held = intents.get(payment_id);
    return held && !held.isHidden ? { ...held } : null;
  };
  const unused = () => Promise.reject(new Error("Not part of a sale."));
  const processor: Processor = {
    account: "far",
    publishable_key: null,
    async confirm(charge: Charge) {
      const { organization_id, payment_id, amount, currency } = charge;
      const statuses = { succeed: "succeeded", lost: "succeeded", "lost and late": "succeeded" } as const;
      const status =
        behaviour === "challenge" ? "requires_action" : behaviour === "decline" ? "failed" : statuses[behaviour];
      intents.set(payment_id, {
        organization_id,
        payment_id,
        processor_id: `pi_${payment_id}`,
        status,
        amount,
        currency,
        client_secret: `${payment_id}_secret`,
        decline: status === "failed" ? decline : null,
        card: null,
        fingerprint: null,
        method: null,
        isHidden: behaviour === "lost and late",
      });
      if (behaviour.startsWith("lost")) throw new Error("The answer was lost.");
      return visible(payment_id) as Intent;
    },
    retrieve: async ({ payment_id }) => visible(payment_id),
    async cancel({ payment_id }) {
      const held = intents.get(payment_id);
      if (held && !held.isHidden && held.status === "requires_action")
        Object.assign(held, { status: "failed", decline });
      return visible(payment_id);
    },
    async refund({ refund_id, intent_processor_id, amount }) {
      const known = given.get(refund_id);
      if (known) return known;
      const made: RefundOutcome = {
        refund_id,
        processor_id: `re_${refund_id}`,
        intent_processor_id,
        amount,
        currency: "usd",
        reason: "duplicate",
        status: "succeeded",
        failure_reason: null,
        created_at: new Date(),
      };
      given.set(refund_id, made);
      return made;
    },
    chargeSaved: unused,
    saveMethod: unused,
    readCard: unused,
    forgetCustomer: unused,
    retrieveSetup: unused,
    cancelSetup: unused,
    retrieveRefund: unused,
    retrieveDispute: unused,
    acceptDispute: unused,
  };
  return {
    processor,
    intents,
    given,
    behave(next: Behaviour) {
      behaviour = next;
    },
  };
}

let floe: Floe;
let seller: Seller;
const far = farProcessor();
let products: string[];
beforeAll(async () => {
  floe = await startOnPostgres({
    replace: () => ({ processor: far.processor }),
    // The time of the histories below is counted in minutes.
    settings: { FLOE_CHECKOUT_HOURS: "1" },
  });
  seller = await floe.seller();
  products = [];
  for (const price_amount of [1900, 1900, 700])
    products.push(
      (
        await seller.client.products.create({
          body: { name: `Guide ${products.length}`, prices: [{ amount_type: "fixed", price_amount }] },
        })
      ).id,
    );
});
afterAll(() => floe?.close());

type Action =
  | { do: "confirm"; as: Behaviour; product: number; buyer: number }
  | { do: "switch"; product: number }
  | { do: "surface"; which: number }
  | { do: "event"; which: number }
  | { do: "decide"; which: number; approved: boolean }
  | { do: "reconcile"; which: number }
  | { do: "wait"; minutes: number };
const behaviours: Behaviour[] = ["succeed", "decline", "challenge", "lost", "lost and late"];
const which = fc.nat(3);
const action: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("confirm" as const),
      as: fc.constantFrom(...behaviours),
      product: fc.nat(2),
      buyer: fc.nat(1),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("switch" as const), product: fc.nat(2) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("surface" as const), which }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("event" as const), which }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("decide" as const), which, approved: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("reconcile" as const), which }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("wait" as const), minutes: fc.constantFrom(1, 3, 70) }) },
);

const steps = fc.array(fc.array(action, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 6 });
/** Often it begins with an attempt that was given up for lost and has taken the money: that is where a second charge comes from. */
const story = fc
  .tuple(fc.boolean(), steps)
  .map(([isLost, rest]): Action[][] =>
    isLost
      ? [[{ do: "confirm", as: "lost and late", product: 0, buyer: 0 }], [{ do: "wait", minutes: 3 }], ...rest]
      : rest,
  );

const eventOf = (
  { organization_id, id: payment_id }: { organization_id: string; id: string },
  { processor_id }: Intent,
  name: string,
): ProcessorEvent => ({
  id: `evt_${payment_id}_${name}`,
  account: "far",
  kind: "payment",
  organization_id,
  payment_id,
  processor_id,
});

const attemptsOf = (checkout_id: string) =>
  floe.deps.db
    .select({ payment: payments, order: orders })
    .from(payments)
    .innerJoin(orders, eq(orders.id, payments.order_id))
    .where(eq(orders.checkout_id, checkout_id))
    .orderBy(payments.created_at, payments.id);

async function perform(checkout: { id: string; client_secret: string }, one: Action): Promise<void> {
  const path = `/v1/checkouts/client/${checkout.client_secret}`;
  if (one.do === "confirm") {
    far.behave(one.as);
    const body = {
      product_id: products[one.product],
      customer_email: `${checkout.id}-${one.buyer}@example.com`,
      customer_billing_address: { country: "FR" },
      confirmation_token_id: "pm_card_visa",
    };
    const { status, text } = await floe.request("POST", `${path}/confirm`, { body });
    // Refused because it is being paid, is paid, or its time is up: all of these are answers.
    if (![200, 400, 403, 409, 410].includes(status)) throw new Error(`${status} ${text}`);
    return;
  }
  if (one.do === "switch") {
    const { status, text } = await floe.request("PATCH", path, { body: { product_id: products[one.product] } });
    if (![200, 403, 409, 410].includes(status)) throw new Error(`${status} ${text}`);
    return;
  }
  if (one.do === "wait") {
    floe.clock.advance(one.minutes * 60_000);
    await floe.runJobs();
    return;
  }
  const attempts = await attemptsOf(checkout.id);
  const { payment } = attempts[one.which % Math.max(1, attempts.length)] ?? {};
  const held = payment && far.intents.get(payment.id);
  if (!payment || !held) return;
  const event = eventOf(payment, held, String(Math.random()));
  if (one.do === "surface") {
    held.isHidden = false;
    await recordProcessorEvent(floe.deps, event);
  } else if (held.isHidden) return;
  else if (one.do === "event") await recordProcessorEvent(floe.deps, event);
  else if (one.do === "reconcile") await reconcilePayment(floe.deps, payment);
  else if (held.status === "requires_action") {
    Object.assign(held, one.approved ? { status: "succeeded" } : { status: "failed", decline: null });
    await settlePayment(floe.deps, payment, { ...held });
  }
}

/** What must hold when everything has come to light and nothing is left to do. */
async function check(checkout: { id: string }): Promise<void> {
  const attempts = await attemptsOf(checkout.id);
  for (const { payment } of attempts) {
    const held = far.intents.get(payment.id);
    if (!held) continue;
    held.isHidden = false;
    await recordProcessorEvent(floe.deps, eventOf(payment, held, "last"));
  }
  for (const minutes of [3, 70, 15]) {
    floe.clock.advance(minutes * 60_000);
    await floe.runJobs();
  }
  const after = await attemptsOf(checkout.id);
  const listed = (await seller.client.orders.list({ query: { checkout_id: checkout.id } })).items;
  const { status } = await seller.client.checkouts.get({ params: { id: checkout.id } });
  const charged = after.filter(({ payment }) => far.intents.get(payment.id)?.status === "succeeded");
  // One paid order as soon as anything was charged on its terms, and the checkout says so.
  expect(listed.length).toBeLessThanOrEqual(1);
  expect(status === "succeeded").toBe(listed.length === 1);
  expect(new Set(after.map(({ order }) => order.id)).size).toBeLessThanOrEqual(1);
  // What the processor took, and did not give back, is what the order says.
  const taken = charged.reduce((sum, { payment }) => sum + payment.amount, 0);
  const back = [...far.given.values()]
    .filter(({ intent_processor_id: intent }) => after.some(({ payment }) => `pi_${payment.id}` === intent))
    .reduce((sum, { amount }) => sum + amount, 0);
  expect(taken - back).toBe(listed[0]?.total_amount ?? 0);
  // Each charge is written down as what it is, and the surplus ones each went back whole, once.
  for (const { payment } of charged) expect(payment.status).toBe("succeeded");
  for (const { payment } of after)
    if (payment.status === "succeeded") expect(charged.map((one) => one.payment.id)).toContain(payment.id);
  expect(charged.filter(({ payment }) => !payment.is_surplus)).toHaveLength(listed.length);
  for (const { payment } of charged.filter((one) => one.payment.is_surplus)) {
    const rows = await floe.deps.db.select().from(refunds).where(eq(refunds.payment_id, payment.id));
    expect(rows.map((row) => [row.status, row.amount, row.due_at])).toEqual([["succeeded", payment.amount, null]]);
  }
  // The order is about what the checkout shows, and its lines make its amounts; one that came to nothing is given up.
  const [order] = listed;
  if (order) {
    const shown = await seller.client.checkouts.get({ params: { id: checkout.id } });
    expect([order.product_id, order.total_amount, order.customer_id]).toEqual([
      shown.product_id,
      shown.total_amount,
      shown.customer_id,
    ]);
    expect(order.items.map(({ amount, product_price_id }) => [amount, product_price_id])).toEqual([
      [order.subtotal_amount, shown.product_price_id],
    ]);
  } else if (status === "expired") for (const one of after) expect(one.order.status).toBe("void");
  // Nothing is left pending, and the order was announced once.
  for (const { payment } of after) expect([payment.status, payment.reconcile_due_at]).not.toContain("pending");
  const announced = await floe.deps.db
    .select({ type: events.type, data: events.data })
    .from(events)
    .where(eq(events.organization_id, seller.organization_id));
  const types = announced
    .filter(
      ({ type, data }) => type.startsWith("order.") && (data as { checkout_id: string }).checkout_id === checkout.id,
    )
    .map(({ type }) => type);
  expect(types.sort()).toEqual(listed.length === 1 ? ["order.created", "order.paid", "order.updated"] : []);
}

const runs = Number(process.env.FLOE_TEST_RUNS ?? 30);
test("any interleaving ends in at most one paid order, and every further charge goes back", async () => {
  let paid = 0;
  let surplus = 0;
  await fc.assert(
    fc.asyncProperty(story, async (actions) => {
      const checkout = await seller.client.checkouts.create({ body: { products } });
      for (const together of actions) await Promise.all(together.map((one) => perform(checkout, one)));
      await check(checkout);
      const after = await attemptsOf(checkout.id);
      if (after.some(({ order }) => order.status === "paid")) paid += 1;
      if (after.some(({ payment }) => payment.is_surplus)) surplus += 1;
    }),
    { numRuns: runs, seed: Number(process.env.FLOE_TEST_SEED ?? 4455) },
  );
  // The property has seen what it is about.
  expect(paid).toBeGreaterThan(runs / 5);
  expect(surplus).toBeGreaterThan(0);
});

test("a second charge that succeeds late goes back by itself, and the seller's books show both", async () => {
  const checkout = await seller.client.checkouts.create({ body: { products } });
  await perform(checkout, { do: "confirm", as: "lost and late", product: 0, buyer: 0 });
  await perform(checkout, { do: "wait", minutes: 3 });
  await perform(checkout, { do: "confirm", as: "succeed", product: 0, buyer: 0 });
  await perform(checkout, { do: "surface", which: 0 });
  await check(checkout);
  const attempts = await attemptsOf(checkout.id);
  expect(attempts.map(({ payment }) => [payment.status, payment.is_surplus])).toEqual([
    ["succeeded", true],
    ["succeeded", false],
  ]);
  expect(floe.logged.some((line) => line.includes("it goes back"))).toBe(true);
});

test("a late success on terms that no longer stand goes back; what was chosen since is still to be paid", async () => {
  const checkout = await seller.client.checkouts.create({ body: { products } });
  await perform(checkout, { do: "confirm", as: "lost and late", product: 0, buyer: 0 });
  await perform(checkout, { do: "wait", minutes: 3 });
  // The same price, another product: what was paid for is not what would be delivered.
  await perform(checkout, { do: "confirm", as: "decline", product: 1, buyer: 0 });
  await perform(checkout, { do: "surface", which: 0 });
  await floe.runJobs();
  expect((await attemptsOf(checkout.id)).map(({ payment }) => [payment.status, payment.is_surplus])).toEqual([
    ["succeeded", true],
    ["failed", false],
  ]);
  expect((await seller.client.checkouts.get({ params: { id: checkout.id } })).status).toBe("open");
  await check(checkout);
});

test("a late success finishes the checkout as it was paid for, though the buyer looks at something else by now", async () => {
  const checkout = await seller.client.checkouts.create({ body: { products } });
  await perform(checkout, { do: "confirm", as: "lost and late", product: 0, buyer: 0 });
  await perform(checkout, { do: "wait", minutes: 3 });
  await perform(checkout, { do: "switch", product: 2 });
  await perform(checkout, { do: "wait", minutes: 70 });
  expect((await seller.client.checkouts.get({ params: { id: checkout.id } })).status).toBe("expired");
  await perform(checkout, { do: "surface", which: 0 });
  await floe.runJobs();
  expect(await seller.client.checkouts.get({ params: { id: checkout.id } })).toMatchObject({
    status: "succeeded",
    product_id: products[0],
    total_amount: 1900,
  });
  const [order] = (await seller.client.orders.list({ query: { checkout_id: checkout.id } })).items;
  expect(order).toMatchObject({ status: "paid", product_id: products[0], total_amount: 1900 });
});

test("a checkout whose order somebody is at ends once they have left it, and its order with it", async () => {
  const checkout = await seller.client.checkouts.create({ body: { products } });
  await perform(checkout, { do: "confirm", as: "decline", product: 0, buyer: 0 });
  const standing = async () => {
    const [attempt] = await attemptsOf(checkout.id);
    return [(await seller.client.checkouts.get({ params: { id: checkout.id } })).status, attempt?.order.status];
  };
  await floe.deps.db.transaction(async (tx) => {
    await tx.select().from(orders).where(eq(orders.checkout_id, checkout.id)).for("no key update");
    floe.clock.advance(70 * 60_000);
    await doDueWork(floe.deps);
    expect(await standing()).toEqual(["open", "pending"]);
  });
  await perform(checkout, { do: "wait", minutes: 1 });
  expect(await standing()).toEqual(["expired", "void"]);
});

test("an order that is taken up again has the lines of what is bought now", async () => {
  const checkout = await seller.client.checkouts.create({ body: { products } });
  await perform(checkout, { do: "confirm", as: "decline", product: 0, buyer: 0 });
  await perform(checkout, { do: "confirm", as: "decline", product: 2, buyer: 1 });
  await perform(checkout, { do: "confirm", as: "succeed", product: 1, buyer: 0 });
  await check(checkout);
  const [order] = (await seller.client.orders.list({ query: { checkout_id: checkout.id } })).items;
  expect(order).toMatchObject({ product_id: products[1], items: [{ label: "Guide 1", amount: 1900 }] });
});

test.each([
  ["another amount", { amount: 1 }],
  ["another currency", { currency: "eur" }],
  ["another payment", { payment_id: "0193a000-0000-7000-8000-000000000000" }],
])("a success over %s is not taken for this payment: somebody has to look at it", async (_, lie) => {
  const checkout = await seller.client.checkouts.create({ body: { products } });
  await perform(checkout, { do: "confirm", as: "lost", product: 0, buyer: 0 });
  const [attempt] = await attemptsOf(checkout.id);
  const held = attempt && far.intents.get(attempt.payment.id);
  if (!held) throw new Error("Nothing was tried.");
  const truth = { ...held };
  Object.assign(held, lie);
  floe.logged.length = 0;
  await perform(checkout, { do: "wait", minutes: 3 });
  expect((await attemptsOf(checkout.id)).map(({ payment }) => payment.status)).toEqual(["pending"]);
  expect((await seller.client.orders.list({ query: { checkout_id: checkout.id } })).items).toEqual([]);
  expect(floe.logged.some((line) => line.includes("names another payment, amount or currency"))).toBe(true);
  Object.assign(held, truth);
  for (let tries = 0; tries < 3; tries += 1) await perform(checkout, { do: "wait", minutes: 70 });
  await check(checkout);
  expect((await seller.client.checkouts.get({ params: { id: checkout.id } })).status).toBe("succeeded");
});
