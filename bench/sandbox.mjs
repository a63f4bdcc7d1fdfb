/**
 * Sandboxes through PostgreSQL: how long it takes to save one with 100,000 rows and to restore it, each as one request, and
 * how long to advance 1,000 customers with monthly subscriptions by 24 months, each renewed at its own minute: after a first
 * month, from which the database knows what it has in its tables, as it does within a minute on a server. Prints the figures;
 * beyond what is promised for an idle machine the exit code is 1.
 *
 *   node bench/sandbox.mjs [rows] [customers] [months]     needs Node 24, as it reads TypeScript
 */
import { sql } from "drizzle-orm";
import { start } from "../tests/support/floe.ts";
import { startPostgres } from "../tests/support/postgres.ts";

// As what is built is: mails are made without what helps to find faults.
process.env.NODE_ENV = "production";
const saveMaxMs = 5000;
const restoreMaxMs = 5000;
const advanceMaxMs = 60_000;
const [wanted = 100_000, customers = 1000, months = 24] = process.argv.slice(2).map(Number);

const postgres = await startPostgres();
let failed = false;
const judge = (name, ms, max) => {
  if (ms > max) failed = true;
  console.log(`${name.padEnd(60)} ${ms.toFixed(0).padStart(8)} ms   ${ms > max ? "NOT " : ""}within ${max} ms`);
};
const timed = async (work) => {
  const began = performance.now();
  const made = await work();
  return { made, ms: performance.now() - began };
};

try {
  const floe = await start({ databaseUrl: postgres.url, realTime: true });
  const { db } = floe.deps;
  const ask = async (seller, method, path, body) => {
    const { status, json, text } = await floe.request(method, `/v1/sandbox/${path}`, { token: seller.key, body });
    if (status >= 300) throw new Error([`${method} ${path}: ${status} ${text}`, ...floe.logged.slice(-3)].join("\n"));
    return json;
  };
  /** A seller with one customer who subscribes to a product by the month, with a card that is kept. */
  const openShop = async () => {
    const seller = await floe.seller();
    const { id } = await seller.client.products.create({
      body: { name: "Pro", recurring_interval: "month", prices: [{ amount_type: "fixed", price_amount: 900 }] },
    });
    const { client_secret } = await seller.client.checkouts.create({ body: { products: [id] } });
    const paid = await floe.request("POST", `/v1/checkouts/client/${client_secret}/confirm`, {
      body: {
        customer_email: "first@example.com",
        customer_billing_address: { country: "FR" },
        confirmation_token_id: "pm_card_visa",
      },
    });
    if (paid.status !== 200) throw new Error(paid.text);
    await floe.runJobs();
    return seller;
  };
  /** The shop's only customer and all that they have, so many times more; each is due a minute after the one before. */
  const multiply = async ({ organization_id }, count, tables) => {
    const ids = ["customer_id", "order_id", "payment_id", "subscription_id", "checkout_id", "payment_method_id"];
    await db.execute(
      sql`create temporary table copies as select n, ${sql.join(
        ids.map((id) => sql`gen_random_uuid() as ${sql.identifier(id)}`),
        sql`, `,
      )} from generate_series(1, ${count}::int) n`,
    );
    const own = {
      customers: "customer_id",
      orders: "order_id",
      payments: "payment_id",
      subscriptions: "subscription_id",
      checkouts: "checkout_id",
      payment_methods: "payment_method_id",
    };
    for (const table of tables) {
      await db.execute(
        sql.raw(`insert into ${table} select p.* from copies c, ${table} t
        cross join lateral (select (to_jsonb(t) ->> 'current_period_end')::timestamptz + c.n * interval '1 minute' as ends) l
        cross join lateral jsonb_populate_record(null::${table},
        to_jsonb(t) || jsonb_build_object(${[
          own[table] ? `'id', c.${own[table]}` : `'id', gen_random_uuid()`,
          `'email', 'buyer-' || c.n || '@example.com'`,
          `'invoice_number', 'COPY-' || c.n`,
          `'number', 'COPY-' || c.n`,
          `'receipt_number', 'COPY-R-' || c.n`,
          `'client_secret', 'copy_' || c.n`,
          table === "events" ? `'seq', nextval('events_seq_seq')` : `'position', 0`,
          // A checkout begins one subscription at most.
          ...(table === "subscriptions" && !tables.includes("checkouts") ? ["'checkout_id', null"] : []),
          `'default_payment_method_id', case when t.organization_id is null then null else c.payment_method_id end`,
        ].join(", ")}) || (select coalesce(jsonb_object_agg(k, v), '{}') from (values ${ids
          .filter((id) => tables.some((one) => own[one] === id))
          .map((id) => `('${id}', c.${id})`)
          .join(", ")}) as x(k, v) where to_jsonb(t) ->> k is not null)
          || case when to_jsonb(t) ->> 'due_at' is null then '{}'
            else jsonb_build_object('due_at', (to_jsonb(t) ->> 'due_at')::timestamptz + c.n * interval '1 minute') end
          || case when to_jsonb(t) ->> 'current_period_end' is null then '{}'
            else jsonb_build_object('current_period_end', l.ends, 'anchor_day', extract(day from l.ends at time zone 'UTC')) end) p
        where t.organization_id = '${organization_id}'`),
      );
    }
    await db.execute("drop table copies");
    // Not all: what is empty now would be taken for empty when it is full.
    for (const table of tables) await db.execute(sql.raw(`analyze ${table}`));
  };

  {
    const seller = await openShop();
    const tables = [
      ...["customers", "payment_methods", "subscriptions", "subscription_prices", "orders", "order_items", "payments"],
      ...["checkouts", "events"],
    ];
    let own = 0;
    for (const table of tables)
      own += await db.$count(sql.raw(table), sql`organization_id = ${seller.organization_id}`);
    await multiply(seller, Math.ceil(wanted / own) - 1, tables);
    const before = (await ask(seller, "GET", "clock")).now;
    const saved = await timed(() => ask(seller, "POST", "snapshots", { name: "start" }));
    judge(`save ${saved.made.rows} rows`, saved.ms, saveMaxMs);
    await db.execute(sql`update customers set name = 'Somebody' where organization_id = ${seller.organization_id}`);
    await db.execute(sql`delete from events where organization_id = ${seller.organization_id} and seq % 2 = 0`);
    const restored = await timed(() => ask(seller, "POST", "snapshots/start/restore"));
    judge(`restore ${restored.made.rows} rows, every second event and customer`, restored.ms, restoreMaxMs);
    const compared = await timed(() => ask(seller, "GET", "snapshots/start/diff"));
    console.log(`${"compare them with the present".padEnd(60)} ${compared.ms.toFixed(0).padStart(8)} ms`);
    if (compared.made.kinds.length > 0) throw new Error("What was restored is not what was saved.");
    if ((await ask(seller, "GET", "clock")).now < before) throw new Error("Time is before what was saved.");
    await ask(seller, "DELETE", "snapshots/start");
  }

  {
    const seller = await openShop();
    await multiply(seller, customers - 1, ["customers", "payment_methods", "subscriptions", "subscription_prices"]);
    const to = new Date();
    let requests = 0;
    const advanceBy = async (count) => {
      to.setUTCMonth(to.getUTCMonth() + count);
      for (let isDone = false; !isDone; requests += 1)
        isDone = (await ask(seller, "POST", "clock", { to: to.toISOString() })).done;
    };
    to.setUTCDate(to.getUTCDate() + 2);
    await advanceBy(1);
    await db.execute("analyze");
    requests = 0;
    const { ms } = await timed(() => advanceBy(months));
    const { total_count } = (await seller.client.orders.list({ query: { limit: 1 } })).pagination;
    const made = total_count - customers - 1;
    judge(
      `advance ${customers} customers by ${months} months: ${made} renewals, ${requests} requests`,
      ms,
      advanceMaxMs,
    );
    if (made !== customers * months) throw new Error(`There are ${total_count} orders.`);
  }
  await floe.close();
} finally {
  await postgres.stop();
}
process.exitCode = failed ? 1 : 0;
