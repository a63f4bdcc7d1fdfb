import { describe, expect, test } from "vitest";
import { shorthands } from "../../cli/resource/shorthands.ts";

const read = (name: string, ...texts: string[]): unknown => shorthands[name]?.read(texts);

describe("a short flag is the fields of the wire that a person means", () => {
  test.each([
    [
      "price",
      ["metered:m1:0.002"],
      { prices: [{ amount_type: "metered_unit", meter_id: "m1", unit_amount: "0.2", price_currency: "usd" }] },
    ],
    [
      "price",
      ["19.00/month", "metered:m1:3jpy:cap=500"],
      {
        prices: [
          { amount_type: "fixed", price_amount: 1900, price_currency: "usd" },
          { amount_type: "metered_unit", meter_id: "m1", unit_amount: "3", price_currency: "jpy", cap_amount: 500 },
        ],
        recurring_interval: "month",
      },
    ],
    [
      "price",
      ["5+/month"],
      {
        prices: [{ amount_type: "custom", minimum_amount: 500, price_currency: "usd" }],
        recurring_interval: "month",
      },
    ],
    ["percent", ["25.5"], { basis_points: 2550 }],
    ["amount_off", ["5.00eur"], { amount: 500, currency: "eur" }],
    ["for", ["3months"], { duration: "repeating", duration_in_months: 3 }],
    ["for", ["forever"], { duration: "forever" }],
    ["trial", ["14days"], { trial_interval: "day", trial_interval_count: 14 }],
  ])("--%s %j", (name, texts, fields) => expect(read(name, ...texts)).toEqual(fields));

  test.each([
    ["price", "metered:m1:x"],
    ["price", "metered:m1:0.002:cap=1.234"],
    ["percent", "0"],
    ["percent", "100.01"],
    ["amount_off", "5.001eur"],
    ["for", "3"],
    ["trial", "0days"],
  ])("--%s %s is refused", (name, text) => expect(() => read(name, text)).toThrow());
});
