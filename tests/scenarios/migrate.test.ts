/** A database is migrated beside servers that work, and programs of one version before go on with it (OPS-04, OPS-05). */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sql } from "drizzle-orm";
import postgres from "postgres";
import { afterAll, afterEach, beforeEach, expect, test, vi } from "vitest";
import { start as startServer } from "../../server/app/main.ts";
import { type OpenDatabase, openPostgres } from "../../server/platform/db/database.ts";
import { applyMigrations, assertMigrated, listPending } from "../../server/platform/db/migrate.ts";
import { floe as runCommand } from "../cli/support.ts";
import { freePort } from "../support/free-port.ts";
import { migrations } from "../support/memory-database.ts";
import { createEmptyDatabase, createPostgresDatabase } from "../support/postgres-database.ts";

const folder = mkdtempSync(join(tmpdir(), "floe-migrate-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

type Journal = { entries: { idx: number; version: string; when: number; tag: string; breakpoints: boolean }[] };
const readJournal = (of: string): Journal =>
  JSON.parse(readFileSync(join(of, "meta/_journal.json"), "utf8")) as Journal;
const newest = readJournal(migrations).entries.length - 1;

/** The migrations of a program that is some versions newer or older. */
function makeVersion(name: string, ...more: string[]): string {
  const copy = join(folder, name);
  cpSync(migrations, copy, { recursive: true });
  const journal = readJournal(copy);
  const last = journal.entries.at(-1) ?? expect.fail();
  for (const [index, text] of more.entries()) {
    const tag = `${newest + 1 + index}_of_${name}`;
    writeFileSync(join(copy, `${tag}.sql`), text);
    journal.entries.push({ ...last, idx: newest + 1 + index, when: last.when + 1 + index, tag });
  }
  writeFileSync(join(copy, "meta/_journal.json"), JSON.stringify(journal));
  return copy;
}
const addTable = 'CREATE TABLE "of_later" ("id" integer PRIMARY KEY);';
const expanded = makeVersion("expanded", addTable);
const contracted = makeVersion("contracted", addTable, `UPDATE "schema_support" SET "oldest" = ${newest + 1};`);

let url: string;
let database: OpenDatabase;
let lines: string[];
beforeEach(async () => {
  url = await createPostgresDatabase();
  lines = [];
  database = await openPostgres(url, { connections: 4, say: (line) => lines.push(line) });
  await database.migrate(migrations);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await database.close();
});

test("OPS-04: after a newer program has migrated, the version before starts, and its migrations change nothing", async () => {
  expect(await database.migrate(expanded)).toEqual([`${newest + 1}_of_expanded`]);
  expect(await database.migrate(migrations)).toEqual([]);
  await assertMigrated(database.db, migrations);
  const port = String(await freePort());
  const secret = "a secret of a test, long enough to be one";
  const given = { DATABASE_URL: url, FLOE_SECRET: secret, PORT: port, LOG_LEVEL: "silent", FLOE_DRAIN_SECONDS: "0" };
  const server = await startServer(given);
  expect((await fetch(`${server.address}/readyz`)).status).toBe(200);
  await server.close();
  // And forward again.
  expect(await database.migrate(expanded)).toEqual([]);
}, 60_000);

test("OPS-04: a program that is too old is refused in one sentence that names the versions", async () => {
  await database.migrate(contracted);
  const refused = `This floe is too old for the database: it knows the migrations up to ${newest}, and the database needs a floe that knows ${newest + 1}. Start a newer version.`;
  await expect(database.migrate(migrations)).rejects.toThrow(refused);
  await expect(assertMigrated(database.db, migrations)).rejects.toThrow(refused);
  // The version between goes on: one version back works.
  expect(await database.migrate(makeVersion("between", addTable))).toEqual([]);
  await database.migrate(contracted);
});

test("OPS-04: a program with migrations of its own is of another build, whatever the database says", async () => {
  await database.migrate(expanded);
  const other = makeVersion("other", 'CREATE TABLE "of_another" ("id" integer PRIMARY KEY);');
  await expect(database.migrate(other)).rejects.toThrow("made by another build of floe");
  await database.db.execute(sql`delete from schema_support`);
  await expect(database.migrate(migrations)).rejects.toThrow("made by another build of floe");
});

/** The migrations up to the version with this number. */
function makeOlder(count: number): string {
  const copy = join(folder, `until-${count}`);
  cpSync(migrations, copy, { recursive: true });
  const journal = readJournal(copy);
  journal.entries.splice(count + 1);
  writeFileSync(join(copy, "meta/_journal.json"), JSON.stringify(journal));
  return copy;
}
const listRows = async (client: postgres.Sql, query: string) => [...(await client.unsafe(query))];
const indexesQuery = `select indexname, indexdef from pg_indexes where tablename like 'webhook%' order by 1`;
const columnsQuery = `select table_name, column_name, data_type, column_default, is_nullable from information_schema.columns
  where table_name like 'webhook%' order by 1, 2`;

test("OPS-06: the indexes of 0040 are built beside the writers of a database that has rows, also after a killed try", async () => {
  const empty = await createEmptyDatabase();
  const older = await openPostgres(empty);
  await older.migrate(makeOlder(39));
  await older.close();
  const sent: string[] = [];
  const client = postgres(empty, { max: 2, onnotice: () => {}, debug: (_, query) => sent.push(query) });
  // As a build leaves it that was killed.
  await client.unsafe('CREATE INDEX "webhook_events_held_built" ON "webhook_events" ("id")');
  await client`update pg_index set indisvalid = false where indexrelid = 'webhook_events_held_built'::regclass`;
  sent.length = 0;
  expect(await applyMigrations(client, makeOlder(40), () => {})).toEqual(["0040_webhook_queues"]);
  const built = sent.filter((query) => /^create index/i.test(query));
  expect(built).toHaveLength(5);
  for (const query of built) expect(query).toMatch(/^CREATE INDEX CONCURRENTLY "\w+_built"/);
  await applyMigrations(client, migrations, () => {});
  const made = postgres(url, { max: 1 });
  for (const query of [indexesQuery, columnsQuery]) {
    const sorted = (rows: unknown[]) => rows.map((row) => JSON.stringify(row)).sort();
    expect(sorted(await listRows(client, query))).toEqual(sorted(await listRows(made, query)));
  }
  expect(await listRows(client, "select 1 from pg_index where not indisvalid")).toEqual([]);
  await Promise.all([client.end(), made.end()]);
}, 60_000);

test("OPS-05: a migration waits only briefly for a table in use, so that requests behind it go on, and is tried again", async () => {
  const altering = makeVersion("altering", 'ALTER TABLE "upgrades" ADD COLUMN "of_later" integer;', addTable);
  const holder = postgres(url, { max: 1 });
  const reader = postgres(url, { max: 1 });
  const release = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  const holding = holder.begin(async (tx) => {
    await tx`select * from upgrades`;
    held.resolve();
    await release.promise;
  });
  await held.promise;
  const migrated = database.migrate(altering);
  await expect.poll(() => lines.length, { timeout: 10_000 }).toBe(1);
  expect(lines[0]).toMatch(/A table that the migration \d+_of_altering changes is in use\. Trying again, 1 of 60/);
  let slowestMs = 0;
  for (let round = 0; round < 15; round += 1) {
    const began = performance.now();
    await reader`select count(*) from upgrades`;
    slowestMs = Math.max(slowestMs, performance.now() - began);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  expect(slowestMs).toBeLessThan(2000);
  release.resolve();
  expect(await migrated).toHaveLength(2);
  await holding;
  await Promise.all([holder.end(), reader.end()]);
}, 40_000);

test("OPS-05: a migration that fails leaves those before it, names itself, and goes on where it stopped", async () => {
  const broken = makeVersion(
    "broken",
    addTable,
    'CREATE TABLE "half" ("id" integer);--> statement-breakpoint\nSELECT 1 / 0;',
  );
  await expect(database.migrate(broken)).rejects.toThrow(
    `The migration ${newest + 2}_of_broken failed, and nothing of it was kept: division by zero.`,
  );
  const [found] = [
    ...((await database.db.execute(
      sql`select to_regclass('of_later') is not null as first, to_regclass('half') is null as second`,
    )) as unknown as Iterable<unknown>),
  ];
  expect(found).toEqual({ first: true, second: true });
  const repaired = makeVersion("repaired", addTable, 'CREATE TABLE "half" ("id" integer);');
  expect(await database.migrate(repaired)).toEqual([`${newest + 2}_of_repaired`]);
});

test("OPS-05: servers that migrate at once apply each migration once", async () => {
  // Long enough for the others to begin meanwhile.
  const slow = makeVersion("slow", `${addTable}--> statement-breakpoint\nSELECT pg_sleep(0.5);`, "SELECT 1;");
  const servers = await Promise.all([1, 2, 3].map(() => openPostgres(url, { connections: 1 })));
  const done = await Promise.allSettled(servers.map((one) => one.migrate(slow)));
  await Promise.all(servers.map((one) => one.close()));
  const names = done.flatMap((one) => (one.status === "fulfilled" ? one.value : [String(one.reason)]));
  expect(names.sort()).toEqual([`${newest + 1}_of_slow`, `${newest + 2}_of_slow`]);
});

test("OPS-05: with FLOE_MIGRATE=off a server refuses a database that waits; floe migrate lists and applies what is pending", async () => {
  const empty = await createPostgresDatabase();
  const emptying = postgres(empty, { max: 1, onnotice: () => {} });
  await emptying.unsafe("drop schema public cascade; create schema public; drop schema drizzle cascade");
  await emptying.end();
  const secret = "a secret of a test, long enough to be one";
  const given = { DATABASE_URL: empty, FLOE_SECRET: secret, PORT: "0", LOG_LEVEL: "silent", FLOE_MIGRATE: "off" };
  await expect(startServer(given)).rejects.toThrow(/^The database waits for migrations: 0000_initial, .*floe migrate/);
  vi.stubEnv("DATABASE_URL", empty);
  const check = await runCommand(["migrate", "--check"]);
  expect([check.code, check.out.split("\n")[0]]).toEqual([1, "0000_initial"]);
  const applied = await runCommand(["migrate"]);
  expect([applied.code, applied.out]).toEqual([0, check.out]);
  expect((await runCommand(["migrate", "--check"])).code).toBe(0);
  const opened = await openPostgres(empty, { connections: 1 });
  expect(await listPending(opened.db, migrations)).toEqual([]);
  await opened.close();
}, 60_000);
