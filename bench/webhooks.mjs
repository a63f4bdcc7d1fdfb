/**
 * How webhooks arrive while eight buyers buy at once, through PostgreSQL: ten endpoints that each are told of all that
 * becomes of an order, and the same ten with one beside them that takes what it is sent and never answers. Buyers and receivers are a
 * process of their own. Both cases are run in turns, so that what else the machine does strikes both. Prints the deliveries a
 * second from the first sale to the last arrival, how long after the event they arrive, and the sales meanwhile; beyond what is
 * promised the exit code is 1.
 *
 *   node bench/webhooks.mjs [sales]         needs Node 24, as it reads TypeScript
 */
import { fork } from "node:child_process";
import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "drizzle-orm";
import { startPostgres } from "../tests/support/postgres.ts";
import { sell } from "./support/sale.mjs";

const endpoints = 10;
const buyers = 8;
const rounds = 3;
/** What becomes of each order. */
const told = ["order.created", "order.updated", "order.paid"];
const rateMin = 300;
const p99MaxMs = 2000;
const deadShareMax = 0.1;
const sales = Number(process.argv[2] ?? 200);

/** The other process: receivers that are asked for their address, and buyers that are told what to buy. */
async function buyAndReceive() {
  let arrived = [];
  let began = 0;
  let last_ms = 0;
  const server = createServer((request, response) => {
    let text = "";
    request.on("data", (part) => {
      text += part;
    });
    request.on("end", () => {
      if (request.url === "/dead") return;
      arrived.push(Date.now() - Date.parse(JSON.parse(text).timestamp));
      last_ms = performance.now() - began;
      response.end();
    });
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  process.on("message", async (asked) => {
    if (asked === "what arrived") return process.send({ all_ms: last_ms, delays: arrived });
    const { url, key, product_id, count, name } = asked;
    arrived = [];
    began = performance.now();
    let left = count;
    await Promise.all(
      Array.from({ length: buyers }, async () => {
        while (left > 0) {
          left -= 1;
          await sell({ url, key, product_id, email: `buyer-${name}-${left}@example.com` });
        }
      }),
    );
    process.send({ sold_ms: performance.now() - began });
  });
  process.send({ port: server.address().port });
}

const percentile = (values, share) => values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) * share)];
const median = (values) => percentile(values, 0.5);

async function main() {
  const { start } = await import("../tests/support/floe.ts");
  const other = fork(import.meta.filename, ["other"]);
  const next = () => new Promise((resolve) => other.once("message", resolve));
  const { port } = await next();
  const postgres = await startPostgres();
  // Receivers on this machine are open to a server in development alone.
  // No mail is written, as its layout is JSX, which Node does not read by itself.
  const settings = { FLOE_EMAIL_VERIFICATION: "off" };
  const floe = await start({
    databaseUrl: postgres.url,
    listen: true,
    worker: true,
    settings,
    replace: ({ config }) => ({ config: { ...config, development: true } }),
  });
  const shops = {};
  for (const [name, more] of [
    ["ten endpoints", []],
    ["ten and a dead one", ["dead"]],
  ]) {
    const seller = await floe.seller(name.replaceAll(" ", "-"));
    const { id: product_id } = await seller.client.products.create({
      body: { name: "Guide", prices: [{ amount_type: "fixed", price_amount: 1900 }] },
    });
    for (const path of [...Array.from({ length: endpoints }, (_, at) => `hook-${at}`), ...more])
      await seller.client.webhooks.createEndpoint({
        body: { url: `http://127.0.0.1:${port}/${path}`, format: "raw", events: told },
      });
    shops[name] = {
      key: seller.key,
      organization_id: seller.organization_id,
      product_id,
      rates: [],
      sold: [],
      delays: [],
    };
  }
  const run = async (name, count, round) => {
    const { key, product_id, organization_id } = shops[name];
    const sold = next();
    other.send({ url: floe.url, key, product_id, count, name: `${name.length}-${round}` });
    const { sold_ms } = await sold;
    for (;;) {
      const [row] = await floe.deps.db.execute(sql`
        select exists (select from events where organization_id = ${organization_id} and dispatched_at is null)
          or exists (select from webhook_events e join webhook_endpoints p on p.id = e.endpoint_id
            where e.organization_id = ${organization_id} and e.next_attempt_at is not null and p.url not like '%/dead') as left`);
      if (!row.left) break;
      await sleep(20);
    }
    const arrived = next();
    other.send("what arrived");
    return { sold_ms, ...(await arrived) };
  };
  for (const name of Object.keys(shops)) await run(name, 10, "first");
  for (let round = 0; round < rounds; round += 1)
    for (const [name, shop] of Object.entries(shops)) {
      const { sold_ms, all_ms, delays } = await run(name, sales, round);
      shop.rates.push((delays.length * 1000) / all_ms);
      shop.sold.push((sales * 1000) / sold_ms);
      shop.delays.push(percentile(delays, 0.99));
    }
  other.kill();
  await floe.close();
  await postgres.stop();

  for (const [name, { rates, sold, delays }] of Object.entries(shops))
    console.log(
      `${name.padEnd(20)} ${median(rates).toFixed(0).padStart(5)} deliveries a second (at least ${rateMin}), 99 % within ${median(delays).toFixed(0)} ms (${p99MaxMs}), ${median(sold).toFixed(1)} sales a second`,
    );
  const [ten, beside] = Object.values(shops);
  const slower = 1 - median(beside.rates) / median(ten.rates);
  console.log(
    `a dead endpoint takes ${(slower * 100).toFixed(0)} % of the others' rate (less than ${deadShareMax * 100})`,
  );
  if (median(ten.rates) < rateMin || median(ten.delays) > p99MaxMs || slower >= deadShareMax) process.exitCode = 1;
}

if (process.argv[2] === "other") await buyAndReceive();
else await main();
