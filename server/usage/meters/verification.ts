/** What customers have used and were credited with, computed from the events and the lots themselves and held against what is kept. */
import { and, asc, eq, gt, type SQL, sql } from "drizzle-orm";
import type { MeterDifference } from "../../../shared/api/customer-meters.ts";
import { formatDecimal } from "../../../shared/money.ts";
import type { Database } from "../../platform/context.ts";
import { isAmong } from "../../platform/db/rows.ts";
import { getFirstId } from "../../platform/ids.ts";
import { usageEvents } from "../events/tables.ts";
import { aggregateSql, matchSql, measureSql } from "./matching.ts";
import type { MeterRow } from "./rules.ts";
import { findMeters } from "./store.ts";
import { customerMeterLots, customerMeters, customerMeterValues, customerMeterWindows } from "./tables.ts";

/** `after`: where the answer before this ended. `kept_since`: events before that time may be gone. */
type Asked = {
  customer_id?: string | undefined;
  meter_id?: string | undefined;
  after?: string | undefined;
  limit: number;
  kept_since: Date | null;
};
type Verified = { checked: number; skipped: number; differences: MeterDifference[]; next: string | null };
type Kept = typeof customerMeters | typeof customerMeterWindows;
type Key = { id: string; meter_id: string; created_at: Date; since_key: string | null; isLegacy: boolean };

/** What names balances in a cursor, and periods that are over, which come after them. */
const [balances, periods] = ["b", "p"];

/** Recount so many balances, then so many periods that are over, each as it stood at one moment. */
export async function verifyMeters(db: Database, organization_id: string, asked: Asked): Promise<Verified> {
  const { limit, after = balances } = asked;
  const isBalances = after.startsWith(balances);
  const table = isBalances ? customerMeters : customerMeterWindows;
  const keys: Key[] = await db
    .select({
      ...{ id: table.id, meter_id: table.meter_id, created_at: table.created_at },
      since_key: table.since_key,
      isLegacy: sql<boolean>`${table.payer_id} is not null and not ${table.by_time}`,
    })
    .from(table as typeof customerMeters)
    .where(
      and(
        eq(table.organization_id, organization_id),
        after.length > 1 ? gt(table.id, after.slice(1)) : undefined,
        asked.customer_id === undefined ? undefined : eq(table.customer_id, asked.customer_id),
        asked.meter_id === undefined ? undefined : eq(table.meter_id, asked.meter_id),
      ),
    )
    .orderBy(asc(table.id))
    .limit(limit);
  const meters = await findMeters(db, organization_id, [...new Set(keys.map(({ meter_id }) => meter_id))]);
  const verified: Verified = { checked: 0, skipped: 0, differences: [], next: null };
  for (const meter of meters) {
    const own = keys.filter(({ meter_id }) => meter_id === meter.id);
    const ids = own.filter((key) => isCountable(key, meter, asked.kept_since, isBalances)).map(({ id }) => id);
    verified.checked += ids.length;
    verified.skipped += own.length - ids.length;
    if (ids.length === 0) continue;
    verified.differences.push(
      ...(isBalances ? await checkBalances(db, meter, ids) : await checkPeriods(db, meter, ids)),
    );
  }
  const last = keys.length < limit ? undefined : keys.at(-1);
  verified.next = last ? `${isBalances ? balances : periods}${last.id}` : isBalances ? periods : null;
  return verified;
}

/** Whether the events that something was counted from are all there, and it was counted from them. */
function isCountable(
  { since_key, created_at, isLegacy }: Key,
  { archived_at, recount_at, recounted_at }: MeterRow,
  kept_since: Date | null,
  isBalance: boolean,
): boolean {
  // What was counted by when it came cannot be told from what was counted by when it happened.
  if (archived_at !== null || recount_at !== null || isLegacy) return false;
  if (!isBalance && recounted_at !== null && created_at <= recounted_at) return false;
  if (kept_since === null) return true;
  return since_key === null ? recounted_at === null && created_at >= kept_since : since_key >= getFirstId(kept_since);
}

/** The events that a row of a table has counted, as one row beside it that is called `found`. */
function recountSql(table: Kept, meter: MeterRow): SQL {
  const { func } = meter.aggregation;
  const measure = measureSql(usageEvents, meter);
  const [total, counted] = [func === "unique" ? sql`0` : sql`coalesce(sum(${measure}), 0)`, sql`count(${measure})`];
  // As it is kept: what many come to, divided once.
  const units = func === "avg" ? sql`coalesce(${total} / nullif(${counted}, 0), 0)` : aggregateSql(func, measure);
  const [on_time, late] = buildCountedSql(table);
  return sql`(select ${units} as units, ${counted} as counted, ${total} as total from ${usageEvents}
    where ${and(
      eq(usageEvents.organization_id, meter.organization_id),
      sql`${usageEvents.customer_id} = ${table.customer_id}`,
      late ? sql`(${on_time} or ${late})` : on_time,
      matchSql(usageEvents, meter),
    )}) as found`;
}

/** That an event was counted in its time by a row of a table; and that it came late, and belongs to it nevertheless. */
function buildCountedSql(table: Kept): [SQL | undefined, SQL?] {
  const { id, timestamp, attached_key } = usageEvents;
  const since = sql`(${table.since_key} is null or ${id} >= ${table.since_key})`;
  const own = sql`(${table.started_at} is null or ${timestamp} >= ${table.started_at})`;
  // Of a row that nobody pays for: what is of a period that somebody paid for belongs to that one.
  const elsewhere = sql`exists (select from ${customerMeterWindows} w where w.organization_id = ${table.organization_id}
    and w.customer_id = ${table.customer_id} and w.meter_id = ${table.meter_id} and w.id <> ${table.id} and w.by_time
    and not w.is_part and w.payer_id is not null and (w.started_at is null or w.started_at <= ${timestamp}) and ${timestamp} < w.ended_at
    and (w.billed_from is null or ${timestamp} >= w.billed_from))`;
  const mine = sql`(${own} or (not ${table.by_time} and not ${elsewhere}))`;
  if (!("until_key" in table)) return [and(since, mine)];
  const came = sql`coalesce(${attached_key}, ${id})`;
  // What was given to its customer after a period was over was not counted in it in time.
  const on_time = and(since, mine, sql`${id} < ${table.until_key} and ${came} < ${table.until_key}`);
  const late = sql`(${table.by_time} and not ${table.is_part} and ${table.payer_id} is not null and ${came} >= ${table.until_key} and ${own}
    and ${timestamp} < ${table.ended_at} and (${table.billed_from} is null or ${timestamp} >= ${table.billed_from}))`;
  return [on_time, late];
}

const formatNumeral = (value: unknown): string => formatDecimal(String(value));
type Compared = Pick<MeterDifference, "customer_id" | "meter_id" | "started_at" | "ended_at">;

/** Those of some numbers that differ. */
const compare = (of: Compared, pairs: [MeterDifference["what"], unknown, unknown][]): MeterDifference[] =>
  pairs
    .map(([what, kept, recounted]) => ({ ...of, what, kept: formatNumeral(kept), recounted: formatNumeral(recounted) }))
    .filter(({ kept, recounted }) => kept !== recounted);

async function checkBalances(db: Database, meter: MeterRow, ids: readonly string[]): Promise<MeterDifference[]> {
  const { organization_id, id: meter_id } = meter;
  const matchRow = (table: typeof customerMeterLots | typeof customerMeterValues) =>
    and(
      sql`${table.organization_id} = ${customerMeters.organization_id}`,
      sql`${table.customer_id} = ${customerMeters.customer_id}`,
      sql`${table.meter_id} = ${customerMeters.meter_id}`,
    );
  const { amount, taken, spent, expired, rolled, closed_at } = customerMeterLots;
  const rows = await db
    .select({
      customer_id: sql<string>`${customerMeters.customer_id}`,
      started_at: sql`${customerMeters.started_at}`.mapWith(customerMeters.started_at),
      consumed_units: sql<string>`${customerMeters.consumed_units}::text`,
      counted: sql<string>`${customerMeters.counted}::text`,
      total: sql<string>`${customerMeters.total}::text`,
      credited_units: sql<string>`${customerMeters.credited_units}::text`,
      found_units: sql<string>`found.units::text`,
      found_counted: sql<string>`found.counted::text`,
      found_total: sql<string>`found.total::text`,
      found_credit: sql<string>`(select coalesce(sum(${amount} - ${taken} - ${expired}), 0)::text from ${customerMeterLots}
        where ${matchRow(customerMeterLots)} and ${closed_at} is null)`,
      odd_lots: sql<string>`(select count(*)::text from ${customerMeterLots} where ${matchRow(customerMeterLots)}
        and ${closed_at} is not null and ${amount} <> ${taken} + ${spent} + ${expired} + ${rolled})`,
      seen: sql<string>`(select count(*)::text from ${customerMeterValues} where ${matchRow(customerMeterValues)})`,
    })
    .from(customerMeters)
    .innerJoinLateral(recountSql(customerMeters, meter), sql`true`)
    .where(isAmong(organization_id, customerMeters.id, ids))
    .orderBy(sql`${customerMeters.id}`);
  return rows.flatMap((row) => {
    const { customer_id, started_at } = row;
    return compare({ customer_id, meter_id, started_at, ended_at: null }, [
      ["consumed_units", row.consumed_units, row.found_units],
      ["counted", row.counted, row.found_counted],
      ["total", row.total, row.found_total],
      ["distinct_values", row.seen, meter.aggregation.func === "unique" ? row.found_units : 0],
      ["credited_units", row.credited_units, row.found_credit],
      ["lots", row.odd_lots, 0],
    ]);
  });
}

async function checkPeriods(db: Database, meter: MeterRow, ids: readonly string[]): Promise<MeterDifference[]> {
  const { organization_id, id: meter_id } = meter;
  const rows = await db
    .select({
      customer_id: sql<string>`${customerMeterWindows.customer_id}`,
      started_at: sql`${customerMeterWindows.started_at}`.mapWith(customerMeterWindows.started_at),
      ended_at: sql`${customerMeterWindows.ended_at}`.mapWith(customerMeterWindows.ended_at),
      consumed_units: sql<string>`${customerMeterWindows.consumed_units}::text`,
      found_units: sql<string>`found.units::text`,
    })
    .from(customerMeterWindows)
    .innerJoinLateral(recountSql(customerMeterWindows, meter), sql`true`)
    .where(isAmong(organization_id, customerMeterWindows.id, ids))
    .orderBy(sql`${customerMeterWindows.id}`);
  return rows.flatMap(({ consumed_units, found_units, ...row }) =>
    compare({ ...row, meter_id }, [["consumed_units", consumed_units, found_units]]),
  );
}
