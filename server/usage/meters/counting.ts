import type { SQL } from "drizzle-orm";
import type { Ctx, Deps, Tx } from "../../platform/context.ts";
import { createId } from "../../platform/ids.ts";
import { settleUses } from "./balances.ts";
import { findWindows, type UsagePeriod } from "./balances-store.ts";
import * as consumption from "./consumption.ts";
import { applyCreditToLateUsage, type ClosedPeriod, findClosedPeriods, isOf } from "./late.ts";
import { addUp, compileMatch, compileMeasure, type Measured } from "./matching.ts";
import { findLanding, findRunning, joinLandings, type PeriodAssignment } from "./period-assignment.ts";
import type { Consumption, CountedValue } from "./rules.ts";
import * as store from "./store.ts";

/** An event of use, and whose it is; null as long as nobody has the external id that it names. */
export type UsageEvent = Measured & { id: string; customer_id: string | null };
/** What became of an event: whether a meter counts it, and where it is billed. */
export type CountOutcome = PeriodAssignment & { isCounted: boolean };

type Found = { use: UsageEvent; value: unknown; index: number };
type Gathered = {
  meter: store.CountingMeter;
  customer_id: string;
  window: UsagePeriod | undefined;
  found: Found[];
  /** What happened before the time that is counted now: of a period that is over, if its payer has one. */
  late: Found[];
};

/** The meters that count, and of the customers whose use comes, what was ever reset, or has an end. */
export type MeterState = { meters: readonly store.CountingMeter[]; windows: readonly UsagePeriod[] };

const getExtreme = (func: "max" | "min", values: readonly number[]): string =>
  values.length === 0 ? "0" : String(values.reduce((a, b) => (func === "max" ? Math.max(a, b) : Math.min(a, b))));

const getValues = (found: readonly Found[]): unknown[] => found.flatMap(({ value }) => (value === null ? [] : [value]));

function getConsumption({ meter, customer_id, found }: Gathered, now: Date): Consumption {
  const { func } = meter.aggregation;
  const values = getValues(found);
  const numbers = func === "unique" ? [] : (values as number[]);
  const total = addUp(numbers);
  const units = func === "max" || func === "min" ? getExtreme(func, numbers) : total;
  return { id: createId(now), customer_id, meter_id: meter.id, units, counted: values.length, total };
}

const isLate = ({ timestamp }: UsageEvent, window: UsagePeriod | undefined): boolean =>
  window?.started_at != null && timestamp < window.started_at;

/** How customers' meters stand, by customer and meter. What has fallen due by now is done first. */
async function settle(tx: Tx, ctx: Deps | Ctx, organization_id: string, windows: readonly UsagePeriod[], now: Date) {
  const due = windows.filter(({ due_at }) => due_at !== null && due_at <= now);
  if (due.length > 0) await settleUses(tx, ctx, due);
  const ids = [...new Set(windows.map(({ customer_id }) => customer_id))];
  const settled = due.length > 0 ? await findWindows(tx, organization_id, ids) : windows;
  return new Map(settled.map((row) => [row.customer_id + row.meter_id, row]));
}

type How = {
  /** These events came just now, and are sent again where a reset was faster. */
  isNew: boolean;
  standing: MeterState;
  /** Writes the events together with this part of a statement, which adds what was used of most meters. */
  write?: (used: SQL) => Promise<void>;
};

/**
 * Count events that are written in the same transaction: what customers have used is changed by what the events have, and no
 * history is read. What came before a customer's meter was reset is not counted any more. All who count take what they lock in
 * one order: the rows of meters that add up first; the values that were seen after the rows of their meters, these before those
 * of other meters.
 */
export async function countUse(
  tx: Tx,
  ctx: Deps | Ctx,
  organization_id: string,
  uses: readonly UsageEvent[],
  { isNew, standing, write }: How,
): Promise<CountOutcome[]> {
  const now = ctx.clock.now();
  const became = uses.map((): CountOutcome => ({ isCounted: false, isLate: false, period: null }));
  if (uses.length === 0) return became;
  const gathered: Gathered[] = [];
  const firsts: string[] = [];
  const windows = await settle(tx, ctx, organization_id, standing.windows, now);
  for (const meter of standing.meters) {
    const [matches, measure] = [compileMatch(meter), compileMeasure(meter)];
    const theirs = new Map<string, Gathered>();
    let hasCounted = false;
    for (const [index, use] of uses.entries()) {
      if (!matches(use)) continue;
      hasCounted = true;
      const { customer_id } = use;
      const window = customer_id === null ? undefined : windows.get(customer_id + meter.id);
      const before = became[index];
      if (before) before.isCounted = true;
      if (customer_id === null) continue;
      const isBefore = window?.since_key != null && use.id < window.since_key;
      if (isBefore && isNew) throw new consumption.MeterResetConflictError();
      const own = theirs.get(customer_id) ?? { meter, customer_id, window, found: [], late: [] };
      own[isBefore || isLate(use, window) ? "late" : "found"].push({ use, value: measure(use), index });
      theirs.set(customer_id, own);
    }
    if (hasCounted && meter.first_counted_at === null) firsts.push(meter.id);
    gathered.push(...theirs.values());
  }
  const late = await locateLate(tx, organization_id, gathered);
  for (const { window, found } of gathered)
    for (const { use, index } of window?.payer_id ? found : [])
      renderLand(became, index, findLanding(use.timestamp, findRunning(window as UsagePeriod), now));
  for (const { index, landing } of late.landings) renderLand(became, index, landing);
  const ids = uses.map(({ id }) => id).sort();
  // What came before its customer was known is counted now: a reset that follows is after it.
  const [first_key = "", last_key = ""] = [ids[0], isNew ? ids.at(-1) : createId(now)];
  const how = { now, first_key: isNew ? first_key : null, last_key };
  const filterByFunction = (...funcs: string[]) =>
    gathered.filter(({ meter }) => funcs.includes(meter.aggregation.func));
  const getRows = (some: readonly Gathered[]) => some.map((one) => getConsumption(one, now));
  const sums = getRows(filterByFunction("count", "sum"));
  if (write) await write(consumption.writeConsumption(organization_id, "sum", sums, how));
  else await consumption.addConsumption(tx, organization_id, "sum", sums, how);
  await addDistinct(tx, organization_id, filterByFunction("unique"), how);
  for (const func of ["max", "min", "avg"] as const)
    await consumption.addConsumption(tx, organization_id, func, getRows(filterByFunction(func)), how);
  await addLate(tx, ctx, organization_id, late.placed);
  if (firsts.length > 0) await store.markCounted(tx, organization_id, firsts.sort(), now);
  return became;
}

const renderLand = (became: CountOutcome[], index: number, landing: PeriodAssignment): void => {
  const before = became[index];
  if (before) Object.assign(before, joinLandings(before, landing));
};

/** Usage of a period that is over. */
type Placed = Gathered & { period: ClosedPeriod };

/**
 * Find the periods that late usage is of. What is of none that somebody pays for is counted where nobody pays now either, and
 * nowhere else, as it is never billed.
 */
async function locateLate(
  tx: Tx,
  organization_id: string,
  gathered: readonly Gathered[],
): Promise<{ placed: Placed[]; landings: { index: number; landing: PeriodAssignment }[] }> {
  const some = gathered.filter(({ late }) => late.length > 0);
  const placed: Placed[] = [];
  const landings: { index: number; landing: PeriodAssignment }[] = [];
  if (some.length === 0) return { placed, landings };
  const closed = await findClosedPeriods(tx, organization_id, some);
  for (const one of some) {
    const { customer_id, meter, window, late } = one;
    const own = closed.filter((period) => period.customer_id === customer_id && period.meter_id === meter.id);
    const isTaking = ({ by_time }: ClosedPeriod) => by_time || window?.by_time === true;
    const getPeriod = ({ use }: Found) => own.find((period) => isTaking(period) && isOf(period, use.timestamp));
    for (const [period, found] of Map.groupBy(late, getPeriod)) {
      if (period) placed.push({ ...one, period, found });
      else if (window && !window.by_time) one.found.push(...found.filter(({ use }) => isSince(use, window)));
      const isSame = period !== undefined && window !== undefined && window.payer_id === period.payer_id;
      const running = isSame ? findRunning(window) : null;
      const billed = running?.started_at && running.end ? { start: running.started_at, end: running.end } : null;
      for (const { index } of found) landings.push({ index, landing: { isLate: true, period: billed } });
    }
  }
  return { placed, landings };
}

const isSince = ({ id }: UsageEvent, { since_key }: UsagePeriod): boolean => since_key === null || id >= since_key;

/** Add late usage to its periods, whose rows were locked as other usage was added. Their credit that is left covers it, too. */
async function addLate(tx: Tx, ctx: Deps | Ctx, organization_id: string, placed: readonly Placed[]): Promise<void> {
  if (placed.length === 0) return;
  const now = ctx.clock.now();
  const by = new Map<"sum" | "max" | "min" | "avg", consumption.LateConsumption[]>();
  for (const one of placed) {
    const { func } = one.meter.aggregation;
    const times = one.found.map(({ use }) => use.timestamp.getTime());
    const [first, last] = [new Date(Math.min(...times)), new Date(Math.max(...times))];
    const { customer_id: _, meter_id, ...counted } = getConsumption(one, now);
    const row = { ...counted, id: one.period.id, first, last };
    if (func === "unique") {
      const values = getValues(one.found).map((value) => ({ customer_id: one.period.id, meter_id, value }));
      const news = values.length === 0 ? [] : await consumption.addValues(tx, organization_id, values);
      row.units = String(news.reduce((sum, { count }) => sum + count, 0));
    }
    const how = func === "max" || func === "min" || func === "avg" ? func : "sum";
    by.set(how, [...(by.get(how) ?? []), row]);
  }
  for (const [how, rows] of by) await consumption.addLateConsumption(tx, organization_id, how, rows);
  for (const { customer_id, meter, period } of placed)
    await applyCreditToLateUsage(tx, ctx, { organization_id, customer_id, meter_id: meter.id }, period.id);
}

/** The rows first, which keeps others from the values until the transaction ends; then the values; then how many are new. */
async function addDistinct(
  tx: Tx,
  organization_id: string,
  some: readonly Gathered[],
  how: consumption.CountedBatch,
): Promise<void> {
  const { now } = how;
  if (some.length === 0) return;
  const rows = some.map((one) => ({ ...getConsumption(one, now), units: "0" }));
  await consumption.addConsumption(tx, organization_id, "sum", rows, how);
  const values = some.flatMap(({ meter, customer_id, found }) =>
    getValues(found).map((value): CountedValue => ({ customer_id, meter_id: meter.id, value })),
  );
  if (values.length === 0) return;
  const news = await consumption.addValues(tx, organization_id, values);
  const added = news.map(({ count, ...row }) => ({
    ...row,
    id: createId(now),
    units: String(count),
    counted: 0,
    total: "0",
  }));
  await consumption.addConsumption(tx, organization_id, "sum", added, how);
}
