import { sql } from "drizzle-orm";
import { readMigrationFiles } from "drizzle-orm/migrator";
import { drizzle as drizzlePostgres } from "drizzle-orm/postgres-js";
import { migrate as migratePostgres } from "drizzle-orm/postgres-js/migrator";
import postgres from "postgres";
import { openPool, type PoolLimits } from "./pool.ts";
import type { Database, TransactionUnit, Tx } from "./transaction.ts";

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

/** Limits of a pool for which no settings are given. */
export const standardLimits: PoolLimits = { connections: 10, statementTimeoutMs: 600_000 };

/** PostgreSQL over the network. */
export async function openPostgres(url: string, limits: Partial<PoolLimits> = {}): Promise<OpenDatabase> {
  const pool = openPool(url, { ...standardLimits, ...limits });
  const db = drizzlePostgres({ client: pool });
  try {
    await db.execute(sql`select 1`);
  } catch (error) {
    await pool.end();
    const cause = (error as { cause?: Error }).cause ?? (error as Error);
    const { host, pathname } = new URL(url);
    throw new DatabaseError(
      `The database ${pathname.slice(1)} at ${host} cannot be reached: ${cause.message || (cause as NodeJS.ErrnoException).code}. Check DATABASE_URL.`,
    );
  }
  return {
    db,
    async migrate(migrationsFolder) {
      // Several servers may start at once: one migrates, the others wait for it.
      const one = postgres(url, { max: 1, onnotice: () => {} });
      try {
        await one`select pg_advisory_lock(${migrationLock})`;
        const alone = drizzlePostgres({ client: one });
        await rejectUnknownTables(alone, migrationsFolder);
        await migratePostgres(alone, { migrationsFolder });
      } finally {
        await one.end({ timeout: 5 });
      }
    },
    close: () => pool.end(),
  };
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
