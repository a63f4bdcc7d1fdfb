/** Arithmetic with what is used: exact decimals, apart from that of money because pages that sell do without it. */
import { addUp, divideHalfAway, formatDecimal } from "./money.ts";
import type { AmountSource } from "./pricing.ts";

/** Decimals as whole numbers of one scale, so that they can be computed with exactly. */
function scaleDecimals(...texts: string[]): { scale: number; values: bigint[] } {
  const parts = texts.map((text) => formatDecimal(text).split("."));
  const scale = Math.max(...parts.map(([, decimals = ""]) => decimals.length));
  return { scale, values: parts.map(([units = "", decimals = ""]) => BigInt(units + decimals.padEnd(scale, "0"))) };
}

/** The sum of two decimals, exactly. */
export function addDecimals(one: string, other: string): string {
  const { scale, values } = scaleDecimals(one, other);
  return formatDecimal(`${values.reduce((sum, value) => sum + value, 0n)}e-${scale}`);
}

/** What a decimal is more than another, exactly. */
export function computeDifference(more: string, less: string): string {
  const { scale, values } = scaleDecimals(more, less);
  const [a = 0n, b = 0n] = values;
  return formatDecimal(`${a - b}e-${scale}`);
}

/** The most that a line of use comes to, so that an order with it can be written down. */
const useMost = 999_999_999;

/** A number of the database as JSON can have it: what is too large for that is the largest there is. */
export const countUnits = (units: string): number =>
  Math.max(-Number.MAX_VALUE, Math.min(Number.MAX_VALUE, Number(units)));

/** What a customer has used, what they were credited with, and what that leaves (MTR-22). */
export function computeBalance(use: { consumed_units: string; credited_units: number }) {
  const { credited_units } = use;
  const balance = computeDifference(String(credited_units), use.consumed_units);
  return { consumed_units: countUnits(use.consumed_units), credited_units, balance: countUnits(balance) };
}

/** So many units at a price for one, which may be a part of the minor unit: rounded half away from zero, and none below none. */
export function computeUnitsAmount(unit_amount: string, units: string): number {
  const [price, count] = [scaleDecimals(unit_amount), scaleDecimals(units)];
  const [a = 0n] = price.values;
  const [b = 0n] = count.values;
  if (b <= 0n) return 0;
  const amount = divideHalfAway(a * b, 10n ** BigInt(price.scale + count.scale));
  return amount > BigInt(useMost) ? useMost : Number(amount);
}

/** So many units of use, rounded up to a whole one; of less than none, none. Whole units of credit are spent on it. */
export function roundUnitsUp(units: string): bigint {
  const [wholes = "", decimals = ""] = formatDecimal(units).split(".");
  const down = BigInt(wholes);
  return wholes.startsWith("-") ? 0n : decimals === "" ? down : down + 1n;
}

/** A line of use, without what it comes to. */
export type UsageTotals = Omit<Extract<AmountSource, { rule: "metered" }>, "amount">;

/** What so much use is billed for: what neither credit nor anything else covers. */
export const computeBillableUnits = (
  { credited_units, free_units }: Pick<UsageTotals, "credited_units" | "free_units">,
  units: string,
): string => computeDifference(computeDifference(units, String(credited_units)), free_units);

/** What one of several people has used in a period that is billed as one, and was credited with. */
export type PartialUsage = {
  consumed_units: string;
  /** How many values it is made of, and what they add up to. */
  counted: number;
  total: string;
  credited_units: number;
  /** What of the credit goes on after the period, as far as it is left. */
  rollover_units: number;
  free_units: string;
};

/**
 * What is billed on one account as what was used in one period: `ended_at` null is the one that runs. `is_part`: who used it has
 * left within the period, so it is billed with what others used until its end.
 */
export function groupByPeriod<P extends { ended_at: Date | null; is_part: boolean }>(parts: readonly P[]): P[][] {
  const getTime = ({ ended_at }: P): number => ended_at?.getTime() ?? Number.POSITIVE_INFINITY;
  const ends = parts.filter(({ is_part }) => !is_part).map(getTime);
  const endOf = (part: P): number =>
    part.is_part
      ? ends.reduce((first, end) => (end >= getTime(part) && end < first ? end : first), Number.POSITIVE_INFINITY)
      : getTime(part);
  return [...Map.groupBy(parts, endOf).values()];
}

const decimalsOfAverage = 16;

/** The average of so many values, to so many decimals. */
function getAverage(total: string, counted: number): string {
  if (counted === 0) return "0";
  const { scale, values } = scaleDecimals(total);
  const [sum = 0n] = values;
  return formatDecimal(
    `${divideHalfAway(sum * 10n ** BigInt(decimalsOfAverage), BigInt(counted))}e-${scale + decimalsOfAverage}`,
  );
}

/** What covers the use of others, too: all that ends with the period. What goes on afterwards is spent on one's own use alone. */
function computeSharedCredit({ consumed_units, credited_units, rollover_units }: PartialUsage): number {
  const ends = credited_units - rollover_units;
  const more = roundUnitsUp(consumed_units) - BigInt(ends);
  if (more <= 0n) return ends;
  return ends + (more < BigInt(rollover_units) ? Number(more) : rollover_units);
}

/**
 * What several people have used together, as a meter makes one number of it, with the credit that covers it (SEAT-17). `distinct`:
 * how many distinct values all of them have shown.
 */
export function aggregateUse(func: string, parts: readonly PartialUsage[], distinct: number) {
  const add = (texts: readonly string[]): string => texts.reduce(addDecimals, "0");
  const some = parts.filter(({ counted }) => counted > 0).map(({ consumed_units }) => consumed_units);
  const findExtreme = (sign: "" | "-"): string =>
    some.reduce(
      (one, other) => (computeDifference(one, other).startsWith("-") === (sign === "-") ? one : other),
      some[0] ?? "0",
    );
  const [total, counted] = [add(parts.map((part) => part.total)), addUp(parts.map((part) => part.counted))];
  const units: Record<string, () => string> = {
    max: () => findExtreme(""),
    min: () => findExtreme("-"),
    avg: () => getAverage(total, counted),
    unique: () => String(distinct),
  };
  return {
    consumed_units: units[func]?.() ?? add(parts.map((part) => part.consumed_units)),
    credited_units: addUp(parts.map(computeSharedCredit)),
    free_units: add(parts.map((part) => part.free_units)),
  };
}

type Priced = Omit<UsageTotals, "rule" | "meter">;

/** What so much use costs (PRD-40). */
function computeUsePrice(source: Priced, units: string): number {
  const { unit_amount, cap_amount } = source;
  return Math.min(
    computeUnitsAmount(unit_amount, computeBillableUnits(source, units)),
    cap_amount ?? Number.MAX_SAFE_INTEGER,
  );
}

/** What a line of use comes to: of late use, what it adds to what was billed before; never less than nothing. */
export function computeUsageAmount(use: Priced): number {
  const { consumed_units, before_units } = use;
  const before = before_units === null ? 0 : computeUsePrice(use, before_units);
  return Math.max(0, computeUsePrice(use, consumed_units) - before);
}

/** The units that a line of use asks for: of late use, those beyond what was billed before. */
export function computeBilledUnits(use: Priced): string {
  const { consumed_units, before_units } = use;
  const computeAbove = (units: string): string => {
    const billable = computeBillableUnits(use, units);
    return billable.startsWith("-") ? "0" : billable;
  };
  const units =
    before_units === null
      ? computeAbove(consumed_units)
      : computeDifference(computeAbove(consumed_units), computeAbove(before_units));
  return units.startsWith("-") ? "0" : units;
}

/** Whether the cap makes a line of use cheaper than its units are. */
export const isCapped = (use: Priced): boolean =>
  computeUsageAmount(use) < computeUsageAmount({ ...use, cap_amount: null });

/** How a line of use is written in a language. */
export type UsageMessages = {
  late: (units: string, name: string) => string;
  included: (units: string) => string;
  unbilled: (units: string) => string;
  capped: (cap: string) => string;
};
const english: UsageMessages = {
  late: (units, name) => `${units} late ${name}`,
  included: (units) => `${units} included`,
  unbilled: (units) => `${units} not billed`,
  capped: (cap) => `capped at ${cap}`,
};
/** How money and numbers are written, and what a line of use says besides. */
export type UsageLocale = {
  unit: (amount: string) => string;
  money: (amount: number) => string;
  locale?: string;
  messages?: UsageMessages;
};

/** A line of use in words that compute: what was used, what of it is included, and so many units at a price for one. */
export function describeUse(
  use: Omit<UsageTotals, "rule">,
  { unit, money, locale = "en-US", messages = english }: UsageLocale,
): string {
  const { meter, consumed_units, before_units, credited_units, free_units, cap_amount } = use;
  const units = before_units === null ? consumed_units : computeDifference(consumed_units, before_units);
  const billed = computeBilledUnits(use);
  const covered = computeDifference(units, billed);
  const isIncluded = credited_units > 0 && !covered.startsWith("-") && Number(covered) > 0 && Number(free_units) === 0;
  const format = new Intl.NumberFormat(locale, { maximumFractionDigits: 20 });
  const count = (value: string) => format.format(value as Intl.StringNumericLiteral);
  const parts = [before_units === null ? `${count(units)} ${meter.name}` : messages.late(count(units), meter.name)];
  if (isIncluded) parts.push(messages.included(count(covered)));
  if (Number(free_units) !== 0 && before_units === null) parts.push(messages.unbilled(count(free_units)));
  const isPlain = parts.length === 1 && units === billed;
  const times = isPlain
    ? `${parts[0]} × ${unit(use.unit_amount)}`
    : [...parts, `${count(billed)} × ${unit(use.unit_amount)}`].join(", ");
  return isCapped(use) && cap_amount !== null ? `${times}, ${messages.capped(money(cap_amount))}` : times;
}

/** A line as people read it on a bill or before a change; its label is what programs read, in Polar's words. */
export const describeLine = (
  { label, source, days }: { label: string; source: AmountSource; days?: string | undefined },
  speech: UsageLocale,
): string => (source.rule === "metered" ? [describeUse(source, speech), ...(days ? [days] : [])].join(" — ") : label);
