import { sql } from "drizzle-orm";
import { findMonthAfter } from "../../../shared/calendar.ts";
import { getServerClock } from "../../platform/clock.ts";
import type { Deps, Tx } from "../../platform/context.ts";
import { transact } from "../../platform/db/unit-of-work.ts";
import { getFirstId } from "../../platform/ids.ts";
import type { Worker } from "../../platform/jobs/workers.ts";

/** How many months ahead there are parts for. */
const monthsAhead = 2;
const hourMs = 60 * 60 * 1000;
/** Keeps servers that start at the same time from making the same part. */
const partsLock = 13_000;

const getName = (month: Date): string => `usage_events_${month.toISOString().slice(0, 7).replace("-", "_")}`;

async function findParts(tx: Tx): Promise<Set<string>> {
  const rows = await tx.select({ name: sql<string>`parts.name` }).from(
    sql`(select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
        where i.inhparent = 'usage_events'::regclass) as parts`,
  );
  return new Set(rows.map(({ name }) => name));
}

/** Make the part for a month. What of that month is in the last part already, as of sandboxes that are ahead, is moved. */
async function makePart(tx: Tx, month: Date): Promise<void> {
  const part = sql.identifier(getName(month));
  const [from, to] = [getFirstId(month), getFirstId(findMonthAfter(month, 1))];
  const bounds = sql.raw(`from ('${from}') to ('${to}')`);
  await tx.execute(sql`create table ${part} (like usage_events including all)`);
  await tx.execute(sql`with moved as (delete from usage_events_other where id >= ${from}::uuid and id < ${to}::uuid returning *)
    insert into ${part} select * from moved`);
  await tx.execute(sql`alter table usage_events attach partition ${part} for values ${bounds}`);
}

/** See that there are parts for the months to come, and drop those of months that are kept no longer. */
const saveParts = ({ db, log, clock, config }: Deps): Promise<void> =>
  transact({ db, log }, async (tx) => {
    await tx.execute(sql`select pg_advisory_xact_lock(${partsLock})`);
    const now = getServerClock(clock).now();
    const there = await findParts(tx);
    for (let ahead = 0; ahead <= monthsAhead; ahead += 1) {
      const month = findMonthAfter(now, ahead);
      if (!there.has(getName(month))) await makePart(tx, month);
    }
    const kept = config.FLOE_EVENTS_KEPT_MONTHS;
    if (kept === undefined) return;
    const oldest = findMonthAfter(now, -kept);
    for (const name of there)
      if (/_\d{4}_\d{2}$/.test(name) && name < getName(oldest))
        await tx.execute(sql`drop table ${sql.identifier(name)}`);
    await tx.execute(sql`delete from usage_events_other where id < ${getFirstId(oldest)}::uuid`);
  });

/** Parts are made before they are needed. */
export const partWorker: Worker = {
  name: "usage_events.parts",
  pollIntervalMs: hourMs,
  limit: 1,
  async runBatch(deps) {
    await saveParts(deps);
    return 0;
  },
};
