/** Servers behind a pooler in transaction mode: they start in turn, at once and after a killed start, and sell. */
import { sql } from "drizzle-orm";
import postgres from "postgres";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type OpenDatabase, openPostgres } from "../../server/platform/db/database.ts";
import { type Floe, start } from "../support/floe.ts";
import { migrations } from "../support/memory-database.ts";
import { openPooler } from "../support/pooler.ts";
import { createPostgresDatabase } from "../support/postgres-database.ts";

let url: string;
let pooler: Awaited<ReturnType<typeof openPooler>>;
const databases: OpenDatabase[] = [];
let floe: Floe | undefined;
beforeEach(async () => {
  url = await createPostgresDatabase();
});
afterEach(async () => {
  await floe?.close();
  floe = undefined;
  await Promise.all(databases.splice(0).map((database) => database.close()));
  await pooler.close();
});

/** What a start does with the database. */
async function open(lines: string[] = []): Promise<OpenDatabase> {
  const database = await openPostgres(pooler.url, { connections: 3, say: (line) => void lines.push(line) });
  databases.push(database);
  await database.migrate(migrations);
  return database;
}
const countLocks = async () => {
  const client = postgres(url, { max: 1 });
  const [row] = await client`select count(*)::int as locks from pg_locks where locktype = 'advisory'
    and database = (select oid from pg_database where datname = current_database())`;
  await client.end();
  return row?.locks;
};

describe.each([true, false])("keeps prepared statements: %s", (keepsPrepared) => {
  beforeEach(async () => {
    pooler = await openPooler(url, { size: 4, keepsPrepared });
  });

  test("three servers start in turn and at once, and leave no lock", async () => {
    for (let turn = 0; turn < 3; turn += 1) await open();
    expect(await countLocks()).toBe(0);
    await Promise.all([open(), open(), open()]);
    expect(await countLocks()).toBe(0);
  }, 30_000);

  test("a server works through it, with more requests at once than the pooler has connections", async () => {
    floe = await start({ databaseUrl: pooler.url });
    const { key } = await floe.seller();
    const create = (name: string) =>
      floe?.request("POST", "/v1/products/", {
        token: key,
        body: { name, prices: [{ amount_type: "fixed", price_amount: 900 }] },
      });
    const created = await Promise.all(Array.from({ length: 12 }, (_, index) => create(`Product ${index}`)));
    expect(created.map((answer) => answer?.status)).toEqual(Array(12).fill(201));
    const list = await floe.request("GET", "/v1/products/?limit=50", { token: key });
    expect((list.json as { pagination: { total_count: number } }).pagination.total_count).toBe(12);
  }, 60_000);
});

test("a start that is killed while it migrates or waits leaves no lock, and the next one says what it waits for", async () => {
  pooler = await openPooler(url, { size: 6, keepsPrepared: true });
  const migrating = postgres(pooler.url, { max: 1 });
  const waiting = postgres(pooler.url, { max: 1 });
  const taken = Promise.withResolvers<void>();
  const hold = migrating.begin(async (tx) => {
    await tx`select pg_advisory_xact_lock(4455)`;
    taken.resolve();
    await new Promise(() => undefined);
  });
  hold.catch(() => undefined);
  await taken.promise;
  const wait = waiting.begin((tx) => tx`select pg_advisory_xact_lock(4455)`);
  wait.catch(() => undefined);
  const lines: string[] = [];
  const next = open(lines);
  await expect.poll(() => lines.length, { timeout: 15_000 }).toBe(1);
  expect(lines[0]).toBe("Another server prepares the database. Waiting for it, 5 s so far …");
  await Promise.all([migrating.end({ timeout: 0 }), waiting.end({ timeout: 0 })]);
  const database = await next;
  await expect.poll(countLocks).toBe(0);
  expect([...((await database.db.execute(sql`select 1 as one`)) as unknown as unknown[])]).toEqual([{ one: 1 }]);
}, 40_000);

test("migrations use an address of their own, and a migration that fails says why", async () => {
  pooler = await openPooler(url, { size: 3, keepsPrepared: true });
  const nowhere = new URL(url);
  nowhere.pathname = "nowhere_at_all";
  const database = await openPostgres(pooler.url, { connections: 1, migrationUrl: nowhere.href });
  databases.push(database);
  await expect(database.migrate(migrations)).rejects.toThrow(/nowhere_at_all/);
  await database.db.execute(sql`delete from drizzle.__drizzle_migrations`);
  const other = await openPostgres(pooler.url, { connections: 1 });
  databases.push(other);
  await expect(other.migrate(migrations)).rejects.toThrow(
    /migration 0000_initial failed, and nothing of it was kept: .*already exists/,
  );
});
