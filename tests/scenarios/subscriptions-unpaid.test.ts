import { eq } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { paymentMethods } from "../../server/billing/payments/tables.ts";
import { planFailure } from "../../server/billing/subscriptions/dunning.ts";
import { subscriptions } from "../../server/billing/subscriptions/tables.ts";
import { ProcessorError } from "../../server/platform/processors/processor.ts";
import { type Floe, start } from "../support/floe.ts";
import { cards, openShop } from "../support/story.ts";

/** Subscriptions whose card is refused: tried again, recovered, or ended. */

let floe: Floe;
/** Why cards are refused, where it matters. */
let refusal: string | null = null;
/** What happens once while a card is charged, where it matters. */
let meanwhile: (() => Promise<unknown>) | null = null;
beforeAll(async () => {
  floe = await start({
    replace: ({ processor }) => ({
      processor: {
        ...processor,
        async chargeSaved(charge) {
          const happening = meanwhile;
          meanwhile = null;
          await happening?.();
          const intent = await processor.chargeSaved(charge);
          const decline = refusal && intent.decline ? { ...intent.decline, reason: refusal } : intent.decline;
          return { ...intent, decline };
        },
      },
    }),
  });
});
afterEach(() => {
  refusal = null;
  meanwhile = null;
});
afterAll(() => floe?.close());
afterEach(() => {
  expect(floe.logged.filter((line) => line.startsWith("error"))).toEqual([]);
});

const failing = async (every: object = {}) => {
  const shop = await openShop(floe, "2026-06-24");
  const trial = { trial_interval: "day", trial_interval_count: 7 };
  const id = await shop.subscribes(await shop.sells("Pro", 1000, { ...trial, ...every }), { card: cards.failing });
  await shop.told();
  return { shop, id };
};
const nextOf = async (shop: Awaited<ReturnType<typeof openShop>>, id: string) =>
  (await shop.get(id)).payment_retries?.orders[0]?.next_payment_attempt_at.toISOString().slice(0, 16);
const recovered = ["subscription.updated", "subscription.active", "order.updated paid", "order.paid paid"];

test("SUB-49 to SUB-51, WHK-34, WHK-35: it is tried after 2, 5, 7 and 7 days, and then ends with its orders", async () => {
  const { shop, id } = await failing();
  await shop.on("2026-07-01");
  expect(await shop.told()).toEqual([
    "subscription.cycled",
    "subscription.updated",
    "order.created pending",
    "subscription.updated",
    "subscription.past_due",
  ]);
  expect(await shop.get(id)).toMatchObject({
    status: "past_due",
    past_due_at: new Date("2026-07-01"),
    payment_retries: { deadline_at: new Date("2026-07-22T00:01:00Z"), orders: [{ failed_payments: 1 }] },
  });
  for (const [today, next] of [
    ["2026-07-01", "2026-07-03T00:00"],
    ["2026-07-03", "2026-07-08T00:00"],
    ["2026-07-08", "2026-07-15T00:00"],
    ["2026-07-15", "2026-07-22T00:00"],
  ] as const) {
    await shop.on(today);
    expect([today, await nextOf(shop, id)]).toEqual([today, next]);
  }
  // Nothing that anybody has to know happened in between.
  expect(await shop.told()).toEqual([]);
  const [order] = (await shop.seller.client.orders.list({ query: { status: ["pending"] } })).items;
  expect(order?.next_payment_attempt_at).toEqual(new Date("2026-07-22"));
  await shop.on("2026-07-22");
  expect(await shop.told()).toEqual([
    "subscription.updated",
    "subscription.canceled",
    "subscription.revoked",
    "order.updated void",
  ]);
  expect(await shop.get(id)).toMatchObject({ status: "canceled", payment_retries: null });
  expect((await shop.orders(id)).at(-1)).toBe("2026-07-01 cycle 1000 void");
  const paid = await shop.seller.client.payments.list({ query: { status: ["failed"], limit: 100 } as never });
  expect(paid.items.map(({ trigger }) => trigger)).toEqual([
    ...Array<string>(4).fill("retry_dunning"),
    "subscription_cycle",
  ]);
  await shop.on("2026-10-01");
  expect(await shop.told()).toEqual([]);
});

test("SUB-52, SUB-53: another card is charged at once with what is missing, and all is well", async () => {
  const { shop, id } = await failing();
  await shop.on("2026-07-01");
  await shop.set("2026-07-02");
  const { customer_id } = await shop.get(id);
  const good = await shop.leaves(customer_id, cards.good);
  await shop.told();
  expect(await shop.changes(id, { payment_method_id: good })).toBe("done");
  expect(await shop.told()).toEqual(["subscription.updated", ...recovered]);
  expect(await shop.get(id)).toMatchObject({ status: "active", past_due_at: null, payment_retries: null });
  expect(await shop.state(id)).toBe("active 1000 2026-07-01 to 2026-08-01");
  await shop.on("2026-08-01");
  expect(await shop.orders(id)).toEqual([
    "2026-06-24 create 0 paid",
    "2026-07-01 cycle 1000 paid",
    "2026-08-01 cycle 1000 paid",
  ]);
});

test("SUB-53, SUB-54: a card that its customer prefers from now on is charged at once too, but not for who is leaving", async () => {
  for (const leaves of [false, true]) {
    const { shop, id } = await failing();
    await shop.on("2026-07-01");
    await shop.set("2026-07-02");
    const { customer_id } = await shop.get(id);
    if (leaves) await shop.changes(id, { cancel_at_period_end: true });
    const good = await shop.leaves(customer_id, cards.good);
    const { token } = await shop.seller.client.customerSessions.create({ body: { customer_id } });
    const chosen = { token, body: { default_payment_method_id: good } };
    expect((await floe.request("PATCH", "/v1/customer-portal/customers/me", chosen)).status).toBe(200);
    await shop.on("2026-07-02T00:01:00Z");
    expect((await shop.get(id)).status).toBe(leaves ? "past_due" : "active");
    expect(await shop.orders(id)).toContain(`2026-07-01 cycle 1000 ${leaves ? "pending" : "paid"}`);
  }
});

test("SUB-51: where no other try will mend it, it is tried once more, at the last moment", async () => {
  const { shop, id } = await failing();
  refusal = "lost_card";
  await shop.on("2026-07-01");
  expect(await nextOf(shop, id)).toBe("2026-07-22T00:01");
  await shop.on("2026-07-22T00:00:59Z");
  expect((await shop.get(id)).status).toBe("past_due");
  await shop.on("2026-07-22T00:01:00Z");
  expect((await shop.get(id)).status).toBe("canceled");
});

test.each([
  // The first of all, and one of an order that came while others were missing.
  [null, 0, "2026-07-03T00:00:00Z", "2026-07-05T00:00:00Z"],
  ["2026-07-01T00:00:00Z", 0, "2026-07-20T00:00:00Z", "2026-07-22T00:00:00Z"],
  ["2026-07-01T00:00:00Z", 1, "2026-07-20T00:00:00Z", "2026-07-22T00:01:00Z"],
  ["2026-07-01T00:00:00Z", 0, "2026-07-22T00:01:00Z", null],
  ["2026-07-01T00:00:00Z", 4, "2026-07-02T00:00:00Z", null],
])("SUB-51: behind since %s, after %i failures, one on %s is followed by a try on %s", (since, failed, now, next) => {
  const order = { billing_reason: "subscription_cycle" as const, failed_payments: failed };
  const failure = planFailure(
    { past_due_at: since ? new Date(since) : null, cancel_at_period_end: false, ended_at: null },
    order,
    "card_declined",
    new Date(now),
  );
  expect(failure).toEqual(
    next ? { is_over: false, failed_payments: failed + 1, next_payment_attempt_at: new Date(next) } : { is_over: true },
  );
});

test("a processor that was not to be reached is no failure of the card, which is charged soon again", async () => {
  const { shop, id } = await failing();
  refusal = "processor_unavailable";
  await shop.on("2026-07-01");
  expect((await shop.get(id)).status).toBe("active");
  refusal = null;
  await shop.on("2026-07-01T00:09:59Z");
  expect((await shop.get(id)).status).toBe("active");
  await shop.on("2026-07-01T00:10:00Z");
  expect([(await shop.get(id)).status, await nextOf(shop, id)]).toEqual(["past_due", "2026-07-03T00:10"]);
});

test("one that turns payments away unread, as too many come at once, has not refused the card either", async () => {
  const { shop, id } = await failing();
  meanwhile = () => Promise.reject(new ProcessorError("Too many payments at this moment.", "rate_limit"));
  await shop.on("2026-07-01");
  expect((await shop.get(id)).status).toBe("active");
  await shop.on("2026-07-01T00:10:00Z");
  expect([(await shop.get(id)).status, await nextOf(shop, id)]).toEqual(["past_due", "2026-07-03T00:10"]);
});

test("ORD-15: where the card was taken away, the payment has failed, and the order says so", async () => {
  const { shop, id } = await failing();
  const { customer_id } = await shop.get(id);
  await floe.deps.db
    .update(paymentMethods)
    .set({ deleted_at: new Date() })
    .where(eq(paymentMethods.customer_id, customer_id));
  await shop.on("2026-07-01");
  expect((await shop.told()).slice(2)).toEqual([
    "order.created pending",
    "order.updated pending",
    "subscription.updated",
    "subscription.past_due",
  ]);
  expect(await nextOf(shop, id)).toBe("2026-07-03T00:00");
});

test("SUB-10, SUB-52: a period that begins meanwhile is billed too, and all have to be paid", async () => {
  const { shop, id } = await failing({ recurring_interval: "week" });
  await shop.on("2026-07-01");
  await shop.on("2026-07-08");
  expect((await shop.orders(id)).slice(1)).toEqual(["2026-07-01 cycle 1000 pending", "2026-07-08 cycle 1000 pending"]);
  expect((await shop.get(id)).payment_retries?.orders.length).toBe(2);
  const good = await shop.leaves((await shop.get(id)).customer_id, cards.good);
  await shop.told();
  expect(await shop.changes(id, { payment_method_id: good })).toBe("done");
  const told = await shop.told();
  expect(told.filter((type) => type === "subscription.active").length).toBe(1);
  expect(told.slice(-4)).toEqual(recovered);
  expect((await shop.get(id)).status).toBe("active");
});

describe("SUB-54, SUB-56: who leaves", () => {
  test("with the period is not charged again, and at its end nothing is asked for any more", async () => {
    const { shop, id } = await failing();
    await shop.on("2026-07-01");
    expect(await shop.changes(id, { cancel_at_period_end: true })).toBe("done");
    expect(await nextOf(shop, id)).toBeUndefined();
    await shop.told();
    await shop.on("2026-07-31");
    expect(await shop.told()).toEqual([]);
    await shop.on("2026-08-01");
    expect(await shop.told()).toEqual([
      "subscription.updated",
      "subscription.canceled",
      "subscription.revoked",
      "order.updated void",
    ]);
  });

  test.each([
    ["the first time", "2026-07-01", []],
    ["again", "2026-07-03", ["2026-07-01"]],
  ])("while the card is charged %s, which fails, is not charged once more", async (_, date, before) => {
    const { shop, id } = await failing();
    for (const earlier of before) await shop.on(earlier);
    meanwhile = () => shop.changes(id, { cancel_at_period_end: true });
    await shop.on(date);
    expect(await shop.state(id)).toBe("past_due 1000 2026-07-01 to 2026-08-01, ending");
    expect(await nextOf(shop, id)).toBeUndefined();
    await shop.told();
    await shop.on("2026-07-31");
    expect(await shop.told()).toEqual([]);
    expect(await shop.changes(id, { cancel_at_period_end: false })).toBe("done");
    await floe.runJobs();
    expect((await shop.get(id)).status).toBe("canceled");
  });

  test("is asked until the processor is reached for what was not asked yet, and no more for what was", async () => {
    const { shop, id } = await failing();
    refusal = "processor_unavailable";
    await shop.on("2026-07-01");
    expect(await shop.changes(id, { cancel_at_period_end: true })).toBe("done");
    expect(await shop.state(id)).toBe("active 1000 2026-07-01 to 2026-08-01, ending");
    await shop.on("2026-07-01T00:10:00Z");
    expect((await shop.get(id)).status).toBe("active");
    refusal = null;
    await shop.on("2026-07-01T00:20:00Z");
    expect([(await shop.get(id)).status, await nextOf(shop, id)]).toEqual(["past_due", undefined]);
    expect(await shop.changes(id, { cancel_at_period_end: false })).toBe("done");
    refusal = "processor_unavailable";
    meanwhile = () => shop.changes(id, { cancel_at_period_end: true });
    await floe.runJobs();
    expect([await shop.state(id), await nextOf(shop, id)]).toEqual([
      "past_due 1000 2026-07-01 to 2026-08-01, ending",
      undefined,
    ]);
  });

  test("while an order failed and another was not asked for yet, is asked for that one", async () => {
    const { shop, id } = await failing({ recurring_interval: "week" });
    await shop.on("2026-07-01");
    await shop.on("2026-07-03");
    refusal = "processor_unavailable";
    await shop.on("2026-07-08T00:00:00Z");
    expect((await shop.get(id)).payment_retries?.orders).toHaveLength(2);
    expect(await shop.changes(id, { cancel_at_period_end: true })).toBe("done");
    refusal = null;
    expect(await nextOf(shop, id)).toBe("2026-07-08T00:10");
    await shop.on("2026-07-08T00:10:00Z");
    expect((await shop.get(id)).payment_retries?.orders ?? []).toEqual([]);
    const { items } = await shop.seller.client.orders.list({ query: { subscription_id: [id], status: ["pending"] } });
    expect(items.map(({ next_payment_attempt_at }) => next_payment_attempt_at)).toEqual([null, null]);
  });

  test("before a card that was chosen is charged, is not charged by it", async () => {
    const { shop, id } = await failing();
    await shop.on("2026-07-01");
    const { customer_id } = await shop.get(id);
    expect(await shop.changes(id, { cancel_at_period_end: true })).toBe("done");
    const good = await shop.leaves(customer_id, cards.good);
    expect(await shop.changes(id, { payment_method_id: good })).toBe("done");
    // As it stands where the card was chosen a moment before they left.
    const card_due_at = new Date("2026-07-01");
    await floe.deps.db.update(subscriptions).set({ card_due_at, due_at: card_due_at }).where(eq(subscriptions.id, id));
    await floe.runJobs();
    expect((await shop.orders(id)).find((line) => line.includes("cycle"))).toBe("2026-07-01 cycle 1000 pending");
    const [row] = await floe.deps.db.select().from(subscriptions).where(eq(subscriptions.id, id));
    expect(row).toMatchObject({ card_due_at: null, due_at: new Date("2026-08-01") });
  });

  test("and stays after all is charged at once", async () => {
    const { shop, id } = await failing();
    await shop.on("2026-07-01");
    expect(await shop.changes(id, { cancel_at_period_end: true })).toBe("done");
    expect(await shop.changes(id, { cancel_at_period_end: false })).toBe("done");
    await floe.runJobs();
    expect(await nextOf(shop, id)).toBe("2026-07-06T00:00");
  });

  test("now, leaves void orders", async () => {
    const { shop, id } = await failing();
    await shop.on("2026-07-01");
    await shop.told();
    expect(await shop.changes(id, { revoke: true })).toBe("done");
    expect(await shop.told()).toEqual([
      "subscription.updated",
      "subscription.canceled",
      "subscription.revoked",
      "order.updated void",
    ]);
    await shop.on("2026-08-01");
    expect((await shop.orders(id)).at(-1)).toBe("2026-07-01 cycle 1000 void");
  });
});

test("what a void order had used of a credit is given back", async () => {
  const shop = await openShop(floe, "2026-06-01");
  const [big, small] = [await shop.sells("Big", 3000), await shop.sells("Small", 2000)];
  const id = await shop.subscribes(big);
  await shop.set("2026-06-16");
  expect(await shop.changes(id, { product_id: small, proration_behavior: "invoice" })).toBe("done");
  const { customer_id } = await shop.get(id);
  const bad = await shop.leaves(customer_id, cards.failing);
  expect(await shop.changes(id, { payment_method_id: bad })).toBe("done");
  await shop.on("2026-07-01");
  expect((await shop.orders(id)).at(-1)).toBe("2026-07-01 cycle 2000 due 1500 pending");
  expect(await shop.changes(id, { revoke: true })).toBe("done");
  const again = await shop.subscribes(small, { checkout: { customer_id } });
  const good = await shop.leaves(customer_id, cards.good);
  expect(await shop.changes(again, { payment_method_id: good })).toBe("done");
  await shop.on("2026-08-01");
  expect((await shop.orders(again)).at(-1)).toBe("2026-08-01 cycle 2000 due 1500 paid");
});

describe("ORD-18: what begins with a period is granted when it is paid", () => {
  async function openBenefit(grace: number) {
    const shop = await openShop(floe, "2026-06-01", { benefit_revocation_grace_period: grace });
    const [plan, free] = [await shop.sells("Plan", 3000), await shop.sells("Free", [{ amount_type: "free" }])];
    const note = { type: "custom", description: "Note", properties: { note: "Thanks" } };
    const benefit = await shop.accepted("POST", "/v1/benefits/", note);
    await shop.accepted("POST", `/v1/products/${plan}/benefits`, { benefits: [benefit.id] });
    const id = await shop.subscribes(plan);
    const { customer_id } = await shop.get(id);
    const granted = async () => {
      const state = await shop.seller.client.customers.getState({ params: { id: customer_id } });
      return state.granted_benefits.length;
    };
    const pay = async (card: string) => {
      const payment_method_id = await shop.leaves(customer_id, card);
      expect(await shop.changes(id, { payment_method_id })).toBe("done");
      await floe.runJobs();
    };
    return { shop, plan, free, id, granted, pay };
  }
  /** How many benefits there are while the card is charged, after it was refused, and once another one was charged. */
  async function follow({ granted, pay }: Awaited<ReturnType<typeof openBenefit>>, begin: () => Promise<unknown>) {
    const counts: number[] = [];
    await pay(cards.failing);
    meanwhile = async () => counts.push(await granted());
    await begin();
    await floe.runJobs();
    counts.push(await granted());
    await pay(cards.good);
    return [...counts, await granted()];
  }

  test.each([0, 7])("after a pause, with %i days of grace", async (grace) => {
    const opened = await openBenefit(grace);
    const { shop, id } = opened;
    expect(await shop.changes(id, { pause_at_period_end: true })).toBe("done");
    await shop.on("2026-07-10");
    expect(await opened.granted()).toBe(0);
    expect(await follow(opened, () => shop.changes(id, { resume: true }))).toEqual([0, 0, 1]);
  });

  test.each([0, 7])("with a change that waited for it, with %i days of grace", async (grace) => {
    const opened = await openBenefit(grace);
    const { shop, id, plan, free } = opened;
    expect(await shop.changes(id, { product_id: free, proration_behavior: "next_period" })).toBe("done");
    await shop.on("2026-07-02");
    expect(await opened.granted()).toBe(0);
    expect(await shop.changes(id, { product_id: plan, proration_behavior: "next_period" })).toBe("done");
    expect(await follow(opened, () => shop.on("2026-08-01"))).toEqual([0, 0, 1]);
  });
});
