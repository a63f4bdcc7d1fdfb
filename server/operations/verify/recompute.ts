/**
 * Computes the amounts of orders again, from what each says it was computed from, and says where they differ. It shares no
 * code with what computed them, and needs no database. `bench/recompute.ts` is its command.
 */

type Reduced = { amount: number; discount_amount: number };
type Tax = { name: string; country: string; state: string | null; rate: string; amount: number };
type Line = {
  proration: boolean;
  source: {
    rule: string;
    amount?: number;
    seats?: number;
    tier?: { price_per_seat: number };
    before?: Reduced;
    after?: Reduced;
    part?: number;
    whole?: number;
    cut?: string;
    unit_amount?: string;
    cap_amount?: number | null;
    consumed_units?: string;
    credited_units?: number;
    free_units?: string;
    before_units?: string | null;
    limited_amount?: number;
  };
  /** What a line gives back of another order, and its taxes there. */
  reverses?: { order_id: string | null; behavior: string; is_apart: boolean; tax_lines: Tax[] };
  amount: number;
  discount_amount: number;
};
export type Explained = {
  id: string;
  applied_balance_amount: number;
  reduced_amount: number;
  reduced_tax_amount: number;
  due_amount: number;
  derivation: {
    lines: Line[];
    discount: { type: string; basis_points?: number; amount?: number } | null;
    tax: {
      behavior: string;
      reason: string;
      rates: { rate: string }[];
      /** What a tax service computed, of each rate. */
      given?: { rates: { amount: number }[] };
    };
    tax_lines: Tax[];
    subtotal_amount: number;
    discount_amount: number;
    net_amount: number;
    tax_amount: number | null;
    total_amount: number;
  };
};

/** a / b, rounded half away from zero; b is above zero. */
const divide = (a: bigint, b: bigint): number =>
  a < 0n ? -Number((-a * 2n + b) / (b * 2n)) : Number((a * 2n + b) / (b * 2n));
const add = (amounts: number[]): number => amounts.reduce((sum, one) => sum + one, 0);

/** A decimal in parts of 10^-24. */
function parseDecimal(text: string): bigint {
  const [units = "0", decimals = ""] = text.split(".");
  return BigInt(units + decimals.padEnd(24, "0").slice(0, 24));
}

/** What use costs: units beyond credit and what is free, at the price of one, capped. */
function computeUseCost(source: Line["source"], consumed: string): number {
  const units =
    parseDecimal(consumed) - parseDecimal(String(source.credited_units ?? 0)) - parseDecimal(source.free_units ?? "0");
  const cost = units <= 0n ? 0 : divide(units * parseDecimal(source.unit_amount ?? "0"), 10n ** 48n);
  return Math.min(cost, 999_999_999, source.cap_amount ?? cost);
}

function computeLineCost({ source }: Line): number {
  if (source.rule === "metered") {
    const { consumed_units = "0", before_units = null } = source;
    return Math.max(
      0,
      computeUseCost(source, consumed_units) - (before_units === null ? 0 : computeUseCost(source, before_units)),
    );
  }
  if (source.rule === "seats") return (source.seats ?? 0) * (source.tier?.price_per_seat ?? 0);
  if (source.rule === "prorated") {
    if (source.limited_amount !== undefined) return source.limited_amount;
    const computeNet = (one: Reduced = { amount: 0, discount_amount: 0 }) => one.amount - one.discount_amount;
    const top = BigInt(computeNet(source.after) - computeNet(source.before)) * BigInt(source.part ?? 0);
    const whole = BigInt(source.whole ?? 1);
    return source.cut === "truncated" ? Number(top / whole) : divide(top, whole);
  }
  return source.rule === "fixed" || source.rule === "chosen" ? (source.amount ?? 0) : 0;
}

/** A sum shared out by weights: whole parts first, then one each by the largest rest, the later first among equals. */
function allocate(amount: number, weights: number[]): number[] {
  if (amount < 0) return allocate(-amount, weights).map((part) => (part === 0 ? 0 : -part));
  const all = add(weights);
  if (all === 0) return weights.map((_, index) => (index === weights.length - 1 ? amount : 0));
  const parts = weights.map((weight, index) => {
    const product = BigInt(amount) * BigInt(weight);
    return { index, units: product / BigInt(all), rest: product % BigInt(all) };
  });
  let left = amount - add(parts.map((part) => Number(part.units)));
  const byRest = parts.toSorted((a, b) => (a.rest === b.rest ? b.index - a.index : a.rest < b.rest ? 1 : -1));
  for (const part of byRest) {
    if (left <= 0) break;
    part.units += 1n;
    left -= 1;
  }
  return parts.map((part) => Number(part.units));
}

/** A rate such as "8.875" as millionths of a percent. */
const parseRate = (rate: string): number => {
  const [units = "0", decimals = ""] = rate.split(".");
  return Number(units) * 1_000_000 + Number(decimals.padEnd(6, "0"));
};

/** What a line comes to as the order counts it: with the taxes that are its own, or without. */
function countLine(line: Line, behavior: string): number {
  const cost = computeLineCost(line);
  if (!line.reverses?.is_apart || line.reverses.behavior === behavior) return cost;
  const tax = add(line.reverses.tax_lines.map(({ amount }) => amount));
  return behavior === "inclusive" ? cost + tax : cost - tax;
}

/** The taxes of all that is taxed as the order is. */
function computeTaxes({ tax, lines }: Explained["derivation"], asked: number): number[] {
  if (tax.given) return tax.given.rates.map(({ amount }) => amount);
  const rates = tax.rates.map(({ rate }) => parseRate(rate));
  const hundred = 100_000_000n;
  const all = BigInt(add(rates));
  const taxes =
    tax.behavior !== "inclusive"
      ? rates.map((rate) => divide(BigInt(asked) * BigInt(rate), hundred))
      : rates.length === 0
        ? []
        : allocate(divide(BigInt(asked) * all, hundred + all), rates);
  // No more goes back than was charged.
  const back = lines.filter((line) => line.amount < 0 && !line.reverses?.is_apart);
  const most = add(back.flatMap(({ reverses }) => (reverses?.tax_lines ?? []).map(({ amount }) => -amount)));
  if (back.some(({ reverses }) => !reverses) || add(taxes) >= -most) return taxes;
  return allocate(
    -most,
    taxes.map((one) => Math.max(0, -one)),
  );
}

/** Taxes of one name, place and rate as one. */
function merge(taxes: Tax[]): number[] {
  const sums = new Map<string, number>();
  for (const { name, country, state, rate, amount } of taxes) {
    const key = [name, country, state, rate].join();
    sums.set(key, (sums.get(key) ?? 0) + amount);
  }
  return [...sums.values()];
}

/** A figure of an order that is not what its derivation makes of it. */
export type FigureDifference = { figure: string; stored: string; computed: string };

/** Every figure of an order that is not what its derivation makes of it. */
export function compareFigures({ derivation: told, ...order }: Omit<Explained, "id">): FigureDifference[] {
  const costs = told.lines.map((line) => countLine(line, told.tax.behavior));
  const open = told.lines.map((line, index) => (line.proration ? 0 : (costs[index] ?? 0)));
  const { discount } = told;
  const shares =
    discount === null
      ? open.map(() => 0)
      : discount.type === "percentage"
        ? open.map((cost) => divide(BigInt(cost) * BigInt(discount.basis_points ?? 0), 10_000n))
        : add(open) === 0
          ? open.map(() => 0)
          : allocate(Math.min(discount.amount ?? 0, add(open)), open);
  const asked = add(costs) - add(shares);
  const apart = told.lines.filter((line) => line.reverses?.is_apart);
  const own = asked - add(apart.map((line) => countLine(line, told.tax.behavior)));
  const isOwn = apart.length === 0 || apart.length < told.lines.length;
  const computed = isOwn ? computeTaxes(told, own) : [];
  const named = computed.map((amount, index) => ({ ...(told.tax.rates[index] as Tax), amount }));
  const taxes =
    apart.length === 0 ? computed : merge([...named, ...apart.flatMap(({ reverses }) => reverses?.tax_lines ?? [])]);
  const { given } = told.tax;
  const net = told.tax.behavior === "inclusive" ? asked - add(taxes) : asked;
  const total = net + add(taxes);
  const reduced = order.reduced_amount + order.reduced_tax_amount;
  const figures: [string, unknown, unknown][] = [
    ["lines", told.lines.map((line) => line.amount), costs],
    ["shares of the discount", told.lines.map((line) => line.discount_amount), shares],
    ["subtotal", told.subtotal_amount, add(costs)],
    ["discount", told.discount_amount, add(shares)],
    ["taxes", told.tax_lines.map((line) => line.amount), taxes],
    ["rates of the tax service", given?.rates.length, given && told.tax.rates.length],
    ["tax", told.tax_amount, told.tax.reason === "unknown" ? null : add(taxes)],
    ["net", told.net_amount, net],
    ["total", told.total_amount, total],
    ["due", order.due_amount, Math.max(0, total + order.applied_balance_amount - reduced)],
  ];
  return figures
    .map(([figure, had, made]) => ({
      figure,
      stored: JSON.stringify(had) ?? "none",
      computed: JSON.stringify(made) ?? "none",
    }))
    .filter(({ stored, computed }) => stored !== computed);
}

/** The same, as lines. */
export const findDifferences = (order: Explained): string[] =>
  compareFigures(order).map(
    ({ figure, stored, computed }) => `${order.id}: ${figure}: stored ${stored}, computed ${computed}`,
  );
