import { sql } from "drizzle-orm";
import { dueWorkers } from "../../server/app/worker.ts";
import type { Deps } from "../../server/platform/context.ts";
import { runWorkers } from "../../server/platform/jobs/workers.ts";

/** Asks for the names of the work that has a row waiting at all, now or later. Built once for each database, as it is long. */
function buildWaitingQuery(deps: Deps) {
  const parts = dueWorkers.flatMap(({ name, ...sweep }) => {
    if (!("due" in sweep)) return [];
    // What depends on the time is part of the condition where a function makes it: any row may be due.
    const { table, where = sql`true` } = typeof sweep.due === "function" ? { table: sweep.due(deps).table } : sweep.due;
    return [sql`case when exists (select from ${table} where ${where}) then ${sql.raw(`'${name}'`)} end`];
  });
  return (
    deps.db
      .select({ names: sql<string>`found.names` })
      .from(sql`(select concat_ws(',', ${sql.join(parts, sql`, `)}) as names) as found`)
      // A connection keeps the plans of statements with values.
      .where(sql`${1}::int = 1`)
      .prepare("waiting_work")
  );
}

const waitingQueries = new WeakMap<Deps["db"], ReturnType<typeof buildWaitingQuery>>();

async function findWaiting(deps: Deps): Promise<Set<string>> {
  const query = waitingQueries.get(deps.db) ?? buildWaitingQuery(deps);
  waitingQueries.set(deps.db, query);
  const [row] = await query.execute();
  return new Set(row?.names.split(","));
}

/**
 * Do everything due, in the order of the worker; answers how many rows were worked on. Work for which no row waits is not
 * asked for one by one: most tests have rows for a few of thirty kinds.
 */
export async function doDueWork(deps: Deps): Promise<number> {
  let total = 0;
  let waiting = await findWaiting(deps);
  for (const sweep of dueWorkers) {
    if ("due" in sweep && !waiting.has(sweep.name)) continue;
    const count = await runWorkers(deps, [sweep]);
    total += count;
    if (count > 0) waiting = await findWaiting(deps);
  }
  return total;
}
