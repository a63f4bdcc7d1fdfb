/**
 * GET /v1/metrics/ of a year by the day at 1,000,000 orders against the same at 10,000, through PostgreSQL: with subscriptions
 * (a thirtieth as many, each paid by the month), checkouts (as many as orders, and a fifth more), and all metrics; in UTC, in
 * zones that are whole and half hours away, and of one product. Both are asked in turns. Prints the ratios of the best times;
 * where that in UTC is above the promised 1.5, the exit code is 1.
 *
 *   node bench/metrics.mjs [orders]     needs Node 24, as it reads TypeScript, and 4 GB of disk
 */
import { sql } from "drizzle-orm";
import { start } from "../tests/support/floe.ts";
import { startPostgres } from "../tests/support/postgres.ts";

const ratioMax = 1.5;
const few = 10_000;
const many = Number(process.argv[2] ?? 1_000_000);
const rounds = 12;
const year = "start_date=2025-01-01&end_date=2025-12-31";
const asked = {
  "a year by the day": `${year}&interval=day`,
  "a year by the day, Europe/Paris": `${year}&interval=day&timezone=Europe/Paris`,
  "a year by the day, Asia/Kolkata": `${year}&interval=day&timezone=Asia/Kolkata`,
  "a year by the day, one product": `${year}&interval=day&product_id=PRODUCT`,
  "a year by the day, revenue alone": `${year}&interval=day&metrics=revenue`,
  "a year by the month": `${year}&interval=month`,
  "a week by the hour": "start_date=2025-06-01&end_date=2025-06-07&interval=hour",
};

/** Rows of a shop through a year, and the sums that the sweep makes of what triggers note: both are set-based here. */
const fill = (tx, organization_id, products, price_id, count) => {
  const subscriptions = Math.round(count / 30);
  const [book, club] = products;
  const statements = [
    sql`select set_config('floe.restoring', 'on', true)`,
    sql`insert into customers (id, organization_id, created_at, email, metadata)
      select gen_random_uuid(), ${organization_id}, '2025-01-01', 'buyer-' || n || '@example.com', '{}'
      from generate_series(1, ${subscriptions}::int) n`,
    sql`create temporary table buyers on commit drop as
      select row_number() over (order by id) as n, id from customers where organization_id = ${organization_id}`,
    sql`insert into subscriptions (id, organization_id, created_at, status, amount, currency, recurring_interval,
        recurring_interval_count, anchor_day, started_at, current_period_start, current_period_end, customer_id, product_id,
        ended_at, canceled_at)
      select gen_random_uuid(), ${organization_id}, at, 'active', 1000, 'usd', 'month', 1, 1, at, at, at + interval '1 month',
        id, ${club}::uuid, case when n % 7 = 0 then at + interval '5 months' end, case when n % 7 = 0 then at + interval '5 months' end
      from (select n, id, timestamptz '2024-12-20Z' + n * interval '340 days' / ${subscriptions}::int as at from buyers) b`,
    sql`insert into orders (id, organization_id, created_at, paid_at, preceded_at, status, billing_reason, currency, subtotal_amount,
        discount_amount, tax_amount, tax_behavior, derivation, description, customer_id, product_id, subscription_id, terms)
      select gen_random_uuid(), ${organization_id}, at, at, case when m > 0 then s.started_at + (m - 1) * interval '1 month' end,
        'paid', 'subscription_cycle', 'usd', 1000, 0, 0, 'exclusive', '{}', 'Club', s.customer_id, s.product_id, s.id, ''
      from subscriptions s cross join generate_series(0, 11) m
      cross join lateral (select s.started_at + m * interval '1 month' as at) a where s.organization_id = ${organization_id}`,
    sql`insert into orders (id, organization_id, created_at, paid_at, status, billing_reason, currency, subtotal_amount,
        discount_amount, tax_amount, tax_behavior, derivation, description, customer_id, product_id, terms)
      select gen_random_uuid(), ${organization_id}, at, at, 'paid', 'purchase', 'usd', 1900, 0, 0, 'exclusive', '{}', 'Book', b.id,
        ${book}::uuid, ''
      from generate_series(1, ${count - subscriptions * 12}::int) g(n)
      join buyers b on b.n = 1 + g.n % ${subscriptions}::int
      cross join lateral (select timestamptz '2025-01-01Z' + g.n * interval '365 days' / ${count - subscriptions * 12}::int as at) a`,
    sql`insert into checkouts (id, organization_id, created_at, status, client_secret, expires_at, product_ids, product_id,
        product_price_id, quote)
      select gen_random_uuid(), ${organization_id}, at, case when n % 6 = 0 then 'expired' else 'succeeded' end,
        ${organization_id} || n, at, '[]', ${book}::uuid, ${price_id}::uuid, '{}'
      from generate_series(1, ${Math.round(count * 1.2)}::int) n
      cross join lateral (select timestamptz '2025-01-01Z' + n * interval '365 days' / ${Math.round(count * 1.2)}::int as at) a`,
  ];
  const tally = (facts, table, names) =>
    sql.raw(`insert into metric_tallies (organization_id, seconds, at, product_id, ${names})
    select t.organization_id, l.length, date_bin(l.length * interval '1 second', f.at, '2000-01-01Z'), p.product,
      ${names
        .split(", ")
        .map((name) => `sum(f.${name})`)
        .join(", ")}
    from ${table} t cross join lateral ${facts}(t) f cross join unnest(array[900, 3600, 86400]) l(length)
    cross join lateral (values (t.product_id), ('00000000-0000-0000-0000-000000000000'::uuid)) p(product)
    where t.organization_id = '${organization_id}' group by 1, 2, 3, 4`);
  statements.push(
    tally(
      "order_facts",
      "orders",
      "orders, revenue, net_revenue, one_time, one_time_revenue, one_time_net_revenue, opening, opening_revenue, opening_net_revenue",
    ),
    tally("subscription_facts", "subscriptions", "started, churned, seats, mrr, trial_mrr, canceled"),
    tally("checkout_facts", "checkouts", "checkouts, succeeded"),
  );
  return statements.reduce((before, statement) => before.then(() => tx.execute(statement)), Promise.resolve());
};

const database = await startPostgres();
try {
  const floe = await start({ databaseUrl: database.url, realTime: true });
  const sides = {};
  for (const [name, count] of [
    ["few", few],
    ["many", many],
  ]) {
    const seller = await floe.seller(name);
    const made = [];
    for (const recurring_interval of [undefined, "month"])
      made.push(
        await seller.client.products.create({
          body: { name: "Thing", recurring_interval, prices: [{ amount_type: "fixed", price_amount: 1900 }] },
        }),
      );
    const ids = made.map(({ id }) => id);
    await floe.deps.db.transaction((tx) => fill(tx, seller.organization_id, ids, made[0].prices[0].id, count));
    sides[name] = { seller, count, product: ids[0] };
    console.log(`${name}: ${count} orders are there`);
  }
  for (const table of ["metric_tallies", "orders", "subscriptions", "checkouts"])
    await floe.deps.db.execute(sql.raw(`vacuum analyze ${table}`));
  const ask = async ({ seller, product }, query) => {
    const began = performance.now();
    const { status, json, text } = await floe.request("GET", `/v1/metrics/?${query.replace("PRODUCT", product)}`, {
      token: seller.key,
    });
    const took = performance.now() - began;
    if (status !== 200 || !(json.totals.revenue > 0)) throw new Error(`${query}: ${status} ${text.slice(0, 300)}`);
    return took;
  };
  for (const [name, query] of Object.entries(asked)) {
    const took = { few: [], many: [] };
    for (let round = -2; round < rounds; round += 1)
      for (const side of ["few", "many"]) {
        const ms = await ask(sides[side], query);
        if (round >= 0) took[side].push(ms);
      }
    const [low, high] = [Math.min(...took.few), Math.min(...took.many)];
    const ratio = high / low;
    const isPromised = name === "a year by the day";
    console.log(
      `${name.padEnd(36)} ${many}: ${high.toFixed(1)} ms, ${few}: ${low.toFixed(1)} ms, ratio ${ratio.toFixed(2)}${isPromised ? ` (at most ${ratioMax})` : ""}`,
    );
    if (isPromised && ratio > ratioMax) process.exitCode = 1;
  }
  await floe.close();
} finally {
  await database.stop();
}
