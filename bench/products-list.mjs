/**
 * GET /v1/products/ through PostgreSQL, ten of 200 products and a hundred of 10,000 with prices, benefits and pictures: floe
 * against a bare Fastify handler that authenticates nothing and writes its rows as JSON. The bare one asks once as one would: for the
 * page, with its length as a parameter, and then for `count(*)`; and once by floe's own statements. All serve from processes of their
 * own and are asked in turns, so that what else the machine does strikes all. Prints the statements of a request and the ratios of
 * the medians; where that to the first is beyond what is promised, the exit code is 1.
 *
 *   node bench/products-list.mjs            needs Node 24, as it reads TypeScript
 */
import { fork } from "node:child_process";
import Fastify from "fastify";
import postgres from "postgres";
import { Pool } from "undici";
import { startPostgres } from "../tests/support/postgres.ts";

const cases = {
  small: { products: 200, limit: 10, requests: 1500, ratio_min: 0.8 },
  full: { products: 10_000, limit: 100, requests: 120, ratio_min: 0.4, rich: true },
};
const statementsMax = 4;
const connections = 10;
const rounds = 7;

/** A whole floe with a seller and its products; tells its address, a key, and the SQL that the list runs. */
async function serveFloe(databaseUrl, { products, limit, rich }) {
  const { start } = await import("../tests/support/floe.ts");
  // No mail is written, as its layout is JSX, which Node does not read by itself.
  const settings = { FLOE_EMAIL_VERIFICATION: "off" };
  const floe = await start({ databaseUrl, listen: true, realTime: true, settings });
  const seller = await floe.seller();
  const first = await seller.client.products.create({
    body: {
      name: "Book 0",
      description: "A book.",
      prices: [{ amount_type: "fixed", price_amount: 1900 }],
      metadata: { number: 0 },
    },
  });
  const run = (text) => floe.deps.db.execute(text);
  const columns = (table, left) =>
    `(select string_agg(quote_ident(column_name), ',' order by ordinal_position) from information_schema.columns
      where table_name = '${table}' and column_name not in (${left.map((name) => `'${name}'`).join(",")}))`;
  const copied = async (table, left) => (await run(`select ${columns(table, left)} as list`))[0].list;
  const product_columns = await copied("products", ["id", "name", "created_at"]);
  const price_columns = await copied("product_prices", ["id", "product_id"]);
  await run(`insert into products (id, name, created_at, ${product_columns})
    select gen_random_uuid(), 'Book ' || n, now() - n * interval '1 second', ${product_columns}
    from products, generate_series(1, ${products - 1}) n where id = '${first.id}'`);
  await run(`insert into product_prices (id, product_id, ${price_columns})
    select gen_random_uuid(), p.id, ${price_columns
      .split(",")
      .map((name) => `r.${name}`)
      .join(",")}
    from products p, product_prices r where r.product_id = '${first.id}' and p.id <> '${first.id}'`);
  if (rich) {
    for (const description of ["Support", "Downloads"])
      await seller.client.benefits.create({ body: { type: "custom", description, properties: {} } });
    await run(`insert into product_benefits (organization_id, product_id, benefit_id, "order")
      select p.organization_id, p.id, b.id, row_number() over (partition by p.id) from products p, benefits b`);
    await run(`insert into files (id, organization_id, created_at, service, name, path, mime_type, size, is_uploaded)
      select gen_random_uuid(), '${seller.organization_id}', now(), 'product_media', n || '.png', 'media/' || n, 'image/png', 1000, true
      from generate_series(1, 3) n`);
    await run(`insert into product_medias (organization_id, product_id, file_id, "order")
      select p.organization_id, p.id, f.id, row_number() over (partition by p.id) from products p, files f`);
  }
  await floe.deps.db.execute("analyze");
  const statements = [];
  const { session } = floe.deps.db;
  const prepare = session.prepareQuery;
  session.prepareQuery = function (query, ...rest) {
    const given = { organization_id: seller.organization_id };
    statements.push({
      sql: query.sql,
      params: query.params.map((param) => given[param?.value?.name ?? param?.name] ?? param),
    });
    return prepare.call(this, query, ...rest);
  };
  await seller.client.products.list({ query: { limit } });
  session.prepareQuery = prepare;
  process.send({
    url: floe.url,
    key: seller.key,
    statements: statements.filter(({ sql }) => !sql.includes('"apikey"')),
    // Who asks is one more, prepared once and for all.
    count: statements.length + (statements.some(({ sql }) => sql.includes('"apikey"')) ? 0 : 1),
  });
}

/** What a handler asks that was not made to be fast: the page, with its length as a parameter, and how many there are by counting. */
function writePlainly([page], { limit }) {
  const { params } = page;
  const sql = page.sql.replace(`limit ${limit}`, `limit $${params.length + 1}`);
  if (sql === page.sql) throw new Error("The page has no length in its text.");
  const total = 'select count(*) from "products" where "organization_id" = $1';
  return [
    { sql, params: [...params, limit] },
    { sql: total, params: params.slice(0, 1) },
  ];
}

async function serveBare(databaseUrl, statements) {
  const sql = postgres(databaseUrl, { max: 10 });
  const app = Fastify();
  const run = (statement) => sql.unsafe(statement.sql, statement.params, { prepare: true });
  app.get("/v1/products/", async (_request, reply) => {
    const [items, [total]] = [await run(statements[0]), await run(statements[1])];
    const total_count = Number(total.count ?? total.coalesce);
    return reply
      .type("application/json; charset=utf-8")
      .send(JSON.stringify({ items, pagination: { total_count, max_page: total_count / 10 } }));
  });
  process.send({ url: await app.listen({ host: "127.0.0.1", port: 0 }) });
}

/** Requests per second of one round. */
async function load({ pool, headers }, { limit, requests }) {
  const path = `/v1/products/?limit=${limit}`;
  let left = requests;
  const began = performance.now();
  await Promise.all(
    Array.from({ length: connections }, async () => {
      while (left > 0) {
        left -= 1;
        const answer = await pool.request({ method: "GET", path, headers });
        const body = await answer.body.text();
        if (answer.statusCode !== 200 || JSON.parse(body).items.length !== limit)
          throw new Error(`${answer.statusCode} ${body.slice(0, 200)}`);
      }
    }),
  );
  return requests / ((performance.now() - began) / 1000);
}

const median = (values) => values.toSorted((a, b) => a - b)[(values.length - 1) / 2];

async function measure(name, wanted) {
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
    const databaseUrl = database.url;
    const floe = await serve("floe", databaseUrl, JSON.stringify(wanted));
    const plain = await serve("bare", databaseUrl, JSON.stringify(writePlainly(floe.statements, wanted)));
    const same = await serve("bare", databaseUrl, JSON.stringify(floe.statements));
    const sideOf = ({ url }, headers = {}) => ({ pool: new Pool(url, { connections }), headers, rates: [] });
    const sides = {
      floe: sideOf({ url: floe.url.replace("localhost", "127.0.0.1") }, { authorization: `Bearer ${floe.key}` }),
      plain: sideOf(plain),
      same: sideOf(same),
    };
    for (const side of Object.values(sides)) await load(side, wanted);
    for (let round = 0; round < rounds; round += 1) {
      for (const side of Object.values(sides)) side.rates.push(await load(side, wanted));
    }
    const rates = Object.fromEntries(Object.entries(sides).map(([side, { rates }]) => [side, median(rates)]));
    const ratio = rates.floe / rates.plain;
    console.log(
      `${name}: ${wanted.limit} of ${wanted.products} products, ${floe.count} statements (at most ${statementsMax}); floe ${rates.floe.toFixed(0)}/s, bare handler ${rates.plain.toFixed(0)}/s, ratio ${ratio.toFixed(2)} (at least ${wanted.ratio_min}); with floe's own statements ${rates.same.toFixed(0)}/s, ratio ${(rates.floe / rates.same).toFixed(2)}`,
    );
    for (const side of Object.values(sides)) await side.pool.close();
    if (ratio < wanted.ratio_min || floe.count > statementsMax) process.exitCode = 1;
  } finally {
    for (const child of children) child.removeAllListeners("exit").kill();
    await database.stop();
  }
}

const [, , what, databaseUrl, given] = process.argv;
if (what === "floe") await serveFloe(databaseUrl, JSON.parse(given));
else if (what === "bare") await serveBare(databaseUrl, JSON.parse(given));
else for (const [name, wanted] of Object.entries(cases)) await measure(name, wanted);
