import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { currencies } from "../../shared/currencies.ts";
import {
  addUp,
  allocate,
  computeFraction,
  computeMonthlyAmount,
  computePercent,
  computeRate,
  divideHalfAway,
  formatDecimal,
  formatMoney,
  formatUnitMoney,
  getCurrencyDigits,
  getMaximumAmount,
  getMinimumAmount,
  parseMoney,
  roundAverageUp,
  truncateFraction,
  truncateToWhole,
  writeMoney,
} from "../../shared/money.ts";

const amount = fc.integer({ min: -2_000_000_000, max: 2_000_000_000 });
const sum = (parts: readonly number[]) => parts.reduce((total, part) => total + part, 0);

describe("rounding", () => {
  test.each([
    [85, 10, 9],
    [849, 100, 8],
    [-85, 10, -9],
    [-849, 100, -8],
    [1, 2, 1],
    [-1, 2, -1],
    [1, -2, -1],
    [0, 5, 0],
  ])("%i / %i is %i: halves go away from zero", (top, bottom, rounded) =>
    expect(divideHalfAway(BigInt(top), BigInt(bottom))).toBe(BigInt(rounded)),
  );
  test.each([
    [1999, 2500, 500],
    [1250, 1000, 125],
    [999, 5000, 500],
    [0, 5000, 0],
    [1, 5000, 1],
    [100, 3333, 33],
    [-999, 5000, -500],
  ])("%i at %i basis points is %i", (base, basis_points, share) =>
    expect(computePercent(base, basis_points)).toBe(share),
  );
  test("the whole of an amount is the amount, and a share is never more than half a unit off", () => {
    fc.assert(
      fc.property(amount, fc.nat(10_000), (base, rate) => {
        expect(computePercent(base, 10_000)).toBe(base);
        const off = BigInt(computePercent(base, rate)) * 10_000n - BigInt(base) * BigInt(rate);
        expect(off <= 5_000n && off >= -5_000n).toBe(true);
      }),
    );
  });
  test("a part of a period is exact beyond what a float could hold", () => {
    expect(computeFraction(9_007_199_254_740_991, 2_592_000, 2_592_000)).toBe(9_007_199_254_740_991);
  });
  test("a fraction of a unit is refused, not rounded in silence", () => {
    expect(() => computePercent(10.5, 1000)).toThrow(RangeError);
    expect(() => computePercent(Number.NaN, 1000)).toThrow(RangeError);
    expect(() => computeFraction(10, 1, 0)).toThrow(RangeError);
  });
});

describe("allocation", () => {
  test.each([
    [100, [100, 200], [33, 67]],
    [1500, [1000, 1000], [750, 750]],
    [1, [1, 1], [0, 1]],
    [10, [0, 0, 0], [3, 3, 4]],
    [-100, [100, 200], [-33, -67]],
    [0, [5, 5], [0, 0]],
    [7, [0, 1], [0, 7]],
    [0, [], []],
  ])("%i over %j is %j", (total, weights, parts) => expect(allocate(total, weights)).toEqual(parts));

  test("the parts always add up, each within one unit of its due, none of the wrong sign", () => {
    fc.assert(
      fc.property(amount, fc.array(fc.nat(1_000_000_000), { minLength: 1, maxLength: 12 }), (total, weights) => {
        const parts = allocate(total, weights);
        expect(sum(parts)).toBe(total);
        const all = sum(weights);
        for (const [index, part] of parts.entries()) {
          expect(part === 0 || Math.sign(part) === Math.sign(total)).toBe(true);
          const weight = all === 0 ? 1 : (weights[index] ?? 0);
          const of = all === 0 ? weights.length : all;
          const off = BigInt(part) * BigInt(of) - BigInt(total) * BigInt(weight);
          expect(off < BigInt(of) && off > -BigInt(of)).toBe(true);
        }
      }),
    );
  });
  test("something over nobody, a negative weight and a fraction are refused", () => {
    expect(() => allocate(1, [])).toThrow(RangeError);
    expect(() => allocate(1, [1, -1])).toThrow(RangeError);
    expect(() => allocate(1.5, [1])).toThrow(RangeError);
  });
});

describe("currencies", () => {
  test.each([
    ["usd", 50, 99_999_999],
    ["GBP", 40, 99_999_999],
    ["jpy", 80, 99_999_999],
    ["huf", 17_500, 99_999_999],
    ["idr", 900_000, 1_600_000_000],
    ["zzz", 50, 99_999_999],
  ])("%s is charged from %i to %i", (currency, least, most) =>
    expect([getMinimumAmount(currency), getMaximumAmount(currency)]).toEqual([least, most]),
  );
  test("in every currency something can be charged, and every amount fits a 32-bit column", () => {
    for (const currency of currencies) {
      expect(getMinimumAmount(currency)).toBeLessThan(getMaximumAmount(currency));
      expect(getMaximumAmount(currency)).toBeLessThan(2 ** 31);
    }
  });
  test("only the listed currencies have no minor unit", () => {
    expect(["jpy", "krw", "clp", "xof"].map(getCurrencyDigits)).toEqual([0, 0, 0, 0]);
    expect(["usd", "ugx", "isk", "huf"].map(getCurrencyDigits)).toEqual([2, 2, 2, 2]);
    expect(["JPY", "Krw", "USD"].map(getCurrencyDigits)).toEqual([0, 0, 2]);
  });
});

describe("amounts as text", () => {
  test.each([
    [1900, "usd", "$19.00"],
    [5, "usd", "$0.05"],
    [-123_456, "usd", "-$1,234.56"],
    [500, "jpy", "¥500"],
    [0, "eur", "€0.00"],
    [370_000_000, "ugx", "UGX\u00a03,700,000.00"],
  ])("%i %s reads %s", (value, currency, text) => expect(formatMoney(value, currency)).toBe(text));
  test("an amount too large for a float's cents is still printed to the cent", () => {
    expect(formatMoney(9_007_199_254_740_991, "usd")).toBe("$90,071,992,547,409.91");
  });
  test.each([
    ["19", 1900],
    ["19.5", 1950],
    ["19.00", 1900],
    [" 0.07 ", 7],
    ["1.15", 115],
    ["4.35", 435],
  ])("%s dollars are %i cents", (text, cents) => {
    expect(parseMoney(text, "usd")).toBe(cents);
  });
  test.each(["", "-1", "1,5", "1.005", "$5", "1e3", ".5", "5.", "99999999999999999"])(
    "%j is no amount of dollars",
    (text) => {
      expect(parseMoney(text, "usd")).toBeUndefined();
    },
  );
  test("yen have no decimals", () => {
    expect(parseMoney("500", "jpy")).toBe(500);
    expect(parseMoney("500.0", "jpy")).toBeUndefined();
  });
  test("what is written is what is read", () => {
    fc.assert(
      fc.property(fc.nat(2_000_000_000), fc.constantFrom(...currencies), (value, currency) => {
        expect(parseMoney(writeMoney(value, currency), currency)).toBe(value);
      }),
    );
  });
  test.each([
    [1e-7, "0.0000001"],
    [1.5e-10, "0.00000000015"],
    [1e21, "1000000000000000000000"],
    ["007.50", "7.5"],
    ["0.0", "0"],
    [-0.25, "-0.25"],
    [12, "12"],
    ["0.30", "0.3"],
  ])("%s in full digits is %s", (value, text) => expect(formatDecimal(value)).toBe(text));
  test("a unit's price has every digit, however small", () => {
    expect(formatUnitMoney("0.002", "usd")).toBe("$0.00002");
    expect(formatUnitMoney("1e-9", "usd")).toBe("$0.00000000001");
    expect(formatUnitMoney(50, "usd")).toBe("$0.50");
    expect(formatUnitMoney("0.5", "jpy")).toBe("¥0.5");
  });
});

describe("named roundings", () => {
  test.each([
    [10, 4, 3],
    [8, 4, 2],
    [1, 1000, 1],
    [0, 3, 0],
    [-10, 4, -2],
    [10, 0, 0],
    [10, -1, 0],
  ])("MET-06: the mean of %i over %i is rounded up to %i", (sum, count, mean) => {
    expect(roundAverageUp(sum, count)).toBe(mean);
  });
  test.each([
    [1000, 2, 3, 666],
    [-1000, 2, 3, -666],
    [999, 1, 1000, 0],
    [9_007_199_254_740_991, 3, 3, 9_007_199_254_740_991],
  ])("SUB-47: %i × %i/%i is cut towards nothing to %i", (amount, part, total, cut) => {
    expect(truncateFraction(amount, part, total)).toBe(cut);
  });
  test.each([
    [1.9, 1],
    [-1.9, -1],
    [0.5, 0],
  ])("%d is cut to %i", (amount, whole) => {
    expect(truncateToWhole(amount)).toBe(whole);
  });
  test.each([
    [1000, "month", 1, 1000],
    [1000, "month", 3, 333],
    [1000, "year", 1, 83],
    [18, "year", 3, 1],
    [100, "day", 1, 3042],
    [100, "week", 1, 433],
    [100, "week", 2, 217],
    [-100, "week", 2, -217],
  ] as const)("MET: %i each %s × %i comes to %i a month", (amount, interval, count, monthly) => {
    expect(computeMonthlyAmount(amount, interval, count)).toBe(monthly);
  });
  test.each([
    ["8.875", 8_875_000],
    ["19", 19_000_000],
    ["0.000001", 1],
    ["0", 0],
  ])("the rate of %s %% is %i in a hundred million parts", (percent, part) => {
    expect(computeRate(percent)).toEqual({ part, whole: 100_000_000 });
  });
  test("a rate with more decimals than are kept is refused, not rounded", () => {
    expect(() => computeRate("0.0000001")).toThrow(RangeError);
  });
  test("amounts add up, and nothing adds up to nothing", () => {
    expect([addUp([]), addUp([1, -3, 5])]).toEqual([0, 3]);
  });
});
