import { AsyncLocalStorage } from "node:async_hooks";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { PGlite } from "@electric-sql/pglite";
import { pg_trgm } from "@electric-sql/pglite/contrib/pg_trgm";
import { sql } from "drizzle-orm";
import { drizzle as drizzlePglite } from "drizzle-orm/pglite";
import { migrate as migratePglite } from "drizzle-orm/pglite/migrator";
import { drizzle as drizzlePostgres } from "drizzle-orm/postgres-js";
import { migrate as migratePostgres } from "drizzle-orm/postgres-js/migrator";
import postgres from "postgres";
import { openPool } from "./pool.ts";
import type { Database } from "./transaction.ts";

export type OpenDatabase = {
  db: Database;
  migrate(folder: string): Promise<void>;
  close(): Promise<void>;
};

/** The database cannot be reached or prepared: one line for the person who starts the server. */
export class DatabaseError extends Error {
  override readonly name = "DatabaseError";
}

/** What the migrations ask of a database besides PostgreSQL itself: the index for parts of a text. */
export const embeddedExtensions = { pg_trgm };

/**
 * A client that refuses what would wait for ever: a question beside the transaction that its asker has open, as there is
 * one connection, and the transaction holds it.
 */
function withoutDeadlock(pglite: PGlite): PGlite {
  const asking = new AsyncLocalStorage<{ isOpen: boolean }>();
  const check = (): void => {
    if (asking.getStore()?.isOpen) throw new Error("The database was asked beside the transaction that is open.");
  };
  return new Proxy(pglite, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key, target);
      if (typeof value !== "function") return value;
      return async (...given: unknown[]) => {
        check();
        if (key !== "transaction") return value.apply(target, given);
        const transaction = { isOpen: true };
        try {
          return await asking.run(transaction, () => value.apply(target, given));
        } finally {
          transaction.isOpen = false;
        }
      };
    },
  });
}

/** PostgreSQL in this process, its files under `folder`; in memory when given an open PGlite. */
export async function openEmbedded(folder: string | PGlite): Promise<OpenDatabase> {
  let pglite: PGlite;
  if (typeof folder === "string") {
    const files = join(folder, "database");
    mkdirSync(files, { recursive: true, mode: 0o700 });
    pglite = await PGlite.create(files, { extensions: embeddedExtensions });
  } else pglite = folder;
  const db = drizzlePglite({ client: withoutDeadlock(pglite) });
  return {
    db,
    migrate: (migrationsFolder) => migratePglite(db, { migrationsFolder }),
    close: () => pglite.close(),
  };
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
