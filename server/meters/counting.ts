import type { Ctx, Deps, Tx } from "../lib/context.ts";
import { newId } from "../lib/ids.ts";
import { addUp, compileFilter, type Measured, measureOf } from "./matching.ts";
import type { Consumption, CountedValue, MeterRow } from "./rules.ts";
import * as store from "./store.ts";

/** An event of use, and whose it is; null as long as nobody has the external id that it names. */
export type Use = Measured & { customer_id: string | null };

type Gathered = { meter: MeterRow; customer_id: string; values: unknown[] };

const extremeOf = (func: "max" | "min", values: readonly number[]): string =>
  values.length === 0 ? "0" : String(values.reduce((a, b) => (func === "max" ? Math.max(a, b) : Math.min(a, b))));

function consumptionOf({ meter, customer_id, values }: Gathered, now: Date): Consumption {
  const { func } = meter.aggregation;
  const found = values.filter((value) => value !== null);
  const numbers = func === "unique" ? [] : (found as number[]);
  const total = addUp(numbers);
  const units = func === "max" || func === "min" ? extremeOf(func, numbers) : total;
  return { id: newId(now), customer_id, meter_id: meter.id, units, counted: found.length, total };
}

/**
 * Count events that are written in the same transaction: what customers have used is changed by what the events have, and no
 * history is read. Answers of each event whether a meter counts it. All who count take what they lock in one order: the
 * values that were seen after the rows of their meters, these before those of other meters.
 */
export async function countUse(
  tx: Tx,
  { clock }: Deps | Ctx,
  organization_id: string,
  uses: readonly Use[],
): Promise<boolean[]> {
  const now = clock.now();
  const isCounted = uses.map(() => false);
  const gathered: Gathered[] = [];
  const firsts: string[] = [];
  for (const meter of await store.findCounting(tx, organization_id)) {
    const [matches, measure] = [compileFilter(meter.filter), measureOf(meter)];
    const theirs = new Map<string, Gathered>();
    let hasCounted = false;
    for (const [index, use] of uses.entries()) {
      if (!matches(use)) continue;
      hasCounted = true;
      isCounted[index] = true;
      const { customer_id } = use;
      if (customer_id === null) continue;
      const own = theirs.get(customer_id);
      if (own) own.values.push(measure(use));
      else theirs.set(customer_id, { meter, customer_id, values: [measure(use)] });
    }
    if (hasCounted && meter.first_counted_at === null) firsts.push(meter.id);
    gathered.push(...theirs.values());
  }
  if (firsts.length > 0) await store.markCounted(tx, organization_id, firsts.sort(), now);
  const of = (...funcs: string[]) => gathered.filter(({ meter }) => funcs.includes(meter.aggregation.func));
  const rowsOf = (some: readonly Gathered[]) => some.map((one) => consumptionOf(one, now));
  await addDistinct(tx, organization_id, of("unique"), now);
  await store.addConsumption(tx, organization_id, "sum", rowsOf(of("count", "sum")), now);
  for (const how of ["max", "min", "avg"] as const)
    await store.addConsumption(tx, organization_id, how, rowsOf(of(how)), now);
  return isCounted;
}

/** The rows first, which keeps others from the values until the transaction ends; then the values; then how many are new. */
async function addDistinct(tx: Tx, organization_id: string, some: readonly Gathered[], now: Date): Promise<void> {
  if (some.length === 0) return;
  const rows = some.map((one) => ({ ...consumptionOf(one, now), units: "0" }));
  await store.addConsumption(tx, organization_id, "sum", rows, now);
  const values = some.flatMap(({ meter, customer_id, values: seen }) =>
    seen.flatMap((value): CountedValue[] => (value === null ? [] : [{ customer_id, meter_id: meter.id, value }])),
  );
  if (values.length === 0) return;
  const news = await store.addValues(tx, organization_id, values);
  const added = news.map(({ count, ...row }) => ({
    ...row,
    id: newId(now),
    units: String(count),
    counted: 0,
    total: "0",
  }));
  await store.addConsumption(tx, organization_id, "sum", added, now);
}
