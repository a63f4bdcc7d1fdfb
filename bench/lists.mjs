/**
 * The first page of GET /v1/orders/, /v1/payments/ and /v1/checkouts/ at 1,000,000 rows of one organization against the same page
 * at 10,000, through PostgreSQL: in each order that there is, both ways round, and searched for what few rows have. Both are asked
 * in turns, so that what else the machine does strikes both. Prints the ratios of the medians; where one is above the promised
 * threefold, the exit code is 1. A page of all rows tells how many there are, to the last one, without counting them.
 *
 *   node bench/lists.mjs [rows]     needs Node 24, as it reads TypeScript, and 4 GB of disk
 */
import { sql } from "drizzle-orm";
import { api } from "../shared/api/index.ts";
import { start } from "../tests/support/floe.ts";
import { startPostgres } from "../tests/support/postgres.ts";

const ratioMax = 3;
const few = 10_000;
const many = Number(process.argv[2] ?? 1_000_000);
const rounds = 11;
/** So many rows have what is searched for, in both. */
const rare = 200;
const productsCount = 20;

const median = (values) => values.toSorted((a, b) => a - b)[(values.length - 1) / 2];

/** Customers, and of each some orders, with their payments and checkouts; a tenth of the orders has a discount. */
async function fill(floe, seller, count) {
  const { organization_id } = seller;
  const product_ids = [];
  for (let n = 0; n < productsCount; n += 1) {
    const { id } = await seller.client.products.create({
      body: {
        name: `Product ${String((n * 7) % productsCount).padStart(2, "0")}`,
        prices: [{ amount_type: "fixed", price_amount: 1000 }],
      },
    });
    product_ids.push(id);
  }
  const needle = await seller.client.products.create({
    body: { name: "Needle", prices: [{ amount_type: "fixed", price_amount: 1000 }] },
  });
  const { id: discount_id } = await seller.client.discounts.create({
    body: { name: "Tenth", type: "percentage", basis_points: 1000, duration: "once" },
  });
  const { id: checkout_id } = await seller.client.checkouts.create({ body: { products: [needle.id] } });
  await floe.deps.db.transaction(async (tx) => {
    // What is told to others, and what sums need, is not asked for here.
    await tx.execute(sql`set local session_replication_role = replica`);
    await tx.execute(sql`
      insert into customers (id, organization_id, created_at, email, name, external_id, metadata)
      select gen_random_uuid(), ${organization_id}, now() - n * interval '1 second', substr(md5(n::text), 1, 8) || n || '@example.com',
        'Buyer ' || n, ${organization_id} || n, '{}' from generate_series(1, ${Math.round(count / 5)}::int) n`);
    await tx.execute(sql`create temporary table buyers on commit drop as
      select row_number() over () as place, id, email from customers where organization_id = ${organization_id}`);
    await tx.execute(sql`create index on buyers (place)`);
    await tx.execute(sql`
      insert into orders (id, organization_id, created_at, paid_at, status, billing_reason, currency, subtotal_amount, discount_amount,
        tax_amount, tax_behavior, derivation, description, customer_id, product_id, discount_id, checkout_id, invoice_number, terms, metadata)
      select gen_random_uuid(), ${organization_id}, now() - n * interval '1 second', now(), (array['paid', 'refunded', 'pending'])[1 + n % 3],
        'purchase', 'usd', 1000 + n % 997, 0, n % 83, 'exclusive', '{}', 'Sale', b.id,
        case when n <= ${rare}::int then ${needle.id}::uuid else (${`{${product_ids.join(",")}}`}::uuid[])[1 + n % ${productsCount}::int] end,
        case when n % 10 = 0 then ${discount_id}::uuid end, gen_random_uuid(), 'N-' || lpad(n::text, 8, '0'), '',
        case when n <= ${rare}::int then '{"tier":"rare"}'::jsonb else '{}' end
      from generate_series(1, ${count}::int) n join buyers b on b.place = 1 + n % ${Math.round(count / 5)}::int`);
    await tx.execute(sql`
      insert into payments (id, organization_id, created_at, status, amount, currency, method, order_id, customer_id, customer_email,
        terms, account, requested_at)
      select gen_random_uuid(), organization_id, o.created_at, case when status = 'pending' then 'failed' else 'succeeded' end,
        subtotal_amount + tax_amount, currency, case when tax_amount % 2 = 0 then 'card' else 'paypal' end, o.id, customer_id,
        b.email, '', 'test', o.created_at
      from orders o join buyers b on b.id = o.customer_id where organization_id = ${organization_id}`);
    await tx.execute(sql`
      insert into checkouts select p.* from orders o, checkouts t cross join lateral jsonb_populate_record(t, jsonb_build_object(
        'id', o.checkout_id, 'created_at', o.created_at, 'expires_at', o.created_at + interval '1 day', 'customer_id', o.customer_id,
        'status', (array['succeeded', 'expired', 'open'])[1 + o.tax_amount % 3], 'product_id', o.product_id, 'product_ids', jsonb_build_array(o.product_id),
        'customer_email', case when o.metadata ? 'tier' then 'needle' else 'buyer' end || o.invoice_number || '@example.com')) p
      where o.organization_id = ${organization_id} and t.id = ${checkout_id}::uuid`);
    await tx.execute(sql`delete from checkouts where id = ${checkout_id}::uuid`);
    await tx.execute(sql`delete from list_tallies where organization_id = ${organization_id}`);
    for (const list of ["customers", "orders", "payments", "checkouts"])
      await tx.execute(sql`insert into list_tallies (organization_id, list, change)
        select ${organization_id}, ${list}, count(*) from ${sql.identifier(list)} where organization_id = ${organization_id}`);
  });
  const [{ id: customer_id, external_id, email }] = await floe.deps.db.execute(
    sql`select id, external_id, email from customers where organization_id = ${organization_id} limit 1`,
  );
  return { seller, count, customer_id, external_id, email, needle: needle.id };
}

/** What of each list few rows have, with how many that are. */
const searches = {
  orders: [
    [({ needle }) => `product_id=${needle}`, rare],
    [({ customer_id }) => `customer_id=${customer_id}`, 5],
    [({ external_id }) => `external_customer_id=${external_id}`, 5],
    [() => "metadata[tier]=rare", rare],
  ],
  payments: [
    [({ customer_id }) => `customer_id=${customer_id}`, 5],
    [({ email }) => `customer_email=${encodeURIComponent(email)}`, 5],
  ],
  checkouts: [
    [({ needle }) => `product_id=${needle}`, rare],
    [({ customer_id }) => `customer_id=${customer_id}`, 5],
    [() => "query=needle", rare],
  ],
};
const sortsOf = (list) => [...new Set(api[list].list.query.shape.sorting.unwrap().in.options[0].options)];

const database = await startPostgres();
try {
  const floe = await start({ databaseUrl: database.url, realTime: true });
  const sides = {};
  for (const [name, count] of [
    ["few", few],
    ["many", many],
  ])
    sides[name] = await fill(floe, await floe.seller(name), count);
  for (const list of ["customers", "orders", "payments", "checkouts"])
    await floe.deps.db.execute(sql`vacuum analyze ${sql.identifier(list)}`);
  const ask = async (side, list, query, total) => {
    const began = performance.now();
    const { status, json } = await floe.request("GET", `/v1/${list}/?${query}`, { token: side.seller.key });
    const took = performance.now() - began;
    if (status !== 200 || json.pagination.total_count !== total)
      throw new Error(`${list} ${query}: ${status}, ${JSON.stringify(json.pagination ?? json)} instead of ${total}`);
    return took;
  };
  for (const list of Object.keys(searches)) {
    const pages = [
      ...sortsOf(list).map((key) => [() => `sorting=${key}`, null]),
      ...searches[list].flatMap(([query, total]) => [
        [query, total],
        [(side) => `${query(side)}&sorting=status`, total],
      ]),
    ];
    for (const [query, total] of pages) {
      const took = { few: [], many: [] };
      for (let round = -2; round < rounds; round += 1)
        for (const [name, side] of Object.entries(sides)) {
          const ms = await ask(side, list, query(side), total ?? side.count);
          if (round >= 0) took[name].push(ms);
        }
      const [low, high] = [median(took.few), median(took.many)];
      const ratio = high / low;
      const what = query({ needle: "…", customer_id: "…", external_id: "…", email: "…" });
      console.log(
        `${list}, ${what}`.padEnd(52),
        `${high.toFixed(1).padStart(7)} ms  ${low.toFixed(1).padStart(6)} ms  ${ratio.toFixed(2)}${ratio > ratioMax ? "  NOT within 3" : ""}`,
      );
      if (ratio > ratioMax) process.exitCode = 1;
    }
  }
  await floe.close();
} finally {
  await database.stop();
}
