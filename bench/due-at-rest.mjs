/**
 * What it costs to find that nothing is due: among 10 sellers and among 10,000, each with an open checkout. For comparison, the
 * same search from seller to seller. Beyond what is promised the exit code is 1.
 *
 *   node bench/due-at-rest.mjs [few] [many]      needs Node 24, as it reads TypeScript
 */
import { sql } from "drizzle-orm";
import postgresClient from "postgres";
import { checkoutExpiryWorker } from "../server/checkout/checkouts/jobs.ts";
import { findDue } from "../server/platform/db/due.ts";
import { start } from "../tests/support/floe.ts";
import { startPostgres } from "../tests/support/postgres.ts";

const ratioMax = 5;
const rounds = 50;
const [few = 10, many = 10_000] = process.argv.slice(2).map(Number);

const postgres = await startPostgres();

/** A database in which so many sellers have an open checkout that expires tomorrow. */
async function openSellers(name, count) {
  const client = postgresClient(postgres.url, { max: 1, onnotice: () => {} });
  await client.unsafe(`create database ${name}`);
  await client.end();
  const url = new URL(postgres.url);
  url.pathname = name;
  const floe = await start({ databaseUrl: url.href });
  const { db } = floe.deps;
  const seller = await floe.seller();
  const product = await seller.client.products.create({
    body: { name: "Guide", prices: [{ amount_type: "fixed", price_amount: 1900 }] },
  });
  await seller.client.checkouts.create({ body: { products: [product.id] } });
  await db.execute(sql`insert into organization (id, name, slug, "createdAt")
    select 'seller-' || n, 'Seller', 'seller-' || n, now() from generate_series(1, ${count}::int) n`);
  await db.transaction(async (tx) => {
    await tx.execute(sql`set local session_replication_role = replica`);
    await tx.execute(sql`insert into checkouts select copy.* from checkouts, generate_series(1, ${count}::int) n
      cross join lateral jsonb_populate_record(checkouts, jsonb_build_object('id', gen_random_uuid(), 'organization_id',
        'seller-' || n, 'client_secret', 'secret_' || n, 'expires_at', now() + interval '1 day')) copy`);
  });
  await db.execute("vacuum analyze checkouts");
  return floe;
}

const { name, due } = checkoutExpiryWorker;
const searches = { "by time": due, "from seller to seller": { ...due, isIndexedByTime: undefined } };
async function measure({ deps }, query) {
  const began = performance.now();
  const options = { name, limit: 4, share: 2, after: "", busy: [], except: [], taken: [] };
  const rows = await findDue(deps.db, deps.clock.now(), query, options);
  if (rows.length > 0) throw new Error("Something is due.");
  return performance.now() - began;
}

let ratio = Number.POSITIVE_INFINITY;
try {
  const places = [await openSellers("few", few), await openSellers("many", many)];
  for (const [title, query] of Object.entries(searches)) {
    const best = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
    // In turn, so that what else the machine does is met by both.
    for (let round = 0; round < rounds; round += 1)
      for (const [place, floe] of places.entries()) best[place] = Math.min(best[place], await measure(floe, query));
    const own = best[1] / best[0];
    if (query === due) ratio = own;
    console.log(
      title.padEnd(24),
      `${few}: ${best[0].toFixed(2)} ms   ${many}: ${best[1].toFixed(2)} ms   ratio ${own.toFixed(2)}`,
    );
  }
  console.log(`${ratio > ratioMax ? "NOT " : ""}within ${ratioMax}`);
  // The rows were written without their counts, which closing checks.
  for (const { deps } of places)
    await deps.db.transaction(async (tx) => {
      await tx.execute(sql`set local session_replication_role = replica`);
      await tx.execute(sql`delete from checkouts where organization_id like 'seller-%'`);
    });
  for (const floe of places) await floe.close();
} finally {
  await postgres.stop();
}
process.exitCode = ratio > ratioMax ? 1 : 0;
