/**
 * Arithmetic with money. Amounts are whole numbers of a currency's minor unit; rates are basis points. This is the only
 * file that rounds, so every figure a customer sees is rounded by one of the rules named here.
 */

/** Every currency a price may be set in. */
export const currencies = [
  "aed", "all", "amd", "aoa", "ars", "aud", "awg", "azn", "bam", "bbd", "bdt", "bif", "bmd", "bnd", "bob", "brl", "bsd",
  "bwp", "bzd", "cad", "cdf", "chf", "clp", "cny", "cop", "crc", "cve", "czk", "djf", "dkk", "dop", "dzd", "egp", "etb",
  "eur", "fjd", "fkp", "gbp", "gel", "gip", "gmd", "gnf", "gtq", "gyd", "hkd", "hnl", "htg", "huf", "idr", "ils", "inr",
  "isk", "jmd", "jpy", "kes", "kgs", "khr", "kmf", "krw", "kyd", "kzt", "lak", "lkr", "lrd", "lsl", "mad", "mdl", "mga",
  "mkd", "mnt", "mop", "mur", "mvr", "mwk", "mxn", "myr", "mzn", "nad", "ngn", "nio", "nok", "npr", "nzd", "pab", "pen",
  "pgk", "php", "pkr", "pln", "pyg", "qar", "ron", "rsd", "rwf", "sar", "sbd", "scr", "sek", "sgd", "shp", "sos", "srd",
  "szl", "thb", "tjs", "top", "try", "ttd", "twd", "tzs", "uah", "ugx", "usd", "uyu", "uzs", "vnd", "vuv", "wst", "xaf",
  "xcd", "xcg", "xof", "xpf", "yer", "zar", "zmw",
] as const;
export type Currency = (typeof currencies)[number];

/** Currencies without a minor unit (POL-02). ISK and UGX are not here: both are charged in hundredths. */
const zeroDecimal: ReadonlySet<string> = new Set([
  "bif", "clp", "djf", "gnf", "jpy", "kmf", "krw", "mga", "pyg", "rwf", "vnd", "vuv", "xaf", "xof", "xpf",
]);

/** Smallest amounts worth charging (POL-03); a currency that is not listed uses 50. */
const minimums: Readonly<Record<string, number>> = {
  aed: 200, all: 5000, amd: 20_000, aoa: 50_000, ars: 75_000, aud: 70, awg: 100, azn: 100, bam: 100, bbd: 200,
  bdt: 7000, bif: 2000, bmd: 100, bnd: 100, bob: 500, brl: 250, bsd: 100, bwp: 1000, bzd: 200, cad: 70, cdf: 200_000,
  clp: 500, cny: 500, cop: 200_000, crc: 30_000, cve: 5000, czk: 1500, djf: 100, dkk: 320, dop: 4000, dzd: 7000,
  egp: 3000, etb: 8000, fjd: 200, fkp: 100, gbp: 40, gel: 200, gip: 100, gmd: 4000, gnf: 5000, gtq: 500, gyd: 20_000,
  hkd: 400, hnl: 2000, htg: 7000, huf: 17_500, idr: 900_000, ils: 150, inr: 6000, isk: 7000, jmd: 8000, jpy: 80,
  kes: 7000, kgs: 5000, khr: 300_000, kmf: 500, krw: 800, kyd: 100, kzt: 30_000, lak: 2_000_000, lkr: 20_000,
  lrd: 10_000, lsl: 1000, mad: 500, mdl: 1000, mga: 3000, mkd: 5000, mnt: 200_000, mop: 500, mur: 5000, mvr: 800,
  mwk: 100_000, mxn: 900, myr: 200, mzn: 5000, nad: 1000, ngn: 70_000, nio: 2000, nok: 500, npr: 8000, nzd: 90,
  pab: 100, pen: 200, pgk: 300, php: 3500, pkr: 20_000, pln: 200, pyg: 4000, qar: 200, ron: 250, rsd: 6000, rwf: 1000,
  sar: 200, sbd: 400, scr: 800, sek: 500, sgd: 70, shp: 100, sos: 50_000, srd: 2000, szl: 1000, thb: 2000, tjs: 500,
  top: 200, try: 3000, ttd: 400, twd: 2000, tzs: 200_000, uah: 3000, ugx: 200_000, uyu: 2000, uzs: 700_000,
  vnd: 20_000, vuv: 100, wst: 200, xaf: 500, xcd: 200, xcg: 100, xof: 500, xpf: 100, yer: 20_000, zar: 900, zmw: 1000,
};

/** Largest amounts of the weak currencies (POL-04); a currency that is not listed uses 99,999,999. */
const maximums: Readonly<Record<string, number>> = {
  ars: 140_000_000, cdf: 280_000_000, cop: 400_000_000, idr: 1_600_000_000, khr: 400_000_000, lak: 2_100_000_000,
  mnt: 350_000_000, mwk: 175_000_000, ngn: 155_000_000, tzs: 250_000_000, ugx: 370_000_000, uzs: 1_250_000_000,
};

/** The least a customer can be charged in a currency, above nothing at all. */
export const minimumAmount = (currency: string): number => minimums[currency.toLowerCase()] ?? 50;
/** The most a customer can be charged in a currency at once. */
export const maximumAmount = (currency: string): number => maximums[currency.toLowerCase()] ?? 99_999_999;
/** How many digits of an amount stand behind the decimal point: 0 or 2. */
export const currencyDigits = (currency: string): 0 | 2 => (zeroDecimal.has(currency.toLowerCase()) ? 0 : 2);

const whole = (value: number, what: string): bigint => {
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

/** `amount` times the fraction `part / total`, rounded half away from zero. */
export const fractionOf = (amount: number, part: number, total: number): number =>
  Number(divideHalfAway(whole(amount, "An amount") * whole(part, "A part"), whole(total, "A total")));

/** The share of `amount` that `basis_points` (1/100 of a percent) make, rounded half away from zero. */
export const percentOf = (amount: number, basis_points: number): number => fractionOf(amount, basis_points, 10_000);

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
  const given = weights.map((weight) => whole(weight, "A weight"));
  if (given.some((weight) => weight < 0n)) throw new RangeError("A weight must not be negative");
  const even = given.every((weight) => weight === 0n);
  const parts = even ? given.map(() => 1n) : given;
  const total = parts.reduce((sum, weight) => sum + weight, 0n);
  const target = whole(amount, "An amount");
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

/** An amount as people read it: `formatMoney(1900, "usd")` is `$19.00`. */
export function formatMoney(amount: number, currency: string, locale = "en-US"): string {
  const digits = currencyDigits(currency);
  const format = new Intl.NumberFormat(locale, {
    style: "currency",
    currency: currency.toUpperCase(),
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
  return format.format(decimalMoney(amount, currency) as Intl.StringNumericLiteral);
}

/** An amount as a plain decimal, the form that `parseMoney` reads: `decimalMoney(1900, "usd")` is `19.00`. */
export function decimalMoney(amount: number, currency: string): string {
  const digits = currencyDigits(currency);
  const text = String(whole(amount < 0 ? -amount : amount, "An amount")).padStart(digits + 1, "0");
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
  const digits = currencyDigits(currency);
  if (decimals.length > digits) return undefined;
  const amount = Number(units + decimals.padEnd(digits, "0"));
  return Number.isSafeInteger(amount) ? amount : undefined;
}

/** A number written out in full decimal digits, without the exponent that very small ones are printed with. */
export function decimalText(value: number | string): string {
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
