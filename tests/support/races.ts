/** For changes that really happen at the same time: one embedded connection would put them in a row. */
import postgres from "postgres";
import { eventually } from "./eventually.ts";
import { type Floe, type FloeOptions, start } from "./floe.ts";
import { createPostgresDatabase } from "./postgres-database.ts";

/** A floe on an empty database of the PostgreSQL that the worker's tests share. */
export async function startOnPostgres(options: Omit<FloeOptions, "databaseUrl"> = {}): Promise<Floe> {
  return start({ ...options, databaseUrl: await createPostgresDatabase() });
}

/** Wait until so many queries of a database wait for locks, and say which process is the first of them. */
export async function awaitLock(databaseUrl: string, count = 1): Promise<number> {
  const sql = postgres(databaseUrl, { max: 1 });
  try {
    return await eventually(async () => {
      const rows = await sql`select pid from pg_stat_activity
        where wait_event_type = 'Lock' and datname = current_database() order by query_start`;
      return rows.length >= count ? Number(rows[0]?.pid) : undefined;
    }, `${count} to wait for a lock`);
  } finally {
    await sql.end();
  }
}

/** Do one thing so many times at once. */
export const atOnce = <T>(times: number, work: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: times }, (_, index) => work(index)));

/** How often each outcome came. */
export function tally(outcomes: (string | number)[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const one of outcomes) counts[one] = (counts[one] ?? 0) + 1;
  return counts;
}
