import type { Database } from "./transaction.ts";
import { findUnit } from "./unit-of-work.ts";

/**
 * What makes statements that are asked for often: once for each database, as their texts take longer to put together than to
 * send. In a transaction they are made anew: each is another database to the driver, and its statements would end with it.
 */
export function makeOnce<S>(make: (db: Database) => S): (db: Database) => S {
  const made = new WeakMap<Database, S>();
  return (db) => {
    if (findUnit(db) !== null) return make(db);
    const statements = made.get(db) ?? make(db);
    made.set(db, statements);
    return statements;
  };
}
