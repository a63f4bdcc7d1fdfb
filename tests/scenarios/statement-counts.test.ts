/** How many statements the four requests of a sale send, without begin and commit: each is a way to the database and back. */
import { sql } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { watchStatements } from "../support/statements.ts";

let floe: Floe;
let seller: Seller;
let product_id: string;
beforeAll(async () => {
  floe = await start({ settings: { FLOE_EMAIL_VERIFICATION: "off" } });
  seller = await floe.seller();
  const body = { name: "Guide", prices: [{ amount_type: "fixed" as const, price_amount: 1900 }] };
  product_id = (await seller.client.products.create({ body })).id;
});
afterAll(async () => {
  await run(`delete from products where name like 'Copy %'`);
  await floe?.close();
});

/** Run a statement without triggers, which count lists and look for what a row refers to. */
const run = (statement: string) =>
  floe.deps.db.transaction(async (tx) => {
    await tx.execute(sql`set local session_replication_role = replica`);
    return [...((await tx.execute(sql.raw(statement))) as unknown as Record<string, unknown>[])];
  });

/** Sell the product; answers the statements of each request. */
async function sell(email: string): Promise<Record<string, string[]>> {
  const seen: Record<string, string[]> = {};
  const count = async <T>(name: string, work: () => Promise<T>): Promise<T> => {
    const statements: string[] = [];
    seen[name] = statements;
    const watch = watchStatements(floe, (text) => statements.push(text));
    const made = await work();
    watch.stop();
    return made;
  };
  const buyer = floe.client().checkoutClient;
  const { client_secret } = await count("create", () =>
    seller.client.checkouts.create({ body: { products: [product_id] } }),
  );
  const params = { client_secret };
  await count("get", () => buyer.get({ params }));
  const filled = { customer_email: email, customer_billing_address: { country: "FR" as const } };
  await count("update", () => buyer.update({ params, body: filled }));
  const paid = await count("confirm", () => buyer.confirm({ params, body: { confirmation_token_id: "pm_card_visa" } }));
  expect(paid.customer_session_token).toMatch(/^polar_cst_/);
  return seen;
}

test("a sale sends no more statements than it has to", async () => {
  await sell("first@example.com");
  const seen = await sell("second@example.com");
  const most = { create: 5, get: 1, update: 3, confirm: 18 };
  for (const [name, limit] of Object.entries(most))
    expect(seen[name]?.length, `${name}:\n${seen[name]?.join("\n")}`).toBeLessThanOrEqual(limit);
  // The last statement of each transaction writes its events, its audit entries and what nothing in it reads.
  const [settled, confirmed] = (seen.confirm ?? []).filter((text) => text.includes('insert into "events"')).reverse();
  expect(confirmed).toContain('insert into "customer_sessions"');
  expect(settled).toContain('insert into "order_confirmations"');
  expect(settled).toContain('insert into "audit_log"');
});

test("a checkout is read with its own products alone, however many its seller has", async () => {
  await run(`insert into products select copy.* from products one, generate_series(1, 2000) n
    cross join lateral jsonb_populate_record(one, jsonb_build_object('id', gen_random_uuid(), 'name', 'Copy ' || n)) copy
    where one.id = '${product_id}'`);
  await floe.deps.db.execute(sql`analyze products`);
  const { get } = await sell("third@example.com");
  const plan = (await run(`explain (generic_plan) ${get?.[0]}`)).map((row) => Object.values(row).join()).join("\n");
  expect(plan).toContain("using products_pkey on products");
  expect(plan).not.toMatch(/Seq Scan on products\b/);
});
