import { eq } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { OrderRow } from "../../server/billing/orders/rules.ts";
import { orders } from "../../server/billing/orders/tables.ts";
import { chargePayment } from "../../server/billing/payments/settlement.ts";
import { executeSetup } from "../../server/billing/payments/setups.ts";
import { paymentMethods, paymentSetups, payments } from "../../server/billing/payments/tables.ts";
import { events } from "../../server/platform/db/tables.ts";
import { testIntents, testSetups } from "../../server/platform/processors/tables.ts";
import { beginPayment, beginSetup, newOrder } from "../support/attempts.ts";
import type { Floe, Seller } from "../support/floe.ts";
import { spawnMortal, startMortal } from "../support/mortal.ts";
import { type Die, leaveCard, setupSteps } from "../support/mortal-steps.ts";
import { startOnPostgres } from "../support/races.ts";

/** A server ends between the steps by which a card is left, on a real PostgreSQL: another one finishes or undoes it. */

let floe: Floe;
let seller: Seller;
beforeAll(async () => {
  floe = await startOnPostgres();
  seller = await floe.seller();
});
afterAll(() => floe?.close());

/** Leave a card for an order at a server of the same database that dies at this step. */
async function die(how: string, step: string, { id }: OrderRow): Promise<void> {
  const databaseUrl = String(floe.deps.config.DATABASE_URL);
  if (how === "killed") return (await spawnMortal(databaseUrl, step, id)).killed();
  let end: Die = () => {
    throw new Error("It has not begun to live.");
  };
  const mortal = await startMortal({ databaseUrl }, (die) => {
    end = die;
    return setupSteps(step, die);
  });
  leaveCard(mortal.deps, id, step, end).catch(() => undefined);
  return mortal.ended;
}

const stateOf = async ({ id, customer_id }: OrderRow) => {
  const { db } = floe.deps;
  const [order] = await db.select().from(orders).where(eq(orders.id, id));
  const [here, paid] = [
    await db.select().from(paymentSetups).where(eq(paymentSetups.order_id, id)),
    await db.select().from(payments).where(eq(payments.order_id, id)),
  ];
  const kept = await db.select().from(paymentMethods).where(eq(paymentMethods.customer_id, customer_id));
  const said = (await db.select().from(events).orderBy(events.seq))
    .filter(({ data }) => (data as { id: string }).id === id)
    .map(({ type }) => type);
  return { order: order?.status, attempts: [...here, ...paid].map(({ status }) => status), kept: kept.length, said };
};
const countThere = async () =>
  (await floe.deps.db.select().from(testSetups)).length + (await floe.deps.db.select().from(testIntents)).length;

const said = ["order.created", "order.updated", "order.paid"];
const done = { order: "paid", attempts: ["succeeded"], kept: 1, said };
const open = { order: "pending", kept: 0, said: [] };

const steps: [step: string, count: number, expected: object][] = [
  ["before it is written down", 0, { ...open, attempts: [] }],
  ["before it is asked for", 0, { ...open, attempts: ["failed"] }],
  ["after it was done", 1, done],
  ["while the order is settled", 1, done],
  ["while the customer is changed", 1, done],
];
test.each<[how: string, step: string, amount: number, count: number, expected: object]>([
  ...steps.flatMap(([step, ...rest]) => [0, 1900].map((amount) => ["cut off", step, amount, ...rest] as never)),
  ["killed", "while the customer is changed", 0, 1, done],
])("%s %s (to be paid: %i)", async (how, step, amount, count, expected) => {
  const before = await countThere();
  const order = await newOrder(floe, seller, { amount });
  await die(how, step, order);
  expect((await stateOf(order)).said).toEqual([]);
  // Another server of the same database, two minutes later.
  floe.clock.advance(3 * 60_000);
  await floe.runJobs();
  expect(await stateOf(order)).toEqual(expected);
  expect((await countThere()) - before).toBe(count);
  if (count === 1) return;
  if (amount === 0) await executeSetup(floe.deps, await beginSetup(floe, order));
  else await chargePayment(floe.deps, await beginPayment(floe, order), "Guide");
  expect(await stateOf(order)).toMatchObject({ order: "paid", kept: 1, said });
  expect((await countThere()) - before).toBe(1);
});
