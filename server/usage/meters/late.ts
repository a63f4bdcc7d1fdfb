/** Usage that comes after the period in which it happened: it belongs to that period, whose terms say what it costs. */
import { and, eq, gt, inArray, isNotNull } from "drizzle-orm";
import { roundUnitsUp } from "../../../shared/usage.ts";
import type { Ctx, Deps, Tx } from "../../platform/context.ts";
import { matchKey } from "../../platform/db/rows.ts";
import { lockUse, saveBalance } from "./balances.ts";
import type { MeterBalanceKey } from "./balances-store.ts";
import * as store from "./balances-store.ts";
import { consumeCreditGrants } from "./credit-grants.ts";
import { customerMeterWindows } from "./tables.ts";

const windows = customerMeterWindows;
const columns = {
  id: windows.id,
  customer_id: windows.customer_id,
  meter_id: windows.meter_id,
  payer_id: windows.payer_id,
  started_at: windows.started_at,
  ended_at: windows.ended_at,
  billed_from: windows.billed_from,
  by_time: windows.by_time,
};
export type ClosedPeriod = Pick<
  typeof windows.$inferSelect,
  "id" | "customer_id" | "meter_id" | "payer_id" | "started_at" | "ended_at" | "billed_from" | "by_time"
>;

/** Whether somebody pays for what happened at a time as a part of a period. */
export const isOf = ({ started_at, ended_at, billed_from }: ClosedPeriod, timestamp: Date): boolean =>
  (started_at === null || started_at <= timestamp) &&
  timestamp < ended_at &&
  (billed_from === null || timestamp >= billed_from);

type Late = { customer_id: string; meter: { id: string }; late: readonly { use: { timestamp: Date } }[] };

/** The periods that are over and paid for, of these customers and meters, since the first time of what has come. */
export async function findClosedPeriods(
  tx: Tx,
  organization_id: string,
  some: readonly Late[],
): Promise<ClosedPeriod[]> {
  const first = Math.min(...some.flatMap(({ late }) => late.map(({ use }) => use.timestamp.getTime())));
  return tx
    .select(columns)
    .from(windows)
    .where(
      and(
        eq(windows.organization_id, organization_id),
        inArray(windows.customer_id, [...new Set(some.map(({ customer_id }) => customer_id))]),
        inArray(windows.meter_id, [...new Set(some.map(({ meter }) => meter.id))]),
        gt(windows.ended_at, new Date(first)),
        isNotNull(windows.payer_id),
        // Of who has left within a period nothing is billed that comes after that (SEAT-17).
        eq(windows.is_part, false),
      ),
    )
    .orderBy(windows.ended_at);
}

/**
 * Credit that a customer had in a period, and that went on after it, covers late usage of that period, as far as it is left. The
 * caller holds the row of the meter.
 */
export async function applyCreditToLateUsage(
  tx: Tx,
  ctx: Deps | Ctx,
  key: MeterBalanceKey,
  window_id: string,
): Promise<void> {
  const now = ctx.clock.now();
  const where = matchKey(windows, { organization_id: key.organization_id, id: window_id });
  const [period] = await tx.select().from(windows).where(where);
  if (!period) return;
  let missing = Number(roundUnitsUp(period.consumed_units)) - period.credited_units;
  if (missing <= 0) return;
  const use = await lockUse(tx, ctx, key);
  const lots = new Map(use.lots.map((lot) => [lot.id, lot]));
  let spent = 0;
  for (const { lot, left } of consumeCreditGrants(use.lots, use.row.consumed_units, use.row.ends_at)) {
    const isOlder = (lot.given_at ?? lot.created_at) < period.ended_at;
    const units = isOlder ? Math.min(left, missing) : 0;
    if (units <= 0) continue;
    missing -= units;
    spent += units;
    const taken = lot.taken + units;
    await store.updateLot(tx, lot, { taken, modified_at: now });
    lots.set(lot.id, { ...lot, taken });
  }
  if (spent === 0) return;
  await tx
    .update(windows)
    .set({ credited_units: period.credited_units + spent })
    .where(where);
  await saveBalance(tx, { ...use, lots: [...lots.values()] }, {}, now);
}
