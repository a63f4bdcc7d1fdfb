import type { PGlite } from "@electric-sql/pglite";
import { sql } from "drizzle-orm";
import { expect, it } from "vitest";
import { type Floe, start } from "./floe.ts";
import { fingerprintOf } from "./memory-database.ts";

/** Every row and sequence of the database, by table. */
async function contentsOf({ deps: { db } }: Floe): Promise<Record<string, unknown>> {
  const found = await db.execute<{
    name: string;
    kind: string;
  }>(sql`select c.oid::regclass::text as name, relkind as kind
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where relkind in ('r', 'S') and nspname not in ('information_schema') and nspname not like 'pg\\_%' order by 1`);
  const contents: Record<string, unknown> = {};
  for (const { name, kind } of (found as unknown as { rows: { name: string; kind: string }[] }).rows) {
    const columns = kind === "S" ? "last_value, is_called" : "*";
    const { rows } = (await db.execute(sql.raw(`select ${columns} from ${name}`))) as unknown as { rows: unknown[] };
    contents[name] = rows;
  }
  return contents;
}
const rowsIn = (contents: Record<string, unknown>) =>
  Object.values(contents).reduce((sum: number, rows) => sum + (rows as unknown[]).length, 0);

it("a database is used again as it was before its first use, sequences included", async () => {
  const first = await start();
  const before = await contentsOf(first);
  const seller = await first.seller();
  await seller.client.products.create({ body: { name: "Album", prices: [{ amount_type: "free" }] } });
  expect(rowsIn(await contentsOf(first))).toBeGreaterThan(rowsIn(before) + 5);
  const { db } = first.deps;
  await first.close();
  await expect(async () => db.execute(sql`select 1`)).rejects.toThrow();

  const second = await start();
  expect(await contentsOf(second)).toEqual(before);
  await second.close();
});

it("two that are open at once share nothing", async () => {
  const [first, second] = [await start(), await start()];
  await first.seller();
  expect(await second.deps.db.execute(sql`select 1 from "user"`)).toMatchObject({ rows: [] });
  await first.close();
  await second.close();
});

it("no other test meets a table that one has changed", async () => {
  const first = await start();
  await first.deps.db.execute(sql`alter table products rename to elsewhere`);
  await first.close();
  const second = await start();
  expect(await second.deps.db.execute(sql`select 1 from products`)).toMatchObject({ rows: [] });
  await second.close();
});

it.each([
  "create table stray (id text)",
  "drop table products cascade",
  "alter table products add stray text",
  "alter table products alter name drop not null",
  "alter table products alter name set default 'stray'",
  "alter table products add check (name <> 'refused')",
  "alter table products disable trigger all",
  "create index stray on products (name)",
  "create function stray() returns int language sql as 'select 1'",
  "create schema stray",
])("`%s` is seen", async (statement) => {
  const floe = await start();
  const pglite = (floe.deps.db as unknown as { $client: PGlite }).$client;
  const before = await fingerprintOf(pglite);
  await pglite.exec(`begin; ${statement}`);
  expect(await fingerprintOf(pglite)).not.toBe(before);
  await pglite.exec("rollback");
  expect(await fingerprintOf(pglite)).toBe(before);
  await floe.close();
});
