import { sql } from "drizzle-orm";
import type { Database } from "./transaction.ts";

/**
 * Read several things as they stand at one moment. The database refuses every write, and ends each statement after
 * `statementMs`.
 */
export const readAtOnce = <T>(db: Database, statementMs: number, read: (db: Database) => Promise<T>): Promise<T> =>
  db.transaction(
    async (tx) => {
      await tx.execute(sql.raw(`set local statement_timeout = ${Number(statementMs)}`));
      return read(tx);
    },
    { isolationLevel: "repeatable read", accessMode: "read only" },
  );

/** The rows of a statement that was written as text: each driver answers them in another shape. */
export const readRows = <T>(result: unknown): T[] =>
  (Array.isArray(result) ? result : (result as { rows: unknown[] }).rows) as T[];
