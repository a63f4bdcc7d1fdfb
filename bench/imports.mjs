/**
 * An import of many customers with a subscription each, through a PostgreSQL: reading, checking and applying by requests, as
 * `floe import` makes them. The floor is the same rows in the same batches by bare statements. Prints customers per second and the
 * ratio. Below a fifth of the floor, or with a request of more than a second, the exit code is 1. 500 a second are wanted; a busy
 * machine has fewer, and its floor sinks alike.
 *
 *   node bench/imports.mjs [customers]     needs Node 24, as it reads TypeScript
 */
import { loadavg } from "node:os";
import { sql } from "drizzle-orm";
import { start } from "../tests/support/floe.ts";
import { customerRow, productRow, subscriptionRow } from "../tests/support/imports.ts";
import { startPostgres } from "../tests/support/postgres.ts";

const [leastRate, leastRatio] = [500, 0.2];
const stepMaxMs = 1000;
const count = Number(process.argv[2] ?? 10_000);
const slice = 200;

const postgres = await startPostgres();
const floe = await start({ databaseUrl: postgres.url, listen: true, realTime: true });
const seller = await floe.seller();
const { client } = seller;

let slowest = 0;
async function time(work) {
  const began = performance.now();
  const result = await work();
  slowest = Math.max(slowest, performance.now() - began);
  return result;
}
async function runSteps(step) {
  const began = performance.now();
  let run = await time(step);
  while (run.has_more) run = await time(step);
  return { run, seconds: (performance.now() - began) / 1000 };
}

const names = Array.from({ length: count }, (_, index) => `buyer-${index}`);
const rows = [
  productRow(),
  ...names.map((name) => customerRow(name)),
  ...names.map((name) => subscriptionRow(floe, name)),
];
const { id } = await client.imports.create({ body: { source: "csv" } });
const params = { id };
const began = performance.now();
for (let first = 0; first < rows.length; first += slice) {
  const part = rows.slice(first, first + slice).map((row) => ({ row }));
  await time(() => client.imports.read({ params, body: { reading: 1, rows: part } }));
}
const reading = (performance.now() - began) / 1000;
const checking = await runSteps(() => client.imports.check({ params, body: {} }));
const applying = await runSteps(() => client.imports.apply({ params, body: {} }));
const held = applying.run.counts.find(({ status }) => status === "held")?.count;
if (held !== count) throw new Error(`${held} of ${count} subscriptions are held.`);

const other = await floe.seller("floor");
const product = await other.client.products.create({
  body: { name: "Pro", recurring_interval: "month", prices: [{ amount_type: "fixed", price_amount: 900 }] },
});
const floorBegan = performance.now();
for (let first = 0; first < count; first += slice)
  await floe.deps.db.execute(sql`
    with people as (
      insert into customers (id, organization_id, created_at, email, name)
      select gen_random_uuid(), ${other.organization_id}, now(), 'buyer-' || n || '@example.com', 'buyer-' || n
      from generate_series(${first}::int, ${Math.min(first + slice, count) - 1}::int) n returning id),
    sold as (
      insert into subscriptions (id, organization_id, created_at, billing_held_at, status, amount, currency,
        recurring_interval, recurring_interval_count, anchor_day, started_at, current_period_start, current_period_end,
        customer_id, product_id)
      select gen_random_uuid(), ${other.organization_id}, now(), now(), 'active', 900, 'usd', 'month', 1, 1, now(), now(),
        now() + interval '10 days', id, ${product.id}::uuid from people returning id)
    insert into subscription_prices (organization_id, subscription_id, product_price_id, amount, "order")
    select ${other.organization_id}, id, ${product.prices[0].id}::uuid, 900, 0 from sold`);
const floor = (performance.now() - floorBegan) / 1000;
const all = reading + checking.seconds + applying.seconds;
const formatRate = (seconds) => `${Math.round(count / seconds)}/s`;
console.log(`${count} customers with a subscription each; load ${loadavg()[0].toFixed(1)}`);
console.log(
  `read ${formatRate(reading)}, check ${formatRate(checking.seconds)}, apply ${formatRate(applying.seconds)}`,
);
console.log(`all ${formatRate(all)}, floor ${formatRate(floor)}, ratio ${(floor / all).toFixed(2)}`);
console.log(`slowest request ${Math.round(slowest)} ms`);
await floe.close();
await postgres.stop();
if (count / all < leastRate) console.log(`below ${leastRate} a second on this machine at this load`);
if (floor / all < leastRatio || slowest > stepMaxMs) process.exitCode = 1;
