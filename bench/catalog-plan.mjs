/**
 * `POST /v1/catalog/plan` of 2,000 entries of each kind, new, changed and removed, through PostgreSQL: the processor's time of the
 * server process for one plan, against a floor in turns in the same process: the document of as many entries is read by its schema, and its
 * rows are written as one value by three statements that are rolled back. A changed entry is also read, locked and compared; a removed
 * one is not in the plan's own document. So each has its own bound. Then forty plans at once, while another seller lists products: how long these
 * take, alone and beside the plans, and how long the server stays busy after all callers have gone. Beyond a limit the exit code is 1.
 *
 *   node bench/catalog-plan.mjs            needs Node 24, as it reads TypeScript
 */
import { startPostgres } from "../tests/support/postgres.ts";

const count = 2000;
const rounds = 5;
const limits = {
  cpuMs: { new: 1000, changed: 1000, removed: 1000 },
  ratio: { new: 20, changed: 24, removed: 18 },
  slowdown: 5,
  longestMs: 250,
  busyAfterMs: 1000,
};

const median = (all) => all.toSorted((a, b) => a - b)[all.length >> 1];
const timeCpu = async (work) => {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
};
/** An organization has at most a hundred endpoints. */
const countOf = (kind) => (kind === "webhooks" ? 100 : count);
const keyed = (kind, make) =>
  Object.fromEntries(Array.from({ length: countOf(kind) }, (_, index) => [`k${index}`, make(index)]));

const postgres = await startPostgres();
const { url: databaseUrl } = postgres;
const { start } = await import("../tests/support/floe.ts");
const { Catalog } = await import("../shared/catalog/document.ts");
const floe = await start({ databaseUrl, listen: true, realTime: true, settings: { FLOE_EMAIL_VERIFICATION: "off" } });
const [seller, other] = [await floe.seller(), await floe.seller()];
await other.client.products.create({ body: { name: "Book", prices: [{ amount_type: "fixed", price_amount: 1900 }] } });
const { $client } = floe.deps.db;

const call = async (method, path, key, body, signal) => {
  const answer = await fetch(floe.url + path, {
    method,
    headers: { authorization: `Bearer ${key}`, ...(body && { "content-type": "application/json" }) },
    body: typeof body === "object" ? JSON.stringify(body) : body,
    signal,
  });
  return { status: answer.status, text: await answer.text() };
};
const catalogOf = (kind, make, more = {}) => ({ version: 1, catalog: kind, ...more, [kind]: keyed(kind, make) });
const book = { book: { name: "Book", prices: ["10.00"] } };
/** A document of each kind: as it is made, and as each of its entries is changed. */
const documents = {
  meters: (word) =>
    catalogOf("meters", (n) => ({ name: `${word} ${n}`, filter: 'name eq "call"', aggregation: "count" })),
  benefits: (word) =>
    catalogOf("benefits", (n) => ({ type: "custom", description: `${word} ${n}`, properties: { note: word } })),
  custom_fields: (word) => catalogOf("custom_fields", (n) => ({ type: "text", name: `${word} ${n}`, properties: {} })),
  products: (word) =>
    catalogOf("products", (n) => ({ name: `${word} ${n}`, prices: [word === "First" ? "10.00" : "11.00"] })),
  discounts: (word) =>
    catalogOf("discounts", (n) => ({ name: `${word} ${n}`, code: `${word}${n}`, percent: 20, duration: "once" })),
  checkout_links: (word) =>
    catalogOf("checkout_links", (n) => ({ label: `${word} ${n}`, products: ["book"] }), { products: book }),
  webhooks: (word) =>
    catalogOf("webhooks", (n) => ({
      url: `https://1.1.1.1/${n}`,
      events: word === "First" ? ["order.paid"] : ["order.created"],
    })),
};

/** Rows as wide as a product, its price and its key, in a transaction that is rolled back. */
async function runFloor(document) {
  Catalog.parse(JSON.parse(JSON.stringify(document)));
  const rows = JSON.stringify(
    Array.from({ length: count }, (_, index) => ({
      id: crypto.randomUUID(),
      name: `Product ${index}`,
      at: new Date(),
    })),
  );
  await $client
    .begin(async (tx) => {
      await tx.unsafe(
        "create temporary table floor_rows (id uuid primary key, name text, at timestamptz) on commit drop",
      );
      for (let times = 0; times < 3; times += 1) {
        await tx.unsafe("insert into floor_rows select * from json_populate_recordset(null::floor_rows, $1::json)", [
          rows,
        ]);
        await tx.unsafe("truncate floor_rows");
      }
      throw new Error("rolled back");
    })
    .catch((error) => {
      if (error.message !== "rolled back") throw error;
    });
}

const faults = [];
/** The processor's time of one plan, against the floor of a full document, in turns. */
async function measurePlan(kind, action, given, full, steps) {
  const name = `${kind}, ${action}`;
  const [plans, floors] = [[], []];
  for (let round = 0; round < rounds; round += 1) {
    floors.push(await timeCpu(() => runFloor(full)));
    plans.push(
      await timeCpu(async () => {
        const { status, text } = await call("POST", "/v1/catalog/plan", seller.key, given);
        if (status !== 200 || JSON.parse(text).steps.length !== steps || JSON.parse(text).issues.length > 0)
          throw new Error(`${name}: ${status} ${text.slice(0, 300)}`);
      }),
    );
  }
  const [cpuMs, floorMs] = [median(plans), median(floors)];
  const ratio = cpuMs / floorMs;
  console.log(`${name}: ${cpuMs.toFixed(0)} ms of CPU, floor ${floorMs.toFixed(0)} ms, ratio ${ratio.toFixed(1)}`);
  if (cpuMs > limits.cpuMs[action]) faults.push(`${name}: ${cpuMs.toFixed(0)} ms of CPU, not ${limits.cpuMs[action]}`);
  if (ratio > limits.ratio[action]) faults.push(`${name}: ratio ${ratio.toFixed(1)}, not ${limits.ratio[action]}`);
}

for (const [kind, make] of Object.entries(documents)) {
  const document = make("First");
  const others = kind === "checkout_links" ? 1 : 0;
  await measurePlan(kind, "new", { document }, document, countOf(kind) + others);
  const applied = await call("POST", "/v1/catalog/apply", seller.key, { document });
  if (applied.status !== 200) throw new Error(`${kind}: ${applied.status} ${applied.text.slice(0, 300)}`);
  await measurePlan(kind, "changed", { document: make("Second") }, document, countOf(kind));
  const empty = { version: 1, catalog: kind };
  await measurePlan(kind, "removed", { document: empty, prune: true }, document, countOf(kind) + others);
}

const list = async () => {
  const began = performance.now();
  const { status } = await call("GET", "/v1/products/", other.key);
  if (status !== 200) throw new Error(`The list was answered ${status}.`);
  return performance.now() - began;
};
const listFor = async (ms) => {
  const took = [];
  for (const until = performance.now() + ms; performance.now() < until; ) took.push(await list());
  return { usual: median(took), longest: Math.max(...took) };
};
await listFor(500);
const alone = await listFor(2000);
const leaving = new AbortController();
// Written once: the callers are in this process, too, and writing forty documents would keep the list waiting.
const third = JSON.stringify({ document: documents.products("Third") });
const plans = Array.from({ length: 40 }, () =>
  call("POST", "/v1/catalog/plan", seller.key, third, leaving.signal).catch(() => "left"),
);
const beside = await listFor(3000);
leaving.abort();
await Promise.all(plans);
const left = performance.now();
let busyAfterMs = 0;
while (performance.now() - left < 5000) {
  const used = await timeCpu(() => new Promise((resolve) => setTimeout(resolve, 100)));
  if (used > 50) busyAfterMs = performance.now() - left;
}
const slowdown = beside.usual / alone.usual;
console.log(
  `list: ${alone.usual.toFixed(1)} ms alone, ${beside.usual.toFixed(1)} ms beside forty plans (${slowdown.toFixed(1)} times), at most ${beside.longest.toFixed(0)} ms`,
);
console.log(`busy after all callers left: ${busyAfterMs.toFixed(0)} ms`);
if (slowdown > limits.slowdown)
  faults.push(`The list is ${slowdown.toFixed(1)} times as slow, not ${limits.slowdown}.`);
if (beside.longest > limits.longestMs)
  faults.push(`A list takes ${beside.longest.toFixed(0)} ms, not ${limits.longestMs}.`);
if (busyAfterMs > limits.busyAfterMs)
  faults.push(`The server is busy for ${busyAfterMs.toFixed(0)} ms after its callers left.`);

await floe.close();
await postgres.stop();
for (const fault of faults) console.error(fault);
process.exit(faults.length > 0 ? 1 : 0);
