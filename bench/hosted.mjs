/**
 * Hosted mode, through PostgreSQL. First the time that the relay adds: `GET /v1/products/` through floe against the same request
 * sent to Polar's stand-in, one after the other. Then `GET /v1/customers/{id}/state` from the mirror with 100,000 customers, against
 * a bare Fastify handler that authenticates nothing, runs the same statement and writes the row as JSON. Each server is a
 * process of its own, and they are asked in turns, so that other work of the machine affects both. Exit code 1 beyond a limit.
 *
 *   node bench/hosted.mjs            needs Node 24, as it reads TypeScript
 */
import { fork } from "node:child_process";
import Fastify from "fastify";
import postgres from "postgres";
import { Pool } from "undici";
import { startPostgres } from "../tests/support/postgres.ts";

const addedMsMax = 3;
const ratioMin = 0.5;
const stateMsMax = 10;
const customers = 100_000;
const [reads, requests, connections, rounds] = [150, 1500, 10, 7];

/** A floe in hosted mode with a full mirror, and its Polar; tells their addresses, a key, and which rows there are. */
async function serveFloe(databaseUrl) {
  process.env.FLOE_TEST_DATABASE = "embedded";
  const { startHosted, answerWith } = await import("../tests/support/hosted.ts");
  const settings = { POLAR_WEBHOOK_SECRET: "polar_whs_of-the-bench", FLOE_EMAIL_VERIFICATION: "off" };
  const pair = await startHosted({ databaseUrl, listen: true, realTime: true, settings });
  const { client, key: polarKey } = pair.polarSeller;
  for (let number = 0; number < 10; number += 1)
    await client.products.create({ body: { name: `Book ${number}`, prices: [{ amount_type: "free" }] } });
  const customer = await client.customers.create({ body: { email: "state@example.com", name: "State" } });
  const read = async (path) => (await pair.polar.request("GET", path, { token: polarKey })).json;
  const state = await read(`/v1/customers/${customer.id}/state`);
  // Polar's own time is left out: its answer is there at once.
  pair.proxy.setFault(answerWith(200, JSON.stringify(await read("/v1/products/"))));
  const { organization_id, key } = pair.seller;
  // Without the limit on the time of a statement.
  const sql = postgres(databaseUrl, { max: 1 });
  const run = (text) => sql.unsafe(text);
  const fill = (kind, json, more) =>
    run(`insert into polar_objects (organization_id, kind, id, data, modified_at, event_at, source, via, customer_id)
      select '${organization_id}', '${kind}', ${more}, jsonb_build_object('id', 'c-' || n) || '${JSON.stringify(json).replaceAll("'", "''")}'::jsonb
        || jsonb_build_object('id', 'c-' || n), now() - interval '1 hour', now() - interval '${kind === "customer_state" ? 1 : 2} minutes', 'bench', 'event', 'c-' || n
      from generate_series(1, ${customers}) n`);
  await fill("customer_state", state, "'c-' || n");
  await fill("customer", customer, "'c-' || n");
  for (const part of ["a", "b"]) await fill("subscription", { status: "active" }, `'s-${part}-' || n`);
  await run("vacuum analyze polar_objects");
  await sql.end();
  process.send({ url: pair.floe.url, polar: pair.proxy.url, key, organization_id });
}

async function serveBare(databaseUrl, organization_id) {
  const sql = postgres(databaseUrl, { max: connections });
  const app = Fastify();
  app.get("/v1/customers/:id/state", async ({ params: { id } }, reply) => {
    const part = sql`from polar_objects as part where part.organization_id = ${organization_id} and part.customer_id = ${id}`;
    const [state] =
      await sql`select *, exists (select 1 ${part} and part.kind = 'customer' and part.deleted_at is not null) as is_gone,
        (select max(part.event_at) ${part} and part.kind in ('subscription', 'benefit_grant', 'customer')) as newest
      from polar_objects where organization_id = ${organization_id} and kind = 'customer_state' and id = ${id}`;
    if (!state || state.is_gone || state.newest > state.event_at) return reply.code(404).send();
    return reply.header("content-type", "application/json").send(JSON.stringify(state.data));
  });
  process.send({ url: await app.listen({ port: 0, host: "127.0.0.1" }) });
}

const open = (...args) =>
  new Promise((resolve, reject) => {
    const child = fork(new URL(import.meta.url), args, { stdio: ["ignore", "inherit", "inherit", "ipc"] });
    child.once("message", (told) => resolve({ child, ...told }));
    child.once("exit", (code) => reject(new Error(`${args[0]} ended: ${code}`)));
  });
const sort = (values) => values.toSorted((a, b) => a - b);
const findMedian = (values) => sort(values)[Math.floor(values.length / 2)];

async function ask(pool, path, key) {
  const began = performance.now();
  const { statusCode, headers, body } = await pool.request({
    path,
    method: "GET",
    headers: { authorization: `Bearer ${key}` },
  });
  const text = await body.text();
  if (statusCode !== 200) throw new Error(`${path}: ${statusCode} ${text}`);
  return { ms: performance.now() - began, headers };
}

async function measureRelay({ url, polar, key }) {
  const [through, direct] = [new Pool(url, { connections: 1 }), new Pool(polar, { connections: 1 })];
  const took = { through: [], direct: [] };
  for (let number = -50; number < reads; number += 1) {
    const times = [(await ask(direct, "/v1/products/", "none")).ms, (await ask(through, "/v1/products/", key)).ms];
    if (number < 0) continue;
    took.direct.push(times[0]);
    took.through.push(times[1]);
  }
  await Promise.all([through.close(), direct.close()]);
  const [high, low] = [findMedian(took.through), findMedian(took.direct)];
  console.log(
    `relay, p50 of ${reads}: ${high.toFixed(2)} ms through floe, ${low.toFixed(2)} ms without, ${(high - low).toFixed(2)} ms more (at most ${addedMsMax})`,
  );
  return high - low <= addedMsMax;
}

async function measureState(floe, bare) {
  const sides = { floe: new Pool(floe.url, { connections }), bare: new Pool(bare.url, { connections }) };
  const rates = { floe: [], bare: [] };
  const times = [];
  for (let round = -1; round < rounds; round += 1)
    for (const [name, pool] of Object.entries(sides)) {
      let next = 0;
      const began = performance.now();
      await Promise.all(
        Array.from({ length: connections }, async () => {
          while (next < requests) {
            next += 1;
            const { ms, headers } = await ask(
              pool,
              `/v1/customers/c-${1 + ((next * 7919) % customers)}/state`,
              floe.key,
            );
            if (name === "floe" && headers["floe-as-of"] === undefined) throw new Error("Polar was asked.");
            if (name === "floe" && round >= 0) times.push(ms);
          }
        }),
      );
      if (round >= 0) rates[name].push((requests / (performance.now() - began)) * 1000);
    }
  await Promise.all(Object.values(sides).map((pool) => pool.close()));
  const [own, floor] = [findMedian(rates.floe), findMedian(rates.bare)];
  const ratio = findMedian(rates.floe.map((rate, round) => rate / rates.bare[round]));
  const p99 = sort(times)[Math.floor(times.length * 0.99)];
  console.log(
    `customer state, ${customers} customers: ${own.toFixed(0)} a second, bare ${floor.toFixed(0)}, ratio ${ratio.toFixed(2)} (at least ${ratioMin})`,
  );
  console.log(`customer state, ${connections} at once: p99 ${p99.toFixed(1)} ms (at most ${stateMsMax} one at a time)`);
  return ratio >= ratioMin;
}

if (process.argv[2] === "floe") await serveFloe(process.argv[3]);
else if (process.argv[2] === "bare") await serveBare(process.argv[3], process.argv[4]);
else {
  const database = await startPostgres();
  const children = [];
  try {
    const floe = await open("floe", database.url);
    const bare = await open("bare", database.url, floe.organization_id);
    children.push(floe.child, bare.child);
    const isQuick = await measureRelay(floe);
    const isAbove = await measureState(floe, bare);
    if (!isQuick || !isAbove) process.exitCode = 1;
  } finally {
    for (const child of children) child.removeAllListeners("exit").kill();
    await database.stop();
  }
}
