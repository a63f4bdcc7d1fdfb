/**
 * Arithmetic with money. Amounts are whole numbers of a currency's minor unit; rates are basis points. This is the only
 * file that rounds, so every figure a customer sees is rounded by one of the rules named here.
 */

import { maximums, minimums, zeroDecimal } from "./currencies.ts";

/** The least a customer can be charged in a currency, above nothing at all. */
export const getMinimumAmount = (currency: string): number => minimums[currency.toLowerCase()] ?? 50;
/** The most a customer can be charged in a currency at once. */
export const getMaximumAmount = (currency: string): number => maximums[currency.toLowerCase()] ?? 99_999_999;
/** How many digits of an amount stand behind the decimal point: 0 or 2. */
export const getCurrencyDigits = (currency: string): 0 | 2 => (zeroDecimal.has(currency.toLowerCase()) ? 0 : 2);

const toBigInteger = (value: number, what: string): bigint => {
  if (!Number.isSafeInteger(value)) throw new RangeError(`${what} must be a whole number, not ${value}`);
  return BigInt(value);
};

/** `numerator / denominator` rounded half away from zero (POL-01), in exact arithmetic. */
export function divideHalfAway(numerator: bigint, denominator: bigint): bigint {
  if (denominator === 0n) throw new RangeError("Division by zero");
  const negative = numerator < 0n !== denominator < 0n;
  const top = numerator < 0n ? -numerator : numerator;
  const bottom = denominator < 0n ? -denominator : denominator;
  const rounded = (2n * top + bottom) / (2n * bottom);
  return negative ? -rounded : rounded;
}

/**
 * `amount` times the fraction `part / total`, rounded half to even: the tax share of a refund alone, so that it is the same to
 * the cent as at hosted Polar (RFD-05). No amount is negative.
 */
export function roundFractionHalfEven(amount: number, part: number, total: number): number {
  const [top, bottom] = [
    toBigInteger(amount, "An amount") * toBigInteger(part, "A part"),
    toBigInteger(total, "A total"),
  ];
  if (top < 0n || bottom <= 0n) throw new RangeError("A share is of an amount above zero");
  const [down, rest] = [top / bottom, (top % bottom) * 2n];
  return Number(rest > bottom || (rest === bottom && down % 2n === 1n) ? down + 1n : down);
}

/** `amount` times the fraction `part / total`, rounded half away from zero. */
export const computeFraction = (amount: number, part: number, total: number): number =>
  Number(
    divideHalfAway(toBigInteger(amount, "An amount") * toBigInteger(part, "A part"), toBigInteger(total, "A total")),
  );

/** `amount` times the fraction `part / total`, cut to a whole unit towards nothing (SUB-47). */
export const truncateFraction = (amount: number, part: number, total: number): number =>
  Number((toBigInteger(amount, "An amount") * toBigInteger(part, "A part")) / toBigInteger(total, "A total"));

const timesAYear = { day: 365, week: 52, month: 12, year: 1 } as const;
/** What an amount for each `count` intervals comes to a month, rounded half away from zero (MET). */
export const computeMonthlyAmount = (amount: number, interval: keyof typeof timesAYear, count: number): number =>
  computeFraction(amount, timesAYear[interval], 12 * count);

/** The mean of so many amounts with this sum, rounded up to a whole unit; 0 where there are none (MET-06). */
export function roundAverageUp(sum: number, count: number): number {
  if (count <= 0) return 0;
  const [all, parts] = [toBigInteger(sum, "A sum"), toBigInteger(count, "A count")];
  const down = all / parts;
  return Number(all > 0n && all % parts !== 0n ? down + 1n : down);
}

/** A fraction of minor units left off. */
export const truncateToWhole = (amount: number): number => Math.trunc(amount);

/** The sum of these amounts. */
export const addUp = (amounts: readonly number[]): number => amounts.reduce((sum, amount) => sum + amount, 0);

/** How many decimals a rate of tax may have. */
const rateDecimals = 6;
/** A rate in percent, written as a decimal, as a fraction: `computeRate("8.875")` is 8875000 in 100000000 parts. */
export function computeRate(percent: string): { part: number; whole: number } {
  const [units = "", decimals = ""] = formatDecimal(percent).split(".");
  if (decimals.length > rateDecimals) throw new RangeError(`A rate has at most ${rateDecimals} decimals: ${percent}`);
  return { part: Number(units + decimals.padEnd(rateDecimals, "0")), whole: 100 * 10 ** rateDecimals };
}

/** The share of `amount` that `basis_points` (1/100 of a percent) make, rounded half away from zero. */
export const computePercent = (amount: number, basis_points: number): number =>
  computeFraction(amount, basis_points, 10_000);

/**
 * Splits `amount` in proportion to `weights` so that the parts add up to it exactly: each share is cut down to a whole
 * unit, and what is left goes one unit each to the largest remainders, the later one first among equals (DSC-18:
 * 100 over [100, 200] gives [33, 67]). Weights that are all zero share equally.
 */
export function allocate(amount: number, weights: readonly number[]): number[] {
  if (weights.length === 0) {
    if (amount === 0) return [];
    throw new RangeError("Nothing to allocate an amount to");
  }
  const given = weights.map((weight) => toBigInteger(weight, "A weight"));
  if (given.some((weight) => weight < 0n)) throw new RangeError("A weight must not be negative");
  const even = given.every((weight) => weight === 0n);
  const parts = even ? given.map(() => 1n) : given;
  const total = parts.reduce((sum, weight) => sum + weight, 0n);
  const target = toBigInteger(amount, "An amount");
  const size = target < 0n ? -target : target;
  const shares = parts.map((weight, index) => ({
    index,
    units: (size * weight) / total,
    rest: (size * weight) % total,
  }));
  let left = size - shares.reduce((sum, share) => sum + share.units, 0n);
  for (const share of [...shares].sort((a, b) => (a.rest === b.rest ? b.index - a.index : a.rest > b.rest ? -1 : 1))) {
    if (left === 0n) break;
    share.units += 1n;
    left -= 1n;
  }
  return shares.map(({ units }) => (target < 0n && units !== 0n ? -Number(units) : Number(units)));
}

const formats = new Map<string, Intl.NumberFormat>();
/** How amounts of a currency are written, kept: to make a format takes a hundred times as long as to use it. */
function formatOf(currency: string, locale: string, maximumFractionDigits: number): Intl.NumberFormat {
  const key = `${locale} ${currency} ${maximumFractionDigits}`;
  const known = formats.get(key);
  if (known) return known;
  const minimumFractionDigits = getCurrencyDigits(currency);
  const digits = { minimumFractionDigits, maximumFractionDigits };
  const made = new Intl.NumberFormat(locale, { style: "currency", currency: currency.toUpperCase(), ...digits });
  formats.set(key, made);
  return made;
}

/** An amount as people read it: `formatMoney(1900, "usd")` is `$19.00`. */
export function formatMoney(amount: number, currency: string, locale = "en-US"): string {
  const format = formatOf(currency, locale, getCurrencyDigits(currency));
  return format.format(writeMoney(amount, currency) as Intl.StringNumericLiteral);
}

/** The price of one unit, which may be a fraction of the minor unit: `formatUnitMoney("0.2", "usd")` is `$0.002`. */
export function formatUnitMoney(unit_amount: number | string, currency: string, locale = "en-US"): string {
  const digits = getCurrencyDigits(currency);
  return formatOf(currency, locale, 20).format(
    formatDecimal(`${formatDecimal(unit_amount)}e-${digits}`) as Intl.StringNumericLiteral,
  );
}

/** An amount as a plain decimal, the form that `parseMoney` reads: `writeMoney(1900, "usd")` is `19.00`. */
export function writeMoney(amount: number, currency: string): string {
  const digits = getCurrencyDigits(currency);
  const text = String(toBigInteger(amount < 0 ? -amount : amount, "An amount")).padStart(digits + 1, "0");
  const sign = amount < 0 ? "-" : "";
  return digits === 0 ? sign + text : `${sign}${text.slice(0, -digits)}.${text.slice(-digits)}`;
}

/**
 * Reads a decimal amount as typed ("19", "19.5", "19.00") into minor units; undefined if it is not one, or has more
 * decimals than the currency. The digits are never made a float on the way.
 */
export function parseMoney(text: string, currency: string): number | undefined {
  const match = /^(\d+)(?:\.(\d+))?$/.exec(text.trim());
  if (!match) return undefined;
  const [, units = "", decimals = ""] = match;
  const digits = getCurrencyDigits(currency);
  if (decimals.length > digits) return undefined;
  const amount = Number(units + decimals.padEnd(digits, "0"));
  return Number.isSafeInteger(amount) ? amount : undefined;
}

/** A number written out in full decimal digits, without the exponent that very small ones are printed with. */
export function formatDecimal(value: number | string): string {
  const [digits = "", exponent] = String(value).toLowerCase().split("e");
  const sign = digits.startsWith("-") ? "-" : "";
  const [units = "", decimals = ""] = digits.replace(/^[+-]/, "").split(".");
  const shift = exponent === undefined ? 0 : Number(exponent);
  const all = units + decimals;
  const point = units.length + shift;
  const padded = point <= 0 ? "0".repeat(1 - point) + all : all.padEnd(point, "0");
  const at = point <= 0 ? 1 : point;
  const left = padded.slice(0, at).replace(/^0+(?=\d)/, "");
  const right = padded.slice(at).replace(/0+$/, "");
  return sign + (right === "" ? left : `${left}.${right}`);
}
