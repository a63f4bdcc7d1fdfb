import { sql } from "drizzle-orm";
import { drizzle as drizzlePostgres } from "drizzle-orm/postgres-js";
import { migrate as migratePostgres } from "drizzle-orm/postgres-js/migrator";
import postgres from "postgres";
import { openPool } from "./pool.ts";
import type { Database, Tx, Unit } from "./transaction.ts";

export type OpenDatabase = {
  db: Database;
  migrate(folder: string): Promise<void>;
  close(): Promise<void>;
};

/** The database cannot be reached or prepared: one line for the person who starts the server. */
export class DatabaseError extends Error {
  override readonly name = "DatabaseError";
}

const connections_max = 10;
const migration_lock = 4455;

/** PostgreSQL over the network, by at most so many connections. */
export async function openPostgres(url: string, connections = connections_max): Promise<OpenDatabase> {
  const pool = openPool(url, connections);
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
        await one`select pg_advisory_lock(${migration_lock})`;
        await migratePostgres(drizzlePostgres({ client: one }), { migrationsFolder });
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
export const makeView = (tx: Tx, unit: Unit): Tx =>
  Object.assign(Object.create(tx), {
    unit,
    transaction: () => {
      throw new Error("There is no savepoint for one of several that go side by side.");
    },
  });
