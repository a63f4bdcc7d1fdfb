/**
 * Renewals through PostgreSQL: subscriptions that fall due, each charged by the test processor, in one process. Prints the
 * statements of a renewal by where they come from, and renewals a second as a ratio to the same rows written bare through
 * postgres.js, in the same transactions and side by side by as many. Beyond what is promised the exit code is 1.
 *
 *   node bench/renewals.mjs [--list]      needs Node 24, as it reads TypeScript; --list prints a renewal's statements
 */
import { randomBytes } from "node:crypto";
import { sql } from "drizzle-orm";
import postgresClient from "postgres";
import { startPostgres } from "../tests/support/postgres.ts";
import { openCountingProxy } from "./support/proxy.mjs";

const statementsMax = 32;
const ratioMin = 1 / 3;
const rounds = 3;
const renewedARound = 200;

const { start } = await import("../tests/support/floe.ts");
const { runWorkers } = await import("../server/platform/jobs/workers.ts");
const { subscriptionWorker } = await import("../server/billing/subscriptions/jobs.ts");
const postgres = await startPostgres();
const proxy = await openCountingProxy(postgres.url);
const floe = await start({ databaseUrl: proxy.url, settings: { FLOE_EMAIL_VERIFICATION: "off" } });
const { db } = floe.deps;

const seller = await floe.seller();
const { id: product } = await seller.client.products.create({
  body: { name: "Pro", recurring_interval: "month", prices: [{ amount_type: "fixed", price_amount: 900 }] },
});
const { client_secret } = await seller.client.checkouts.create({ body: { products: [product] } });
const sold = await floe.request("POST", `/v1/checkouts/client/${client_secret}/confirm`, {
  body: {
    customer_email: "first@example.com",
    customer_billing_address: { country: "FR" },
    confirmation_token_id: "pm_card_visa",
  },
});
if (sold.status !== 200) throw new Error(sold.text);
await floe.runJobs();

/** The first subscription and what it needs, so many times more. */
const multiply = async (count) => {
  const ids = ["customer_id", "subscription_id", "payment_method_id"];
  const own = { customers: "customer_id", payment_methods: "payment_method_id", subscriptions: "subscription_id" };
  await db.execute(sql`create table copies as select n, gen_random_uuid() as customer_id,
    gen_random_uuid() as subscription_id, gen_random_uuid() as payment_method_id from generate_series(1, ${count}::int) n`);
  for (const table of ["customers", "payment_methods", "subscriptions", "subscription_prices"])
    await db.execute(
      sql.raw(`insert into ${table} select p.* from copies c, ${table} t cross join lateral jsonb_populate_record(null::${table},
        to_jsonb(t) || jsonb_build_object('id', ${own[table] ? `c.${own[table]}` : "gen_random_uuid()"},
          'email', 'buyer-' || c.n || '@example.com', 'default_payment_method_id', c.payment_method_id, 'checkout_id', null)
        || (select coalesce(jsonb_object_agg(k, v), '{}') from (values ${ids.map((id) => `('${id}', c.${id})`).join(", ")}) as x(k, v)
          where to_jsonb(t) ->> k is not null)) p
        where t.organization_id = '${seller.organization_id}'`),
    );
  await db.execute("drop table copies");
  await db.execute("analyze");
};
await multiply((rounds + 2) * renewedARound);
// None is due but those that are asked for.
await db.execute(sql`update subscriptions set due_at = null`);
const makeDue = (count) =>
  db.execute(sql`update subscriptions set due_at = now(), current_period_end = now() where id in
    (select id from subscriptions where due_at is null and current_period_end > now() + interval '20 days'
      and current_period_start < now() + interval '1 day' order by id limit ${count})`);
floe.clock.time = new Date(Date.now() + 1000);
const renew = async (count) => {
  await makeDue(count);
  floe.clock.time = new Date(Date.now() + 1000);
  const before = await db.$count(sql`orders`);
  const began = performance.now();
  await runWorkers(floe.deps, [subscriptionWorker]);
  const ms = performance.now() - began;
  const made = (await db.$count(sql`orders`)) - before;
  if (made !== count) throw new Error([`${made} of ${count} were renewed.`, ...floe.logged.slice(-3)].join("\n"));
  await db.execute(sql`update subscriptions set due_at = null`);
  return ms;
};

const record = async () => {
  await makeDue(1);
  floe.clock.time = new Date(Date.now() + 1000);
  proxy.seen.statements = [];
  await runWorkers(floe.deps, [subscriptionWorker]);
  const statements = proxy.seen.statements;
  proxy.seen.statements = undefined;
  await db.execute(sql`update subscriptions set due_at = null`);
  return statements;
};
await renew(8);
// The sweep's own looks are of all that it finds together.
const isOfRenewal = ({ text }) => !/with recursive sellers/.test(text);
const other = (await record()).filter(isOfRenewal);
const recorded = (await record()).filter(isOfRenewal);
if (process.argv.includes("--list"))
  for (const { text } of recorded) console.log(`  ${text.replace(/\s+/g, " ").slice(0, 150)}`);

// What two renewals have in common stays, what is new with each is made anew in a replay.
const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/;
const token = new RegExp(`${uuid.source}|pi_test_[A-Za-z0-9_-]{16,}`, "g");
const tokensOf = (all) =>
  new Set(all.flatMap(({ parameters }) => parameters.flatMap((one) => one?.match(token) ?? [])));
const known = tokensOf(other);
const own = [...tokensOf(recorded)].filter((one) => !known.has(one));
const fresh = (old) => {
  if (!uuid.test(old)) return `${old.slice(0, -14)}${randomBytes(7).toString("hex")}`;
  const time = Date.now().toString(16).padStart(12, "0");
  const rest = randomBytes(9).toString("hex");
  return `${time.slice(0, 8)}-${time.slice(8)}-7${rest.slice(0, 3)}-8${rest.slice(3, 6)}-${rest.slice(6)}`;
};
const units = [];
const open = new Map();
for (const one of recorded) {
  if (/^begin/i.test(one.text)) open.set(one.connection, []);
  else if (/^(commit|rollback)/i.test(one.text)) open.delete(one.connection);
  else {
    const unit = open.get(one.connection) ?? [];
    if (unit.length === 0) units.push({ isTransaction: open.has(one.connection), statements: unit });
    unit.push(one);
  }
}
// Only what is written: a program that knew everything would read nothing.
const isWrite = ({ text }) => /^(insert|update|with)/i.test(text);
const bare = postgresClient(postgres.url, { max: 4, onnotice: () => {} });
await bare`select 1`;
for (const type of Object.keys(bare.options.serializers)) bare.options.serializers[type] = (value) => value;
const people = await bare`select s.id, s.customer_id, c.default_payment_method_id as method from subscriptions s
  join customers c on c.id = s.customer_id order by s.id`;
const old = people.find(({ id }) => own.includes(id));
let next = 0;
async function replay() {
  const person = people[next++ % people.length];
  const names = new Map(own.map((one) => [one, fresh(one)]));
  if (old) {
    names.set(old.id, person.id).set(old.customer_id, person.customer_id);
    if (old.method) names.set(old.method, person.method);
  }
  const send = (client, { text, parameters }) =>
    client.unsafe(
      text,
      parameters.map((one) => one?.replace(token, (found) => names.get(found) ?? found) ?? null),
    );
  for (const { isTransaction, statements } of units) {
    const writes = statements.filter(isWrite);
    if (writes.length === 0) continue;
    if (isTransaction)
      await bare.begin(async (tx) => {
        for (const one of writes) await send(tx, one);
      });
    else await send(bare, writes[0]);
  }
}
const replayed = async (count) => {
  const began = performance.now();
  let left = count;
  await Promise.all(
    Array.from({ length: 4 }, async () => {
      while (left-- > 0) await replay();
    }),
  );
  return performance.now() - began;
};
// The period that was recorded is billed once.
const unique =
  await bare`select indexname from pg_indexes where tablename = 'orders' and indexdef like '%UNIQUE%period_start%'`;
for (const { indexname } of unique) await bare.unsafe(`drop index ${indexname}`);

const rates = { floe: [], bare: [] };
for (let round = 0; round < rounds; round += 1) {
  rates.floe.push((1000 * renewedARound) / (await renew(renewedARound)));
  rates.bare.push((1000 * renewedARound) / (await replayed(renewedARound)));
}
const best = Math.max;
const ratio = best(...rates.floe) / best(...rates.bare);
let failed = false;
const judge = (name, value, limit, isGood) => {
  if (!isGood) failed = true;
  console.log(`${name.padEnd(46)} ${String(value).padStart(8)}   ${isGood ? "" : "NOT "}within ${limit}`);
};
judge("statements of a renewal", recorded.length, statementsMax, recorded.length <= statementsMax);
console.log(
  "renewals a second".padEnd(46),
  best(...rates.floe)
    .toFixed(1)
    .padStart(8),
);
console.log(
  "the same rows, written bare".padEnd(46),
  best(...rates.bare)
    .toFixed(1)
    .padStart(8),
);
judge("ratio", ratio.toFixed(2), `${ratioMin.toFixed(2)} at least`, ratio >= ratioMin);
await bare.end();
await floe.close();
proxy.close();
await postgres.stop();
process.exit(failed ? 1 : 0);
