import { addUp, allocate, computeFraction, computePercent, computeRate, truncateFraction } from "./money.ts";
import type { GivenTax, TaxRate, TaxTreatment } from "./tax.ts";

/**
 * What is to be paid, and why. One function computes it for checkouts and orders alike; its answer carries all that it was
 * computed from, so that every figure can be explained, and computed again, from the answer alone.
 */

export type SeatTier = { min_seats: number; max_seats: number | null; price_per_seat: number };
export type SeatTiers = { seat_tier_type: "volume" | "graduated"; tiers: readonly SeatTier[] };

/** Where the amount of a line comes from, in minor units. */
export type AmountSource =
  | { rule: "fixed"; amount: number }
  /** The buyer's to choose; what the price proposes, or its least, where they have not. */
  | { rule: "chosen"; by: "buyer" | "preset" | "minimum"; amount: number }
  | { rule: "free" }
  /** So many seats, all at the price of one tier. */
  | { rule: "seats"; seats: number; tier: SeatTier; tier_type: SeatTiers["seat_tier_type"] }
  /**
   * What was used in a period, beyond what credit covers (`credited_units`) and what is never billed (`free_units`), at so much
   * for each unit, and at most the cap. A line of late use is what it adds to what was on time (`before_units`).
   */
  | {
      rule: "metered";
      amount: number;
      meter: { id: string; name: string };
      unit_amount: string;
      cap_amount: number | null;
      consumed_units: string;
      credited_units: number;
      free_units: string;
      before_units: string | null;
    }
  /** A period for which nothing is asked. */
  | { rule: "trial" }
  /**
   * What a change in the middle of a period comes to: the price of the period before and after it, each with its share of the
   * discount, for the part of the whole period (in milliseconds) that is left. Nothing before: what is new; nothing after:
   * what is given back for what is left of the old (SUB-36, SUB-47).
   */
  | {
      rule: "prorated";
      before: Discounted;
      after: Discounted;
      part: number;
      whole: number;
      cut: "rounded" | "truncated";
      /** What is given back of one sold line, where that is not all that the prices and the time come to. */
      limited_amount?: number;
    };

/** A price and what a discount takes off it. */
export type Discounted = { amount: number; discount_amount: number };

/**
 * The line of an order that a line gives back, and the taxes of that sale that go back with it, both below zero. `is_apart`: they
 * are others than those of the order that it is billed with, so that they are not computed with its other lines. Without an
 * order: a line that is billed with the same order.
 */
export type Reversal = {
  order_id: string | null;
  /** The invoice number of that order. */
  order_number?: string | null;
  item_id: string;
  behavior: TaxTreatment["behavior"];
  tax_lines: TaxLine[];
  is_apart: boolean;
};

export type LineTerms = {
  label: string;
  product_price_id: string | null;
  proration: boolean;
  source: AmountSource;
  /** Where the line was kept to be billed with the next order: the name by which others of that order give it back. */
  entry_id?: string;
  reverses?: Reversal;
  /** The days that a line of use is of, where that is not a whole period. */
  days?: string;
  /** The time that it is for, where it is for one. */
  period?: { start: string; end: string } | undefined;
};

export type DiscountTerms = { id: string; name: string; code: string | null } & (
  | { type: "percentage"; basis_points: number }
  | { type: "fixed"; amount: number }
);

/** What is bought and on which terms: all that a quote follows from. */
export type PurchaseTerms = {
  currency: string;
  seats: number | null;
  lines: readonly LineTerms[];
  discount: DiscountTerms | null;
  tax: TaxTreatment;
};

/** A line with its amount before discount and tax, and its share of the discount. */
export type QuoteLine = LineTerms & { amount: number; discount_amount: number };
/** What one tax comes to. */
export type TaxLine = TaxRate & { taxable_amount: number; amount: number };

/** Terms with every amount that follows from them. The lines add up to the subtotal, the taxes to the tax. */
export type Quote = Omit<PurchaseTerms, "lines"> & {
  lines: QuoteLine[];
  subtotal_amount: number;
  discount_amount: number;
  /** Without tax, whether the prices are with it or not. */
  net_amount: number;
  /** Null while nobody knows where the buyer is. */
  tax_amount: number | null;
  tax_lines: TaxLine[];
  total_amount: number;
};

/** Nothing is collected: the seller is registered nowhere. */
export const untaxed: TaxTreatment = { behavior: "exclusive", reason: "not_collected", rates: [], source: null };

/** What a line costs before discount and tax. */
export function computeAmount(source: AmountSource): number {
  switch (source.rule) {
    case "fixed":
    case "chosen":
    case "metered":
      return source.amount;
    case "seats":
      return source.seats * source.tier.price_per_seat;
    case "prorated": {
      const { before, after, part, whole, cut, limited_amount } = source;
      if (limited_amount !== undefined) return limited_amount;
      const computeNet = (one: Discounted) => one.amount - one.discount_amount;
      return (cut === "rounded" ? computeFraction : truncateFraction)(
        computeNet(after) - computeNet(before),
        part,
        whole,
      );
    }
    case "free":
    case "trial":
      return 0;
  }
}

/** How so many seats are paid: all at the price of the tier that they fall in, or each range at its own (SEAT-01). */
export function splitSeats(seats: number, { seat_tier_type, tiers }: SeatTiers): AmountSource[] {
  const tier_type = seat_tier_type;
  if (tier_type === "volume") {
    const tier = tiers.find((one) => seats >= one.min_seats && seats <= (one.max_seats ?? Number.POSITIVE_INFINITY));
    if (!tier) throw new RangeError(`No tier is for ${seats} seats.`);
    return [{ rule: "seats", seats, tier: pickTier(tier), tier_type }];
  }
  // What is below the first range is the least that can be bought, and costs what the first range costs.
  return tiers.flatMap((tier, index) => {
    const first = index === 0 ? 1 : tier.min_seats;
    const within = Math.min(seats, tier.max_seats ?? seats) - first + 1;
    return within > 0 ? [{ rule: "seats" as const, seats: within, tier: pickTier(tier), tier_type }] : [];
  });
}

const pickTier = ({ min_seats, max_seats, price_per_seat }: SeatTier): SeatTier => ({
  min_seats,
  max_seats,
  price_per_seat,
});

/** What a discount takes off each of these amounts: a share of each, or a sum spread over them (DSC-16, DSC-18). */
export function allocateDiscount(amounts: readonly number[], discount: DiscountTerms | null): number[] {
  if (discount === null) return amounts.map(() => 0);
  if (discount.type === "percentage") return amounts.map((amount) => computePercent(amount, discount.basis_points));
  const base = addUp(amounts);
  return base === 0 ? amounts.map(() => 0) : allocate(Math.min(discount.amount, base), amounts);
}

/**
 * The taxes on an amount (CHK-46). Exclusive: each is added, and rounded by itself. Inclusive: they are within the amount;
 * all together are rounded once, the net amount is the rest, and the sum is shared among them by their rates.
 */
export function computeTaxes(amount: number, { behavior, rates }: Pick<TaxTreatment, "behavior" | "rates">): TaxLine[] {
  if (rates.length === 0) return [];
  const parts = rates.map(({ rate }) => computeRate(rate));
  if (behavior === "exclusive")
    return rates.map((rate, index) => {
      const { part = 0, whole = 1 } = parts[index] ?? {};
      return { ...rate, taxable_amount: amount, amount: computeFraction(amount, part, whole) };
    });
  const { whole } = parts[0] ?? { whole: 1 };
  const all = addUp(parts.map(({ part }) => part));
  // The tax is rounded, not the net amount: at an exact half the two differ by one unit.
  const tax = computeFraction(amount, all, whole + all);
  const shares = allocate(
    tax,
    parts.map(({ part }) => part),
  );
  return rates.map((rate, index) => ({ ...rate, taxable_amount: amount - tax, amount: shares[index] ?? 0 }));
}

/** The taxes as a service computed them. */
const applyGivenTaxes = ({ rates }: TaxTreatment, given: GivenTax): TaxLine[] =>
  rates.map((rate, index) => {
    const { taxable_amount = 0, amount = 0 } = given.rates[index] ?? {};
    return { ...rate, taxable_amount, amount };
  });

/** The tax of a line that gives something back. */
export const computeReversedTax = ({ tax_lines }: Pick<Reversal, "tax_lines">): number =>
  addUp(tax_lines.map(({ amount }) => amount));

/** What a line comes to within an order whose prices hold their tax, or do not. */
function convertAmount({ source, reverses }: LineTerms, behavior: TaxTreatment["behavior"]): number {
  const amount = computeAmount(source);
  if (!reverses?.is_apart || reverses.behavior === behavior) return amount;
  const tax = computeReversedTax(reverses);
  return behavior === "inclusive" ? amount + tax : amount - tax;
}

/** Taxes of the same name, place and rate as one. */
const mergeTaxes = (taxes: readonly TaxLine[]): TaxLine[] =>
  [
    ...Map.groupBy(taxes, ({ name, country, state, rate }) => JSON.stringify([name, country, state, rate])).values(),
  ].map((same) => ({
    ...(same[0] as TaxLine),
    taxable_amount: addUp(same.map(({ taxable_amount }) => taxable_amount)),
    amount: addUp(same.map(({ amount }) => amount)),
  }));

/** Taxes as they are, but that no more goes back than `most`. */
function limitTaxes(taxes: TaxLine[], most: number): TaxLine[] {
  const all = addUp(taxes.map(({ amount }) => amount));
  if (all >= 0 - most) return taxes;
  const shares = allocate(
    0 - most,
    taxes.map(({ amount }) => Math.max(0, 0 - amount)),
  );
  return taxes.map((tax, index) => ({ ...tax, amount: shares[index] ?? 0 }));
}

/** Every amount of a purchase. */
export function computeQuote(terms: PurchaseTerms): Quote {
  const { behavior, given, reason } = terms.tax;
  const amounts = terms.lines.map((line) => convertAmount(line, behavior));
  // A proration was discounted when it came about (ORD-09).
  const open = terms.lines.map((line, index) => (line.proration ? 0 : (amounts[index] ?? 0)));
  const shares = allocateDiscount(open, terms.discount);
  const lines = terms.lines.map((line, index) => ({
    ...line,
    amount: amounts[index] ?? 0,
    discount_amount: shares[index] ?? 0,
  }));
  const subtotal_amount = addUp(amounts);
  const discount_amount = addUp(shares);
  const asked = subtotal_amount - discount_amount;
  const apart = lines.filter((line) => line.reverses?.is_apart);
  const sold = asked - addUp(apart.map(({ amount }) => amount));
  const isOwn = apart.length === 0 || apart.length < lines.length;
  const taxed = given ? applyGivenTaxes(terms.tax, given) : computeTaxes(sold, terms.tax);
  const own = !isOwn ? [] : given ? taxed : limitTaxes(taxed, computeReturnedTax(lines));
  const tax_lines =
    apart.length === 0 ? own : mergeTaxes([...own, ...apart.flatMap(({ reverses }) => reverses?.tax_lines ?? [])]);
  const taxes = addUp(tax_lines.map(({ amount }) => amount));
  const net_amount = behavior === "inclusive" ? asked - taxes : asked;
  return {
    ...terms,
    lines,
    subtotal_amount,
    discount_amount,
    net_amount,
    tax_amount: reason === "unknown" ? null : taxes,
    tax_lines,
    total_amount: net_amount + taxes,
  };
}

/** How much tax lines of the order's own taxes give back at most; without bound where one does not name what it gives back. */
function computeReturnedTax(lines: readonly QuoteLine[]): number {
  const back = lines.filter((line) => line.amount < 0 && !line.reverses?.is_apart);
  if (back.some(({ reverses }) => reverses === undefined)) return Number.MAX_SAFE_INTEGER;
  return addUp(back.map(({ reverses }) => (reverses ? 0 - computeReversedTax(reverses) : 0)));
}
