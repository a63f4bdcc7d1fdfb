import { and, count, eq, isNotNull, sql } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { orders } from "../../server/billing/orders/tables.ts";
import { paymentReconciliationWorker } from "../../server/billing/payments/jobs.ts";
import { payments } from "../../server/billing/payments/tables.ts";
import { processDueSubscription } from "../../server/billing/subscriptions/billing.ts";
import { subscriptionWorker } from "../../server/billing/subscriptions/jobs.ts";
import { organization } from "../../server/identity/organizations/tables.ts";
import { withSellerClock } from "../../server/platform/clock.ts";
import { runWorkers } from "../../server/platform/jobs/workers.ts";
import { testIntents } from "../../server/platform/processors/tables.ts";
import { type Floe, start } from "../support/floe.ts";
import { startOnPostgres } from "../support/races.ts";
import { watchStatements } from "../support/statements.ts";
import { openShop } from "../support/story.ts";

/** A renewal that is broken off at each of its statements, and many at once: a period is billed once, and charged once. */

let floe: Floe;
beforeAll(async () => {
  floe = await start();
});
afterAll(() => floe?.close());

/** How often each period was billed and charged. */
async function books({ deps }: Floe, id: string) {
  const of = and(eq(orders.subscription_id, id), isNotNull(orders.period_start));
  const billed = await deps.db.select({ start: orders.period_start, status: orders.status }).from(orders).where(of);
  const charged = await deps.db
    .select({ order_id: payments.order_id, times: count() })
    .from(payments)
    .innerJoin(orders, eq(orders.id, payments.order_id))
    .innerJoin(testIntents, eq(testIntents.payment_id, payments.id))
    .where(and(of, eq(testIntents.status, "succeeded")))
    .groupBy(payments.order_id);
  return {
    billed: billed.length,
    paid: billed.filter(({ status }) => status === "paid").length,
    charged: charged.length,
    times: Math.max(...charged.map(({ times }) => times)),
  };
}

test("broken off at any statement, a renewal is done once in the end, and says each thing once", async () => {
  const shop = await openShop(floe, "2027-01-31");
  const product = await shop.sells("Pro", 1000);
  const whole: string[] = [
    "subscription.cycled",
    "subscription.updated",
    "order.created pending",
    "order.updated paid",
    "order.paid paid",
  ];
  let statements = Number.POSITIVE_INFINITY;
  const id = await shop.subscribes(product);
  const key = { organization_id: shop.seller.organization_id, id };
  await shop.told();
  for (let at = 0; at <= statements; at += 1) {
    const end = (await shop.get(id)).current_period_end;
    await shop.set(end.toISOString());
    const [seller] = await floe.deps.db.select().from(organization).where(eq(organization.id, key.organization_id));
    if (!seller) throw new Error("The seller is gone.");
    const watch = watchStatements(floe, (_, number) => {
      if (number === at) throw new Error(`broken off at ${number}`);
    });
    await processDueSubscription(withSellerClock(floe.deps, seller), key).catch(() => undefined);
    watch.stop();
    if (at === 0) statements = watch.count();
    // Everything works again, and time passes: what became of a charge is asked for, and it is made again if need be.
    for (const minutes of at === 0 ? [] : [5, 20]) {
      await shop.set(new Date(end.getTime() + minutes * 60_000).toISOString());
      await runWorkers(floe.deps, [paymentReconciliationWorker, subscriptionWorker]);
    }
    const once = { billed: at + 1, paid: at + 1, charged: at + 1, times: 1 };
    expect([at, await books(floe, id)]).toEqual([at, once]);
    expect([at, await shop.told()]).toEqual([at, whole]);
  }
  // Two transactions begin and end besides; what is asked of the database stays in bounds.
  expect(statements).toBeGreaterThan(15);
  expect(statements).toBeLessThanOrEqual(40);
});

test("many servers that look at the same subscriptions at the same time bill each period once", async () => {
  const real = await startOnPostgres();
  try {
    const shop = await openShop(real, "2027-01-31");
    const product = await shop.sells("Pro", 1000);
    const ids: string[] = [];
    for (let left = 4; left > 0; left -= 1) ids.push(await shop.subscribes(product));
    await shop.set("2027-04-30");
    const [seller] = await real.deps.db
      .select()
      .from(organization)
      .where(eq(organization.id, shop.seller.organization_id));
    if (!seller) throw new Error("The seller is gone.");
    const deps = withSellerClock(real.deps, seller);
    const { organization_id } = shop.seller;
    // Whoever finds another at it leaves it alone: none fails.
    await Promise.all(
      [0, 1, 2, 3].flatMap(() => ids.map((id) => processDueSubscription(deps, { organization_id, id }))),
    );
    await real.runJobs();
    for (const id of ids) expect(await books(real, id)).toEqual({ billed: 3, paid: 3, charged: 3, times: 1 });
    const [numbers] = await real.deps.db
      .select({ all: count(), different: sql<number>`count(distinct ${orders.invoice_number})::int` })
      .from(orders);
    expect(numbers?.different).toBe(numbers?.all);
    expect(numbers?.all).toBe(4 * 4);
  } finally {
    await real.close();
  }
});
