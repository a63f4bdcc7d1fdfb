/**
 * GET /v1/products/?limit=10 through PostgreSQL: floe against a bare Fastify handler that authenticates nothing, runs the
 * same SQL and writes its rows as JSON. Both serve from processes of their own and are asked in turns, so that what else
 * the machine does strikes both. Prints the ratio of the medians; below the promised half the exit code is 1.
 *
 *   node bench/products-list.mjs            needs Node 24, as it reads TypeScript
 */
import { fork } from "node:child_process";
import Fastify from "fastify";
import postgres from "postgres";
import { Pool } from "undici";
import { startPostgres } from "../tests/support/postgres.ts";

const ratio_min = 0.5;
const products = 200;
const connections = 10;
const requests = 1500;
const rounds = 7;
const path = "/v1/products/?limit=10";

/** A whole floe with a seller and its products; tells its address, a key, and the SQL that the list runs. */
async function serveFloe(databaseUrl) {
  const { start } = await import("../tests/support/floe.ts");
  const floe = await start({ databaseUrl, listen: true, realTime: true });
  const seller = await floe.seller();
  for (let number = 0; number < products; number += 1) {
    await seller.client.products.create({
      body: {
        name: `Book ${number}`,
        description: "A book.",
        prices: [{ amount_type: "fixed", price_amount: 1900 }],
        metadata: { number },
      },
    });
  }
  await floe.deps.db.execute("analyze");
  const statements = [];
  const { session } = floe.deps.db;
  const prepare = session.prepareQuery;
  session.prepareQuery = function (query, ...rest) {
    const given = { organization_id: seller.organization_id, limit: 10, offset: 0 };
    statements.push({
      sql: query.sql,
      params: query.params.map((param) => given[param?.value?.name ?? param?.name] ?? param),
    });
    return prepare.call(this, query, ...rest);
  };
  await seller.client.products.list({ query: { limit: 10 } });
  session.prepareQuery = prepare;
  process.send({
    url: floe.url,
    key: seller.key,
    statements: statements.filter(({ sql }) => sql.includes('"products"')),
  });
}

async function serveBare(databaseUrl, statements) {
  const sql = postgres(databaseUrl, { max: 10 });
  const app = Fastify();
  const run = (statement) => sql.unsafe(statement.sql, statement.params, { prepare: true });
  app.get("/v1/products/", async (_request, reply) => {
    const [items, [{ count }]] = [await run(statements[0]), await run(statements[1])];
    return reply
      .type("application/json; charset=utf-8")
      .send(JSON.stringify({ items, pagination: { total_count: Number(count), max_page: count / 10 } }));
  });
  process.send({ url: await app.listen({ host: "127.0.0.1", port: 0 }) });
}

/** Requests per second of one round. */
async function load(pool, headers) {
  let left = requests;
  const began = performance.now();
  await Promise.all(
    Array.from({ length: connections }, async () => {
      while (left > 0) {
        left -= 1;
        const answer = await pool.request({ method: "GET", path, headers });
        const body = await answer.body.text();
        if (answer.statusCode !== 200 || JSON.parse(body).items.length !== 10)
          throw new Error(`${answer.statusCode} ${body.slice(0, 200)}`);
      }
    }),
  );
  return requests / ((performance.now() - began) / 1000);
}

const median = (values) => values.toSorted((a, b) => a - b)[(values.length - 1) / 2];

async function main() {
  const database = await startPostgres();
  const children = [];
  const serve = (what, ...given) =>
    new Promise((resolve, reject) => {
      const child = fork(import.meta.filename, [what, ...given]);
      children.push(child);
      child.once("message", resolve);
      child.once("exit", (code) => reject(new Error(`The ${what} server stopped with ${code}.`)));
    });
  try {
    const databaseUrl = await database.database();
    const floe = await serve("floe", databaseUrl);
    const bare = await serve("bare", databaseUrl, JSON.stringify(floe.statements));
    const sides = {
      floe: {
        pool: new Pool(floe.url.replace("localhost", "127.0.0.1"), { connections }),
        headers: { authorization: `Bearer ${floe.key}` },
        rates: [],
      },
      bare: { pool: new Pool(bare.url, { connections }), headers: {}, rates: [] },
    };
    for (const side of Object.values(sides)) await load(side.pool, side.headers);
    for (let round = 0; round < rounds; round += 1) {
      for (const side of Object.values(sides)) side.rates.push(await load(side.pool, side.headers));
    }
    const figures = { floe: median(sides.floe.rates), bare: median(sides.bare.rates) };
    const ratio = figures.floe / figures.bare;
    console.log(
      `products list: floe ${figures.floe.toFixed(0)}/s, bare handler ${figures.bare.toFixed(0)}/s, ratio ${ratio.toFixed(2)} (at least ${ratio_min})`,
    );
    for (const side of Object.values(sides)) await side.pool.close();
    if (ratio < ratio_min) process.exitCode = 1;
  } finally {
    for (const child of children) child.removeAllListeners("exit").kill();
    await database.stop();
  }
}

const [, , what, databaseUrl, statements] = process.argv;
if (what === "floe") await serveFloe(databaseUrl);
else if (what === "bare") await serveBare(databaseUrl, JSON.parse(statements));
else await main();
