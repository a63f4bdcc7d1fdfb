/**
 * Events of use through PostgreSQL, over HTTP, each figure against a floor in the same run:
 *
 * - batches of 1,000 by 8 connections, what customers have used included, against a bare insert of as many rows of the same
 *   columns into the same table;
 * - how long an answer takes where batches come evenly, half as many as are promised a second: 8 that wait for each other's end
 *   have 8,000 events under way, so that at 25,000 a second each takes 320 ms, however fast one alone is;
 * - single events, by 8 connections and by 64, against a bare server, whose requests each insert one such row and do nothing else, and
 *   besides against an insert of each over as many connections of the database, without a request;
 * - a batch, and reading a customer's meters, at a long history against a short one;
 * - a month of a meter, by the day, against the same sums written by hand in SQL;
 * - batches on the embedded database, a second.
 *
 * Floor and floe take turns, and the best of each counts. Prints the figures; beyond what is promised the exit code is 1.
 *
 *   node bench/events.mjs [part ...] [--history 300000]     parts: batches single history quantities embedded
 *
 * It needs Node 24, as it reads TypeScript. The promise is of a history of 10,000,000 (`--history 10000000`), which takes 12 GB and some
 * ten minutes.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { isMainThread, parentPort, Worker } from "node:worker_threads";

const [batch_size, rounds] = [1000, 3];
const allowed = {
  batches_ratio: 0.5,
  batches_rate: 25_000,
  p99_ms: 150,
  single_ratio: 0.5,
  single_to_inserts: 0.5,
  history_ratio: 1.5,
  quantities_ratio: 3,
  embedded_rate: 5000,
};

/** In a thread of its own, the client: sends bodies that are ready by so many connections, and says how long each took. */
async function serveClient() {
  const { Agent, request } = await import("node:http");
  const agent = new Agent({ keepAlive: true });
  const send = (url, key, body) =>
    new Promise((resolve, reject) => {
      const headers = {
        authorization: `Bearer ${key}`,
        "content-type": "application/json",
        "content-length": body.length,
      };
      const out = request(url, { method: "POST", agent, headers }, (answer) => {
        const parts = [];
        answer.on("data", (part) => parts.push(part));
        answer.on("end", () =>
          answer.statusCode === 200
            ? resolve()
            : reject(new Error(`${answer.statusCode} ${Buffer.concat(parts).toString().slice(0, 500)}`)),
        );
      });
      out.on("error", reject);
      out.end(body);
    });
  for (;;) {
    const [{ url, key, size, count, prefix, customers, connections, every_ms }] = await once(parentPort, "message");
    const bodies = Array.from({ length: count }, (_, b) =>
      Buffer.from(JSON.stringify({ events: makeEvents(size, `${prefix}-${b}`, customers) })),
    );
    parentPort.postMessage("ready");
    await once(parentPort, "message");
    const took = [];
    const began = performance.now();
    let failed;
    const sendAll = async () => {
      for (let body = bodies.pop(); body; body = bodies.pop()) {
        const sent = performance.now();
        await send(url, key, body);
        took.push(performance.now() - sent);
      }
    };
    // Evenly: each is timed from when it was to be sent, also where those before it have held it up.
    const sendEvenly = async (body, place) => {
      const due = began + place * every_ms;
      await sleep(Math.max(0, due - performance.now()));
      await send(url, key, body);
      took.push(performance.now() - due);
    };
    const work = every_ms ? bodies.map(sendEvenly) : Array.from({ length: connections }, sendAll);
    await Promise.all(work).catch((error) => {
      failed = String(error);
    });
    parentPort.postMessage({ ms: performance.now() - began, took, failed });
  }
}

const models = ["small", "medium", "large"];
/** Calls of a language model, by any of so many customers. */
function makeEvents(size, prefix, customers) {
  return Array.from({ length: size }, (_, n) => ({
    name: Math.random() < 0.1 ? "image" : "completion",
    external_customer_id: `user-${Math.floor(Math.random() * customers)}`,
    external_id: `${prefix}-${n}`,
    metadata: { tokens: Math.floor(Math.random() * 2000), model: models[n % 3], cached: n % 4 === 0 },
  }));
}

if (!isMainThread) await serveClient();
else await measure();

async function measure() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { history: { type: "string", default: "300000" } },
  });
  const wants = (part) => positionals.length === 0 || positionals.includes(part);
  const { sql } = await import("drizzle-orm");
  const { default: postgres } = await import("postgres");
  const { start } = await import("../tests/support/floe.ts");
  const { startPostgres } = await import("../tests/support/postgres.ts");
  const { createId } = await import("../server/platform/ids.ts");
  const client = new Worker(new URL(import.meta.url));
  let failed = false;
  const judge = (name, value, limit, isGood) => {
    if (!isGood) failed = true;
    console.log(`${name.padEnd(58)} ${String(value).padStart(9)}   ${isGood ? "" : "NOT "}within ${limit}`);
  };
  const customers_count = 500;
  let sent = 0;
  /** A seller with customers and meters. */
  const openSeller = async (floe, name) => {
    const seller = await floe.seller(name);
    const metered = { conjunction: "and", clauses: [{ property: "name", operator: "eq", value: "completion" }] };
    for (const aggregation of [{ func: "sum", property: "tokens" }, { func: "count" }])
      await seller.client.meters.create({ body: { name: "Tokens", filter: metered, aggregation } });
    await floe.deps.db.execute(sql`
      insert into customers (id, organization_id, created_at, email, external_id, metadata)
      select gen_random_uuid(), ${seller.organization_id}, now(), 'user-' || n || '@example.com', 'user-' || n, '{}'
      from generate_series(0, ${customers_count - 1}::int) n`);
    await floe.deps.db.execute(sql`analyze customers`);
    return seller;
  };
  /** Have the client send so many bodies of so many events each. */
  const send = async ({ url, key }, size, count, { connections = 8, every_ms } = {}) => {
    sent += 1;
    const [prefix, customers] = [`run-${sent}`, customers_count];
    client.postMessage({ url, key, size, count, prefix, customers, connections, every_ms });
    await once(client, "message");
    client.postMessage("go");
    const [{ ms, took, failed: why }] = await once(client, "message");
    if (why) throw new Error(why);
    return { rate: (size * count * 1000) / ms, took };
  };
  const ingest = (floe, seller, size, count, how) =>
    send({ url: `${floe.url}/v1/events/ingest`, key: seller.key }, size, count, how);
  const best = (list) => Math.max(...list);
  const percentile = (list, share) => list.toSorted((a, b) => a - b)[Math.floor((list.length - 1) * share)];

  const database = await startPostgres();
  try {
    const floe = await start({ databaseUrl: database.url, listen: true, realTime: true });
    const seller = await openSeller(floe, "bench");
    const { organization_id } = seller;
    const owners = await floe.deps.db.execute(sql`select id from customers where organization_id = ${organization_id}`);
    const pools = Array.from({ length: 64 }, () => postgres(database.url, { max: 1, fetch_types: false }));
    const bareRow = (n) => ({
      organization_id,
      id: createId(new Date()),
      timestamp: new Date(),
      name: n % 10 === 0 ? "image" : "completion",
      source: "user",
      customer_id: owners[Math.floor(Math.random() * owners.length)].id,
      external_customer_id: `user-${n % customers_count}`,
      external_id: `bare-${sent}-${n}`,
      parent_id: null,
      depth: 0,
      member_id: null,
      external_member_id: null,
      metadata: { tokens: Math.floor(Math.random() * 2000), model: models[n % 3], cached: n % 4 === 0 },
    });
    /** Know how large the tables are, as a seller's database does within a minute; here it does nothing by itself. */
    const analyze = () => floe.deps.db.execute(sql`analyze`);
    /** The floor: rows that are ready, so many in each statement, by as many connections. */
    const insertBare = async (size, count, connections) => {
      sent += 1;
      const batches = Array.from({ length: count }, () => Array.from({ length: size }, (_, n) => bareRow(n)));
      const began = performance.now();
      await Promise.all(
        pools.slice(0, connections).map(async (pool) => {
          for (let rows = batches.pop(); rows; rows = batches.pop())
            await pool`insert into usage_events ${pool(rows.map((row) => ({ ...row, metadata: pool.json(row.metadata) })))}`;
        }),
      );
      return (size * count * 1000) / (performance.now() - began);
    };
    /** The floor of a request: reads the event that it brings, and inserts it as a row, over as many connections as floe has. */
    const shared = postgres(database.url, { max: 10, fetch_types: false });
    const bare = createServer(async (request, response) => {
      const parts = [];
      for await (const part of request) parts.push(part);
      const { events } = JSON.parse(Buffer.concat(parts));
      const rows = events.map((event, n) => ({ ...bareRow(n), ...event, metadata: shared.json(event.metadata) }));
      await shared`insert into usage_events ${shared(rows)}`;
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ inserted: rows.length, duplicates: 0 }));
    }).listen(0, "127.0.0.1");
    await once(bare, "listening");
    const bareServer = { url: `http://127.0.0.1:${bare.address().port}/`, key: seller.key };

    if (wants("batches")) {
      const [size, many] = [batch_size, 40];
      await ingest(floe, seller, size, many / 4);
      await insertBare(size, many / 4, 8);
      await analyze();
      const [floors, rates] = [[], []];
      for (let round = 0; round < rounds; round += 1) {
        floors.push(await insertBare(size, many, 8));
        const made = await ingest(floe, seller, size, many);
        rates.push(made.rate);
        const p99 = percentile(made.took, 0.99).toFixed(0);
        console.log(
          `  batches: ${Math.round(floors.at(-1))} bare, ${Math.round(made.rate)} through floe, p99 ${p99} ms`,
        );
      }
      const [ratio, limit] = [best(rates) / best(floors), allowed.batches_ratio];
      judge("batches: events a second to bare rows", ratio.toFixed(2), `${limit}`, ratio >= limit);
      judge(
        "batches: events a second",
        Math.round(best(rates)),
        `${allowed.batches_rate} on an idle machine`,
        best(rates) >= allowed.batches_rate,
      );
      const every_ms = (2000 * size) / allowed.batches_rate;
      const evenly = [];
      for (let round = 0; round < rounds; round += 1)
        evenly.push(percentile((await ingest(floe, seller, size, many, { every_ms })).took, 0.99));
      const p99 = Math.min(...evenly);
      judge(
        `batches: p99 of an answer at ${allowed.batches_rate / 2} events a second, ms`,
        p99.toFixed(0),
        `${allowed.p99_ms} on an idle machine`,
        p99 <= allowed.p99_ms,
      );
    }
    for (const connections of wants("single") ? [8, 64] : []) {
      const many = 4000;
      await ingest(floe, seller, 1, many, { connections });
      await send(bareServer, 1, many / 4, { connections });
      await insertBare(1, many / 4, connections);
      await analyze();
      const [inserts, requests, rates] = [[], [], []];
      for (let round = 0; round < rounds; round += 1) {
        inserts.push(await insertBare(1, many, connections));
        requests.push((await send(bareServer, 1, many, { connections })).rate);
        const made = await ingest(floe, seller, 1, many, { connections });
        rates.push(made.rate);
        const all = [inserts, requests, rates].map((list) => Math.round(list.at(-1)));
        const p99 = percentile(made.took, 0.99).toFixed(0);
        console.log(`  single: ${all[0]} inserts, ${all[1]} bare requests, ${all[2]} through floe, p99 ${p99} ms`);
      }
      for (const [floor, list, limit] of [
        ["bare requests", requests, allowed.single_ratio],
        ["inserts without a request", inserts, allowed.single_to_inserts],
      ]) {
        const ratio = best(rates) / best(list);
        judge(`single by ${connections} connections: to ${floor}`, ratio.toFixed(2), `${limit}`, ratio >= limit);
      }
    }
    bare.close();
    bare.closeAllConnections();
    await shared.end();
    for (const pool of pools) await pool.end();
    if (wants("history") || wants("quantities")) await measureHistory(floe, Number(values.history));
    await floe.close();
  } finally {
    await database.stop();
  }
  if (wants("embedded")) {
    const floe = await start({ embedded: true, listen: true, realTime: true });
    const seller = await openSeller(floe, "embedded");
    await ingest(floe, seller, batch_size, 4);
    const rates = [];
    for (let round = 0; round < rounds; round += 1) rates.push((await ingest(floe, seller, batch_size, 10)).rate);
    judge(
      "embedded: events a second",
      Math.round(best(rates)),
      `${allowed.embedded_rate}`,
      best(rates) >= allowed.embedded_rate,
    );
    await floe.close();
  }

  /** Take away the indexes of events but the one of their ids; answers what makes them again, which is quicker than to fill them. */
  async function takeIndexes(db) {
    const indexes = Array.from(
      await db.execute(sql`select indexname, indexdef from pg_indexes where tablename = 'usage_events' and indexname <> (
        select conname from pg_constraint where conrelid = 'usage_events'::regclass and contype = 'p')`),
    );
    for (const { indexname } of indexes) await db.execute(sql`drop index ${sql.identifier(indexname)}`);
    return async () => {
      await db.transaction(async (tx) => {
        await tx.execute(sql`set local maintenance_work_mem = '512MB'`);
        for (const { indexdef } of indexes) await tx.execute(sql.raw(indexdef.replace(" ON ONLY ", " ON ")));
      });
    };
  }

  /** Two sellers, of whom one has had so many events through the last month, and the other few. */
  async function measureHistory(floe, many) {
    const { db } = floe.deps;
    const sides = {};
    const few = 10_000;
    for (const [name, count] of [
      ["few", few],
      ["many", many],
    ]) {
      const seller = await openSeller(floe, name);
      const { organization_id } = seller;
      const filter = { conjunction: "and", clauses: [{ property: "name", operator: "eq", value: "completion" }] };
      const aggregation = { func: "unique", property: "request" };
      await seller.client.meters.create({ body: { name: "Requests", filter, aggregation } });
      const rebuild = count > few ? await takeIndexes(db) : () => {};
      await db.execute(sql`
        insert into usage_events (organization_id, id, timestamp, name, source, customer_id, external_customer_id, depth, metadata)
        select ${organization_id}, (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') || '7' || substr(md5(n::text), 1, 3)
            || '8' || substr(md5(n || 'x'), 1, 15))::uuid,
          at, 'completion', 'user', c.id, c.external_id, 0, jsonb_build_object('tokens', n % 2000, 'request', 'r' || n % 50000)
        from generate_series(1, ${count}::int) n
        join (select row_number() over (order by id) - 1 as number, id, external_id from customers
          where organization_id = ${organization_id}) c on c.number = n % ${customers_count}::int
        cross join lateral (select now() - interval '30 days' * n / ${count}::int as at) a`);
      await rebuild();
      await db.execute(sql`update meters set recount_at = now() where organization_id = ${organization_id}`);
      await floe.runJobs();
      sides[name] = { seller, meters: (await seller.client.meters.list({ query: {} })).items };
      console.log(`  ${name}: ${count} events are there and counted, after ${performance.now() / 1000} s`);
    }
    await db.execute("vacuum analyze usage_events");
    await db.execute("vacuum analyze customer_meters");
    if (wants("history")) {
      const ask = async ({ seller }, method, path, body) => {
        const began = performance.now();
        const { status, text } = await floe.request(method, path, { token: seller.key, ...(body && { body }) });
        if (status !== 200) throw new Error(`${status} ${text.slice(0, 300)}`);
        return performance.now() - began;
      };
      const work = {
        "a batch of 100": (side) => {
          sent += 1;
          return ask(side, "POST", "/v1/events/ingest", {
            events: makeEvents(100, `history-${sent}`, customers_count),
          });
        },
        "a customer's meters": (side) => ask(side, "GET", "/v1/customer-meters/?external_customer_id=user-7"),
      };
      for (const [name, act] of Object.entries(work)) {
        const took = { few: [], many: [] };
        for (let round = 0; round < 40; round += 1)
          for (const side of ["few", "many"]) took[side].push(await act(sides[side]));
        const [few, long] = [percentile(took.few, 0.5), percentile(took.many, 0.5)];
        judge(
          `history: ${name}, ${long.toFixed(1)} ms to ${few.toFixed(1)} ms`,
          (long / few).toFixed(2),
          `${allowed.history_ratio}`,
          long / few <= allowed.history_ratio,
        );
      }
    }
    if (wants("quantities")) {
      const { seller, meters } = sides.many;
      const [from, until] = [new Date(Date.now() - 31 * 86_400_000), new Date()];
      const written = {
        sum: sql`coalesce(sum((metadata ->> 'tokens')::numeric), 0)`,
        unique: sql`count(distinct metadata ->> 'request')`,
      };
      for (const [func, sums] of Object.entries(written)) {
        const { id } = meters.find(({ aggregation }) => aggregation.func === func);
        const took = { floor: [], floe: [] };
        for (let round = 0; round < rounds; round += 1) {
          const began = performance.now();
          await db.execute(sql`select date_trunc('day', timestamp) as day, ${sums} from usage_events
            where organization_id = ${seller.organization_id} and timestamp between ${from.toISOString()}::timestamptz
              and ${until.toISOString()}::timestamptz and name = 'completion' group by grouping sets ((day), ())`);
          took.floor.push(performance.now() - began);
          const asked = performance.now();
          const query = { interval: "day", start_timestamp: from.toISOString(), end_timestamp: until.toISOString() };
          await seller.client.meters.quantities({ params: { id }, query });
          took.floe.push(performance.now() - asked);
        }
        const [floor, ours] = [Math.min(...took.floor), Math.min(...took.floe)];
        judge(
          `quantities: ${func}, ${ours.toFixed(0)} ms to ${floor.toFixed(0)} ms`,
          (ours / floor).toFixed(2),
          `${allowed.quantities_ratio}`,
          ours / floor <= allowed.quantities_ratio,
        );
      }
    }
  }
  await client.terminate();
  process.exit(failed ? 1 : 0);
}
