/** What is asked most is planned once for a connection, where PostgreSQL decides that as it does for sellers, and not anew each time. */
import { sql } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { createPostgresDatabase } from "../support/postgres-database.ts";
import { rowOf, sellOrder } from "../support/rows.ts";

let floe: Floe;
let seller: Seller;
beforeAll(async () => {
  const url = new URL(await createPostgresDatabase());
  url.searchParams.set("plan_cache_mode", "auto");
  floe = await start({
    databaseUrl: url.href,
    replace: ({ config }) => ({ config: { ...config, development: true } }),
  });
  seller = await floe.seller("ada");
  for (const [name, make] of Object.entries(rowOf)) if (name !== "sandbox") await make(floe, seller);
  await floe.runJobs();
  await floe.deps.db.execute(sql`analyze`);
});
afterAll(() => floe?.close());

/** How often statements with all of these in their text were planned for their values, and by the plan that is kept. */
async function countPlans(...texts: string[]): Promise<{ custom: number; kept: number }> {
  const asked = sql.join(
    texts.map((text) => sql`position(${text} in statement) > 0`),
    sql` and `,
  );
  // One after the other, requests go over the same connection, which knows its own statements alone.
  const [row] = (await floe.deps.db.execute(sql`select sum(custom_plans)::int as custom, sum(generic_plans)::int as kept
    from pg_prepared_statements where ${asked} and position('pg_prepared_statements' in statement) = 0`)) as unknown as [
    { custom: number | null; kept: number | null },
  ];
  return { custom: row.custom ?? 0, kept: row.kept ?? 0 };
}

/** PostgreSQL looks at so many plans for values before it may keep one. */
const lookedAt = 5;
const times = 12;

test.each([
  ["/v1/products/", 'from "products"'],
  ["/v1/orders/", 'from "orders"'],
  ["/v1/customers/", 'from "customers"'],
  ["/v1/checkouts/", 'from "checkouts"'],
  ["/v1/payments/", 'from "payments"'],
  ["/v1/subscriptions/", 'from "subscriptions"'],
  ["/v1/refunds/", 'from "refunds"'],
  ["/v1/discounts/", 'from "discounts"'],
  ["/v1/license-keys/", 'from "license_keys"'],
  ["/v1/benefit-grants/", 'from "benefit_grants"'],
  ["/v1/webhooks/deliveries", 'from "webhook_deliveries"'],
])("the first page of %s", async (path, from) => {
  const headers = { "polar-version": "2026-10" };
  const ask = async () => {
    expect((await floe.request("GET", path, { token: seller.key, headers })).status).toBe(200);
  };
  const texts = [from, "limit 10", "order by"];
  const measure = async () => {
    const before = await countPlans(...texts);
    for (let count = 0; count < times; count += 1) await ask();
    const after = await countPlans(...texts);
    return { custom: after.custom - before.custom, kept: after.kept - before.kept };
  };
  await ask();
  let made = await measure();
  // What goes on beside may have taken the connection meanwhile, so that some were asked over another.
  for (let tries = 0; tries < 4 && made.custom + made.kept !== times; tries += 1) made = await measure();
  expect(made.custom + made.kept).toBe(times);
  expect(made.kept).toBeGreaterThanOrEqual(times - lookedAt);
});

test("what a sale writes of its events", async () => {
  const texts = ["texts as materialized", "insert into"];
  const sell = async () => {
    for (let count = 0; count < 4; count += 1) await sellOrder(floe, seller);
  };
  const measure = async () => {
    const before = await countPlans(...texts);
    await sell();
    const after = await countPlans(...texts);
    return { custom: after.custom - before.custom, kept: after.kept - before.kept };
  };
  await sell();
  let made = await measure();
  // As above, other work may take the connection: another one plans its own statements first.
  for (let tries = 0; tries < 7 && (made.custom !== 0 || made.kept < 12); tries += 1) made = await measure();
  expect(made.kept).toBeGreaterThanOrEqual(12);
  expect(made.custom).toBe(0);
});
