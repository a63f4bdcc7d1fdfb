/** Who pays for what customers use of a meter, and what they have to be billed for. */
import { and, eq, inArray, lte, type SQL, sql } from "drizzle-orm";
import { unionAll } from "drizzle-orm/pg-core";
import { addDecimals, groupByPeriod, poolUse } from "../../shared/usage.ts";
import { countShown } from "../customers/holdings.ts";
import type { Ctx, Database, Deps, Tx } from "../lib/context.ts";
import { findMeters } from "./store.ts";
import { customerMeters, customerMeterValues, customerMeterWindows, type Rhythm } from "./tables.ts";
import type { UseKey, UseRow } from "./uses.ts";
import { computeNextEnd, resetUse, saveUse, type Use } from "./windows.ts";

const { ended_at, is_part, is_open } = customerMeterWindows;

/** What stands to be billed of one customer: of a period that runs, or of one that is over. */
const partsOf = (
  db: Database,
  where: (table: typeof customerMeters | typeof customerMeterWindows) => SQL | undefined,
) =>
  unionAll(
    db
      .select({
        ...columnsOf(customerMeters),
        ended_at: sql`null::timestamptz`.mapWith(ended_at),
        is_part: sql<boolean>`false`,
      })
      .from(customerMeters)
      .where(where(customerMeters)),
    db
      .select({
        ...columnsOf(customerMeterWindows),
        ended_at: sql`${ended_at}`.mapWith(ended_at),
        is_part: sql<boolean>`${is_part}`,
      })
      .from(customerMeterWindows)
      .where(and(where(customerMeterWindows), eq(is_open, true))),
  );

function columnsOf(table: typeof customerMeters | typeof customerMeterWindows) {
  const { id, created_at, modified_at, customer_id, meter_id, payer_id, started_at, consumed_units, counted, total } =
    table as typeof customerMeters;
  const { credited_units, rollover_units, free_units, late_units, late_from, late_until } =
    table as typeof customerMeters;
  return {
    ...{ id, created_at, modified_at, customer_id, meter_id, payer_id, started_at, consumed_units, counted, total },
    ...{ credited_units, rollover_units, free_units, late_units, late_from, late_until },
  };
}
type Part = Omit<Awaited<ReturnType<typeof partsOf>>[number], "ended_at"> & { ended_at: Date | null };

/**
 * What is used on the account of a subscription in one period: what its customer uses, and whoever holds a seat of it (SEAT-17).
 * `ended_at`: when that period ended; null: it runs.
 */
export type PaidUse = Omit<Part, "customer_id" | "is_part" | "counted" | "total" | "rollover_units">;

/** What runs on the account of these subscriptions. */
export const findPaidUse = async (
  db: Database,
  organization_id: string,
  payers: readonly string[],
): Promise<PaidUse[]> => {
  const found = await partsOf(db, (table) =>
    and(
      eq(table.organization_id, organization_id),
      inArray(table.payer_id, [...payers]),
      "is_part" in table ? eq(table.is_part, true) : undefined,
    ),
  );
  return (await poolParts(db, organization_id, found)).filter(({ ended_at }) => ended_at === null);
};

/** What was used in periods that are over and not billed yet, and in the one that runs, the first first. */
export const findUnbilled = async (db: Database, organization_id: string, payer_id: string): Promise<PaidUse[]> =>
  poolParts(
    db,
    organization_id,
    await partsOf(db, (table) => and(eq(table.organization_id, organization_id), eq(table.payer_id, payer_id))),
  );

/** What several have used in one period on one account is one. Whoever left in the middle of it is among them. */
async function poolParts(db: Database, organization_id: string, parts: readonly Part[]): Promise<PaidUse[]> {
  const timeOf = ({ ended_at }: Pick<Part, "ended_at">): number => ended_at?.getTime() ?? Number.POSITIVE_INFINITY;
  const pools = [...Map.groupBy(parts, ({ payer_id, meter_id }) => `${payer_id}${meter_id}`).values()].flatMap(
    groupByPeriod,
  );
  const shared = pools.filter((pool) => pool.length > 1);
  const meters = new Map(
    shared.length === 0
      ? []
      : (await findMeters(db, organization_id, [...new Set(shared.flatMap(([one]) => one?.meter_id ?? []))])).map(
          ({ id, aggregation }) => [id, aggregation.func],
        ),
  );
  const pooled: PaidUse[] = [];
  for (const pool of pools) {
    const byAge = pool.toSorted((a, b) => (a.id < b.id ? -1 : 1));
    // What runs stands for all of it, by the one of them that was there first.
    const first = byAge.find((part) => !part.is_part) ?? byAge[0];
    if (!first) continue;
    const { customer_id: _, is_part: __, counted: ___, total: ____, rollover_units: _____, ...one } = first;
    if (pool.length === 1) pooled.push(one);
    else {
      const func = meters.get(one.meter_id) ?? "sum";
      const distinct = func === "unique" ? await countShown(db, organization_id, pool) : 0;
      pooled.push({ ...one, ...poolUse(func, pool, distinct), ...poolLate(pool) });
    }
  }
  return pooled.toSorted(
    (a, b) => timeOf(a) - timeOf(b) || (a.meter_id < b.meter_id ? -1 : 1) || (a.id < b.id ? -1 : 1),
  );
}

/** What several have used of an earlier time than their periods. */
function poolLate(pool: readonly Part[]): Pick<Part, "late_units" | "late_from" | "late_until"> {
  const times = (of: (Date | null)[]) => of.filter((at) => at !== null).sort((a, b) => a.getTime() - b.getTime());
  return {
    late_units: pool.map(({ late_units }) => late_units).reduce(addDecimals, "0"),
    late_from: times(pool.map(({ late_from }) => late_from))[0] ?? null,
    late_until: times(pool.map(({ late_until }) => late_until)).at(-1) ?? null,
  };
}

/**
 * What was used in periods that were over by a time, or in all of them, is billed, or never will be. `meter_id`: of that meter alone.
 */
export async function takeWindows(
  tx: Tx,
  organization_id: string,
  payer_id: string,
  { until = null, meter_id = null }: { until?: Date | null; meter_id?: string | null } = {},
): Promise<void> {
  const taken = tx.$with("taken", {}).as(sql`
    update ${customerMeterWindows} set is_open = false
    where ${and(
      openOf(organization_id, payer_id),
      until === null ? undefined : lte(ended_at, until),
      meter_id === null ? undefined : eq(customerMeterWindows.meter_id, meter_id),
    )} returning id, meter_id`);
  const values = customerMeterValues;
  await tx
    .with(taken)
    .delete(values)
    .where(
      and(
        eq(values.organization_id, organization_id),
        sql`(${values.meter_id}, ${values.customer_id}) in (select meter_id, id from taken)`,
      ),
    );
}

const openOf = (organization_id: string, payer_id: string) =>
  and(
    eq(customerMeterWindows.organization_id, organization_id),
    eq(customerMeterWindows.payer_id, payer_id),
    eq(is_open, true),
  );

/** What names what runs on the account of a subscription, of these meters. */
export const findPaidKeys = (db: Database, organization_id: string, payer_id: string): Promise<UseKey[]> =>
  db
    .select({
      organization_id: customerMeters.organization_id,
      customer_id: customerMeters.customer_id,
      meter_id: customerMeters.meter_id,
    })
    .from(customerMeters)
    .where(and(eq(customerMeters.organization_id, organization_id), eq(customerMeters.payer_id, payer_id)));

/** How a subscription pays from now on. */
export type Terms = { payer_id: string; ends_at: Date; rhythm: Rhythm };

/** Columns of a row that somebody pays for, or nobody. */
export function payUse(tx: Tx, use: Use, terms: Terms | null, more: Partial<UseRow>, now: Date): Promise<Use> {
  if (terms === null) return saveUse(tx, use, { payer_id: null, ends_at: null, rhythm: null, ...more }, now);
  const { started_at } = use.row;
  let { ends_at } = terms;
  // Whoever looks late finds periods that were closed by whoever counted: what runs ends after it began.
  while (started_at !== null && ends_at <= started_at) ends_at = computeNextEnd(ends_at, terms.rhythm);
  // Who pays is told of in the same transaction, with all that was used.
  return saveUse(tx, use, { ...terms, ends_at, notice_at: null, ...more }, now);
}

/** What was used until now is billed already, as its price ends: what follows counts from nothing, and what is left of credit goes on. */
export async function closeStretch(tx: Tx, ctx: Deps | Ctx, use: Use): Promise<Use> {
  const now = ctx.clock.now();
  return resetUse(tx, ctx, await payUse(tx, use, null, {}, now), now, now, { keepsCredit: true });
}

/** Count from nothing again, on nobody's account. */
export async function restartUse(tx: Tx, ctx: Deps | Ctx, use: Use): Promise<Use> {
  const now = ctx.clock.now();
  return resetUse(tx, ctx, await payUse(tx, use, null, {}, now), now, now);
}

/**
 * Somebody else pays from now on, or nobody: what was used until now is billed by who paid, with what others use in the same period
 * (SEAT-17), and all that is left of credit goes on.
 */
export async function handOverUse(tx: Tx, ctx: Deps | Ctx, use: Use): Promise<Use> {
  const now = ctx.clock.now();
  return payUse(tx, await resetUse(tx, ctx, use, now, now, { isPart: true }), null, { billed_from: null }, now);
}
