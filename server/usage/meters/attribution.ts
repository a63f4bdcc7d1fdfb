/** Who pays for what customers use of a meter, and what they have to be billed for. */
import { and, countDistinct, eq, gte, inArray, lte, type SQL, sql } from "drizzle-orm";
import { unionAll } from "drizzle-orm/pg-core";
import { addUp } from "../../../shared/money.ts";
import { aggregateUse, computeDifference, groupByPeriod, roundUnitsUp } from "../../../shared/usage.ts";
import type { Ctx, Database, Deps, Tx } from "../../platform/context.ts";
import { defineLoader } from "../../platform/db/loaders.ts";
import { isAmong, matchSeller, type RowKey } from "../../platform/db/rows.ts";
import { computeNextEnd, type MeterBalance, resetBalance, saveBalance } from "./balances.ts";
import type { MeterBalanceKey, MeterBalanceRow } from "./balances-store.ts";
import { findMeters } from "./store.ts";
import { customerMeters, customerMeterValues, customerMeterWindows, type ResetSchedule } from "./tables.ts";

const windows = customerMeterWindows;
const { ended_at, is_part, is_open } = windows;

/** What stands to be billed of one customer: of a period that runs, or of one that is over. */
const getParts = (
  db: Database,
  where: (table: typeof customerMeters | typeof customerMeterWindows) => SQL | undefined,
) =>
  unionAll(
    db
      .select({
        ...getColumns(customerMeters),
        ended_at: sql`null::timestamptz`.mapWith(ended_at),
        is_part: sql<boolean>`false`,
        is_open: sql<boolean>`true`,
        billed_units: sql<string | null>`null::numeric`,
        late_from: sql`null::timestamptz`.mapWith(windows.late_from),
        late_until: sql`null::timestamptz`.mapWith(windows.late_until),
      })
      .from(customerMeters)
      .where(where(customerMeters)),
    db
      .select({
        ...getColumns(customerMeterWindows),
        ended_at: sql`${ended_at}`.mapWith(ended_at),
        is_part: sql<boolean>`${is_part}`,
        is_open: sql<boolean>`${is_open}`,
        billed_units: sql<string | null>`${windows.billed_units}`,
        late_from: sql`${windows.late_from}`.mapWith(windows.late_from),
        late_until: sql`${windows.late_until}`.mapWith(windows.late_until),
      })
      .from(windows)
      .where(where(windows)),
  );

function getColumns(table: typeof customerMeters | typeof customerMeterWindows) {
  const { id, created_at, modified_at, customer_id, meter_id, payer_id, started_at, consumed_units, counted, total } =
    table as typeof customerMeters;
  const { credited_units, rollover_units, free_units, price_id } = table as typeof customerMeters;
  return {
    ...{ id, created_at, modified_at, customer_id, meter_id, payer_id, started_at, consumed_units, counted, total },
    ...{ credited_units, rollover_units, free_units, price_id },
  };
}
type Found = Awaited<ReturnType<typeof getParts>>[number];
type Part = Omit<Found, "ended_at" | "late_from" | "late_until"> & {
  [at in "ended_at" | "late_from" | "late_until"]: Date | null;
};

/**
 * What is used on the account of a subscription in one period: what its customer uses, and whoever holds a seat of it (SEAT-17).
 * `ended_at`: when that period ended; null: it runs.
 */
export type PaidUsage = Omit<Part, "customer_id" | "is_part" | "is_open" | "counted" | "total" | "rollover_units"> & {
  /** What of it is closed. */
  window_ids: string[];
  /** What each has spent of their own credit: all that a stretch takes of it, as the rest goes on. */
  spent_units: number;
};

/** What runs on the account of these subscriptions. */
export const findPaidUse = async (
  db: Database,
  organization_id: string,
  payers: readonly string[],
): Promise<PaidUsage[]> => {
  const found = await getParts(db, (table) =>
    and(
      eq(table.organization_id, organization_id),
      inArray(table.payer_id, [...payers]),
      "is_part" in table ? and(eq(table.is_part, true), eq(table.is_open, true)) : undefined,
    ),
  );
  return (await poolParts(db, organization_id, found)).filter(({ ended_at }) => ended_at === null);
};

/**
 * What was used in periods that are over and not billed yet, or not all of it, and in the one that runs, the first first. `isShared`:
 * a period may be of several people, of whom one has used something late: what all of them have used says what that costs.
 */
export async function findUnbilled(
  db: Database,
  organization_id: string,
  payer_id: string,
  { isShared }: { isShared: boolean },
): Promise<PaidUsage[]> {
  const found = await getParts(db, (table) =>
    and(
      eq(table.organization_id, organization_id),
      eq(table.payer_id, payer_id),
      "is_open" in table && !isShared ? eq(table.is_open, true) : undefined,
    ),
  );
  return poolParts(db, organization_id, found);
}

/** What several have used in one period on one account is one. Whoever left in the middle of it is among them. */
async function poolParts(db: Database, organization_id: string, parts: readonly Part[]): Promise<PaidUsage[]> {
  const getTime = ({ ended_at }: Pick<Part, "ended_at">): number => ended_at?.getTime() ?? Number.POSITIVE_INFINITY;
  const pools = [...Map.groupBy(parts, ({ payer_id, meter_id }) => `${payer_id}${meter_id}`).values()]
    .flatMap(groupByPeriod)
    .filter((pool) => pool.some((part) => part.is_open));
  const shared = pools.filter((pool) => pool.length > 1);
  const meters = new Map(
    shared.length === 0
      ? []
      : (await findMeters(db, organization_id, [...new Set(shared.flatMap(([one]) => one?.meter_id ?? []))])).map(
          ({ id, aggregation }) => [id, aggregation.func],
        ),
  );
  const pooled: PaidUsage[] = [];
  for (const pool of pools) {
    const byAge = pool.toSorted((a, b) => (a.id < b.id ? -1 : 1));
    // What runs stands for all of it, by the one of them that was there first.
    const first = byAge.find((part) => !part.is_part) ?? byAge[0];
    if (!first) continue;
    const {
      customer_id: _,
      is_part: __,
      is_open: ___,
      counted: ____,
      total: _____,
      rollover_units: ______,
      ...own
    } = first;
    const isClosed = (part: Part) => part.is_part || part.ended_at !== null;
    const spent_units = addUp(
      pool.map((part) => Math.min(part.credited_units, Number(roundUnitsUp(part.consumed_units)))),
    );
    const one = { ...own, spent_units, window_ids: pool.filter(isClosed).map(({ id }) => id) };
    if (pool.length === 1) pooled.push(one);
    else {
      const func = meters.get(one.meter_id) ?? "sum";
      const distinct = func === "unique" ? await countDistinctValues(db, organization_id, pool) : 0;
      const billed_units = pool.find((part) => part.billed_units !== null)?.billed_units ?? null;
      pooled.push({ ...one, ...aggregateUse(func, pool, distinct), ...poolLate(pool), billed_units });
    }
  }
  return pooled.toSorted(
    (a, b) => getTime(a) - getTime(b) || (a.meter_id < b.meter_id ? -1 : 1) || (a.id < b.id ? -1 : 1),
  );
}

/** When what several have used late was used. */
function poolLate(pool: readonly Part[]): Pick<Part, "late_from" | "late_until"> {
  const multiply = (of: (Date | null)[]) => of.filter((at) => at !== null).sort((a, b) => a.getTime() - b.getTime());
  return {
    late_from: multiply(pool.map(({ late_from }) => late_from))[0] ?? null,
    late_until: multiply(pool.map(({ late_until }) => late_until)).at(-1) ?? null,
  };
}

/** What a bill has taken of a period: which of it was closed, how much there was, and the units that it has been billed for with it. */
export type BilledUsage = {
  meter_id: string;
  window_ids: string[];
  is_running: boolean;
  consumed_units: string;
  billed_units: string;
};

/**
 * Periods are billed for so many units. What came meanwhile stays open, for the next bill. What ran as the bill was made has been closed
 * since, with the first period that is not billed yet.
 */
export async function billWindows(
  tx: Tx,
  organization_id: string,
  payer_id: string,
  taken: readonly BilledUsage[],
  shared: { isShared: boolean },
): Promise<void> {
  if (taken.length === 0) return;
  const open = await findUnbilled(tx, organization_id, payer_id, shared);
  const known = new Set(taken.flatMap(({ window_ids }) => window_ids));
  for (const one of taken) {
    const isOwn = ({ window_ids }: PaidUsage) => window_ids.some((id) => one.window_ids.includes(id));
    const isNext = (use: PaidUsage) =>
      use.meter_id === one.meter_id && use.ended_at !== null && !use.window_ids.some((id) => known.has(id));
    const use = open.find(isOwn) ?? (one.is_running ? open.find(isNext) : undefined);
    if (!use || use.window_ids.length === 0) continue;
    // Of one alone the row itself says whether more has come since.
    const isMore =
      use.window_ids.length === 1
        ? sql<boolean>`${windows.consumed_units} <> ${one.consumed_units}::numeric`
        : computeDifference(use.consumed_units, one.consumed_units) !== "0";
    const late_from = sql`case when ${isMore} then ${windows.late_from} end`;
    const late_until = sql`case when ${isMore} then ${windows.late_until} end`;
    await tx
      .update(windows)
      .set({ billed_units: one.billed_units, is_open: isMore, late_from, late_until })
      .where(and(eq(windows.organization_id, organization_id), inArray(windows.id, use.window_ids)));
  }
}

/** Periods that begin with a time are paid at another price than was known as they were closed; null: nobody pays for them. */
export const updateWindowPrices = (
  tx: Tx,
  organization_id: string,
  payer_id: string,
  { meter_id, price_id, since }: { meter_id: string; price_id: string | null; since: Date },
) =>
  tx
    .update(windows)
    .set(price_id === null ? { is_open: false, payer_id: null } : { price_id })
    .where(and(openOf(organization_id, payer_id), eq(windows.meter_id, meter_id), gte(windows.started_at, since)));

/** What was used in periods that were over by a time, or in all of them, and is not billed, never will be. */
export async function deletePeriods(
  tx: Tx,
  organization_id: string,
  payer_id: string,
  { until = null }: { until?: Date | null } = {},
): Promise<void> {
  const billed = windows.billed_units;
  const discarded = tx.$with("discarded", {}).as(sql`
    update ${windows} set is_open = false, payer_id = case when ${billed} is null then null else ${windows.payer_id} end
    where ${and(openOf(organization_id, payer_id), until === null ? undefined : lte(ended_at, until))}
    returning id, meter_id, ${billed}`);
  const values = customerMeterValues;
  await tx
    .with(discarded)
    .delete(values)
    .where(
      and(
        eq(values.organization_id, organization_id),
        sql`(${values.meter_id}, ${values.customer_id}) in (select meter_id, id from discarded where billed_units is null)`,
      ),
    );
}

/** Of those that ask, which subscriptions have periods to bill that are over. */
export const hasOpenWindows = defineLoader(async (db: Database, keys: RowKey[]): Promise<boolean[]> => {
  const ids = keys.map(({ id }) => id);
  const found = await db
    .selectDistinct({ payer_id: windows.payer_id })
    .from(windows)
    .where(and(isAmong(matchSeller(keys), windows.payer_id, ids), eq(is_open, true)));
  const open = new Set(found.map(({ payer_id }) => payer_id));
  return ids.map((id) => open.has(id));
});

const openOf = (organization_id: string, payer_id: string) =>
  and(
    eq(customerMeterWindows.organization_id, organization_id),
    eq(customerMeterWindows.payer_id, payer_id),
    eq(is_open, true),
  );

/** What names what runs on the account of a subscription, of these meters. */
export const findPaidKeys = (db: Database, organization_id: string, payer_id: string): Promise<MeterBalanceKey[]> =>
  db
    .select({
      organization_id: customerMeters.organization_id,
      customer_id: customerMeters.customer_id,
      meter_id: customerMeters.meter_id,
    })
    .from(customerMeters)
    .where(and(eq(customerMeters.organization_id, organization_id), eq(customerMeters.payer_id, payer_id)));

/** How a subscription pays from now on. */
export type PaidTerms = { payer_id: string; price_id: string; ends_at: Date; rhythm: ResetSchedule };

/** Columns of a row that somebody pays for, or nobody. */
export function payUse(
  tx: Tx,
  use: MeterBalance,
  terms: PaidTerms | null,
  more: Partial<MeterBalanceRow>,
  now: Date,
): Promise<MeterBalance> {
  if (terms === null)
    return saveBalance(tx, use, { payer_id: null, price_id: null, ends_at: null, rhythm: null, ...more }, now);
  const { started_at } = use.row;
  let { ends_at } = terms;
  // Whoever looks late finds periods that were closed by whoever counted: what runs ends after it began.
  while (started_at !== null && ends_at <= started_at) ends_at = computeNextEnd(ends_at, terms.rhythm);
  // Who pays is told of in the same transaction, with all that was used.
  return saveBalance(tx, use, { ...terms, ends_at, notice_at: null, ...more }, now);
}

/** What was used until now is of its price, and what follows counts from nothing; what is left of credit goes on. */
export const closeStretch = (tx: Tx, ctx: Deps | Ctx, use: MeterBalance): Promise<MeterBalance> => {
  const now = ctx.clock.now();
  return resetBalance(tx, ctx, use, now, now, { keepsCredit: true });
};

/** Nobody pays any more: what was used until now is of who paid, and what follows of nobody. */
export async function closeUse(
  tx: Tx,
  ctx: Deps | Ctx,
  use: MeterBalance,
  { keepsCredit = false } = {},
): Promise<MeterBalance> {
  const now = ctx.clock.now();
  return payUse(tx, await resetBalance(tx, ctx, use, now, now, { keepsCredit }), null, { by_time: false }, now);
}

/** Count from nothing again, on nobody's account; what was used until now is on nobody's, either. */
export async function restartUse(tx: Tx, ctx: Deps | Ctx, use: MeterBalance): Promise<MeterBalance> {
  const now = ctx.clock.now();
  return resetBalance(tx, ctx, await payUse(tx, use, null, {}, now), now, now);
}

/**
 * Somebody else pays from now on, or nobody: what was used until now is billed by who paid, with what others use in the same period
 * (SEAT-17), and all that is left of credit goes on.
 */
export async function closeAndReassign(tx: Tx, ctx: Deps | Ctx, use: MeterBalance): Promise<MeterBalance> {
  const now = ctx.clock.now();
  const handed = await resetBalance(tx, ctx, use, now, now, { isPart: true });
  return payUse(tx, handed, null, { billed_from: null, by_time: false }, now);
}

/** How many distinct values several have shown a meter together, in what runs or in periods that are over. */
export const countDistinctValues = async (
  db: Database,
  organization_id: string,
  parts: readonly { id: string; customer_id: string; meter_id: string; ended_at: Date | null }[],
): Promise<number> => {
  const whose = parts.map(({ id, customer_id, ended_at }) => (ended_at === null ? customer_id : id));
  const [row] = await db
    .select({ count: countDistinct(customerMeterValues.value) })
    .from(customerMeterValues)
    .where(
      and(
        isAmong(organization_id, customerMeterValues.customer_id, whose),
        eq(customerMeterValues.meter_id, parts[0]?.meter_id ?? ""),
      ),
    );
  return row?.count ?? 0;
};
