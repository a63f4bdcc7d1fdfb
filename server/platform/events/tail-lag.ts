import { sql } from "drizzle-orm";
import type { Database, Log } from "../context.ts";

/** An open transaction that readers of the events wait for: they read nothing that was written after it began (STR-11). */
export type OpenWriter = {
  /** Of the process of PostgreSQL; 0 of a prepared transaction, which has none. */
  pid: number;
  application_name: string;
  database: string;
  state: string;
  /** How long it has been open; null where the database role may not see it. */
  open_seconds: number | null;
};

/** The oldest open transaction of the whole cluster that has written; undefined where there is none. */
export async function findOldestWriter(db: Database): Promise<OpenWriter | undefined> {
  const rows = await db.execute(sql`
    select pid, application_name, database, state, open_seconds from (
      select pid, coalesce(application_name, '') as application_name, coalesce(datname::text, '') as database,
        coalesce(state, 'unknown') as state, backend_xid as xid,
        extract(epoch from clock_timestamp() - xact_start)::float8 as open_seconds
      from pg_stat_activity where backend_xid is not null and pid <> pg_backend_pid()
      union all
      select 0, 'prepared transaction ' || gid, database::text, 'prepared', transaction,
        extract(epoch from clock_timestamp() - prepared)::float8
      from pg_prepared_xacts
    ) as writer order by age(xid) desc limit 1`);
  const [row] = Array.from(rows as Iterable<OpenWriter>);
  return row;
}

/** How long the readers of the events have waited for the oldest writer, as far as the database tells; 0 where nobody waits. */
export const measureTailLag = async (db: Database): Promise<number> =>
  Math.max(0, (await findOldestWriter(db))?.open_seconds ?? 0);

const warnAfterMs = 5000;
const warnEveryMs = 60_000;

/** Where the events can be read to, and whether a transaction that is still open holds that back. */
export type Horizon = { xmin: bigint; isHeld: boolean };

/** Watches one process's reads of the horizon, and warns of a transaction that holds it back (STR-11). */
export function openLagWatch({ db, log }: { db: Database; log: Log }, now: () => number = () => performance.now()) {
  let held: { xmin: bigint; since: number; warned_at?: number } | undefined;
  return {
    /** How long the horizon has stood at the same place while transactions were open. */
    getSeconds: (): number => (held ? (now() - held.since) / 1000 : 0),
    async note({ xmin, isHeld }: Horizon): Promise<void> {
      if (!isHeld || held?.xmin !== xmin) {
        if (held?.warned_at !== undefined) log.info({}, "The streams of events are up to date again.");
        held = isHeld ? { xmin, since: now() } : undefined;
        return;
      }
      const lastWarnedAt = held.warned_at ?? Number.NEGATIVE_INFINITY;
      if (now() - held.since < warnAfterMs || now() - lastWarnedAt < warnEveryMs) return;
      held.warned_at = now();
      const seconds = (now() - held.since) / 1000;
      const writer = await findOldestWriter(db);
      const text = "An open transaction holds back all streams of events. End it, or find out why it does not commit.";
      log.warn({ held_seconds: seconds, ...writer }, text);
    },
  };
}
