import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "drizzle-orm";
import { drizzle as drizzlePostgres } from "drizzle-orm/postgres-js";
import postgres from "postgres";
import { applyMigrations, DatabaseError } from "./migrate.ts";
import { openPool, type PoolLimits } from "./pool.ts";
import type { Database, TransactionUnit, Tx } from "./transaction.ts";
import { findOutage, unreachable } from "./unreachable.ts";

export type OpenDatabase = {
  db: Database;
  /** Apply the pending migrations, and answer their names. */
  migrate(folder: string): Promise<string[]>;
  close(): Promise<void>;
};

/** How often a start says what it waits for. */
const waitingSaidMs = 5_000;
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
      // A second connection builds indexes while the first one holds the lock of migrations.
      const one = postgres(migrationUrl, { max: 2, onnotice: () => {}, connection, fetch_types: false });
      try {
        return await applyMigrations(one, migrationsFolder, say);
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
