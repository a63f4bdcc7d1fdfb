/**
 * What was bought, asked for by programs, through PostgreSQL: whether a license key is good (many copies of a program that share one, and
 * programs with a key each), and what a customer holds. Each against
 * a bare Fastify handler that runs the same SQL, the look-up of the API key among it, and writes what it finds as JSON; and each for a seller with
 * much behind them (keys, customers, grants, and of the customer asked about a thousand grants that were taken back) against one
 * with nothing. And how long it takes to give three benefits with a subscription, with many grants of the same and with none. All are asked in turns, so that what else the
 * machine does strikes all. Prints ratios of medians; beyond what is promised the exit code is 1.
 *
 *   node bench/benefits.mjs [many]          needs Node 24, as it reads TypeScript
 */
import { fork } from "node:child_process";
import Fastify from "fastify";
import postgres from "postgres";
import { Pool } from "undici";
import { startPostgres } from "../tests/support/postgres.ts";

const bareMin = 0.5;
const historyMin = 0.67;
const giveMax = 1.5;
const connections = 8;
const requests = 400;
const rounds = 7;
const givenEach = 25;
const keysEach = 16;

const median = (values) => values.toSorted((a, b) => a - b)[(values.length - 1) / 2];

/** A seller with a customer who has a key, a note and credit; what was theirs and others' before is made up. */
async function openSeller(floe, many, record) {
  const seller = await floe.seller(many ? "many" : "few");
  const { client, organization_id, key } = seller;
  await client.organizations.update({
    params: { id: organization_id },
    body: {
      subscription_settings: {
        allow_multiple_subscriptions: true,
        allow_customer_updates: true,
        proration_behavior: "prorate",
      },
    },
  });
  const filter = { conjunction: "and", clauses: [{ property: "name", operator: "eq", value: "call" }] };
  const meter = await client.meters.create({ body: { name: "Calls", filter, aggregation: { func: "count" } } });
  const benefits = [
    { type: "license_keys", description: "A key", properties: { limit_usage: 1_000_000_000 } },
    { type: "custom", description: "A note", properties: {} },
    { type: "meter_credit", description: "Calls", properties: { meter_id: meter.id, units: 100, rollover: false } },
  ];
  const ids = [];
  for (const body of benefits) ids.push((await client.benefits.create({ body })).id);
  const prices = [{ amount_type: "free" }];
  const { id: product_id } = await client.products.create({
    body: { name: "Pro", recurring_interval: "month", prices },
  });
  await client.products.setBenefits({ params: { id: product_id }, body: { benefits: ids } });
  const { id: customer_id } = await client.customers.create({ body: { email: "ada@example.com" } });
  const give = () => client.subscriptions.create({ body: { product_id, customer_id } });
  await give();
  for (let n = 1; n < keysEach; n += 1) {
    const { id } = await client.customers.create({ body: { email: `key-${n}@example.com` } });
    await client.subscriptions.create({ body: { product_id, customer_id: id } });
  }
  const { items: keys } = await client.licenseKeys.list({ query: { limit: keysEach } });
  const of_ada = keys.filter((one) => one.customer_id === customer_id);
  const run = (text) => floe.deps.db.execute(text);
  if (many) {
    const columns = async (table, ...left) =>
      (
        await run(`select string_agg(quote_ident(column_name), ',' order by ordinal_position) as list from
          information_schema.columns where table_name = '${table}' and column_name not in (${left.map((name) => `'${name}'`).join(",")})`)
      )[0].list;
    const mine = `organization_id = '${organization_id}'`;
    const of_customers = await columns("customers", "id", "email");
    await run(`insert into customers (id, email, ${of_customers})
      select gen_random_uuid(), 'other-' || n || '@example.com', ${of_customers}
      from customers, generate_series(1, ${many}) n where id = '${customer_id}'`);
    const of_grants = await columns("benefit_grants", "id", "customer_id", "subscription_id");
    // A thousand of the customer's own were taken back.
    const taken_back = await columns(
      "benefit_grants",
      "id",
      "customer_id",
      "subscription_id",
      "granted_at",
      "revoked_at",
    );
    await run(`insert into benefit_grants (id, customer_id, ${of_grants})
      select gen_random_uuid(), c.id, ${of_grants
        .split(",")
        .map((name) => `g.${name}`)
        .join(",")}
      from benefit_grants g, customers c where g.customer_id = '${customer_id}' and c.email like 'other-%' and c.${mine}`);
    await run(`insert into benefit_grants (id, customer_id, granted_at, revoked_at, ${taken_back})
      select gen_random_uuid(), customer_id, null, granted_at, ${taken_back}
      from benefit_grants, generate_series(1, 333) n where customer_id = '${customer_id}'`);
    const of_keys = await columns("license_keys", "id", "grant_id", "customer_id", "key_hash");
    await run(`insert into license_keys (id, grant_id, customer_id, key_hash, ${of_keys})
      select gen_random_uuid(), g.id, g.customer_id, 'made up ' || g.id, ${of_keys
        .split(",")
        .map((name) => `k.${name}`)
        .join(",")}
      from license_keys k, benefit_grants g where k.id = '${of_ada[0].id}' and g.${mine} and g.benefit_id = '${ids[0]}'
        and g.customer_id in (select id from customers where email like 'other-%')`);
    await run("analyze");
  }
  const validate = { method: "POST", path: "/v1/license-keys/validate", sign: '"validations":' };
  const naming = (one) => JSON.stringify({ key: one.key, organization_id });
  const asks = {
    "one license key": { ...validate, bodies: of_ada.map(naming) },
    [`${keysEach} license keys in turn`]: { ...validate, bodies: keys.map(naming) },
    "customer state": {
      method: "GET",
      path: `/v1/customers/${customer_id}/state`,
      bodies: [undefined],
      sign: '"granted_benefits":[{',
    },
  };
  for (const ask of Object.values(asks)) {
    ask.headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    ask.statements = [];
    for (const text of ask.bodies) {
      const body = text && JSON.parse(text);
      ask.statements.push(
        await record(async () => {
          const { status } = await floe.request(ask.method, ask.path, { token: key, ...(body ? { body } : {}) });
          if (status !== 200) throw new Error(`${ask.path}: ${status}`);
        }),
      );
    }
  }
  return { asks, give };
}

/** A whole floe with both sellers. On being told so it gives benefits, and says how long each took. */
async function serveFloe(databaseUrl, many) {
  const { start } = await import("../tests/support/floe.ts");
  const { logStatements } = await import("../tests/support/statements.ts");
  // No mail is written, as its layout is JSX, which Node does not read by itself.
  const settings = { FLOE_EMAIL_VERIFICATION: "off" };
  let seen = null;
  // Which keys were used is noted every few seconds, for no one request.
  const see = (sql, params) => sql.startsWith('update "apikey"') || seen?.push({ sql, params });
  const replace = ({ db }) => ({ db: logStatements(db, see) });
  const floe = await start({ databaseUrl, listen: true, realTime: true, settings, replace });
  /** The statements of a piece of work, with their values: also the one that finds whose a key is, which is built only once. */
  const record = async (work) => {
    const statements = [];
    seen = statements;
    await work();
    seen = null;
    return statements;
  };
  const sellers = { few: await openSeller(floe, 0, record), many: await openSeller(floe, Number(many), record) };
  process.on("message", async (name) => {
    const took = [];
    for (let left = givenEach; left > 0; left -= 1) {
      const began = performance.now();
      await sellers[name].give();
      took.push(performance.now() - began);
    }
    process.send(median(took));
  });
  process.send({ url: floe.url, few: sellers.few.asks, many: sellers.many.asks });
}

/** What runs statements as they were recorded: from the first that locks on in a transaction. */
async function serveBare(databaseUrl, given) {
  const sql = postgres(databaseUrl, { max: 10 });
  const app = Fastify();
  const run = async (on, statements) => {
    const found = [];
    for (const one of statements) found.push(await on.unsafe(one.sql, one.params, { prepare: true }));
    return found;
  };
  for (const [index, { method, statements: turns }] of JSON.parse(given).entries()) {
    let turn = 0;
    const handler = async (_request, reply) => {
      const statements = turns[turn++ % turns.length];
      const lock = statements.findIndex((one) => /for (no key )?update/.test(one.sql));
      const [before, locking] = lock < 0 ? [statements, []] : [statements.slice(0, lock), statements.slice(lock)];
      const found = await run(sql, before);
      if (locking.length > 0) found.push(...(await sql.begin((tx) => run(tx, locking))));
      return reply.type("application/json; charset=utf-8").send(JSON.stringify(found));
    };
    app.route({ method, url: `/${index}`, handler });
  }
  process.send({ url: await app.listen({ host: "127.0.0.1", port: 0 }) });
}

/** Requests per second of one round. */
async function load({ pool, method, path, headers, bodies, sign }) {
  let left = requests;
  const began = performance.now();
  await Promise.all(
    Array.from({ length: connections }, async () => {
      while (left > 0) {
        left -= 1;
        const body = bodies[left % bodies.length];
        const answer = await pool.request({ method, path, headers, ...(body ? { body } : {}) });
        const text = await answer.body.text();
        if (answer.statusCode !== 200 || !text.includes(sign))
          throw new Error(`${answer.statusCode} ${text.slice(0, 300)}`);
      }
    }),
  );
  return requests / ((performance.now() - began) / 1000);
}

async function measure(many) {
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
    const floe = await serve("floe", database.url, many);
    const names = Object.keys(floe.few);
    const bare = await serve("bare", database.url, JSON.stringify(names.map((name) => floe.many[name])));
    const at_floe = new Pool(floe.url.replace("localhost", "127.0.0.1"), { connections });
    const at_bare = new Pool(bare.url, { connections });
    const promise = (text, ratio, isKept) => {
      console.log(text(ratio.toFixed(2)));
      if (!isKept) process.exitCode = 1;
    };
    for (const [index, name] of names.entries()) {
      const sides = {
        few: { ...floe.few[name], pool: at_floe },
        many: { ...floe.many[name], pool: at_floe },
        bare: {
          method: floe.many[name].method,
          path: `/${index}`,
          pool: at_bare,
          headers: {},
          bodies: [undefined],
          sign: "[",
        },
      };
      const rates = { few: [], many: [], bare: [] };
      for (let round = -1; round < rounds; round += 1)
        for (const [side, how] of Object.entries(sides)) {
          const rate = await load(how);
          if (round >= 0) rates[side].push(rate);
        }
      const [alone, behind, floor] = [median(rates.few), median(rates.many), median(rates.bare)];
      const count = floe.many[name].statements[0].length;
      promise(
        (ratio) =>
          `${name}: ${count} statements; floe ${behind.toFixed(0)}/s, bare handler ${floor.toFixed(0)}/s, ratio ${ratio} (at least ${bareMin})`,
        behind / floor,
        behind / floor >= bareMin,
      );
      promise(
        (ratio) =>
          `${name}: ${behind.toFixed(0)}/s with ${many} others behind it, ${alone.toFixed(0)}/s with none, ratio ${ratio} (at least ${historyMin})`,
        behind / alone,
        behind / alone >= historyMin,
      );
    }
    const [server] = children;
    const given = (name) =>
      new Promise((resolve) => {
        server.once("message", resolve);
        server.send(name);
      });
    const took = { few: [], many: [] };
    for (let round = -1; round < rounds; round += 1)
      for (const name of ["few", "many"]) {
        const ms = await given(name);
        if (round >= 0) took[name].push(ms);
      }
    const [low, high] = [median(took.few), median(took.many)];
    promise(
      (ratio) =>
        `three benefits given: p50 ${high.toFixed(1)} ms with ${3 * many} grants before, ${low.toFixed(1)} ms with none, ratio ${ratio} (at most ${giveMax})`,
      high / low,
      high / low <= giveMax,
    );
    await Promise.all([at_floe.close(), at_bare.close()]);
  } finally {
    for (const child of children) child.removeAllListeners("exit").kill();
    await database.stop();
  }
}

const [, , what, databaseUrl, given] = process.argv;
if (what === "floe") await serveFloe(databaseUrl, given);
else if (what === "bare") await serveBare(databaseUrl, given);
else await measure(Number(what ?? 100_000));
