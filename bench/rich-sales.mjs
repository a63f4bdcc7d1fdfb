/**
 * Sales with everything at once, through PostgreSQL: seats, a discount code, tax and custom fields. Prints the statements of
 * such a sale with what follows from it, and sales a second with 16 buyers at once as a ratio to the same statements sent
 * bare through postgres.js, in the same transactions, by as many. Beyond what is promised the exit code is 1.
 *
 *   node bench/rich-sales.mjs [--list]      needs Node 24, as it reads TypeScript; --list prints a sale's statements
 */
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import postgresClient from "postgres";
import { startPostgres } from "../tests/support/postgres.ts";
import { openCountingProxy } from "./support/proxy.mjs";

const statementsMax = 70;
const ratioMin = 0.35;
const atOnce = 16;
const rounds = 3;
const roundMs = 5000;
const settledMs = 3000;
const salesCounted = 20;

const { start } = await import("../tests/support/floe.ts");
const postgres = await startPostgres();
const proxy = await openCountingProxy(postgres.url);
const floe = await start({
  databaseUrl: proxy.url,
  listen: true,
  worker: true,
  settings: { FLOE_EMAIL_VERIFICATION: "off" },
});

const seller = await floe.seller();
const ask = async (method, path, body, token) => {
  const answer = await fetch(`${floe.url}${path}`, {
    method,
    headers: { "content-type": "application/json", ...(token ? { authorization: `Bearer ${token}` } : {}) },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  const json = await answer.json();
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(json)}`);
  return json;
};
const make = (path, body) => ask("POST", path, body, seller.key);
await ask(
  "PATCH",
  `/v1/organizations/${seller.organization_id}`,
  { feature_settings: { seat_based_pricing_enabled: true } },
  seller.key,
);
const field = await make("/v1/custom-fields/", { type: "text", slug: "team", name: "Team", properties: {} });
const { id: product } = await make("/v1/products/", {
  name: "Workshop",
  prices: [{ amount_type: "seat_based", seat_tiers: { tiers: [{ min_seats: 1, price_per_seat: 4900 }] } }],
  attached_custom_fields: [{ custom_field_id: field.id, required: true }],
});
await make("/v1/discounts/", {
  name: "Spring",
  code: "SPRING",
  type: "percentage",
  basis_points: 1500,
  duration: "once",
});
await make("/v1/tax/registrations/", { country: "DE", scheme: "domestic", tax_id: "DE136695976" });

let buyers = 0;
async function sell() {
  buyers += 1;
  const { client_secret } = await make("/v1/checkouts/", { products: [product] });
  const path = `/v1/checkouts/client/${client_secret}`;
  await ask("GET", path);
  await ask("PATCH", path, { discount_code: "SPRING", seats: 3, customer_billing_address: { country: "DE" } });
  const paid = await ask("POST", `${path}/confirm`, {
    customer_email: `buyer-${buyers}-${process.pid}@example.com`,
    custom_field_data: { team: "Drift" },
    confirmation_token_id: "pm_card_visa",
  });
  // 3 × 49.00 without 15 %; 19 % of tax is in it.
  if (paid.status !== "confirmed" && paid.status !== "succeeded") throw new Error(`The sale is ${paid.status}.`);
  if (paid.total_amount !== 12495 || paid.tax_amount !== 1995)
    throw new Error(`The total is ${paid.total_amount} with ${paid.tax_amount} of tax.`);
}

const record = async (work) => {
  proxy.seen.statements = [];
  await work();
  const statements = proxy.seen.statements;
  proxy.seen.statements = undefined;
  return statements;
};
const countDuring = async (work) => {
  const [before, began] = [proxy.seen.count, Date.now()];
  await work();
  return { statements: proxy.seen.count - before, ms: Date.now() - began };
};

for (let index = 0; index < 5; index += 1) await sell();
await sleep(settledMs);
const idle = await countDuring(() => sleep(settledMs));
const counted = await countDuring(async () => {
  for (let index = 0; index < salesCounted; index += 1) await sell();
  await sleep(settledMs);
});
const perSale = (counted.statements - (idle.statements / idle.ms) * counted.ms) / salesCounted;

// A sale as the database sees it: what two sales have in common stays, what is new with each is made anew in a replay.
const sale = async () => {
  await sell();
  await sleep(150);
};
const other = await record(sale);
// The shortest has the least of what the idle server asks beside it.
const recordings = [];
for (let index = 0; index < 5; index += 1) recordings.push(await record(sale));
const recorded = recordings.toSorted((a, b) => a.length - b.length)[0];
if (process.argv.includes("--list"))
  for (const { text } of recorded) console.log(`  ${text.replace(/\s+/g, " ").slice(0, 150)}`);
const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/;
const token = new RegExp(
  `${uuid.source}|[a-z]+_[A-Za-z0-9_-]{16,}|buyer-\\d+-\\d+@example\\.com|RCPT-[0-9A-F]{12}-|\\b[0-9a-f]{64}\\b`,
  "g",
);
const tokensOf = (statements) =>
  new Set(statements.flatMap(({ parameters }) => parameters.flatMap((one) => one?.match(token) ?? [])));
const known = tokensOf(other);
const own = new Set([...tokensOf(recorded)].filter((one) => !known.has(one)));
const renew = (old) => {
  if (old.startsWith("buyer-")) return `replay-${randomBytes(9).toString("hex")}@example.com`;
  if (!uuid.test(old)) return `${old.slice(0, -14)}${randomBytes(7).toString("hex")}`;
  const time = Date.now().toString(16).padStart(12, "0");
  const rest = randomBytes(9).toString("hex");
  return `${time.slice(0, 8)}-${time.slice(8)}-7${rest.slice(0, 3)}-8${rest.slice(3, 6)}-${rest.slice(6)}`;
};
/** Statements in the transactions that they were sent in, in the order of their beginnings. */
const units = [];
const open = new Map();
for (const one of recorded) {
  const [isBegin, isEnd] = [/^begin/i, /^(commit|rollback)/i].map((verb) => verb.test(one.text));
  if (isBegin) open.set(one.connection, []);
  else if (isEnd) open.delete(one.connection);
  else if (open.has(one.connection)) {
    const unit = open.get(one.connection);
    if (unit.length === 0) units.push({ isTransaction: true, statements: unit });
    unit.push(one);
  } else units.push({ isTransaction: false, statements: [one] });
}

const bare = postgresClient(postgres.url, { max: atOnce, onnotice: () => {} });
// The recorded parameters are texts already.
await bare`select 1`;
for (const type of Object.keys(bare.options.serializers)) bare.options.serializers[type] = (value) => value;
async function replay() {
  const fresh = new Map([...own].map((old) => [old, renew(old)]));
  const send = (client, { text, parameters }) =>
    client.unsafe(
      text,
      parameters.map((one) => one?.replace(token, (found) => fresh.get(found) ?? found) ?? null),
    );
  for (const { isTransaction, statements } of units)
    if (isTransaction)
      await bare.begin(async (tx) => {
        for (const one of statements) await send(tx, one);
      });
    else await send(bare, statements[0]);
}

const rate = async (work) => {
  const began = Date.now();
  let done = 0;
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (Date.now() - began < roundMs) {
        await work();
        done += 1;
      }
    }),
  );
  return (1000 * done) / (Date.now() - began);
};
await replay();
const rates = { floe: [], bare: [] };
for (let round = 0; round < rounds; round += 1) {
  rates.floe.push(await rate(sell));
  await sleep(500);
  rates.bare.push(await rate(replay));
}
const middle = (list) => list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)];
const ratio = middle(rates.floe) / middle(rates.bare);

let failed = false;
const judge = (name, value, limit, isGood) => {
  if (!isGood) failed = true;
  console.log(`${name.padEnd(46)} ${String(value).padStart(8)}   ${isGood ? "" : "NOT "}within ${limit}`);
};
judge("statements of a sale with what follows from it", perSale.toFixed(1), statementsMax, perSale <= statementsMax);
console.log(`sales a second, ${atOnce} at once`.padEnd(46), middle(rates.floe).toFixed(1).padStart(8));
console.log("the same, statements alone".padEnd(46), middle(rates.bare).toFixed(1).padStart(8));
judge("ratio", ratio.toFixed(2), `${ratioMin} at least`, ratio >= ratioMin);
await bare.end();
await floe.close();
proxy.close();
await postgres.stop();
process.exit(failed ? 1 : 0);
