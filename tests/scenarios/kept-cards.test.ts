import { and, eq } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { OrderRow } from "../../server/billing/orders/rules.ts";
import { orders } from "../../server/billing/orders/tables.ts";
import { findFingerprint } from "../../server/billing/payments/methods.ts";
import { findMethodOfOrder, findOrdersOfCard } from "../../server/billing/payments/methods-store.ts";
import { chargePayment, chargeSavedMethod } from "../../server/billing/payments/settlement.ts";
import { executeSetup } from "../../server/billing/payments/setups.ts";
import { paymentCustomers, paymentMethods, paymentSetups, payments } from "../../server/billing/payments/tables.ts";
import { events } from "../../server/platform/db/tables.ts";
import { testSetups } from "../../server/platform/processors/tables.ts";
import { beginPayment, beginSetup, newBuyer, newOrder } from "../support/attempts.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";

/** Cards that customers leave for later charges: with a first payment, or where nothing is due yet. */

let floe: Floe;
let seller: Seller;
beforeAll(async () => {
  floe = await start();
  seller = await floe.seller();
});
afterAll(() => floe?.close());

const statusOf = async ({ id }: OrderRow) =>
  (await floe.deps.db.select({ status: orders.status }).from(orders).where(eq(orders.id, id)))[0]?.status;
const setupsOf = ({ id }: OrderRow) =>
  floe.deps.db.select().from(paymentSetups).where(eq(paymentSetups.order_id, id)).orderBy(paymentSetups.decline_reason);
const paymentsOf = ({ id }: OrderRow) =>
  floe.deps.db.select().from(payments).where(eq(payments.order_id, id)).orderBy(payments.created_at);
const methodsOf = ({ customer_id }: { customer_id: string }) =>
  floe.deps.db.select().from(paymentMethods).where(eq(paymentMethods.customer_id, customer_id));
const toldOf = async ({ id, customer_id }: OrderRow) => {
  const rows = await floe.deps.db
    .select()
    .from(events)
    .where(and(eq(events.organization_id, seller.organization_id)))
    .orderBy(events.seq);
  return rows
    .filter(({ data }) => [id, customer_id].includes((data as { id: string }).id))
    .map(({ type }) => type)
    .filter((type) => type !== "customer.created");
};
const keep = async (token: string, customer_id?: string) => {
  const order = await newOrder(floe, seller, customer_id ? { customer_id } : {});
  await executeSetup(floe.deps, await beginSetup(floe, order, token));
  const [method] = await methodsOf(order);
  if (!method) throw new Error("The card was not kept.");
  return { order, method };
};

describe("where nothing is due", () => {
  test("CHK-42, SUB-03: the card is kept without being charged, the order settled, and the card the customer's own", async () => {
    const order = await newOrder(floe, seller);
    const setup = await beginSetup(floe, order);
    expect(setup).toMatchObject({ status: "pending", order_id: order.id, processor_id: null, account: "test" });
    expect(await executeSetup(floe.deps, setup)).toMatchObject({ status: "succeeded", message: null });
    expect(await statusOf(order)).toBe("paid");
    const [method, ...others] = await methodsOf(order);
    expect(others).toEqual([]);
    expect(method).toMatchObject({
      customer_id: order.customer_id,
      account: "test",
      processor_id: expect.stringMatching(/^pm_/),
      customer_processor_id: expect.stringMatching(/^cus_/),
      card: { brand: "visa", last4: "4242", exp_month: 12, exp_year: 2040 },
      deleted_at: null,
    });
    expect(await setupsOf(order)).toMatchObject([
      { status: "succeeded", payment_method_id: method?.id, fingerprint: method?.fingerprint, reconcile_due_at: null },
    ]);
    expect(await paymentsOf(order)).toEqual([]);
    expect(await findMethodOfOrder(floe.deps.db, order)).toEqual(method);
    const customer = await seller.client.customers.get({ params: { id: order.customer_id } });
    expect(customer.default_payment_method_id).toBe(method?.id);
    expect(await toldOf(order)).toEqual([
      "customer.state_changed",
      "order.created",
      "order.updated",
      "order.paid",
      "customer.updated",
      "customer.state_changed",
    ]);
  });

  test("an order that waits for money is not settled by a card alone", async () => {
    const order = await newOrder(floe, seller, { amount: 1900 });
    await expect(beginSetup(floe, order)).rejects.toThrow("waits for 1900");
    expect(await setupsOf(order)).toEqual([]);
  });

  test("CHK-55: a refused card settles nothing, is not kept, and another can be tried", async () => {
    const order = await newOrder(floe, seller);
    const failed = await executeSetup(floe.deps, await beginSetup(floe, order, "pm_card_chargeDeclined"));
    expect(failed).toMatchObject({ status: "failed", message: "Your card was declined." });
    const unknown = await executeSetup(floe.deps, await beginSetup(floe, order, "ctoken_of_nobody"));
    expect(unknown).toMatchObject({ status: "failed" });
    expect(await setupsOf(order)).toMatchObject([
      { status: "failed", decline_reason: "card_declined", payment_method_id: null },
      { status: "failed", decline_reason: "invalid_payment_method" },
    ]);
    expect([await statusOf(order), await methodsOf(order)]).toEqual(["pending", []]);
    await executeSetup(floe.deps, await beginSetup(floe, order));
    expect(await statusOf(order)).toBe("paid");
  });

  test.each([
    [true, "paid", "succeeded", 1],
    [false, "pending", "failed", 0],
  ])(
    "a card whose bank asks first is kept once it is answered (approved: %s)",
    async (approved, state, ended, count) => {
      const order = await newOrder(floe, seller);
      const asked = await executeSetup(floe.deps, await beginSetup(floe, order, "pm_card_threeDSecure2Required"));
      expect(asked).toMatchObject({ status: "pending", intent: { status: "requires_action" } });
      expect([await statusOf(order), (await methodsOf(order)).length]).toEqual(["pending", 0]);
      const path = `/v1/payment-processor/test/intents/${asked.intent?.client_secret}/authenticate`;
      expect((await floe.request("POST", path, { body: { approved } })).json).toEqual({ status: ended });
      expect([await statusOf(order), (await methodsOf(order)).length]).toEqual([state, count]);
    },
  );

  test("a challenge that nobody answers is given up after an hour, at the processor too", async () => {
    const order = await newOrder(floe, seller);
    await executeSetup(floe.deps, await beginSetup(floe, order, "pm_card_threeDSecure2Required"));
    for (const minutes of [30, 31, 3]) {
      floe.clock.advance(minutes * 60_000);
      await floe.runJobs();
    }
    const [setup] = await setupsOf(order);
    expect(setup).toMatchObject({ status: "failed", decline_reason: "canceled", reconcile_due_at: null });
    const [there] = await floe.deps.db
      .select()
      .from(testSetups)
      .where(eq(testSetups.setup_id, setup?.id ?? ""));
    expect([there?.status, await statusOf(order)]).toEqual(["failed", "pending"]);
  });
});

describe("with a first payment", () => {
  test("SUB-03: the card is charged and kept in one go", async () => {
    const order = await newOrder(floe, seller, { amount: 1900 });
    const settled = await chargePayment(floe.deps, await beginPayment(floe, order), "Guide");
    expect(settled).toMatchObject({ status: "succeeded" });
    const [method] = await methodsOf(order);
    expect(await paymentsOf(order)).toMatchObject([
      { status: "succeeded", amount: 1900, payment_method_id: method?.id, fingerprint: method?.fingerprint },
    ]);
    expect(await findMethodOfOrder(floe.deps.db, order)).toEqual(method);
    const customer = await seller.client.customers.get({ params: { id: order.customer_id } });
    expect(customer.default_payment_method_id).toBe(method?.id);
  });

  test("a card that is only used once is not kept", async () => {
    const order = await newOrder(floe, seller, { amount: 1900 });
    await chargePayment(floe.deps, await beginPayment(floe, order, { keep: false }), "Guide");
    expect([await statusOf(order), await methodsOf(order)]).toEqual(["paid", []]);
    expect(await findMethodOfOrder(floe.deps.db, order)).toBeUndefined();
  });

  test("money that no order waits for takes no card with it", async () => {
    const order = await newOrder(floe, seller, { amount: 1900 });
    const payment = await beginPayment(floe, order);
    await floe.deps.db.update(orders).set({ terms: "others" }).where(eq(orders.id, order.id));
    await chargePayment(floe.deps, payment, "Guide");
    expect(await paymentsOf(order)).toMatchObject([{ status: "succeeded", is_surplus: true, payment_method_id: null }]);
    expect([await statusOf(order), await methodsOf(order)]).toEqual(["pending", []]);
  });
});

describe("a customer's cards", () => {
  test("CUP-16: the same card left again is one, by its newer name; another is another; the first stays the default", async () => {
    const { id: customer_id } = await newBuyer(seller);
    const { method: first } = await keep("pm_card_visa", customer_id);
    floe.clock.advance(1000);
    const { order } = await keep("pm_card_visa", customer_id);
    const [again, ...others] = await methodsOf({ customer_id });
    expect(others).toEqual([]);
    expect(again).toMatchObject({ id: first.id, customer_processor_id: first.customer_processor_id });
    expect(again?.processor_id).not.toBe(first.processor_id);
    expect((await findMethodOfOrder(floe.deps.db, order))?.id).toBe(first.id);
    await keep("pm_card_mastercard", customer_id);
    expect((await methodsOf({ customer_id })).map(({ card }) => card.brand).sort()).toEqual(["mastercard", "visa"]);
    const customer = await seller.client.customers.get({ params: { id: customer_id } });
    expect(customer.default_payment_method_id).toBe(first.id);
    const known = eq(paymentCustomers.customer_id, customer_id);
    expect(await floe.deps.db.select().from(paymentCustomers).where(known)).toHaveLength(1);
  });

  test("DSC-15, CHK-53: a card is known again, by whoever it is entered, and with this seller alone", async () => {
    const [{ order: one }, { order: two }] = [await keep("pm_card_amex"), await keep("pm_card_amex")];
    const { id: customer_id } = await newBuyer(seller);
    const three = await newOrder(floe, seller, { amount: 700, customer_id });
    const payment = await beginPayment(floe, three, { confirmation_token_id: "pm_card_amex", keep: false });
    await chargePayment(floe.deps, payment, "Guide");
    const fingerprint = await findFingerprint(floe.deps, seller.organization_id, "pm_card_amex");
    if (!fingerprint) throw new Error("The card has no fingerprint.");
    const found = await findOrdersOfCard(floe.deps.db, seller.organization_id, fingerprint);
    expect(found.sort()).toEqual([one.id, two.id, three.id].sort());
    const other = await findFingerprint(floe.deps, seller.organization_id, "pm_card_mastercard");
    expect(await findOrdersOfCard(floe.deps.db, seller.organization_id, other ?? "")).not.toContain(one.id);
    expect(await findFingerprint(floe.deps, "another seller", "pm_card_amex")).not.toBe(fingerprint);
    expect(await findFingerprint(floe.deps, seller.organization_id, "ctoken_of_nobody")).toBeNull();
  });
});

describe("a charge while its owner is away", () => {
  const charge = async (token: string) => {
    const { method } = await keep(token);
    const order = await newOrder(floe, seller, { amount: 1900, customer_id: method.customer_id });
    const settled = await chargeSavedMethod(floe.deps, { order, method, trigger: "subscription_cycle" });
    return { method, order, settled };
  };

  test("pays the order by the card that was left", async () => {
    const { method, order, settled } = await charge("pm_card_visa");
    expect(settled).toMatchObject({ status: "succeeded", payment: { order_id: order.id } });
    expect(await statusOf(order)).toBe("paid");
    expect(await paymentsOf(order)).toMatchObject([
      { status: "succeeded", trigger: "subscription_cycle", payment_method_id: method.id, card: method.card },
    ]);
    await expect(chargeSavedMethod(floe.deps, { order, method, trigger: "subscription_cycle" })).rejects.toThrow(
      "needs no payment",
    );
    expect(await paymentsOf(order)).toHaveLength(1);
  });

  test("that is refused keeps its reason, and the order can be paid by another", async () => {
    const { method, order, settled } = await charge("pm_card_chargeCustomerFail");
    expect(settled).toMatchObject({ status: "failed", message: "Your card was declined." });
    expect(await paymentsOf(order)).toMatchObject([{ status: "failed", decline_reason: "card_declined" }]);
    const { method: better } = await keep("pm_card_mastercard", method.customer_id);
    expect(better).toBeDefined();
    const cards = await methodsOf(order);
    const good = cards.find(({ card }) => card.brand === "mastercard");
    if (!good) throw new Error("The card was not kept.");
    await chargeSavedMethod(floe.deps, { order, method: good, trigger: "retry_dunning" });
    expect(await statusOf(order)).toBe("paid");
  });
});
