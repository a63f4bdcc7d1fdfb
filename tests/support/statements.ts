import type { PGlite } from "@electric-sql/pglite";
import { drizzle as drizzlePglite } from "drizzle-orm/pglite";
import { drizzle as drizzlePostgres } from "drizzle-orm/postgres-js";
import type { Sql } from "postgres";
import type { Database } from "../../server/platform/db/transaction.ts";
import type { Floe } from "./floe.ts";

type Logger = { logQuery(statement: string, values: unknown[]): void };
type Logging = { session: { logger: Logger; options: { logger?: Logger } } };

/** What the server writes by itself every few seconds, whatever is asked of it: which keys were used, and which requests were answered. */
const byItself =
  /^(update "apikey" set "lastRequest" = \$1 where "apikey"\."id" in |(insert into|delete from) "request_log")/;

/**
 * See every statement that a floe sends to its database until `stop`, with its values; begin and commit apart. What `see`
 * throws the statement fails with, before the database has it.
 */
export function watchStatements(
  { deps }: Pick<Floe, "deps">,
  see: (statement: string, number: number, values: unknown[]) => void,
) {
  // Transactions make sessions of their own, with the options of this one.
  const { session } = deps.db as unknown as Logging;
  const before = session.logger;
  let count = 0;
  const logger: Logger = {
    logQuery(statement, values) {
      if (byItself.test(statement)) return;
      count += 1;
      see(statement, count, values);
    },
  };
  Object.assign(session, { logger });
  Object.assign(session.options, { logger });
  return {
    count: () => count,
    stop() {
      Object.assign(session, { logger: before });
      Object.assign(session.options, { logger: before });
    },
  };
}

/** The same database, every statement to which is said to `see`: also those that are built once, before it is watched. */
export function logStatements(db: Database, see: (statement: string, values: unknown[]) => void): Database {
  const { $client } = db as unknown as { $client: Sql | PGlite };
  const logger = { logQuery: see };
  return "begin" in $client ? drizzlePostgres({ client: $client, logger }) : drizzlePglite({ client: $client, logger });
}
