/**
 * How long it takes to find and take 1,000 subscriptions that are due, among 10,000 and among 1,000,000 of a hundred sellers,
 * through PostgreSQL. Beyond what is promised the exit code is 1.
 *
 *   node bench/due.mjs [few] [many]      needs Node 24, as it reads TypeScript
 */
import { sql } from "drizzle-orm";
import postgresClient from "postgres";
import { subscriptionWorker } from "../server/billing/subscriptions/jobs.ts";
import { runWorkers } from "../server/platform/jobs/workers.ts";
import { start } from "../tests/support/floe.ts";
import { startPostgres } from "../tests/support/postgres.ts";

const ratioMax = 1.5;
const due = 1000;
const sellers = 100;
const rounds = 5;
const [few = 10_000, many = 1_000_000] = process.argv.slice(2).map(Number);

const postgres = await startPostgres();

/** A shop with so many subscriptions of all sellers in turn; what they point to is not asked for here. */
async function openShop(name, count) {
  const client = postgresClient(postgres.url, { max: 1, onnotice: () => {} });
  await client.unsafe(`create database ${name}`);
  await client.end();
  const url = new URL(postgres.url);
  url.pathname = name;
  const floe = await start({ databaseUrl: url.href });
  const { db } = floe.deps;
  const seller = await floe.seller();
  const { id } = await seller.client.products.create({
    body: { name: "Pro", recurring_interval: "month", prices: [{ amount_type: "free" }] },
  });
  const { client_secret } = await seller.client.checkouts.create({
    body: { products: [id], customer_email: "first@example.com" },
  });
  const sold = await floe.request("POST", `/v1/checkouts/client/${client_secret}/confirm`, { body: {} });
  if (sold.status !== 200) throw new Error(sold.text);
  await floe.runJobs();
  await db.execute(sql`insert into organization (id, name, slug, "createdAt")
    select 'seller-' || n, 'Seller', 'seller-' || n, now() from generate_series(1, ${sellers}::int) n`);
  await db.transaction(async (tx) => {
    await tx.execute(sql`set local session_replication_role = replica`);
    await tx.execute(sql`insert into subscriptions select p.* from generate_series(1, ${count}::int) n,
      subscriptions t cross join lateral jsonb_populate_record(t, jsonb_build_object('id', gen_random_uuid(),
        'organization_id', 'seller-' || (n % ${sellers}::int + 1), 'customer_id', gen_random_uuid(), 'checkout_id', null,
        'due_at', now() + interval '20 days' + n * interval '1 second')) p
      where t.organization_id = ${seller.organization_id}`);
  });
  await db.execute("vacuum analyze subscriptions");
  return floe;
}

/** The sweep of renewals, which takes what it finds and does nothing else with it. */
const take = {
  ...subscriptionWorker,
  async run({ db }, rows) {
    for (const { organization_id, id } of rows)
      await db.execute(sql`update subscriptions set due_at = due_at + interval '60 days'
        where organization_id = ${organization_id} and id = ${id}`);
  },
};
async function measure({ deps }) {
  await deps.db.execute(sql`update subscriptions set due_at = now() - interval '1 hour' where (organization_id, id) in
    (select organization_id, id from subscriptions where organization_id like 'seller-%' and due_at > now() limit ${due})`);
  const began = performance.now();
  const count = await runWorkers(deps, [take]);
  if (count !== due) throw new Error(`${count} of ${due} were taken.`);
  return performance.now() - began;
}

let ratio = Number.POSITIVE_INFINITY;
try {
  const shops = [await openShop("few", few), await openShop("many", many)];
  const best = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  // In turn, so that what else the machine does is met by both.
  for (let round = 0; round < rounds; round += 1)
    for (const [place, shop] of shops.entries()) best[place] = Math.min(best[place], await measure(shop));
  ratio = best[1] / best[0];
  console.log(`take ${due} of ${few}`.padEnd(40), `${best[0].toFixed(0)} ms`);
  console.log(`take ${due} of ${many}`.padEnd(40), `${best[1].toFixed(0)} ms`);
  console.log("ratio".padEnd(40), `${ratio.toFixed(2)}   ${ratio > ratioMax ? "NOT " : ""}within ${ratioMax}`);
  for (const shop of shops) await shop.close();
} finally {
  await postgres.stop();
}
process.exitCode = ratio > ratioMax ? 1 : 0;
