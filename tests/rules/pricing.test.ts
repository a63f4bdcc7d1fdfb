import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { addInterval } from "../../shared/calendar.ts";
import { explainQuote } from "../../shared/explain.ts";
import {
  type AmountSource,
  allocateDiscount,
  computeAmount,
  computeQuote,
  computeTaxes,
  type DiscountTerms,
  type PurchaseTerms,
  type SeatTier,
  splitSeats,
} from "../../shared/pricing.ts";
import type { TaxRate, TaxTreatment } from "../../shared/tax.ts";

const tiers: SeatTier[] = [
  { min_seats: 1, max_seats: 4, price_per_seat: 1000 },
  { min_seats: 5, max_seats: 9, price_per_seat: 900 },
  { min_seats: 10, max_seats: null, price_per_seat: 800 },
];
const costOf = (seats: number, seat_tier_type: "volume" | "graduated", some = tiers) =>
  splitSeats(seats, { seat_tier_type, tiers: some }).reduce(
    (sum, one) => (one.rule === "seats" ? sum + one.seats * one.tier.price_per_seat : sum),
    0,
  );

describe("seats (SEAT-01)", () => {
  test.each([
    [1, 1000, 1000],
    [4, 4000, 4000],
    [5, 4500, 4900],
    [9, 8100, 8500],
    [10, 8000, 9300],
    [11, 8800, 10_100],
  ])("%d seats are %d by volume and %d graduated", (seats, volume, graduated) => {
    expect(costOf(seats, "volume")).toBe(volume);
    expect(costOf(seats, "graduated")).toBe(graduated);
  });

  test("agree with counting seat by seat, whatever the tiers", () => {
    const ladder = fc
      .array(fc.record({ width: fc.integer({ min: 1, max: 20 }), price_per_seat: fc.nat(5000) }), {
        minLength: 1,
        maxLength: 6,
      })
      .map((steps) => {
        let next = 1;
        return steps.map(({ width, price_per_seat }, index): SeatTier => {
          const min_seats = next;
          next += width;
          return { min_seats, max_seats: index === steps.length - 1 ? null : next - 1, price_per_seat };
        });
      });
    fc.assert(
      fc.property(ladder, fc.integer({ min: 1, max: 150 }), (some, seats) => {
        const priceOfSeat = (seat: number) => some.findLast((tier) => seat >= tier.min_seats)?.price_per_seat ?? 0;
        let graduated = 0;
        for (let seat = 1; seat <= seats; seat += 1) graduated += priceOfSeat(seat);
        expect(costOf(seats, "graduated", some)).toBe(graduated);
        expect(costOf(seats, "volume", some)).toBe(seats * priceOfSeat(seats));
      }),
    );
  });
});

const named = { id: "discount-1", name: "Launch", code: null };
const percent = (basis_points: number): DiscountTerms => ({ ...named, type: "percentage", basis_points });
const off = (amount: number): DiscountTerms => ({ ...named, type: "fixed", amount });

describe("discounts (DSC-16, DSC-18)", () => {
  test.each([
    ["25 % of 1999", [1999], percent(2500), [500]],
    ["10 % of 1250", [1250], percent(1000), [125]],
    ["50 % of 999", [999], percent(5000), [500]],
    ["2500 off 2000", [2000], off(2500), [2000]],
    ["33.33 % of each of two", [100, 100], percent(3333), [33, 33]],
    ["100 over one and two parts", [100, 200], off(100), [33, 67]],
    ["1500 over equal parts", [1000, 1000], off(1500), [750, 750]],
    ["more than all of it", [100, 200], off(1000), [100, 200]],
    ["something off nothing", [0, 0], off(100), [0, 0]],
    ["none", [100, 200], null, [0, 0]],
  ])("%s", (_, amounts, discount, shares) => {
    expect(allocateDiscount(amounts, discount)).toEqual(shares);
  });
});

const rate = (percent: string, name = "VAT"): TaxRate => ({ name, country: "DE", state: null, rate: percent });
const taxed = (behavior: TaxTreatment["behavior"], ...rates: TaxRate[]): TaxTreatment => ({
  behavior,
  reason: "standard",
  rates,
  source: null,
});

describe("taxes (CHK-46)", () => {
  test.each([
    ["19 % on 1000", 1000, taxed("exclusive", rate("19")), [[1000, 190]]],
    ["19 % within 1190", 1190, taxed("inclusive", rate("19")), [[1000, 190]]],
    ["19 % within 999", 999, taxed("inclusive", rate("19")), [[839, 160]]],
    ["20 % within 999, half away from zero", 999, taxed("inclusive", rate("20")), [[832, 167]]],
    ["20 % within -999, half away from zero", -999, taxed("inclusive", rate("20")), [[-832, -167]]],
    ["20 % within 1000", 1000, taxed("inclusive", rate("20")), [[833, 167]]],
    ["8.875 % on 1000, half away from zero", 1000, taxed("exclusive", rate("8.875")), [[1000, 89]]],
    [
      "5 % and 9.975 % on 1000, each by itself",
      1000,
      taxed("exclusive", rate("5", "GST"), rate("9.975", "QST")),
      [
        [1000, 50],
        [1000, 100],
      ],
    ],
    [
      "5 % and 7 % within 1120",
      1120,
      taxed("inclusive", rate("5", "GST"), rate("7", "PST")),
      [
        [1000, 50],
        [1000, 70],
      ],
    ],
    ["none", 1000, taxed("exclusive"), []],
  ])("%s", (_, amount, treatment, lines) => {
    const made = computeTaxes(amount, treatment).map((line) => [line.taxable_amount, line.amount]);
    expect(made).toEqual(lines);
  });

  /** A fraction rounded half away from zero (POL-01), by the decimal digits after the point. */
  function roundFraction(top: bigint, bottom: bigint): bigint {
    const positive = top < 0n ? -top : top;
    const tenths = (positive * 10n) / bottom;
    const rounded = tenths / 10n + (tenths % 10n >= 5n ? 1n : 0n);
    return top < 0n ? -rounded : rounded;
  }
  // Rates in millionths of a percent: every rate of the table of rates is one of them.
  const million = fc.oneof(
    fc.integer({ min: 1, max: 500 }).map((tenths) => tenths * 100_000),
    fc.nat(50_000_000),
  );
  const signed = fc.oneof(fc.integer({ min: -20_000, max: 20_000 }), fc.integer({ min: -99_999_999, max: 99_999_999 }));

  test("POL-01: every amount and rate agrees with exact fractions, to the unit", () => {
    fc.assert(
      fc.property(signed, fc.array(million, { minLength: 1, maxLength: 3 }), (amount, micros) => {
        const rates = micros.map((micro) => rate((micro / 1_000_000).toFixed(6)));
        const whole = 100_000_000n;
        const all = micros.reduce((sum, micro) => sum + BigInt(micro), 0n);
        const within = computeTaxes(amount, taxed("inclusive", ...rates));
        const tax = within.reduce((sum, line) => sum + BigInt(line.amount), 0n);
        expect(tax).toBe(roundFraction(BigInt(amount) * all, whole + all));
        for (const line of within) expect(BigInt(line.taxable_amount)).toBe(BigInt(amount) - tax);
        const added = computeTaxes(amount, taxed("exclusive", ...rates)).map((line) => BigInt(line.amount));
        expect(added).toEqual(micros.map((micro) => roundFraction(BigInt(amount) * BigInt(micro), whole)));
      }),
      { numRuns: 2000 },
    );
  });

  test("POL-01: the tax within each price up to 100.00 is rounded half away from zero, by each usual rate", () => {
    const wrong: unknown[] = [];
    for (const percent of [3, 5, 5.5, 7, 7.7, 8.1, 10, 16, 17, 19, 20, 21, 22, 23, 24, 25, 25.5, 27])
      for (let amount = 0; amount <= 10_000; amount += 1) {
        const [line] = computeTaxes(amount, taxed("inclusive", rate(String(percent))));
        const [top, bottom] = [BigInt(amount) * BigInt(percent * 10), 1000n + BigInt(percent * 10)];
        if (line?.amount !== Number(roundFraction(top, bottom))) wrong.push([percent, amount, line]);
      }
    expect(wrong).toEqual([]);
  });
});

const amount = fc.integer({ min: 0, max: 99_999_999 });
const source: fc.Arbitrary<AmountSource> = fc.oneof(
  amount.map((one) => ({ rule: "fixed" as const, amount: one })),
  amount.map((one) => ({ rule: "chosen" as const, by: "buyer" as const, amount: one })),
  fc.constant({ rule: "free" as const }),
  fc.constant({ rule: "trial" as const }),
  fc.record({
    rule: fc.constant("seats" as const),
    seats: fc.integer({ min: 1, max: 100 }),
    tier: fc.record({ min_seats: fc.constant(1), max_seats: fc.constant(null), price_per_seat: fc.nat(10_000) }),
    tier_type: fc.constantFrom("volume" as const, "graduated" as const),
  }),
);
const treatment = fc.record({
  behavior: fc.constantFrom("exclusive" as const, "inclusive" as const),
  reason: fc.constant("standard" as const),
  rates: fc.array(
    fc.integer({ min: 0, max: 50_000_000 }).map((micro) => rate(`${micro / 1_000_000}`)),
    { maxLength: 3 },
  ),
  source: fc.constant(null),
});
const terms: fc.Arbitrary<PurchaseTerms> = fc.record({
  currency: fc.constantFrom("usd", "eur", "jpy"),
  seats: fc.constant(null),
  lines: fc.array(
    fc.record({
      label: fc.string(),
      product_price_id: fc.constant(null),
      proration: fc.constant(false),
      source,
    }),
    { maxLength: 5 },
  ),
  discount: fc.option(fc.oneof(fc.integer({ min: 1, max: 10_000 }).map(percent), amount.map(off))),
  tax: treatment,
});

test("whatever is bought: whole units, parts that add up, nothing below nothing", () => {
  fc.assert(
    fc.property(terms, (wanted) => {
      const quote = computeQuote(wanted);
      const sum = (some: number[]) => some.reduce((total, one) => total + one, 0);
      expect(sum(quote.lines.map((line) => line.amount))).toBe(quote.subtotal_amount);
      expect(sum(quote.lines.map((line) => line.discount_amount))).toBe(quote.discount_amount);
      expect(sum(quote.tax_lines.map((line) => line.amount))).toBe(quote.tax_amount);
      expect(quote.net_amount + (quote.tax_amount ?? 0)).toBe(quote.total_amount);
      const asked = quote.subtotal_amount - quote.discount_amount;
      expect(wanted.tax.behavior === "inclusive" ? quote.total_amount : quote.net_amount).toBe(asked);
      const figures = [
        quote.subtotal_amount,
        quote.discount_amount,
        quote.net_amount,
        quote.tax_amount,
        quote.total_amount,
      ];
      for (const figure of [...figures, ...quote.lines.flatMap((line) => [line.amount, line.discount_amount])]) {
        expect(Number.isSafeInteger(figure)).toBe(true);
        expect(figure).toBeGreaterThanOrEqual(0);
      }
      for (const line of quote.lines) expect(line.discount_amount).toBeLessThanOrEqual(line.amount);
    }),
    { numRuns: 2000 },
  );
});

test("a proration is not discounted again (ORD-09), and an unknown tax is none yet", () => {
  const line = { label: "Guide", product_price_id: null, source: { rule: "fixed" as const, amount: 1000 } };
  const quote = computeQuote({
    currency: "usd",
    seats: null,
    lines: [
      { ...line, proration: true },
      { ...line, proration: false },
    ],
    discount: percent(5000),
    tax: { behavior: "exclusive", reason: "unknown", rates: [], source: null },
  });
  expect(quote.lines.map((one) => one.discount_amount)).toEqual([0, 500]);
  expect(quote).toMatchObject({ discount_amount: 500, tax_amount: null, total_amount: 1500 });
});

describe("periods (POL-05, POL-06)", () => {
  const day = (text: string) => new Date(`${text}T09:30:00Z`);
  test.each([
    ["2026-01-31", "month", 1, 31, "2026-02-28"],
    ["2026-02-28", "month", 1, 31, "2026-03-31"],
    ["2026-03-31", "month", 1, 31, "2026-04-30"],
    ["2026-12-31", "month", 2, 31, "2027-02-28"],
    ["2024-02-29", "year", 1, 29, "2025-02-28"],
    ["2027-02-28", "year", 1, 29, "2028-02-29"],
    ["2026-03-28", "week", 2, undefined, "2026-04-11"],
    ["2026-02-27", "day", 3, undefined, "2026-03-02"],
    ["2026-01-31", "month", 1, undefined, "2026-02-28"],
  ] as const)("from %s, %s × %d, on the %d: %s", (from, interval, count, anchor, to) => {
    expect(addInterval(day(from), interval, count, anchor)).toEqual(day(to));
  });
});

describe("what a line costs", () => {
  const tier = { min_seats: 1, max_seats: null, price_per_seat: 300 };
  const none = { amount: 0, discount_amount: 0 };
  const prorated = (fields: object) =>
    ({ rule: "prorated", before: none, after: none, part: 1, whole: 3, cut: "rounded", ...fields }) as AmountSource;
  test.each<[string, AmountSource, number]>([
    ["a fixed price", { rule: "fixed", amount: 1900 }, 1900],
    ["a chosen one", { rule: "chosen", by: "preset", amount: 500 }, 500],
    ["free", { rule: "free" }, 0],
    ["a trial", { rule: "trial" }, 0],
    ["seats", { rule: "seats", seats: 4, tier, tier_type: "volume" }, 1200],
    ["the rest of a new plan", prorated({ after: { amount: 1000, discount_amount: 500 } }), 167],
    ["the rest of the old given back", prorated({ before: { amount: 1000, discount_amount: 500 } }), -167],
    ["a half away from nothing", prorated({ after: { amount: 1, discount_amount: 0 }, whole: 2 }), 1],
    ["cut instead of rounded", prorated({ after: { amount: 500, discount_amount: 0 }, cut: "truncated" }), 166],
    [
      "no more than one sale's line",
      prorated({ before: { amount: 1000, discount_amount: 0 }, limited_amount: -5 }),
      -5,
    ],
    ["not even nothing", prorated({ before: { amount: 1000, discount_amount: 0 }, limited_amount: 0 }), 0],
  ])("%s", (_, source, amount) => {
    expect(computeAmount(source)).toBe(amount);
  });
});

describe("how the figures of a sale are explained", () => {
  const settled = {
    ...{ applied_balance_amount: 0, reduced_amount: 0, reduced_tax_amount: 0, due_amount: 0 },
    ...{ refunded_amount: 0, refunded_tax_amount: 0 },
  };
  const vat: TaxRate = { name: "VAT", country: "DE", state: null, rate: "19" };
  const tax = (behavior: TaxTreatment["behavior"]): TaxTreatment => ({
    behavior,
    reason: "standard",
    rates: [vat],
    source: null,
  });
  const quote = (terms: Partial<PurchaseTerms> = {}) =>
    computeQuote({
      currency: "usd",
      seats: null,
      lines: [
        { label: "Guide", product_price_id: null, proration: false, source: { rule: "fixed", amount: 2000 } },
        { label: "Map", product_price_id: null, proration: false, source: { rule: "fixed", amount: 1000 } },
      ],
      discount: { id: "d", name: "Launch", code: "NOW", type: "percentage", basis_points: 1000 },
      tax: tax("exclusive"),
      ...terms,
    });
  const told = (...given: Parameters<typeof explainQuote>) =>
    explainQuote(...given).map(({ depth, label, amount, rule }) => [depth, label, amount, rule]);

  test("from the total down to its parts, which add up", () => {
    expect(told(quote())).toEqual([
      [0, "Total", 3213, "total"],
      [1, "Subtotal", 3000, "sum"],
      [2, "Guide", 2000, "fixed"],
      [2, "Map", 1000, "fixed"],
      [1, "Discount Launch (NOW)", -300, "discount_percentage"],
      [2, "on Guide", -200, "discount_percentage_share"],
      [2, "on Map", -100, "discount_percentage_share"],
      [1, "Tax", 513, "tax_standard"],
      [2, "VAT 19 % (DE)", 513, "tax_exclusive"],
    ]);
  });
  test("a fixed discount is the sum that it is, and a tax within the price is said to be there", () => {
    const discount: DiscountTerms = { id: "d", name: "Launch", code: null, type: "fixed", amount: 300 };
    const within = told(quote({ discount, tax: tax("inclusive") }));
    expect(within.filter(([, , , rule]) => /discount|tax_/.test(String(rule)))).toEqual([
      [1, "Discount Launch", -300, "discount_fixed"],
      [2, "on Guide", -200, "discount_fixed_share"],
      [2, "on Map", -100, "discount_fixed_share"],
      [1, "Tax", 431, "tax_standard"],
      [2, "VAT 19 % (DE)", 431, "tax_inclusive"],
    ]);
    expect(explainQuote(quote({ tax: tax("inclusive") }))[0]?.because).toMatch(/within it/);
  });
  test.each([
    ["nothing but what is due", { due_amount: 3213 }, [["Due", 3213]]],
    [
      "credit",
      { applied_balance_amount: -213, due_amount: 3000 },
      [
        ["Balance of the customer", -213],
        ["Due", 3000],
      ],
    ],
    [
      "what was given back",
      { reduced_amount: 100, reduced_tax_amount: 19 },
      [
        ["Given back", -119],
        ["Due", 0],
      ],
    ],
    [
      "refunds",
      { refunded_amount: 100, refunded_tax_amount: 19 },
      [
        ["Due", 0],
        ["Refunded", -119],
      ],
    ],
  ])("an order also tells of %s", (_, fields, steps) => {
    const last = told(quote(), { ...settled, ...fields }).slice(9);
    expect(last.map(([, label, amount]) => [label, amount])).toEqual(steps);
  });
});
