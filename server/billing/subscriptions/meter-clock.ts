import { addInterval } from "../../../shared/calendar.ts";
import type { PricedProduct } from "../../catalog/products/rules.ts";
import type { ResetSchedule } from "../../usage/meters/tables.ts";
import { isBillable, type SubscriptionRow } from "./rules.ts";

/** The columns that say when what is used is billed. */
type Clocked = Pick<
  SubscriptionRow,
  | "status"
  | "anchor_day"
  | "current_period_start"
  | "current_period_end"
  | "current_meter_period_start"
  | "current_meter_period_end"
>;
type Product = Pick<PricedProduct, "meter_interval" | "meter_interval_count">;
export type MeterPeriod = Pick<SubscriptionRow, "current_meter_period_start" | "current_meter_period_end">;
const none: MeterPeriod = { current_meter_period_start: null, current_meter_period_end: null };

const getEarlier = (one: Date, other: Date): Date => new Date(Math.min(one.getTime(), other.getTime()));

/** The end of a meter's period that begins at a time: one interval later, but never after the period that is paid for. */
function endOf(start: Date, row: Pick<Clocked, "anchor_day" | "current_period_end">, product: Product): Date {
  if (product.meter_interval === null) return row.current_period_end;
  const end = addInterval(start, product.meter_interval, product.meter_interval_count ?? 1, row.anchor_day);
  return getEarlier(end, row.current_period_end);
}

/**
 * The stretch of time with whose end use is billed, where the product has an interval of its own for that (SUB-26): it begins with
 * each period, and none goes beyond one. `before`: how it was until now.
 */
export function getMeterPeriod(row: Clocked, before: Clocked | null, product: Product, now: Date): MeterPeriod {
  // A trial's use is not billed.
  if (product.meter_interval === null || !isBillable(row.status) || row.status === "trialing") return none;
  const { current_period_start: start, current_period_end, current_meter_period_end } = row;
  const isNew =
    before === null || before.status === "trialing" || before.current_period_start.getTime() !== start.getTime();
  if (isNew) return { current_meter_period_start: start, current_meter_period_end: endOf(start, row, product) };
  if (current_meter_period_end !== null) {
    const end = getEarlier(current_meter_period_end, current_period_end);
    return { current_meter_period_start: row.current_meter_period_start, current_meter_period_end: end };
  }
  // What was begun by another clock goes on until this one strikes.
  let end = endOf(start, row, product);
  while (end <= now && end < current_period_end) end = endOf(end, row, product);
  return { current_meter_period_start: start, current_meter_period_end: end };
}

/** The next stretch of time within the same period. */
export const computeNextMeterPeriod = (row: Clocked, product: Product, start: Date): MeterPeriod => ({
  current_meter_period_start: start,
  current_meter_period_end: endOf(start, row, product),
});

/** When what a subscription bills of use is counted from nothing again, and so on from there. */
export function getMeterTerms(row: SubscriptionRow, product: Product): { ends_at: Date; rhythm: ResetSchedule } {
  const { recurring_interval: interval, recurring_interval_count: count, anchor_day, current_period_end } = row;
  if (row.current_meter_period_end === null || product.meter_interval === null)
    return { ends_at: current_period_end, rhythm: { interval, count, anchor_day } };
  const within = { end: current_period_end.toISOString(), interval, count };
  return {
    ends_at: row.current_meter_period_end,
    rhythm: { interval: product.meter_interval, count: product.meter_interval_count ?? 1, anchor_day, within },
  };
}
