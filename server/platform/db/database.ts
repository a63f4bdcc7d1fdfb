import { setTimeout as sleep } from "node:timers/promises";
import { DrizzleQueryError, sql } from "drizzle-orm";
import { readMigrationFiles } from "drizzle-orm/migrator";
import { drizzle as drizzlePostgres } from "drizzle-orm/postgres-js";
import { migrate as migratePostgres } from "drizzle-orm/postgres-js/migrator";
import postgres, { type Sql } from "postgres";
import { readSqlState } from "../loggable.ts";
import { openPool, type PoolLimits } from "./pool.ts";
import type { Database, TransactionUnit, Tx } from "./transaction.ts";
import { findOutage, unreachable } from "./unreachable.ts";

export type OpenDatabase = {
  db: Database;
  migrate(folder: string): Promise<void>;
  close(): Promise<void>;
};

/** The database cannot be reached or prepared: one line for the person who starts the server. */
export class DatabaseError extends Error {
  override readonly name = "DatabaseError";
}

/**
 * Refuse a database whose tables another build has made, or changed since: what this one does not know of them would come to light
 * in the middle of a sale.
 */
export async function rejectUnknownTables(db: Pick<Database, "select">, migrationsFolder: string): Promise<void> {
  const [found] = await db
    .select({ isPrepared: sql<boolean>`to_regclass('drizzle.__drizzle_migrations') is not null` })
    .from(sql`(select) as one`);
  if (!found?.isPrepared) return;
  const done = await db.select({ hash: sql<string>`hash` }).from(sql`drizzle.__drizzle_migrations`);
  const known = new Set(readMigrationFiles({ migrationsFolder }).map(({ hash }) => hash));
  if (done.every(({ hash }) => known.has(hash))) return;
  throw new DatabaseError(
    "The database was made by another build of floe, whose tables this one does not know. Start that build, or give this one a database of its own (--data-dir, or --database-url).",
  );
}

const migrationLock = 4455;
/** How often a start says what it waits for. */
const waitingSaidMs = 5_000;
const lockWaitSeconds = 5;
/** PostgreSQL's name for a lock that was not free in time. */
const lockTimeoutState = "55P03";

/** Limits of a pool for which no settings are given. */
export const standardLimits: PoolLimits = {
  connections: 10,
  statementTimeoutMs: 600_000,
  waitTimeoutMs: 60_000,
  applicationName: `floe ${process.pid}`,
};

export type PostgresOptions = Partial<PoolLimits> & {
  /** The address for migrations, if it is another one, such as past a pooler or with the role that owns the tables. */
  migrationUrl?: string | undefined;
  /** How long to wait for a database that cannot be reached (default: not at all). */
  startTimeoutMs?: number;
  /** Receives what the start waits for. */
  say?: (line: string) => void;
};

/** PostgreSQL over the network. */
export async function openPostgres(url: string, options: PostgresOptions = {}): Promise<OpenDatabase> {
  const { migrationUrl = url, startTimeoutMs = 0, say = () => {}, ...limits } = options;
  // Until the database has answered once, the start itself says what it waits for: no request is served yet.
  let isReached = false;
  const onOutcome = (error?: unknown): void => {
    if (isReached) limits.onOutcome?.(error);
  };
  const allLimits = { ...standardLimits, ...limits, onOutcome };
  const pool = openPool(url, allLimits);
  const db = drizzlePostgres({ client: pool });
  try {
    await awaitDatabase(db, url, { startTimeoutMs, say });
    isReached = true;
  } catch (error) {
    await pool.end();
    throw error;
  }
  return {
    db,
    async migrate(migrationsFolder) {
      const connection = { application_name: `${allLimits.applicationName} migration` };
      const one = postgres(migrationUrl, { max: 1, onnotice: () => {}, connection, fetch_types: false });
      try {
        await applyMigrations(one, migrationsFolder, say);
      } finally {
        await one.end({ timeout: 5 });
      }
    },
    close: () => pool.end(),
  };
}

/** Wait until the database answers. An error of another kind, such as a wrong password, ends the wait at once. */
async function awaitDatabase(
  db: Database,
  url: string,
  { startTimeoutMs, say }: Required<Pick<PostgresOptions, "startTimeoutMs" | "say">>,
): Promise<void> {
  const began = performance.now();
  for (let saidSeconds = 0; ; saidSeconds += waitingSaidMs / 1000) {
    const triedAt = performance.now();
    try {
      await db.execute(sql`select 1`);
      return;
    } catch (error) {
      const { host, pathname } = new URL(url);
      const cause = (error as { cause?: Error }).cause ?? (error as Error);
      const reason = cause.message || (cause as NodeJS.ErrnoException).code;
      const what = `The database ${pathname.slice(1)} at ${host} cannot be reached: ${reason}.`;
      const waited = performance.now() - began;
      if (findOutage(error) !== unreachable || waited >= startTimeoutMs)
        throw new DatabaseError(`${what} Check DATABASE_URL.`);
      say(`${what} Waiting for it, ${saidSeconds} s so far …`);
      await sleep(Math.max(0, Math.min(triedAt + waitingSaidMs - performance.now(), startTimeoutMs - waited)));
    }
  }
}

/**
 * Several servers may start at once: one migrates, the others wait for it. The lock belongs to the transaction, so that a
 * pooler that gives each transaction another connection cannot keep it, and a process that is killed leaves none.
 */
async function applyMigrations(client: Sql, migrationsFolder: string, say: (line: string) => void): Promise<void> {
  for (let waited = lockWaitSeconds; ; waited += lockWaitSeconds) {
    let isLocked = false;
    try {
      await client.begin(async (inner) => {
        await inner.unsafe(`set local lock_timeout = ${lockWaitSeconds * 1000}`);
        await inner`select pg_advisory_xact_lock(${migrationLock})`;
        await inner`set local lock_timeout = 0`;
        isLocked = true;
        // The transaction of drizzle becomes a savepoint of this one.
        const begin = inner.savepoint.bind(inner);
        const tx = drizzlePostgres({ client: Object.assign(inner, { begin, options: client.options }) as never });
        await rejectUnknownTables(tx, migrationsFolder);
        await migratePostgres(tx, { migrationsFolder });
      });
      return;
    } catch (error) {
      if (isLocked || readSqlState(error) !== lockTimeoutState) throw describeMigrationError(error);
      say(`Another server prepares the database. Waiting for it, ${waited} s so far …`);
    }
  }
}

function describeMigrationError(error: unknown): unknown {
  const { cause } = error as { cause?: unknown };
  if (!(error instanceof DrizzleQueryError && cause instanceof Error)) return error;
  return new DatabaseError(`The database could not be prepared, and nothing was changed: ${cause.message}.`, {
    cause: error,
  });
}

/**
 * A transaction as one of several sees it that go side by side in it, each with a unit of its own. A savepoint is refused: what the
 * others have done since would be undone with it.
 */
export const createView = (tx: Tx, unit: TransactionUnit): Tx =>
  Object.assign(Object.create(tx), {
    unit,
    transaction: () => {
      throw new Error("There is no savepoint for one of several that go side by side.");
    },
  });
