/** The books of sellers are checked while they sell: a broken one stops the money of that seller only (RST-10). */
import { setTimeout as sleep } from "node:timers/promises";
import { type SQL, sql } from "drizzle-orm";
import { afterEach, expect, test } from "vitest";
import { bookCheckWorker, releaseMoney } from "../../server/operations/verify/jobs.ts";
import { findCustomerBreaches, verifyCustomers } from "../../server/operations/verify/scoped.ts";
import { claim, listHolds, listToCheck } from "../../server/operations/verify/store.ts";
import { readRows } from "../../server/platform/db/database-reading.ts";
import { registry } from "../../server/platform/telemetry/metrics.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";

let floe: Floe;
afterEach(() => floe?.close());

const readFailed = async () =>
  /floe_book_checks_total\{outcome="failed"\} (\d+)/.exec(await registry.render())?.[1] ?? "0";
/** Run the worker once. A check that fails is logged, and tried again: here it is a fault. */
async function check(): Promise<number> {
  const before = await readFailed();
  const count = "runBatch" in bookCheckWorker ? await bookCheckWorker.runBatch(floe.deps, 50) : 0;
  expect(await readFailed()).toBe(before);
  return count;
}
const run = (statement: SQL) => floe.deps.db.execute(statement);
async function listActions(): Promise<string[]> {
  const found = await run(sql`select action from audit_log where action like 'organization.money%' order by id`);
  return readRows<{ action: string }>(found).map(({ action }) => action);
}
const later = () => floe.clock.advance(20_000);

type Shop = { seller: Seller; product: string; plan: string };
async function openShop(name: string): Promise<Shop> {
  const seller = await floe.seller(name);
  const price = [{ amount_type: "fixed" as const, price_amount: 1900 }];
  const { id: product } = await seller.client.products.create({ body: { name: "Guide", prices: price } });
  const { id: plan } = await seller.client.products.create({
    body: { name: "Plan", prices: price, recurring_interval: "month" },
  });
  return { seller, product, plan };
}
async function open({ seller }: Shop, product: string): Promise<string> {
  return (await seller.client.checkouts.create({ body: { products: [product] } })).client_secret;
}
const confirm = (client_secret: string, email = "one@example.com") =>
  floe.request("POST", `/v1/checkouts/client/${client_secret}/confirm`, {
    body: {
      customer_email: email,
      confirmation_token_id: "pm_card_visa",
      customer_billing_address: { country: "DE", line1: "1 Weg", city: "Berlin", postal_code: "10115" },
    },
  });
async function buy(shop: Shop, product = shop.product, email?: string): Promise<void> {
  expect((await confirm(await open(shop, product), email)).status).toBe(200);
  await floe.runJobs();
}
const breakBalance = ({ seller }: Shop) =>
  run(sql`update orders set refunded_amount = refunded_amount + 100 where organization_id = ${seller.organization_id}`);
const mend = ({ seller }: Shop) =>
  run(sql`update orders set refunded_amount = refunded_amount - 100 where organization_id = ${seller.organization_id}`);

test("RST-10: sound books hold nothing, and what was checked is not checked again", async () => {
  floe = await start();
  const shop = await openShop("sound");
  await buy(shop);
  await buy(shop, shop.plan);
  expect(await check()).toBe(1);
  later();
  expect(await check()).toBe(0);
  expect(await listHolds(floe.deps.db, 10)).toEqual([]);
});

test("RST-10: broken books stop the money of that seller only, in words, until they are mended", async () => {
  floe = await start();
  const [broken, sound] = [await openShop("broken"), await openShop("sound")];
  for (const shop of [broken, sound]) {
    await buy(shop);
    await buy(shop, shop.plan, "two@example.com");
  }
  const [order] = (await broken.seller.client.orders.list({ query: { product_id: [broken.product] } })).items;
  const waiting = await open(broken, broken.product);
  await breakBalance(broken);
  await check();
  const [hold, ...others] = await listHolds(floe.deps.db, 10);
  expect(others).toEqual([]);
  expect(hold).toMatchObject({ organization_id: broken.seller.organization_id });
  expect(hold?.reason).toContain("order_refunds");
  const refused = await confirm(waiting);
  expect(refused.status).toBe(503);
  expect(refused.json).toMatchObject({ error: "PaymentsHeld" });
  expect(new Headers(refused.headers as HeadersInit).get("retry-after")).toBe("60");
  const refund = await floe.request("POST", "/v1/refunds/", {
    token: broken.seller.key,
    body: { order_id: order?.id, amount: 100, reason: "other" },
  });
  expect(refund).toMatchObject({ status: 503, json: { error: "PaymentsHeld" } });
  // Reads and everything else go on.
  expect((await floe.request("GET", "/v1/orders/", { token: broken.seller.key })).status).toBe(200);
  await buy(sound);
  // What is due waits, and of the other seller it runs.
  floe.clock.advance(32 * 24 * 3600_000);
  await floe.runJobs();
  const count = async ({ seller }: Shop) =>
    (await seller.client.orders.list({ query: {} })).items.filter(
      ({ billing_reason }) => billing_reason === "subscription_cycle",
    ).length;
  expect([await count(broken), await count(sound)]).toEqual([0, 1]);
  await mend(broken);
  await check();
  expect(await listHolds(floe.deps.db, 10)).toEqual([]);
  expect((await confirm(await open(broken, broken.product), "three@example.com")).status).toBe(200);
  await floe.runJobs();
  expect([await count(broken), await count(sound)]).toEqual([1, 1]);
  expect(await listActions()).toEqual(["organization.money_held", "organization.money_released"]);
}, 60_000);

test("RST-10: of more sellers than fit in one look, who waited longest comes first", async () => {
  floe = await start();
  const shops = [await openShop("first"), await openShop("second"), await openShop("third")];
  const seen: string[] = [];
  for (let round = 0; round < shops.length; round += 1) {
    for (const shop of shops) await buy(shop);
    const [next = ""] = await listToCheck(floe.deps.db, floe.clock.now(), 1);
    seen.push(next);
    const [now, until] = [floe.clock.now(), new Date(floe.clock.now().getTime() + 1000)];
    expect(await claim(floe.deps.db, { organization_id: next, lease: crypto.randomUUID(), now, until })).toBeDefined();
    later();
  }
  expect(new Set(seen)).toEqual(new Set(shops.map(({ seller }) => seller.organization_id)));
});

test("RST-10: two processes find it once, one that dies is followed, and what passes holds nothing", async () => {
  floe = await start();
  const shop = await openShop("shop");
  const of = shop.seller.organization_id;
  await buy(shop);
  const now = floe.clock.now();
  const claimAs = (digit: number) =>
    claim(floe.deps.db, {
      organization_id: of,
      lease: `00000000-0000-7000-8000-00000000000${digit}`,
      now,
      until: new Date(now.getTime() + 60_000),
    });
  expect((await Promise.all([claimAs(1), claimAs(2)])).filter(Boolean)).toHaveLength(1);
  await breakBalance(shop);
  // The process that claimed it has died: no other checks before its time is over.
  expect(await check()).toBe(0);
  floe.clock.advance(61_000);
  // What is gone at the second look holds nothing.
  const passing = check();
  await sleep(700);
  await mend(shop);
  await passing;
  expect(await listHolds(floe.deps.db, 10)).toEqual([]);
  await buy(shop);
  await breakBalance(shop);
  later();
  await Promise.all([check(), check(), check()]);
  expect(await listHolds(floe.deps.db, 10)).toHaveLength(1);
  expect(await listActions()).toEqual(["organization.money_held"]);
  // While it is broken it stays held, and the operator's word lets it go for good.
  later();
  await check();
  expect(await listHolds(floe.deps.db, 10)).toHaveLength(1);
  expect(await releaseMoney(floe.deps, of)).toBe(true);
  expect(await releaseMoney(floe.deps, of)).toBe(false);
  await buy(shop);
  later();
  await check();
  expect(await listHolds(floe.deps.db, 10)).toEqual([]);
  // What is broken besides holds it again.
  await run(sql`update payments set amount = amount + 1 where organization_id = ${of} and status = 'succeeded'`);
  await buy(shop);
  later();
  await check();
  expect((await listHolds(floe.deps.db, 10))[0]?.reason).toContain("order_payment");
}, 60_000);

test("RST-10: each money rule that can be checked for some customers finds what it finds for all of them", async () => {
  floe = await start();
  const shop = await openShop("rules");
  await buy(shop);
  await buy(shop, shop.plan, "two@example.com");
  const of = shop.seller.organization_id;
  const customers = (await shop.seller.client.customers.list({ query: {} })).items.map(({ id }) => id);
  const find = async () =>
    new Set((await verifyCustomers(floe.deps.db, of, customers, 10_000)).breaches.map(({ rule }) => rule));
  expect([...(await find())]).toEqual([]);
  const plants: [string, string, string][] = [
    ["order_items", "order_items", "amount = amount + 1"],
    ["order_amounts", "orders", "subtotal_amount = subtotal_amount + 1"],
    ["order_payment", "payments", "amount = amount - 1"],
    ["payment_currency", "payments", "currency = 'eur'"],
    ["order_refunds", "orders", "refunded_amount = 1"],
    ["order_status", "orders", "status = 'refunded'"],
    ["surplus", "payments", "is_surplus = true"],
    ["subscription_due", "subscriptions", "due_at = null"],
    ["receipt_numbers", "receipt_counters", "next_number = next_number + 1"],
    ["order_derivation", "orders", "tax_amount = tax_amount + 1"],
  ];
  for (const [rule, table, change] of plants) {
    const undone = new Error("undone");
    const found = floe.deps.db.transaction(async (tx) => {
      await tx.execute(sql.raw(`update ${table} set ${change} where organization_id = '${of}'`));
      const rules = (await findCustomerBreaches(tx as never, of, customers)).map((one) => one.rule);
      expect(rules, rule).toContain(rule);
      // Rows of other customers are not read.
      expect(await findCustomerBreaches(tx as never, of, ["00000000-0000-7000-8000-00000000000a"])).toEqual([]);
      throw undone;
    });
    await expect(found).rejects.toBe(undone);
  }
}, 60_000);
