/**
 * The first page of GET /v1/customers/ at 1,000,000 customers of one organization against the same page at 10,000, through
 * PostgreSQL: as it stands, sorted, and filtered by a part of the name, by e-mail address and by metadata. Both are asked in
 * turns, so that what else the machine does strikes both. Prints the ratios of the medians; where one is above the promised
 * threefold, the exit code is 1. A page of all customers tells how many there are, to the last one, without counting them.
 *
 *   node bench/customers-list.mjs [customers]     needs Node 24, as it reads TypeScript, and 2 GB of disk
 */
import { sql } from "drizzle-orm";
import { start } from "../tests/support/floe.ts";
import { startPostgres } from "../tests/support/postgres.ts";

const ratioMax = 3;
const few = 10_000;
const many = Number(process.argv[2] ?? 1_000_000);
const rounds = 15;
const pages = {
  "as it stands": "",
  "sorted by name": "sorting=name",
  "sorted by e-mail, last first": "sorting=-email",
  "part of a name": "query=needle",
  "part of a name, sorted": "query=needle&sorting=name",
  metadata: "metadata[tier]=rare",
  "metadata, sorted": "metadata[tier]=rare&sorting=-email",
  "e-mail": "email=buyer-77@example.com",
};

/** Names of people as they are: a few thousand words; the rare ones are as many in both, so that both answer the same. */
const fill = (organization_id, count) => sql`
  insert into customers (id, organization_id, created_at, email, name, external_id, metadata)
  select gen_random_uuid(), ${organization_id}, now() - n * interval '1 second', 'buyer-' || n || '@example.com',
    case when n <= 200 then 'Needle ' || n else initcap(substr(md5((n % 4000)::text), 1, 7)) || ' ' || initcap(substr(md5((n % 997)::text), 1, 9)) end,
    'u-' || n, case when n <= 200 then '{"tier":"rare"}'::jsonb else jsonb_build_object('tier', 'common', 'n', n % 50) end
  from generate_series(1, ${count}::int) n`;

const median = (values) => values.toSorted((a, b) => a - b)[(values.length - 1) / 2];

const database = await startPostgres();
try {
  const floe = await start({ databaseUrl: database.url, realTime: true });
  const sides = {};
  for (const [name, count] of [
    ["few", few],
    ["many", many],
  ]) {
    const seller = await floe.seller(name);
    await floe.deps.db.execute(fill(seller.organization_id, count));
    sides[name] = { seller, count };
  }
  await floe.deps.db.execute("vacuum analyze customers");
  const ask = async ({ seller, count }, query) => {
    const began = performance.now();
    const { status, json } = await floe.request("GET", `/v1/customers/?${query}`, { token: seller.key });
    const took = performance.now() - began;
    const total = query.includes("needle") || query.includes("rare") ? 200 : query.startsWith("email") ? 1 : count;
    if (status !== 200 || json.pagination.total_count !== total)
      throw new Error(`${query}: ${status}, ${JSON.stringify(json.pagination)} instead of ${total}`);
    return took;
  };
  for (const [name, query] of Object.entries(pages)) {
    const took = { few: [], many: [] };
    for (let round = -2; round < rounds; round += 1) {
      for (const side of ["few", "many"]) {
        const ms = await ask(sides[side], query);
        if (round >= 0) took[side].push(ms);
      }
    }
    const [low, high] = [median(took.few), median(took.many)];
    const ratio = high / low;
    console.log(
      `customers list, ${name}: ${many} in ${high.toFixed(1)} ms, ${few} in ${low.toFixed(1)} ms, ratio ${ratio.toFixed(2)} (at most ${ratioMax})`,
    );
    if (ratio > ratioMax) process.exitCode = 1;
  }
  await floe.close();
} finally {
  await database.stop();
}
