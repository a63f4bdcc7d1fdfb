/**
 * Sales through PostgreSQL: how many statements a confirmation and a whole sale take, and how many sales a second there are
 * with 1, 8 and 32 buyers at once. A sale is four requests (the seller opens a checkout, the buyer reads it, fills it in and
 * pays) and the work that follows from them. Statements are counted on their way to the database, begin and commit among
 * them; what the idle server asks meanwhile is taken off. Prints the figures; beyond what is promised the exit code is 1.
 *
 *   node bench/sales.mjs [--list]           needs Node 24, as it reads TypeScript; --list prints a sale's statements
 */
import { setTimeout as sleep } from "node:timers/promises";
import { startPostgres } from "../tests/support/postgres.ts";
import { openCountingProxy } from "./support/proxy.mjs";
import { sell } from "./support/sale.mjs";

const confirmStatementsMax = 26;
const saleStatementsMax = 44;
const parallel = [1, 8, 32];
const seconds = 6;
const salesCounted = 30;

const { start } = await import("../tests/support/floe.ts");
const postgres = await startPostgres();
const proxy = await openCountingProxy(postgres.url);
const open = { databaseUrl: proxy.url, listen: true, settings: { FLOE_EMAIL_VERIFICATION: "off" } };
let buyers = 0;
/** How a floe sells its only product; `step` is called after each of the four requests. */
async function openShop(floe) {
  const seller = await floe.seller();
  const { id } = await seller.client.products.create({
    body: { name: "Guide", prices: [{ amount_type: "fixed", price_amount: 1900 }] },
  });
  return async (step = () => {}) => {
    buyers += 1;
    const email = `buyer-${buyers}-${process.pid}@example.com`;
    await sell({ url: floe.url, key: seller.key, product_id: id, email }, step);
  };
}

const settledMs = 4000;
const countDuring = async (work) => {
  const [before, began] = [proxy.seen.count, Date.now()];
  await work();
  return { statements: proxy.seen.count - before, ms: Date.now() - began };
};

let failed = false;
const judge = (name, value, limit, isGood) => {
  if (!isGood) failed = true;
  console.log(`${name.padEnd(46)} ${String(value).padStart(8)}   ${isGood ? "" : "NOT "}within ${limit}`);
};

// The requests alone: nothing works in the background of this one.
const steps = {};
{
  const floe = await start(open);
  const sellOne = await openShop(floe);
  await sellOne();
  proxy.seen.statements = [];
  let at = 0;
  await sellOne((name) => {
    steps[name] = proxy.seen.statements.slice(at);
    at = proxy.seen.statements.length;
  });
  proxy.seen.statements = undefined;
  await floe.close();
}
for (const [name, list] of Object.entries(steps)) {
  console.log(`statements of ${name}`.padEnd(46), String(list.length).padStart(8));
  if (process.argv.includes("--list"))
    for (const { text } of list) console.log(`  ${text.replace(/\s+/g, " ").slice(0, 150)}`);
}

// As the server runs: with all that follows from a sale.
const floe = await start({ ...open, worker: true });
const sellOne = await openShop(floe);
for (let index = 0; index < 5; index += 1) await sellOne();
// As the database does by itself in the first minute: before, it knows nothing of what is in its tables.
await floe.deps.db.execute("analyze");
await sleep(settledMs);
const idle = await countDuring(() => sleep(settledMs));
const counted = await countDuring(async () => {
  for (let index = 0; index < salesCounted; index += 1) await sellOne();
  await sleep(settledMs);
});
const idleRate = idle.statements / idle.ms;
const perSale = (counted.statements - idleRate * counted.ms) / salesCounted;
judge(
  "statements of a confirmation",
  steps.confirm.length,
  confirmStatementsMax,
  steps.confirm.length <= confirmStatementsMax,
);
judge(
  "statements of a sale with what follows from it",
  perSale.toFixed(1),
  saleStatementsMax,
  perSale <= saleStatementsMax,
);

const rates = {};
for (let round = 0; round < 2; round += 1)
  for (const buyers_at_once of parallel) {
    const until = Date.now() + (seconds * 1000) / 2;
    let sold = 0;
    await Promise.all(
      Array.from({ length: buyers_at_once }, async () => {
        while (Date.now() < until) {
          await sellOne();
          sold += 1;
        }
      }),
    );
    rates[buyers_at_once] = (rates[buyers_at_once] ?? 0) + sold / seconds;
  }
for (const [buyers_at_once, rate] of Object.entries(rates))
  console.log(`sales a second, ${buyers_at_once.padStart(2)} at once`.padEnd(46), rate.toFixed(1).padStart(8));
const ratio = rates[32] / rates[8];
judge("sales a second, 32 at once to 8 at once", ratio.toFixed(2), "1 (0.95 for noise)", ratio >= 0.95);
await floe.close();
proxy.close();
await postgres.stop();
process.exit(failed ? 1 : 0);
