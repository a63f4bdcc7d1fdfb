import { sql } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import type { Floe, Seller } from "../support/floe.ts";
import { awaitLock, startOnPostgres } from "../support/races.ts";
import { startWorker } from "../support/working-process.ts";

/** A move of subscribers whose process is killed at each of its steps: another one goes on, and nothing is done twice (SUB-67). */

let floe: Floe;
let seller: Seller;
beforeAll(async () => {
  floe = await startOnPostgres({ realTime: true });
  seller = await floe.seller();
});
afterAll(() => floe?.close());

const databaseUrl = () => String(floe.deps.config.DATABASE_URL);
/** Kill a worker that waits for this table, which is locked until then. */
async function killAt(table: string): Promise<void> {
  await floe.deps.db.transaction(async (tx) => {
    await tx.execute(sql`lock table ${sql.identifier(table)} in share row exclusive mode`);
    const worker = await startWorker(databaseUrl());
    await awaitLock(databaseUrl());
    await worker.kill();
  });
}

const rowsOf = async (query: ReturnType<typeof sql>) =>
  (await floe.deps.db.execute(query)) as unknown as Record<string, unknown>[];
const countOf = async (query: ReturnType<typeof sql>) => Number((await rowsOf(query))[0]?.n);
const subscribersCount = 3;

test("killed as it finds, tells, schedules, renews and notes, it goes on, and each customer is told and moved once", async () => {
  const { client } = seller;
  const create = async (name: string) =>
    (
      await client.products.create({
        body: { name, recurring_interval: "month", prices: [{ amount_type: "free" }] },
      })
    ).id;
  const [news, pro] = [await create("News"), await create("Pro")];
  const ids: string[] = [];
  for (let at = 0; at < subscribersCount; at += 1) {
    const customer = await client.customers.create({ body: { email: `reader-${at}@example.com` } });
    ids.push((await client.subscriptions.create({ body: { product_id: news, customer_id: customer.id } })).id);
  }
  await floe.runJobs();
  const letters = () => countOf(sql`select count(*) as n from subscription_letters`);
  const mails = () => countOf(sql`select count(*) as n from mails where subject like '%subscription to News changes%'`);
  const updates = () =>
    countOf(
      sql`select count(*) as n from events where type = 'subscription.updated' and organization_id = ${seller.organization_id}`,
    );
  const before = await updates();
  const { id } = await client.subscriptionMigrations.create({
    body: { product_id: news, to_product_id: pro, notify_days: 7 },
  });
  const get = () => client.subscriptionMigrations.get({ params: { id } });
  const states = async () =>
    (await client.subscriptionMigrations.items({ params: { id }, query: { limit: 100 } })).items.map(
      ({ state }) => state,
    );

  await killAt("subscription_migration_items");
  expect(await states()).toEqual([]);
  // The subscribers are found, and the process ends before the first of them is told.
  await killAt("subscription_letters");
  expect(await states()).toEqual(["found", "found", "found"]);
  expect(await letters()).toBe(0);
  await killAt("subscriptions");
  expect(await updates()).toBe(before);
  const second = await startWorker(databaseUrl());
  await eventually(
    async () => (await get()).scheduled === subscribersCount || undefined,
    "the changes to be scheduled",
  );
  await eventually(async () => (await mails()) === subscribersCount || undefined, "the mails");
  await second.kill();
  expect(await updates()).toBe(before + subscribersCount);

  // The periods end now, long after the notice.
  await rowsOf(sql`update subscriptions set current_period_end = now() - interval '1 minute', due_at = now() - interval '1 minute',
    pending_update = jsonb_set(pending_update, '{not_before}', '"2020-01-01T00:00:00.000Z"')
    where organization_id = ${seller.organization_id}`);
  await rowsOf(sql`update subscription_migration_items set due_at = now() - interval '1 minute'`);
  await killAt("orders");
  await killAt("subscriptions");
  expect((await get()).applied).toBe(0);
  const third = await startWorker(databaseUrl());
  await eventually(
    async () =>
      (await countOf(sql`select count(*) as n from subscriptions where product_id = ${pro}`)) === subscribersCount ||
      undefined,
    "the renewals",
  );
  await third.kill();
  await rowsOf(
    sql`update subscription_migration_items set due_at = now() - interval '1 minute' where finished_at is null`,
  );
  await killAt("subscription_migration_items");
  const last = await startWorker(databaseUrl());
  await eventually(async () => (await get()).status === "done" || undefined, "the end of the move");
  await last.kill();
  expect(await get()).toMatchObject({ applied: subscribersCount, skipped: 0, undone: 0 });
  expect([await mails(), (await states()).length]).toEqual([subscribersCount, subscribersCount]);
  for (const subscription of ids) {
    const { product_id, pending_update } = await client.subscriptions.get({ params: { id: subscription } });
    expect({ product_id, pending_update }).toEqual({ product_id: pro, pending_update: null });
    const orders = await client.orders.list({ query: { subscription_id: [subscription] } });
    const renewals = orders.items.filter(({ billing_reason }) => billing_reason === "subscription_cycle");
    expect(renewals.length).toBe(1);
  }
}, 240_000);
