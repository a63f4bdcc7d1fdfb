/**
 * A mixed day of several sellers, in minutes: catalog reads, checkouts, sales, license checks, usage, renewals and webhooks at once,
 * to two server processes on one PostgreSQL that writes to the disk. Prints p50, p95 and p99 of each kind from the time at which it was
 * due, the memory of the servers, how long webhooks and renewals waited, and the slowest statements. An error, a fault in the books,
 * memory that grows, or a backlog in the end is exit code 1.
 *
 *   npm run build && node bench/mixed.mjs [--minutes 10] [--rate 1] [--sellers 5]     needs Linux and Node 24
 */
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import postgresClient from "postgres";
import { verifyBooks } from "../server/app/operator.ts";
import { start } from "../tests/support/floe.ts";
import { startPostgres } from "../tests/support/postgres.ts";
import { startServer } from "../tests/support/rolling-deploy.ts";
import { readMegabytes } from "./support/memory.mjs";
import { ask } from "./support/sale.mjs";

const { values: given } = parseArgs({
  options: {
    minutes: { type: "string", default: "10" },
    rate: { type: "string", default: "1" },
    sellers: { type: "string", default: "5" },
  },
});
const [minutes, rate, sellerCount] = [given.minutes, given.rate, given.sellers].map(Number);
const durationMs = minutes * 60_000;
/** How many a second, at rate 1. */
const perSecond = { read: 20, license: 10, usage: 10, checkout: 2, sale: 1 };
const renewalsPerSecond = 2;
const eventsPerRequest = 10;
const memoryGrowthMax = 1.2;
const settleMsMax = 60_000;
const statementsShown = 8;
const secret = "a secret for tests, long enough to be one";

const postgres = await startPostgres([
  ...["shared_preload_libraries=pg_stat_statements", "pg_stat_statements.track=top"],
  ...["fsync=on", "full_page_writes=on", "autovacuum=on"],
]);
const db = postgresClient(postgres.url, { max: 2, onnotice: () => {} });
const settings = {
  ...{ FLOE_EMAIL_VERIFICATION: "off", FLOE_REQUESTS_PER_MINUTE: "0", FLOE_TEST_CARDS: "on" },
  FLOE_WEBHOOK_ALLOW: "127.0.0.1",
};

/** A receiver of webhooks, which records when the webhook of each sale arrived. */
const received = new Map();
const receiver = createServer((request, response) => {
  let body = "";
  request.setEncoding("utf8").on("data", (part) => {
    body += part;
  });
  request.on("end", () => {
    const { data } = JSON.parse(body);
    if (!received.has(data.checkout_id)) received.set(data.checkout_id, performance.now());
    response.end();
  });
});
await new Promise((done) => receiver.listen(0, "127.0.0.1", done));
const hookUrl = `http://127.0.0.1:${receiver.address().port}/hooks`;

const payment = { customer_billing_address: { country: "FR" }, confirmation_token_id: "pm_card_visa" };
const confirm = (url, { client_secret }, customer_email) =>
  ask(url, "POST", `/v1/checkouts/client/${client_secret}/confirm`, { customer_email, ...payment });

/** A seller with products, a license key to check, a webhook endpoint, and a subscription to multiply. */
async function openSeller(floe, name) {
  const seller = await floe.seller(name);
  const { client, key, organization_id } = seller;
  const prices = [{ amount_type: "fixed", price_amount: 1900 }];
  const book = await client.products.create({ body: { name: "Guide", prices } });
  const monthly = await client.products.create({ body: { name: "Pro", recurring_interval: "month", prices } });
  const benefit = await client.benefits.create({
    body: { type: "license_keys", description: "Key", properties: { prefix: "MIX" } },
  });
  await client.products.setBenefits({ params: { id: book.id }, body: { benefits: [benefit.id] } });
  await client.meters.create({
    body: {
      name: "Calls",
      filter: { conjunction: "and", clauses: [{ property: "name", operator: "eq", value: "call" }] },
      aggregation: { func: "count" },
    },
  });
  await client.webhooks.createEndpoint({ body: { url: hookUrl, events: ["order.paid"] } });
  for (const id of [book.id, monthly.id]) {
    const checkout = await client.checkouts.create({ body: { products: [id] } });
    const body = { customer_email: `first-${name}@example.com`, ...payment };
    await floe.client().checkoutClient.confirm({ params: { client_secret: checkout.client_secret }, body });
  }
  await floe.runJobs();
  const [license] = (await client.licenseKeys.list({ query: { benefit_id: benefit.id } })).items;
  const license_key = (await client.licenseKeys.get({ params: { id: license.id } })).key;
  return { name, key, organization_id, book: book.id, monthly: monthly.id, license_key };
}

/** Sell subscriptions that fall due one after the other while the load runs; answers how many there are, and how many orders. */
async function spreadRenewals(servers, sellers, count) {
  const left = Array.from({ length: count }, (_, at) => at);
  const sell = async () => {
    for (let at = left.shift(); at !== undefined; at = left.shift()) {
      const [{ url }, { key, monthly }] = [servers[at % servers.length], sellers[at % sellers.length]];
      const checkout = await ask(url, "POST", "/v1/checkouts/", { products: [monthly] }, key);
      await confirm(url, checkout, `subscriber-${at}@example.com`);
    }
  };
  await Promise.all(Array.from({ length: 8 }, sell));
  const [{ orders }] = await db`select count(*)::int as orders from orders`;
  await db`update subscriptions set due_at = at, current_period_end = at
    from (select id, now() + random() * ${minutes}::float8 * interval '1 minute' as at from subscriptions) x where x.id = subscriptions.id`;
  await db`vacuum analyze`;
  const [{ total }] = await db`select count(*)::int as total from subscriptions`;
  return { renewals: total, before: orders };
}

const startNext = () =>
  startServer({ ...settings, DATABASE_URL: postgres.url, FLOE_SECRET: secret, FLOE_FILES_DIR: folder });

/** Asks at a fixed pace, whatever becomes of the answers: a slow answer delays no other, and its wait is counted. */
function openLoad(servers, sellers) {
  const [times, errors, opened, open] = [{}, [], [], new Set()];
  const sold = new Map();
  let n = 0;
  const pick = (list) => list[n++ % list.length];
  const kinds = {
    read(url, { key, book }) {
      const paths = ["/v1/products/", `/v1/products/${book}`, "/v1/orders/?limit=10", "/v1/customers/?limit=10"];
      return ask(url, "GET", paths[n % paths.length], undefined, key);
    },
    license: (url, { organization_id, license_key, key }) =>
      ask(url, "POST", "/v1/license-keys/validate", { organization_id, key: license_key }, key),
    usage(url, { key }) {
      const events = Array.from({ length: eventsPerRequest }, (_, at) => ({
        ...{ name: "call", external_customer_id: `c${(n + at) % 50}`, external_id: `mixed-${n}-${at}` },
      }));
      return ask(url, "POST", "/v1/events/ingest", { events }, key);
    },
    async checkout(url, { key, book }) {
      const made = await ask(url, "POST", "/v1/checkouts/", { products: [book] }, key);
      if (opened.length < 100) opened.push(made);
    },
    async sale(url) {
      const checkout = opened.shift();
      if (!checkout) return;
      await confirm(url, checkout, `buyer-${n}@example.com`);
      sold.set(checkout.id, performance.now());
    },
  };
  const timers = Object.entries(perSecond).map(([kind, a_second]) => {
    times[kind] = [];
    return setInterval(
      () => {
        const due = performance.now();
        const { url } = pick(servers);
        const done = kinds[kind](url, sellers[n % sellers.length])
          .then(() => void times[kind].push(performance.now() - due))
          .catch((error) => void errors.push(`${kind}: ${error.message}`))
          .finally(() => open.delete(done));
        open.add(done);
      },
      1000 / (a_second * rate),
    );
  });
  const stop = async () => {
    for (const timer of timers) clearInterval(timer);
    await Promise.all(open);
  };
  return { times, errors, sold, stop };
}

const pickAt = (list, share) => list.toSorted((a, b) => a - b)[Math.max(0, Math.ceil(share * list.length) - 1)] ?? 0;
const describe = (list) =>
  [0.5, 0.95, 0.99].map((share) => `p${share * 100} ${pickAt(list, share).toFixed(0)} ms`.padEnd(13)).join("");
const average = (list) => list.reduce((sum, one) => sum + one, 0) / Math.max(1, list.length);

let failed = false;
const judge = (line, isGood) => {
  if (!isGood) failed = true;
  console.log(`${isGood ? "      " : "WRONG "}${line}`);
};
const folder = mkdtempSync(join(tmpdir(), "floe-mixed-"));
const servers = [];
try {
  const floe = await start({ databaseUrl: postgres.url, realTime: true, settings });
  const sellers = [];
  for (let at = 0; at < sellerCount; at += 1) sellers.push(await openSeller(floe, `mixed${at}`));
  await floe.close();
  servers.push(await startNext(), await startNext());
  const { renewals, before } = await spreadRenewals(
    servers,
    sellers,
    Math.ceil(renewalsPerSecond * rate * minutes * 60),
  );
  await db`create extension pg_stat_statements`;
  const load = openLoad(servers, sellers);
  const memory = servers.map(() => []);
  for (const ends = performance.now() + durationMs; performance.now() < ends; await sleep(2000))
    servers.forEach((one, at) => void memory[at].push(readMegabytes(one.child)));
  await load.stop();
  const stoppedAt = performance.now();
  const countLeft = async () => {
    const [left] = await db`select (select count(*) from subscriptions where due_at <= now())::int as renewals,
      (select count(*) from webhook_events where next_attempt_at is not null)::int as webhooks,
      (select count(*) from events where dispatched_at is null)::int as events`;
    return left;
  };
  let left = await countLeft();
  while (Object.values(left).some(Boolean) && performance.now() - stoppedAt < settleMsMax) {
    await sleep(500);
    left = await countLeft();
  }
  const settledS = ((performance.now() - stoppedAt) / 1000).toFixed(1);
  console.log(`${minutes} minutes, ${servers.length} servers, ${sellerCount} sellers, load ${loadavg()[0].toFixed(1)}`);
  for (const [kind, list] of Object.entries(load.times))
    console.log(`      ${kind.padEnd(10)}${String(list.length).padStart(7)}  ${describe(list)}`);
  const waits = [...load.sold].flatMap(([id, at]) => (received.has(id) ? [received.get(id) - at] : []));
  console.log(
    `      ${"webhook".padEnd(10)}${String(waits.length).padStart(7)}  ${describe(waits)}after the answer of the sale`,
  );
  const made = await db`select extract(epoch from o.created_at - o.period_start) * 1000 as ms from orders o
    where o.billing_reason = 'subscription_cycle'`.catch(() => []);
  const [{ orders }] = await db`select count(*)::int as orders from orders`;
  const renewed = orders - before - load.sold.size;
  console.log(
    `      ${"renewal".padEnd(10)}${String(renewed).padStart(7)}  ${describe(made.map(({ ms }) => Number(ms)))}after it was due`,
  );
  judge(`${load.errors.length} errors ${[...new Set(load.errors)].slice(0, 3).join("; ")}`, load.errors.length === 0);
  judge(`${renewed} of ${renewals} subscriptions were renewed`, renewed === renewals);
  judge(`${waits.length} of ${load.sold.size} sales had their webhook`, waits.length === load.sold.size);
  judge(`left after ${settledS} s: ${JSON.stringify(left)}`, !Object.values(left).some(Boolean));
  for (const list of memory) {
    const quarter = Math.ceil(list.length / 4);
    const [early, late] = [average(list.slice(quarter, 2 * quarter)), average(list.slice(-quarter))];
    const line = `memory ${early.toFixed(0)} MB in the second quarter, ${late.toFixed(0)} in the last, at most ${Math.max(...list).toFixed(0)}`;
    judge(line, late / early <= memoryGrowthMax);
  }
  const faults = [];
  await verifyBooks({
    ...{ given: { DATABASE_URL: postgres.url, FLOE_SECRET: secret }, organization_id: undefined, after: "", load: 1 },
    ...{ isProcessorAsked: false, since: null, report: (_, breaches) => faults.push(...breaches) },
  });
  judge(
    `${faults.length} faults in the books ${faults.length > 0 ? JSON.stringify(faults[0]) : ""}`,
    faults.length === 0,
  );
  const slow =
    await db`select calls::int, mean_exec_time as mean, max_exec_time as worst, total_exec_time as total, query
    from pg_stat_statements where query !~* 'pg_stat_statements' order by total_exec_time desc limit ${statementsShown}`;
  console.log("      statements by their time in all: calls, mean ms, longest ms");
  const shorten = (query) => {
    const text = query.replace(/\s+/g, " ");
    return text.length <= 120 ? text : `${text.slice(0, 70)} … ${text.slice(-47)}`;
  };
  for (const { calls, mean, worst, query } of slow)
    console.log(
      `      ${String(calls).padStart(7)} ${mean.toFixed(2).padStart(7)} ${worst.toFixed(0).padStart(6)}  ${shorten(query)}`,
    );
} finally {
  for (const { child } of servers) child.kill("SIGTERM");
  await Promise.all(servers.map(({ child }) => child.exitCode ?? new Promise((done) => child.once("exit", done))));
  receiver.close();
  await db.end();
  await postgres.stop();
  rmSync(folder, { recursive: true, force: true });
}
process.exit(failed ? 1 : 0);
