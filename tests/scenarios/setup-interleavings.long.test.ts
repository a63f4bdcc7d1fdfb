import { and, eq, sql } from "drizzle-orm";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { OrderRow } from "../../server/billing/orders/rules.ts";
import { reopenOrder } from "../../server/billing/orders/service.ts";
import { orders } from "../../server/billing/orders/tables.ts";
import { findMethodOfOrder } from "../../server/billing/payments/methods-store.ts";
import { recordProcessorEvent } from "../../server/billing/payments/notices.ts";
import { executeSetup, reconcileSetup, settleSetup, startSetup } from "../../server/billing/payments/setups.ts";
import { paymentMethods, paymentSetups } from "../../server/billing/payments/tables.ts";
import { events } from "../../server/platform/db/tables.ts";
import { transact } from "../../server/platform/db/unit-of-work.ts";
import type { Processor } from "../../server/platform/processors/processor.ts";
import { testSetups } from "../../server/platform/processors/tables.ts";
import { ApiError } from "../../shared/errors.ts";
import { beginSetup, newOrder, termsOf } from "../support/attempts.ts";
import type { Floe, Seller } from "../support/floe.ts";
import { atOnce, startOnPostgres, tally } from "../support/races.ts";

/**
 * Whatever confirmations, notices, reconciliations, challenges, late successes and changed terms do to the set-ups of one order,
 * in any order and at the same time, on a real PostgreSQL: in the end it is settled by one of them, once, or by none.
 */

type Behaviour = "succeed" | "decline" | "challenge" | "lost" | "lost and late";
const tokens: Record<Behaviour, string> = {
  succeed: "pm_card_visa",
  decline: "pm_card_chargeDeclined",
  challenge: "pm_card_threeDSecure2Required",
  lost: "pm_card_visa",
  "lost and late": "pm_card_visa",
};
/** A processor whose answers get lost, and some of whose set-ups come to light only later. */
const hidden = new Set<string>();
let behaviour: Behaviour = "succeed";
const far = (processor: Processor): Processor => ({
  ...processor,
  async saveMethod(setup) {
    const as = behaviour;
    if (as === "lost and late") hidden.add(setup.setup_id);
    const outcome = await processor.saveMethod({ ...setup, confirmation_token_id: tokens[as] });
    if (as.startsWith("lost")) throw new Error("The answer was lost.");
    return outcome;
  },
  retrieveSetup: async (attempt) => (hidden.has(attempt.setup_id) ? null : processor.retrieveSetup(attempt)),
  cancelSetup: async (attempt) => (hidden.has(attempt.setup_id) ? null : processor.cancelSetup(attempt)),
});

let floe: Floe;
let seller: Seller;
beforeAll(async () => {
  floe = await startOnPostgres({ replace: ({ processor }) => ({ processor: far(processor) }) });
  seller = await floe.seller();
});
afterAll(() => floe?.close());

type Action =
  | { do: "leave"; as: Behaviour; terms: number }
  | { do: "surface" | "event" | "reconcile"; which: number }
  | { do: "decide"; which: number; approved: boolean }
  | { do: "wait"; minutes: number };
const which = fc.nat(3);
const behaviours: Behaviour[] = ["succeed", "decline", "challenge", "lost", "lost and late"];
const action: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("leave" as const),
      as: fc.constantFrom(...behaviours),
      terms: fc.constantFrom(0, 0, 100),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constantFrom("surface" as const, "event" as const, "reconcile" as const), which }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("decide" as const), which, approved: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("wait" as const), minutes: fc.constantFrom(1, 3, 70) }) },
);
const steps = fc.array(fc.array(action, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 6 });
/** Often it begins with one that was given up for lost: that is where a second set-up of the same order comes from. */
const story = fc
  .tuple(fc.boolean(), steps)
  .map(([isLost, rest]): Action[][] =>
    isLost ? [[{ do: "leave", as: "lost and late", terms: 0 }], [{ do: "wait", minutes: 3 }], ...rest] : rest,
  );

const setupsOf = ({ id }: { id: string }) =>
  floe.deps.db
    .select({ setup: paymentSetups, there: testSetups })
    .from(paymentSetups)
    .leftJoin(testSetups, eq(testSetups.setup_id, paymentSetups.id))
    .where(eq(paymentSetups.order_id, id))
    .orderBy(paymentSetups.created_at, paymentSetups.id);
const readOrder = async ({ id }: { id: string }): Promise<OrderRow> => {
  const [row] = await floe.deps.db.select().from(orders).where(eq(orders.id, id));
  if (!row) throw new Error("The order is gone.");
  return row;
};
let told = 0;
const tell = (setup: typeof paymentSetups.$inferSelect, processor_id: string) => {
  told += 1;
  const { organization_id, id: setup_id } = setup;
  const event = { id: `evt_${setup_id}_${told}`, account: "test", kind: "setup", organization_id } as const;
  return recordProcessorEvent(floe.deps, { ...event, setup_id, processor_id });
};
/** Refused because it is under way, is done, or is being changed: all of these are answers. */
const refusals = ["PaymentAlreadyInProgress", "CheckoutLocked", "NotOpenCheckout"];
const orRefused = <T>(work: Promise<T>): Promise<T | string> =>
  work.catch((error: unknown) => {
    if (error instanceof ApiError && refusals.includes(error.error)) return error.error;
    throw error;
  });
/** Leave a card for an order as it stands now, as a confirmation does. */
async function leave(order: OrderRow, terms = 0) {
  const setup = await transact(floe.deps, async (tx) => {
    const now = await reopenOrder(tx, floe.deps, order.id, termsOf(order, terms));
    return startSetup(tx, floe.deps, now, { email: "buyer@example.com", confirmation_token_id: "pm_card_visa" });
  });
  return executeSetup(floe.deps, setup);
}

async function perform(order: OrderRow, one: Action): Promise<void> {
  if (one.do === "leave") {
    behaviour = one.as;
    await orRefused(leave(order, one.terms));
    return;
  }
  if (one.do === "wait") {
    floe.clock.advance(one.minutes * 60_000);
    await floe.runJobs();
    return;
  }
  const all = await setupsOf(order);
  const { setup, there } = all[one.which % Math.max(1, all.length)] ?? {};
  if (!setup || !there) return;
  if (one.do === "surface") hidden.delete(setup.id);
  else if (hidden.has(setup.id)) return;
  if (one.do === "surface" || one.do === "event") await tell(setup, there.id);
  else if (one.do === "reconcile") await reconcileSetup(floe.deps, setup);
  else if (one.do === "decide") {
    const answered = await floe.deps.processor.test?.authenticate(there.client_secret, one.approved);
    if (answered?.kind === "setup") await settleSetup(floe.deps, setup, answered.outcome);
  }
}

/** What must hold when everything has come to light and nothing is left to do. */
async function check(order: OrderRow): Promise<void> {
  for (const { setup, there } of await setupsOf(order)) {
    hidden.delete(setup.id);
    if (there) await tell(setup, there.id);
  }
  for (const minutes of [3, 70, 15]) {
    floe.clock.advance(minutes * 60_000);
    await floe.runJobs();
  }
  const now = await readOrder(order);
  const all = await setupsOf(order);
  // Each set-up is written down as what it is at the processor; of one that never got there, that it failed.
  for (const { setup, there } of all) expect(setup.status).toBe(there?.status ?? "failed");
  const used = all.filter(({ setup }) => setup.payment_method_id !== null);
  expect(used.length).toBe(now.status === "paid" ? 1 : 0);
  for (const { setup } of used) expect(setup).toMatchObject({ status: "succeeded", terms: now.terms });
  // What was kept on the terms that stand has settled the order; unless it came to light while others stood, and they were
  // changed back.
  if (now.status === "pending" && new Set(all.map(({ setup }) => setup.terms)).size === 1)
    expect(all.filter(({ setup }) => setup.status === "succeeded" && setup.terms === now.terms)).toEqual([]);
  const kept = await floe.deps.db
    .select()
    .from(paymentMethods)
    .where(eq(paymentMethods.customer_id, order.customer_id));
  expect(kept.map(({ id }) => id)).toEqual(used.map(({ setup }) => setup.payment_method_id));
  expect((await findMethodOfOrder(floe.deps.db, order))?.id).toBe(kept[0]?.id);
  const { default_payment_method_id } = await seller.client.customers.get({ params: { id: order.customer_id } });
  expect(default_payment_method_id).toBe(kept[0]?.id ?? null);
  const paid = and(eq(events.type, "order.paid"), sql`${events.data} ->> 'id' = ${order.id}`);
  const said = await floe.deps.db.select().from(events).where(paid);
  expect(said).toHaveLength(used.length);
}

test("any story of set-ups ends well", async () => {
  const ends: string[] = [];
  await fc.assert(
    fc.asyncProperty(story, async (actions) => {
      const order = await newOrder(floe, seller);
      for (const together of actions) await Promise.all(together.map((one) => perform(order, one)));
      await check(order);
      ends.push((await readOrder(order)).status);
    }),
    { numRuns: 25, seed: Number(process.env.FLOE_TEST_SEED ?? 4455) },
  );
  // Both ends were seen.
  expect(Object.keys(tally(ends)).sort()).toEqual(["paid", "pending"]);
});

test("ORD-14: a hundred at once are one set-up, one card and one order", async () => {
  behaviour = "succeed";
  const order = await newOrder(floe, seller);
  const outcomes = await atOnce(100, () => orRefused(leave(order)));
  const { succeeded, ...refused } = tally(outcomes.map((one) => (typeof one === "string" ? one : one.status)));
  expect(succeeded).toBe(1);
  expect(Object.values(refused).reduce((sum, one) => sum + one, 0)).toBe(99);
  expect(await setupsOf(order)).toMatchObject([{ setup: { status: "succeeded" }, there: { status: "succeeded" } }]);
  await check(order);
});

test("a notice, the answer and the sweep at the same time finish a set-up once", async () => {
  behaviour = "challenge";
  const order = await newOrder(floe, seller);
  const { intent } = await executeSetup(floe.deps, await beginSetup(floe, order));
  const [{ setup, there } = {}] = await setupsOf(order);
  if (!setup || !there) throw new Error("There is no set-up.");
  const path = `/v1/payment-processor/test/intents/${intent?.client_secret}/authenticate`;
  floe.clock.advance(3 * 60_000);
  const answers = await Promise.all([
    ...Array.from({ length: 20 }, async () => (await floe.request("POST", path, { body: { approved: true } })).status),
    ...Array.from({ length: 5 }, () => tell(setup, there.id)),
    floe.runJobs(),
    floe.runJobs(),
  ]);
  expect(answers.slice(0, 20)).toEqual(Array(20).fill(200));
  expect((await readOrder(order)).status).toBe("paid");
  await check(order);
});

test("two cards of one customer that are left at once are both kept, and one is the default", async () => {
  behaviour = "succeed";
  const first = await newOrder(floe, seller);
  const others = await atOnce(5, () => newOrder(floe, seller, { customer_id: first.customer_id }));
  const setups = await Promise.all([first, ...others].map((order) => beginSetup(floe, order)));
  const settled = await Promise.all(setups.map((setup) => executeSetup(floe.deps, setup)));
  expect(settled.map(({ status }) => status)).toEqual(Array(6).fill("succeeded"));
  const kept = eq(paymentMethods.customer_id, first.customer_id);
  const [card, ...more] = await floe.deps.db.select().from(paymentMethods).where(kept);
  // The same card each time.
  expect(more).toEqual([]);
  const { default_payment_method_id } = await seller.client.customers.get({ params: { id: first.customer_id } });
  expect(default_payment_method_id).toBe(card?.id);
});
