/**
 * One busy seller and another, at one server with its worker, through PostgreSQL: how long a sale of the other takes, and until
 * its webhook is there, while nothing else is due and while a million renewals of the busy one are. Prints the ratios of the
 * 99th percentiles; beyond what is promised the exit code is 1.
 *
 *   node bench/busy-seller.mjs [due] [sales]     needs Node 24, as it reads TypeScript
 */
import { sql } from "drizzle-orm";
import { start } from "../tests/support/floe.ts";
import { startPostgres } from "../tests/support/postgres.ts";
import { startReceiver } from "../tests/support/receiver.ts";

const ratioMax = 2;
const warming = 20;
const [due = 1_000_000, sales = 200] = process.argv.slice(2).map(Number);

const postgres = await startPostgres();
const receiver = await startReceiver();
let failed = false;
try {
  const floe = await start({
    databaseUrl: postgres.url,
    worker: true,
    replace: ({ config }) => ({ config: { ...config, development: true } }),
  });
  const { db } = floe.deps;
  const open = async (name, recurring_interval) => {
    const seller = await floe.seller(name);
    const { id: product } = await seller.client.products.create({
      body: { name: "Guide", recurring_interval, prices: [{ amount_type: "fixed", price_amount: 1900 }] },
    });
    return { ...seller, product };
  };
  const sell = async ({ client, product }, email) => {
    const { client_secret } = await client.checkouts.create({ body: { products: [product] } });
    const began = performance.now();
    const paid = await floe.request("POST", `/v1/checkouts/client/${client_secret}/confirm`, {
      body: {
        customer_email: email,
        customer_billing_address: { country: "FR" },
        confirmation_token_id: "pm_card_visa",
      },
    });
    if (paid.status !== 200) throw new Error(paid.text);
    return { began, ms: performance.now() - began };
  };
  const other = await open("other");
  const busy = await open("busy", "month");
  await other.client.webhooks.createEndpoint({ body: { url: receiver.url, format: "raw", events: ["order.paid"] } });

  const measure = async (count) => {
    const times = { sale: [], webhook: [] };
    for (let n = 0; n < count; n += 1) {
      const before = receiver.received.length;
      const { began, ms } = await sell(other, `buyer-${n % 50}@example.com`);
      times.sale.push(ms);
      while (receiver.received.length === before) await new Promise((done) => setTimeout(done, 2));
      times.webhook.push(performance.now() - began);
    }
    const p99 = (list) => list.sort((a, b) => a - b)[Math.ceil(0.99 * list.length) - 1];
    return { sale: p99(times.sale), webhook: p99(times.webhook) };
  };
  /** The busy seller's only subscription, so many times more, each of a customer with a card, all due now. */
  const multiply = async () => {
    const { organization_id } = busy;
    await sell(busy, "first@example.com");
    await db.execute(sql`create table copies as
      select n, gen_random_uuid() as id, gen_random_uuid() as customer_id, gen_random_uuid() as card
      from generate_series(1, ${due}::int) n`);
    const copy = (table, fields) =>
      db.execute(
        sql.raw(`insert into ${table} select made.* from copies c, ${table} t
          cross join lateral jsonb_populate_record(t, jsonb_build_object(${fields})) made
          where t.organization_id = '${organization_id}'`),
      );
    await copy(
      "customers",
      `'id', c.customer_id, 'email', 'busy-' || c.n || '@example.com', 'short_id', 'B' || c.n,
      'default_payment_method_id', c.card`,
    );
    await copy("payment_methods", "'id', c.card, 'customer_id', c.customer_id");
    await copy(
      "subscriptions",
      `'id', c.id, 'customer_id', c.customer_id, 'checkout_id', null,
      'payment_method_id', c.card, 'due_at', now() + interval '1 hour', 'current_period_end', now() - interval '1 minute'`,
    );
    // Looked up first: how many copies there are is not known to the database yet, and each would be held against all.
    await db.execute(sql`with own as materialized (select t from subscription_prices t where t.organization_id = ${organization_id})
      insert into subscription_prices select made.* from copies c, own
      cross join lateral jsonb_populate_record(own.t, jsonb_build_object('subscription_id', c.id)) made`);
    // What was made is told to the metrics first: nothing but renewals is to be in the way.
    while ((await db.$count(sql`metric_tallies`, sql`seconds = 0`)) > 0)
      await new Promise((done) => setTimeout(done, 500));
    await db.execute(sql`update subscriptions set due_at = now() where organization_id = ${organization_id}`);
    // There is no autovacuum here.
    await db.execute("vacuum analyze");
  };

  await measure(warming);
  const alone = await measure(sales);
  await multiply();
  await measure(warming);
  const before = await db.$count(sql`orders`);
  const beside = await measure(sales);
  const renewed = (await db.$count(sql`orders`)) - before - sales;
  const left = await db.$count(sql`subscriptions`, sql`due_at <= now()`);
  console.log(`${left} renewals of the busy seller are due still, ${renewed} were made meanwhile`);
  if (renewed <= 0 || left === 0) throw new Error(`Nothing was in the way.\n${floe.logged.slice(-3).join("\n")}`);
  for (const name of ["sale", "webhook"]) {
    const ratio = beside[name] / alone[name];
    if (ratio > ratioMax) failed = true;
    console.log(
      `${name.padEnd(8)} p99 ${beside[name].toFixed(0)} ms beside the busy one, ${alone[name].toFixed(0)} ms alone: ratio ${ratio.toFixed(2)}, ${ratio > ratioMax ? "NOT " : ""}within ${ratioMax}`,
    );
  }
  await floe.close();
} finally {
  await receiver.close();
  await postgres.stop();
}
process.exit(failed ? 1 : 0);
