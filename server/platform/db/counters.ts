/** How many rows of a list an organization has, without counting them. */
import { and, eq, type SQL, sql } from "drizzle-orm";
import type { PgColumn } from "drizzle-orm/pg-core";
import { organization } from "../../identity/organizations/tables.ts";
import type { Database } from "../context.ts";
import type { Worker } from "../jobs/workers.ts";
import { matchOrganizations } from "./page.ts";
import { type CountedList, listTallies } from "./tables.ts";

/** What asks how many rows of a list there are: of the organizations that `whose` matches in this column. */
export const selectListed = (db: Database, list: CountedList, whose: (column: PgColumn) => SQL) =>
  db
    .select({ total: sql<number>`coalesce(sum(${listTallies.change}), 0)::int` })
    .from(listTallies)
    .where(and(whose(listTallies.organization_id), eq(listTallies.list, list)));

/** How many rows of a list these organizations have. */
export async function countListed(db: Database, organizations: readonly string[], list: CountedList): Promise<number> {
  const [row] = await selectListed(db, list, (column) => matchOrganizations(column, organizations));
  return row?.total ?? 0;
}

/** How many rows of a list match: those that were asked for are counted, and all of them are known. */
export const countMatching = (
  db: Database,
  organizations: readonly string[],
  list: CountedList,
  asked: SQL | undefined,
  count: () => Promise<number>,
): Promise<number> => (asked ? count() : countListed(db, organizations, list));

/** Add up the tallies of so many lists to one row for each; answers of how many. */
export async function addUpTallies(db: Database, limit: number): Promise<number> {
  const { organization_id, list, change } = listTallies;
  const loose = await db
    .select({ organization_id, list })
    .from(listTallies)
    .groupBy(organization_id, list)
    .having(sql`count(*) > 1 or sum(${change}) = 0`)
    .limit(limit);
  // In one statement, so that at no moment there are more or fewer. The organization first, as deleting it does; while
  // that is under way, there is nothing to add up.
  for (const one of loose)
    await db.execute(sql`
      with owner as (select id from ${organization} where id = ${one.organization_id} for key share skip locked),
        gone as (delete from ${listTallies} where organization_id in (select id from owner) and list = ${one.list} returning change)
      insert into ${listTallies} (organization_id, list, change)
      select ${one.organization_id}, ${one.list}, sum(change) from gone having sum(change) <> 0`);
  return loose.length;
}

/** The tallies are kept short. */
export const counterCompactionWorker: Worker = {
  name: "list_tallies.add_up",
  pollIntervalMs: 10 * 60 * 1000,
  limit: 100,
  runBatch: ({ db }, limit) => addUpTallies(db, limit),
};
