import { type SQL, sql } from "drizzle-orm";
import { afterAll, describe, expect, it } from "vitest";
import { type Ask, fingerprintOf } from "./emptying.ts";
import { type Floe, start } from "./floe.ts";

type Row = Record<string, string | null>;
/** What a statement answers; the two drivers hand it over in different shapes. */
async function rowsOf(db: Pick<Floe["deps"]["db"], "execute">, statement: SQL): Promise<Row[]> {
  const found: unknown = await db.execute(statement);
  return (Array.isArray(found) ? [...found] : (found as { rows: Row[] }).rows) as Row[];
}

/** Every row and sequence of the database, by table. */
async function contentsOf({ deps: { db } }: Floe): Promise<Record<string, Row[]>> {
  const found = await rowsOf(
    db,
    sql`select c.oid::regclass::text as name, relkind as kind
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where relkind in ('r', 'S') and nspname not in ('information_schema') and nspname not like 'pg\\_%' order by 1`,
  );
  const contents: Record<string, Row[]> = {};
  for (const { name, kind } of found) {
    const columns = kind === "S" ? "last_value, is_called" : "*";
    contents[String(name)] = await rowsOf(db, sql.raw(`select ${columns} from ${name}`));
  }
  return contents;
}
const countRows = (contents: Record<string, Row[]>) =>
  Object.values(contents).reduce((sum, rows) => sum + rows.length, 0);

describe.each([
  ["the embedded database", true],
  ["PostgreSQL in its place", false],
])("%s", (_name, embedded) => {
  const open = () => start({ embedded });
  let kept: Promise<Floe> | undefined;
  afterAll(async () => (await kept)?.close());

  it("is used again as it was before its first use, sequences included", async () => {
    const first = await open();
    const before = await contentsOf(first);
    const seller = await first.seller();
    await seller.client.products.create({ body: { name: "Album", prices: [{ amount_type: "free" }] } });
    expect(countRows(await contentsOf(first))).toBeGreaterThan(countRows(before) + 5);
    const { db } = first.deps;
    await first.close();
    await expect(async () => db.execute(sql`select 1`)).rejects.toThrow();

    const second = await open();
    expect(await contentsOf(second)).toEqual(before);
    await second.close();
  });

  it("is shared by no two that are open at once", async () => {
    const [first, second] = [await open(), await open()];
    await first.seller();
    expect(await rowsOf(second.deps.db, sql`select 1 from "user"`)).toEqual([]);
    await first.close();
    await second.close();
  });

  it("is not used again when a test has changed a table", async () => {
    const first = await open();
    await first.deps.db.execute(sql`alter table meters rename to elsewhere`);
    await first.close();
    const second = await open();
    expect(await rowsOf(second.deps.db, sql`select 1 from meters`)).toEqual([]);
    await second.close();
  });

  it("refuses a question beside the transaction that its asker has open", async () => {
    const { deps, close } = await open();
    const asked = deps.db.transaction(() => deps.db.execute(sql`select 1`));
    await expect(asked).rejects.toMatchObject({
      cause: { message: "The database was asked beside the transaction that is open." },
    });
    const nested = deps.db.transaction(() => deps.db.transaction(async () => undefined));
    await expect(nested).rejects.toThrow("beside the transaction");
    await close();
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
    kept ??= open();
    const floe = await kept;
    const askOf =
      (db: Pick<Floe["deps"]["db"], "execute">): Ask =>
      (query) =>
        rowsOf(db, sql.raw(query));
    const before = await fingerprintOf(askOf(floe.deps.db));
    const undone = floe.deps.db.transaction(async (tx) => {
      await tx.execute(sql.raw(statement));
      expect(await fingerprintOf(askOf(tx))).not.toBe(before);
      tx.rollback();
    });
    await expect(undone).rejects.toThrow("Rollback");
    expect(await fingerprintOf(askOf(floe.deps.db))).toBe(before);
  });
});
