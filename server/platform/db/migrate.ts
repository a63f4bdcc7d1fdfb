/** Migrations of the database: which are pending, and how they are applied beside servers that work (OPS-04, OPS-05). */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "drizzle-orm";
import { readMigrationFiles } from "drizzle-orm/migrator";
import { drizzle as drizzlePostgres } from "drizzle-orm/postgres-js";
import type { Sql, TransactionSql } from "postgres";
import { readSqlState } from "../loggable.ts";
import { buildEarlyIndexes, hasEarlyIndexes, listLaterStatements } from "./early-indexes.ts";
import { schemaSupport } from "./tables.ts";
import type { Database } from "./transaction.ts";

/** The database cannot be reached or prepared: one line for the person who starts the server. */
export class DatabaseError extends Error {
  override readonly name = "DatabaseError";
}

type Migration = { name: string; statements: string[]; hash: string; when: number };

const migrationLock = 4455;
const lockWaitSeconds = 5;
/** How long a statement of a migration waits for a table: requests wait behind it. */
const tableLockMs = 1000;
/** How often a migration whose table is in use is tried again, and after which pause. */
const [triesMax, pauseMs] = [60, 1000];
/** PostgreSQL's name for a lock that was not free in time. */
const lockTimeoutState = "55P03";

function readMigrations(migrationsFolder: string): Migration[] {
  const journal = readFileSync(join(migrationsFolder, "meta/_journal.json"), "utf8");
  const { entries } = JSON.parse(journal) as { entries: { tag: string }[] };
  return readMigrationFiles({ migrationsFolder }).map(({ sql: statements, hash, folderMillis: when }, index) => ({
    name: entries[index]?.tag ?? String(index),
    statements: statements.map((statement) => statement.trim()).filter((statement) => statement !== ""),
    hash,
    when,
  }));
}

/**
 * The migrations that this program has and the database has not. A database that a newer program has migrated has none, if it says
 * that a program as old as this one may use it. Every other database with unknown tables is refused: what this program does not
 * know of them would come to light in the middle of a sale.
 */
export async function listPending(db: Pick<Database, "select">, migrationsFolder: string): Promise<Migration[]> {
  const known = readMigrations(migrationsFolder);
  const [found] = await db
    .select({
      isPrepared: sql<boolean>`to_regclass('drizzle.__drizzle_migrations') is not null`,
      hasSupport: sql<boolean>`to_regclass('schema_support') is not null`,
    })
    .from(sql`(select) as one`);
  if (!found?.isPrepared) return known;
  const rows = await db.select({ hash: sql<string>`hash` }).from(sql`drizzle.__drizzle_migrations`);
  const applied = new Set(rows.map(({ hash }) => hash));
  const pending = known.filter(({ hash }) => !applied.has(hash));
  if (applied.size === known.length - pending.length) return pending;
  const [support] = found.hasSupport ? await db.select({ oldest: schemaSupport.oldest }).from(schemaSupport) : [];
  if (pending.length > 0 || !support)
    throw new DatabaseError(
      "The database was made by another build of floe, whose tables this one does not know. Start that build, or give this one a database of its own (--data-dir, or --database-url).",
    );
  const newest = known.length - 1;
  if (support.oldest > newest)
    throw new DatabaseError(
      `This floe is too old for the database: it knows the migrations up to ${newest}, and the database needs a floe that knows ${support.oldest}. Start a newer version.`,
    );
  return [];
}

/** Refuse a database with pending migrations, where a server does not apply them itself. */
export async function assertMigrated(db: Pick<Database, "select">, migrationsFolder: string): Promise<void> {
  const pending = await listPending(db, migrationsFolder);
  if (pending.length === 0) return;
  const names = pending.map(({ name }) => name).join(", ");
  throw new DatabaseError(`The database waits for migrations: ${names}. Run \`floe migrate\` with this version first.`);
}

type Progress = { isLocked: boolean; name: string | undefined };

/**
 * Apply what is pending, each migration in a transaction of its own, and answer the names. Several servers may start at once: one
 * migrates, the others wait for it. The lock belongs to the transaction, so that a pooler that gives each transaction another
 * connection cannot keep it, and a process that is killed leaves none. A table that is in use is waited for only briefly, because
 * requests wait behind a migration.
 */
export async function applyMigrations(
  client: Sql,
  migrationsFolder: string,
  say: (line: string) => void,
): Promise<string[]> {
  const done: string[] = [];
  for (let waited = lockWaitSeconds, tries = 1; ; ) {
    const progress: Progress = { isLocked: false, name: undefined };
    try {
      const names = await client.begin((inner) => applyNext(inner, client, migrationsFolder, progress));
      done.push(...names);
      if (names.length === 0) return done;
      tries = 1;
    } catch (error) {
      const isLockTimeout = readSqlState(error) === lockTimeoutState;
      if (!isLockTimeout || tries >= triesMax) throw describeMigrationError(error, progress.name);
      if (progress.isLocked) {
        say(`A table that the migration ${progress.name} changes is in use. Trying again, ${tries} of ${triesMax} …`);
        tries += 1;
        await sleep(pauseMs);
      } else {
        say(`Another server prepares the database. Waiting for it, ${waited} s so far …`);
        waited += lockWaitSeconds;
      }
    }
  }
}

/** Apply the next migration; of an empty database all, as nobody uses it. */
async function applyNext(
  inner: TransactionSql,
  client: Sql,
  migrationsFolder: string,
  progress: Progress,
): Promise<string[]> {
  await inner.unsafe(`set local lock_timeout = ${lockWaitSeconds * 1000}`);
  await inner`select pg_advisory_xact_lock(${migrationLock})`;
  progress.isLocked = true;
  await inner.unsafe(`set local lock_timeout = ${tableLockMs}`);
  const tx = drizzlePostgres({ client: Object.assign(inner, { options: client.options }) as never });
  const pending = await listPending(tx, migrationsFolder);
  const isEmpty = pending.length === readMigrations(migrationsFolder).length;
  const next = isEmpty ? pending : pending.slice(0, 1);
  if (isEmpty)
    await inner.unsafe(`
      create schema if not exists drizzle;
      create table if not exists drizzle.__drizzle_migrations (id serial primary key, hash text not null, created_at bigint)`);
  for (const { name, statements, hash, when } of next) {
    progress.name = name;
    const isEarly = !isEmpty && hasEarlyIndexes(name);
    if (isEarly) await buildEarlyIndexes(client, statements, tableLockMs);
    for (const statement of isEarly ? listLaterStatements(statements) : statements) await inner.unsafe(statement);
    await inner`insert into drizzle.__drizzle_migrations (hash, created_at) values (${hash}, ${when})`;
  }
  return next.map(({ name }) => name);
}

function describeMigrationError(error: unknown, name: string | undefined): unknown {
  if (error instanceof DatabaseError || !(error instanceof Error)) return error;
  const cause = error.cause instanceof Error ? error.cause : error;
  if (readSqlState(error) === undefined) return error;
  const what =
    name === undefined
      ? "The database could not be prepared, and nothing was changed"
      : `The migration ${name} failed, and nothing of it was kept`;
  return new DatabaseError(`${what}: ${cause.message}.`, { cause: error });
}
