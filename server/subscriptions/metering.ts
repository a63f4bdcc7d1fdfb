import { decimalText, formatMoney, formatUnitMoney } from "../../shared/money.ts";
import { computeAmount, type LineTerms } from "../../shared/pricing.ts";
import { addDecimals, amountOfUse, billableUnits, differenceOf, type Use } from "../../shared/usage.ts";
import type { Ctx, Database, Deps, Tx } from "../lib/context.ts";
import {
  findOpenWindows,
  findPaidUse,
  holdUse,
  payUse,
  restartUse,
  takeWindows,
  type WindowRow,
} from "../meters/paying.ts";
import type { UseRow } from "../meters/uses.ts";
import { lockUse } from "../meters/windows.ts";
import type { PriceRow } from "../products/rules.ts";
import { meterTermsOf } from "./meter-clock.ts";
import { isBillable, type SubscriptionAggregate } from "./rules.ts";

type Counted = Pick<
  UseRow,
  "meter_id" | "consumed_units" | "credited_units" | "late_units" | "late_from" | "late_until" | "free_units"
>;
/** What a subscription's customer has used: in periods that are over and not billed, and in the one that runs. */
export type Usage = { closed: readonly WindowRow[]; running: readonly UseRow[] };

/** What was used and is not billed: of periods that are over, and of the one that runs. */
export const loadUsage = async (db: Database, { row }: SubscriptionAggregate): Promise<Usage> => ({
  closed: await findOpenWindows(db, row.organization_id, row.id),
  running: await findPaidUse(db, row.organization_id, [row.id]),
});

type Metered = PriceRow & { meter_id: string; unit_amount: string; meter: NonNullable<PriceRow["meter"]> };
const isMetered = (price: PriceRow): price is Metered =>
  price.meter_id !== null && price.unit_amount !== null && price.meter != null;
/** The prices that use is paid at. */
export const meteredOf = (prices: readonly PriceRow[]): Metered[] => prices.filter(isMetered);

const isSum = ({ aggregation }: Metered["meter"]): boolean =>
  aggregation.func === "count" || aggregation.func === "sum";
const day = (at: Date): string => at.toISOString().slice(0, 10);

/** The lines of what was used at a price: what was on time, and what is of an earlier period (SUB-21). */
function linesOf(price: Metered, used: Counted, currency: string): LineTerms[] {
  const { meter, unit_amount, cap_amount } = price;
  const { credited_units, free_units, late_from, late_until } = used;
  const all = decimalText(used.consumed_units);
  if (Number(all) === 0 && credited_units === 0) return [];
  const hasLate = Number(used.late_units) !== 0 && late_from !== null && late_until !== null;
  const on_time = hasLate ? differenceOf(all, used.late_units) : all;
  const each = `× ${formatUnitMoney(unit_amount, currency)}`;
  const cap = cap_amount === null ? "" : ` — Capped at ${formatMoney(cap_amount, currency)}`;
  const line = (units: string, consumed_units: string, before_units: string | null, more: string): LineTerms => {
    const use: Use = {
      ...{ rule: "metered", meter: { id: meter.id, name: meter.name }, unit_amount, cap_amount },
      ...{ consumed_units, credited_units, free_units: decimalText(free_units), before_units },
    };
    return {
      label: `${meter.name} — (${units} consumed units) ${each}${cap}${more}`,
      product_price_id: price.id,
      proration: false,
      source: { ...use, amount: amountOfUse(use) },
    };
  };
  const first = line(on_time, on_time, null, "");
  if (!hasLate) return [first];
  const of = day(late_from) === day(late_until) ? day(late_from) : `${day(late_from)} to ${day(late_until)}`;
  const late = line(decimalText(used.late_units), all, on_time, ` — late, used ${of}`);
  return [first, { ...late, period: { start: late_from.toISOString(), end: late_until.toISOString() } }];
}

/**
 * The lines of what was used until a time: of periods that are over by then, and where none is closed yet, of the one that runs. With
 * no time, of all there is, as nothing comes after it.
 */
export const meteredLines = (
  prices: readonly PriceRow[],
  { closed, running }: Usage,
  currency: string,
  until: Date | null,
): LineTerms[] =>
  meteredOf(prices).flatMap((price) => {
    const own = <T extends { meter_id: string }>(some: readonly T[]) =>
      some.filter(({ meter_id }) => meter_id === price.meter_id);
    const over = own(closed).filter(({ ended_at }) => until === null || ended_at <= until);
    const runs = own(running).filter(({ started_at }) => until === null || started_at === null || started_at < until);
    return [...over, ...(until === null || over.length === 0 ? runs : [])].flatMap((used) =>
      linesOf(price, used, currency),
    );
  });

/** What each meter has come to so far, as a subscription is answered with it (SUB-25). */
export const metersOf = ({ row, prices, uses = [] }: SubscriptionAggregate) =>
  meteredOf(prices).flatMap((price) => {
    const use = uses.find(({ meter_id }) => meter_id === price.meter_id);
    if (!use) return [];
    const lines = row.status === "trialing" ? [] : linesOf(price, use, row.currency);
    return [{ use, meter: price.meter, amount: lines.reduce((sum, { source }) => sum + computeAmount(source), 0) }];
  });

/** Keep what a subscription bills as it is until the transaction ends; the period that is over is closed. */
export async function holdMeters(tx: Tx, ctx: Deps | Ctx, { row, prices }: SubscriptionAggregate): Promise<void> {
  const meters = meteredOf(prices).map(({ meter_id }) => meter_id);
  if (meters.length > 0) await holdUse(tx, ctx, row, meters);
}

/** What is beyond credit of what was used: it was used at another price, or at none, and is never billed (SUB-22). */
function overdrawn({ consumed_units, credited_units, free_units }: Counted): string {
  const more = billableUnits({ credited_units, free_units }, consumed_units);
  return more.startsWith("-") ? free_units : addDecimals(free_units, more);
}

/** Whom the meters of a subscription are on the account of follows what it is paid at, and when its periods end. */
export async function followMeters(
  tx: Tx,
  ctx: Deps | Ctx,
  before: Pick<SubscriptionAggregate, "row" | "prices"> | null,
  { row, prices, product }: Pick<SubscriptionAggregate, "row" | "prices" | "product">,
): Promise<UseRow[]> {
  const [had, wanted] = [meteredOf(before?.prices ?? []), meteredOf(prices)];
  const now = ctx.clock.now();
  const { organization_id, customer_id, id: payer_id } = row;
  const terms = { payer_id, ...meterTermsOf(row, product) };
  const pays = isBillable(row.status);
  // A trial's use is free, whenever it is told (MTR-29).
  const trial_over = row.status === "trialing" ? row.current_period_end : null;
  const wasPaying = before !== null && isBillable(before.row.status);
  const uses: UseRow[] = [];
  for (const meter_id of [...new Set([...had, ...wanted].map((price) => price.meter_id))].sort()) {
    const price = wanted.find((one) => one.meter_id === meter_id);
    const old = had.find((one) => one.meter_id === meter_id);
    let use = await lockUse(tx, ctx, { organization_id, customer_id, meter_id });
    const isMine = use.row.payer_id === payer_id;
    // Whoever pays already goes on paying.
    if (use.row.payer_id !== null && !isMine) continue;
    if (!pays || !price) {
      if (!isMine) continue;
      use = pays ? await payUse(tx, use, null, {}, now) : await restartUse(tx, ctx, use);
      continue;
    }
    const start = row.current_meter_period_start ?? row.current_period_start;
    const isPeriodOpen = use.row.started_at !== null && use.row.started_at >= start;
    if (!wasPaying || !isMine) {
      const isAnew = !wasPaying || !isSum(price.meter);
      if (isAnew) use = await restartUse(tx, ctx, use);
      const free = isAnew ? {} : { free_units: overdrawn(use.row) };
      use = await payUse(tx, use, terms, { billed_from: trial_over ?? now, ...free }, now);
    } else {
      const isTrialOver = before?.row.status === "trialing" && row.status !== "trialing";
      const last = before?.row.current_meter_period_start ?? before?.row.current_period_start;
      const isNewPeriod = last !== undefined && start > last;
      if (isNewPeriod && !isPeriodOpen) use = await restartUse(tx, ctx, use);
      const isRepriced = old !== undefined && old.id !== price.id && isSum(price.meter) && !isNewPeriod;
      const free = isRepriced ? { free_units: overdrawn(use.row) } : {};
      const billed_from = trial_over ?? (isTrialOver ? start : null);
      use = await payUse(tx, use, terms, { ...free, ...(billed_from ? { billed_from } : {}) }, now);
    }
    uses.push(use.row);
  }
  if (!pays && had.length > 0) await takeWindows(tx, organization_id, payer_id, null);
  return uses;
}
