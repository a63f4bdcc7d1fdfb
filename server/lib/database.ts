import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { PGlite } from "@electric-sql/pglite";
import { pg_trgm } from "@electric-sql/pglite/contrib/pg_trgm";
import { sql } from "drizzle-orm";
import { drizzle as drizzlePostgres } from "drizzle-orm/node-postgres";
import { migrate as migratePostgres } from "drizzle-orm/node-postgres/migrator";
import { drizzle as drizzlePglite } from "drizzle-orm/pglite";
import { migrate as migratePglite } from "drizzle-orm/pglite/migrator";
import pg from "pg";
import { type ConstructorOptions, fromPglite } from "pg-boss";
import type { Database, Tx } from "./transaction.ts";
import { Unconnected } from "./unreachable.ts";

export type OpenDatabase = {
  db: Database;
  /** How the queue reaches the same database. */
  queue: ConstructorOptions;
  migrate(folder: string): Promise<void>;
  close(): Promise<void>;
};

/** The database cannot be reached or prepared: one line for the person who starts the server. */
export class DatabaseError extends Error {
  override readonly name = "DatabaseError";
}

/** What the migrations ask of a database besides PostgreSQL itself: the index for parts of a text. */
export const embeddedExtensions = { pg_trgm };

/** PostgreSQL in this process, its files under `folder`; in memory when given an open PGlite. */
export async function openEmbedded(folder: string | PGlite): Promise<OpenDatabase> {
  let pglite: PGlite;
  if (typeof folder === "string") {
    const files = join(folder, "database");
    mkdirSync(files, { recursive: true, mode: 0o700 });
    pglite = await PGlite.create(files, { extensions: embeddedExtensions });
  } else pglite = folder;
  const db = drizzlePglite({ client: pglite });
  return {
    db,
    queue: { db: fromPglite(pglite), backend: "pglite" },
    migrate: (migrationsFolder) => migratePglite(db, { migrationsFolder }),
    close: () => pglite.close(),
  };
}

const connections_max = 10;
const queue_connections_max = 4;
const connect_ms_max = 10_000;
const migration_lock = 4455;

/** PostgreSQL over the network. */
export async function openPostgres(url: string): Promise<OpenDatabase> {
  const pool = new pg.Pool({
    connectionString: url,
    max: connections_max,
    connectionTimeoutMillis: connect_ms_max,
    idleTimeoutMillis: 0,
    keepAlive: true,
  });
  // Without these a connection that breaks while nobody waits for it would end the process. Its query, or the next one,
  // says what is to be said.
  pool.on("error", () => {});
  pool.on("connect", (client) => client.on("error", () => {}));
  const db = drizzlePostgres({ client: pool });
  /** drizzle's own keeps a connection for ever on which a transaction could not begin. */
  async function transaction<T>(work: (tx: Tx) => Promise<T>, ...options: [never?]): Promise<T> {
    const client = await pool.connect().catch((cause: Error) => {
      throw new Unconnected("No connection to the database.", { cause });
    });
    try {
      return await drizzlePostgres({ client }).transaction(work, ...options);
    } finally {
      // A broken one is not used again.
      client.release();
    }
  }
  Object.assign(db, { transaction });
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
    queue: { connectionString: url, max: queue_connections_max },
    async migrate(migrationsFolder) {
      // Several servers may start at once: one migrates, the others wait for it.
      const one = new pg.Client({ connectionString: url, connectionTimeoutMillis: connect_ms_max });
      await one.connect();
      try {
        await one.query("select pg_advisory_lock($1)", [migration_lock]);
        await migratePostgres(drizzlePostgres({ client: one }), { migrationsFolder });
      } finally {
        await one.end();
      }
    },
    close: () => pool.end(),
  };
}
