import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { formatMoney, formatUnitMoney } from "../../shared/money.ts";
import {
  computeBilledUnits,
  computeUnitsAmount,
  computeUsageAmount,
  describeUse,
  type UsageTotals,
} from "../../shared/usage.ts";

/** The words and the arithmetic of a line of usage. */

const use = (more: Partial<UsageTotals>): UsageTotals => ({
  rule: "metered",
  meter: { id: "meter", name: "API calls" },
  unit_amount: "0.2",
  cap_amount: null,
  consumed_units: "2600",
  credited_units: 0,
  free_units: "0",
  before_units: null,
  ...more,
});
const speech = {
  unit: (amount: string) => formatUnitMoney(amount, "usd"),
  money: (amount: number) => formatMoney(amount, "usd"),
};

describe("a line of usage says what it is made of, and computes", () => {
  test.each<[Partial<UsageTotals>, string]>([
    [{}, "2,600 API calls × $0.002"],
    [{ credited_units: 1000 }, "2,600 API calls, 1,000 included, 1,600 × $0.002"],
    [{ credited_units: 5000 }, "2,600 API calls, 2,600 included, 0 × $0.002"],
    [{ cap_amount: 500 }, "2,600 API calls × $0.002, capped at $5.00"],
    [{ cap_amount: 5000 }, "2,600 API calls × $0.002"],
    [{ credited_units: 1000, cap_amount: 300 }, "2,600 API calls, 1,000 included, 1,600 × $0.002, capped at $3.00"],
    [{ free_units: "600" }, "2,600 API calls, 600 not billed, 2,000 × $0.002"],
    [{ before_units: "2500" }, "100 late API calls × $0.002"],
    [{ before_units: "900", credited_units: 1000 }, "1,700 late API calls, 100 included, 1,600 × $0.002"],
    [{ consumed_units: "1234567.25" }, "1,234,567.25 API calls × $0.002"],
  ])("%j", (more, words) => expect(describeUse(use(more), speech)).toBe(words));

  test("in the reader's language", () => {
    const german = {
      ...{
        late: (units: string, name: string) => `${units} späte ${name}`,
        included: (units: string) => `${units} frei`,
      },
      ...{ unbilled: (units: string) => `${units} nicht`, capped: (cap: string) => `bis ${cap}` },
    };
    expect(describeUse(use({ credited_units: 1000 }), { ...speech, locale: "de-DE", messages: german })).toBe(
      "2.600 API calls, 1.000 frei, 1.600 × $0.002",
    );
  });
});

const units = fc.nat({ max: 1_000_000 });
const terms = fc.record({
  unit_amount: fc.constantFrom("0.2", "1", "0.0033", "125"),
  cap_amount: fc.option(fc.nat({ max: 100_000 })),
  credited_units: fc.nat({ max: 5000 }),
});

test("billed units × unit price is the amount, but for the cap", () => {
  fc.assert(
    fc.property(terms, units, ({ unit_amount, cap_amount, credited_units }, consumed) => {
      const line = use({ unit_amount, cap_amount, credited_units, consumed_units: String(consumed) });
      const whole = computeUnitsAmount(unit_amount, computeBilledUnits(line));
      expect(computeUsageAmount(line)).toBe(Math.min(whole, cap_amount ?? whole));
    }),
  );
});

test("usage is billed once: whatever comes late in whatever pieces, a period costs what it would have cost at once", () => {
  fc.assert(
    fc.property(
      terms,
      fc.array(units, { minLength: 1, maxLength: 8 }),
      ({ unit_amount, cap_amount, credited_units }, pieces) => {
        const amounts: number[] = [];
        let sum = 0;
        for (const piece of pieces) {
          const before_units = amounts.length === 0 ? null : String(sum);
          sum += piece;
          amounts.push(
            computeUsageAmount(
              use({ unit_amount, cap_amount, credited_units, consumed_units: String(sum), before_units }),
            ),
          );
        }
        const whole = computeUsageAmount(use({ unit_amount, cap_amount, credited_units, consumed_units: String(sum) }));
        expect(amounts.reduce((total, amount) => total + amount, 0)).toBe(whole);
      },
    ),
  );
});
