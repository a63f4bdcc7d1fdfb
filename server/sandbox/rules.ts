import { addInterval, type Interval } from "../../shared/calendar.ts";
import { type Fault, fault } from "../../shared/errors.ts";

const minute_ms = 60_000;
const exact_ms: Record<string, number> = { minute: minute_ms, hour: 60 * minute_ms };
/** How far a clock goes at once. */
const years_max = 20;

/** The end of a length of time that begins at `from`, as `Distance` writes it. */
function addDistance(from: Date, text: string): Date {
  const [, count = "", unit = ""] = /^(\d+) ?([a-z]+?)s?$/.exec(text) ?? [];
  const length_ms = exact_ms[unit];
  if (length_ms !== undefined) return new Date(from.getTime() + Number(count) * length_ms);
  return addInterval(from, unit as Interval, Number(count));
}

/**
 * Where a clock is to go: to a time, so far, or on to where it was already on the way to. Only forwards; what was saved
 * leads back.
 */
export function planTarget(
  now: Date,
  underWay: Date | null,
  { to, by }: { to?: Date | undefined; by?: string | undefined },
): { target: Date } | { fault: Fault } {
  if (to === undefined && underWay !== null) return { target: underWay };
  if (to === undefined && by === undefined)
    return { fault: fault(["to"], "Give to, a time, or by, a length of time.", "missing") };
  const place = to === undefined ? "by" : "to";
  const target = to ?? addDistance(now, by ?? "");
  if (target < now)
    return { fault: fault([place], "Time goes forwards here. To go back, restore what was saved.", "value_error", to) };
  // Also of a length that leads beyond all dates.
  if (!(target <= addInterval(now, "year", years_max)))
    return { fault: fault([place], `That is more than ${years_max} years ahead.`, "value_error", to ?? by) };
  return { target };
}
