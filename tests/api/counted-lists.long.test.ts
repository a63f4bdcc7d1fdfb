/** Lists that may be long say how many rows they have without counting them, and a database of before is brought to that. */
import { readFileSync } from "node:fs";
import { sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { snapshotRows } from "../../server/operations/sandbox/tables.ts";
import { type Accounts, startAccounts } from "../support/accounts.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { migrations } from "../support/memory-database.ts";
import { createPostgresDatabase } from "../support/postgres-database.ts";
import { rowOf } from "../support/rows.ts";

/** The address of each counted list, and the table whose rows it shows. */
const lists = {
  "/v1/benefit-grants/": "benefit_grants",
  "/v1/checkouts/": "checkouts",
  "/v1/customers/": "customers",
  "/v1/discounts/": "discounts",
  "/v1/license-keys/": "license_keys",
  "/v1/orders/": "orders",
  "/v1/payments/": "payments",
  "/v1/products/": "products",
  "/v1/refunds/": "refunds",
  "/v1/subscriptions/": "subscriptions",
  "/v1/webhooks/deliveries": "webhook_deliveries",
};
const shownOnly: Record<string, string> = {
  customers: "deleted_at is null",
  discounts: "deleted_at is null",
  orders: "invoice_number is not null",
  refunds: "is_announced",
};

/** A shop that has something of everything, and of some things more that is not shown. */
async function fill(floe: Pick<Floe, "runJobs">, seller: Seller): Promise<void> {
  for (const [name, make] of Object.entries(rowOf)) if (name !== "sandbox") await make(floe as Floe, seller);
  const { client } = seller;
  const gone = await client.discounts.create({
    body: { name: "Gone", type: "percentage", basis_points: 1, duration: "once" },
  });
  await client.discounts.delete({ params: { id: gone.id } });
  await floe.runJobs();
}

const countRows = ({ deps }: Pick<Floe, "deps">, { organization_id }: Seller, table: string): Promise<number> =>
  deps.db.$count(
    sql`${sql.identifier(table)} where organization_id = ${organization_id} and ${sql.raw(shownOnly[table] ?? "true")}`,
  );
const totals = async (floe: Pick<Floe, "request">, { key }: Seller): Promise<Record<string, number>> => {
  const found: Record<string, number> = {};
  for (const path of Object.keys(lists)) {
    const { status, json } = await floe.request("GET", path, { token: key, headers: { "polar-version": "2026-10" } });
    expect(status).toBe(200);
    found[path] = (json as { pagination: { total_count: number } }).pagination.total_count;
  }
  return found;
};

describe("a list", () => {
  let floe: Accounts;
  let seller: Seller;
  beforeAll(async () => {
    floe = await startAccounts();
    seller = await floe.seller("ada");
    await fill(floe, seller);
  });
  afterAll(() => floe?.close());

  test.each(Object.entries(lists))("%s says how many there are, and does not count them", async (path, table) => {
    const wanted = await countRows(floe, seller, table);
    expect(wanted).toBeGreaterThan(0);
    floe.queries.length = 0;
    const headers = { "polar-version": "2026-10" };
    const { json } = await floe.request("GET", path, { token: seller.key, headers });
    expect(json).toMatchObject({ pagination: { total_count: wanted } });
    const asked = floe.queries.filter((query) => query.includes("list_tallies"));
    expect(asked).toHaveLength(1);
    expect(floe.queries.filter((query) => query.startsWith("select count(*)"))).toEqual([]);
  });

  test("that is searched counts what it finds", async () => {
    const { json } = await floe.request("GET", "/v1/products/?query=no+such+name", { token: seller.key });
    expect(json).toMatchObject({ pagination: { total_count: 0 } });
  });
});

test("a database whose other lists were not counted yet knows how long they are, also what is restored in it", async () => {
  const databaseUrl = await createPostgresDatabase();
  // What is to be delivered goes to this machine.
  const before = await start({ databaseUrl, replace: ({ config }) => ({ config: { ...config, development: true } }) });
  const seller = await before.seller("ada");
  await fill(before, seller);
  const saved = await before.request("POST", "/v1/sandbox/snapshots", { token: seller.key, body: { name: "then" } });
  expect(saved.status).toBe(201);
  const then = await totals(before, seller);
  await before.request("POST", "/v1/products/", {
    token: seller.key,
    body: { name: "Later", prices: [{ amount_type: "free" }] },
  });
  const now = { ...then, "/v1/products/": Number(then["/v1/products/"]) + 1 };
  expect(await totals(before, seller)).toEqual(now);

  // As it was before the migration.
  const text = readFileSync(`${migrations}/0001_more_tallies.sql`, "utf8");
  const triggers = [...text.matchAll(/CREATE TRIGGER "(\w+)" \w+ [\w ]+ ON "(\w+)"/g)];
  expect(triggers.length).toBeGreaterThan(10);
  const { db } = before.deps;
  for (const [, name, table] of triggers) await db.execute(sql.raw(`drop trigger "${name}" on "${table}"`));
  const added = sql.raw([...new Set(triggers.map(([, , table]) => `'${table}'`))].join(","));
  await db.execute(sql`delete from list_tallies where list in (${added})`);
  await db.execute(sql`delete from snapshot_rows where kind = 'list_tallies' and texts && array[${added}]`);
  await db.execute(
    sql`update snapshots s set rows = (select count(*) from snapshot_rows r where r.snapshot_id = s.id)`,
  );
  expect((await totals(before, seller))["/v1/products/"]).toBe(0);

  await db.transaction(async (tx) => {
    for (const statement of text.split("--> statement-breakpoint")) await tx.execute(sql.raw(statement));
  });
  expect(await totals(before, seller)).toEqual(now);
  const restored = await before.request("POST", "/v1/sandbox/snapshots/then/restore", { token: seller.key });
  expect(restored.status).toBe(200);
  expect(await totals(before, seller)).toEqual(then);
  const { json } = await before.request("GET", "/v1/sandbox/snapshots", { token: seller.key });
  const [{ rows }] = (json as { items: [{ rows: number }] }).items;
  expect(rows).toBe(await db.$count(snapshotRows));
  await before.close();
});
