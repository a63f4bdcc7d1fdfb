import { AsyncLocalStorage } from "node:async_hooks";
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { PGlite, type Transaction } from "@electric-sql/pglite";
import { btree_gin } from "@electric-sql/pglite/contrib/btree_gin";
import { pg_trgm } from "@electric-sql/pglite/contrib/pg_trgm";
import { drizzle } from "drizzle-orm/pglite";
import { migrate } from "drizzle-orm/pglite/migrator";
import { getDeadline } from "../jobs/deadline.ts";
import { getHeavyWork, startStatement } from "../jobs/heavy-work.ts";
import type { OpenDatabase } from "./database.ts";
import { DatabaseError, listPending } from "./migrate.ts";
import { runAsTransaction } from "./open-transaction.ts";

/** Pages that it keeps in memory. It would keep four times as many, all of which count as this process's own. */
const buffers = "32MB";

/** What the migrations ask of a database besides PostgreSQL itself: indexes for parts of a text of one organization. */
export const embeddedExtensions = { btree_gin, pg_trgm };

/** Before a statement: heavy work yields to foreground work, and aborted work sends no more statements. */
async function startOwnStatement(): Promise<void> {
  const work = getHeavyWork();
  if (work) await startStatement(work);
  getDeadline()?.signal.throwIfAborted();
}

/** A transaction of heavy work or of a job, whose statements begin with `startOwnStatement`. */
const withSteps = (tx: Transaction): Transaction =>
  new Proxy(tx, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key, target);
      if (key !== "query" && key !== "exec" && key !== "sql") return value;
      return async (...given: unknown[]) => {
        await startOwnStatement();
        return (value as (...given: unknown[]) => unknown).apply(target, given);
      };
    },
  });

/**
 * A client that refuses what would wait for ever: a question beside the transaction that its asker has open, as there is
 * one connection, and the transaction holds it.
 */
function preventDeadlock(pglite: PGlite): PGlite {
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
        await startOwnStatement();
        if (key !== "transaction") return value.apply(target, given);
        const transaction = { isOpen: true };
        const [inner] = given as [(tx: Transaction) => Promise<unknown>];
        const hasSteps = getHeavyWork() !== undefined || getDeadline() !== undefined;
        const run = hasSteps ? (tx: Transaction) => inner(withSteps(tx)) : inner;
        try {
          return await asking.run(transaction, () => runAsTransaction(() => value.apply(target, [run])));
        } finally {
          transaction.isOpen = false;
        }
      };
    },
  });
}

const initMaxMs = 300_000;
/** Beside the sources, or beside the built server. */
const maker = new URL(import.meta.url.endsWith(".ts") ? "./make-database.ts" : "./make-database.js", import.meta.url);

/**
 * Make the files of a new database, in a process of its own: making them takes 600 MB, which a process does not give back, and
 * a server of 1 GB was killed by it. They get their place when they are whole, so that the next start begins again where this
 * one was killed.
 */
async function initDatabase(parent: string, files: string): Promise<void> {
  const prefix = "database-new-";
  for (const name of readdirSync(parent)) if (name.startsWith(prefix)) rmSync(join(parent, name), { recursive: true });
  const unfinished = mkdtempSync(join(parent, prefix));
  try {
    await promisify(execFile)(process.execPath, [fileURLToPath(maker), unfinished], { timeout: initMaxMs });
  } catch (error) {
    const { stderr = "", signal } = error as { stderr?: string; signal?: string };
    throw new DatabaseError(
      `The embedded database in ${parent} cannot be made: ${stderr.trim() || signal || (error as Error).message}`,
    );
  }
  renameSync(unfinished, files);
}

/** PostgreSQL in this process, its files under `folder`; in memory when given an open PGlite. */
export async function openEmbedded(folder: string | PGlite): Promise<OpenDatabase> {
  let pglite: PGlite;
  if (typeof folder === "string") {
    const files = join(folder, "database");
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    if (!existsSync(files)) await initDatabase(folder, files);
    const startParams = [...PGlite.defaultStartParams, "-c", `shared_buffers=${buffers}`];
    pglite = await PGlite.create(files, { extensions: embeddedExtensions, startParams });
  } else pglite = folder;
  const db = drizzle({ client: preventDeadlock(pglite) });
  return {
    db,
    async migrate(migrationsFolder) {
      const pending = await listPending(db, migrationsFolder);
      if (pending.length > 0) await migrate(db, { migrationsFolder });
      return pending.map(({ name }) => name);
    },
    close: () => pglite.close(),
  };
}
