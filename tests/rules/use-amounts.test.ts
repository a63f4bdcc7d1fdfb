import { describe, expect, test } from "vitest";
import {
  addDecimals,
  aggregateUse,
  computeBalance,
  computeBillableUnits,
  computeBilledUnits,
  computeDifference,
  computeUnitsAmount,
  computeUsageAmount,
  countUnits,
  groupByPeriod,
  isCapped,
  type PartialUsage,
  roundUnitsUp,
} from "../../shared/usage.ts";

describe("exact decimals", () => {
  test.each([
    ["0.1", "0.2", "0.3", "-0.1"],
    ["1e-7", "0.0000001", "0.0000002", "0"],
    ["-0.5", "0.5", "0", "-1"],
    ["9007199254740993", "0.001", "9007199254740993.001", "9007199254740992.999"],
  ])("%s and %s are %s together, and %s apart", (one, other, sum, difference) => {
    expect(addDecimals(one, other)).toBe(sum);
    expect(computeDifference(one, other)).toBe(difference);
  });
  test("MTR-22: a balance is what was credited without what was used, as far as JSON has numbers", () => {
    expect(computeBalance({ consumed_units: "0.3", credited_units: 1 })).toMatchObject({
      consumed_units: 0.3,
      balance: 0.7,
    });
    expect(computeBalance({ consumed_units: "1.001", credited_units: 1 }).balance).toBe(-0.001);
    expect([countUnits("1e999"), countUnits("-1e999")]).toEqual([Number.MAX_VALUE, -Number.MAX_VALUE]);
  });
  test.each([
    ["-1", 0n],
    ["-0.5", 0n],
    ["0", 0n],
    ["0.001", 1n],
    ["1", 1n],
    ["1.000", 1n],
    ["1.001", 2n],
  ])("%s units of use take %d of credit", (units, wholes) => expect(roundUnitsUp(units)).toBe(wholes));
});

describe("what use costs (PRD-40)", () => {
  test.each([
    ["0.5", "0", 0],
    ["0.5", "-1", 0],
    ["0.499", "1", 0],
    ["0.5", "1", 1],
    ["0.5", "3", 2],
    ["0.5", "2.999", 1],
    ["1", "999999999", 999_999_999],
    ["1", "1000000000", 999_999_999],
  ])("at %s, %s units are %d: halves go up", (unit, units, amount) =>
    expect(computeUnitsAmount(unit, units)).toBe(amount),
  );

  const use = {
    unit_amount: "10",
    cap_amount: null,
    consumed_units: "10",
    credited_units: 0,
    free_units: "0",
    before_units: null,
  };
  test.each<[string, object, number, string, boolean]>([
    ["without credit", {}, 100, "10", false],
    ["credit one below", { credited_units: 9 }, 10, "1", false],
    ["credit exactly", { credited_units: 10 }, 0, "0", false],
    ["credit one above", { credited_units: 11 }, 0, "0", false],
    ["credit and what is free", { credited_units: 4, free_units: "5.5" }, 5, "0.5", false],
    ["a cap one above", { cap_amount: 101 }, 100, "10", false],
    ["a cap exactly", { cap_amount: 100 }, 100, "10", false],
    ["a cap one below", { cap_amount: 99 }, 99, "10", true],
    ["a cap of nothing", { cap_amount: 0 }, 0, "10", true],
    ["late use", { before_units: "9" }, 10, "1", false],
    ["late use of nothing", { before_units: "10" }, 0, "0", false],
    ["late use that lowers", { before_units: "11" }, 0, "0", false],
    ["late use within credit", { before_units: "9", credited_units: 10 }, 0, "0", false],
    ["late use across credit", { before_units: "5", credited_units: 8 }, 20, "2", false],
    ["late use up to the cap", { before_units: "9", cap_amount: 95 }, 5, "1", true],
    ["late use beyond the cap", { before_units: "9", cap_amount: 90 }, 0, "1", true],
  ])("%s", (_, more, amount, units, capped) => {
    expect(computeUsageAmount({ ...use, ...more })).toBe(amount);
    expect(computeBilledUnits({ ...use, ...more })).toBe(units);
    expect(isCapped({ ...use, ...more })).toBe(capped);
  });
  test("what is billable goes below nothing, so that late use is held against it", () =>
    expect(computeBillableUnits({ credited_units: 5, free_units: "0.5" }, "5")).toBe("-0.5"));
});

describe("what several people use together (SEAT-17)", () => {
  const part = (consumed_units: string, more: Partial<PartialUsage> = {}): PartialUsage => ({
    ...{ consumed_units, counted: 1, total: consumed_units, credited_units: 0, rollover_units: 0, free_units: "0" },
    ...more,
  });
  test.each([
    ["sum", "-2.25"],
    ["max", "3"],
    ["min", "-6"],
    ["avg", "-0.75"],
    ["unique", "7"],
  ])("%s is %s", (func, units) => {
    const unseen = part("100", { counted: 0, total: "0", consumed_units: func === "sum" ? "0" : "100" });
    expect(aggregateUse(func, [part("3"), part("-6"), part("0.75"), unseen], 7).consumed_units).toBe(units);
  });
  test.each([["sum"], ["max"], ["min"], ["avg"]])("of nobody, %s is nothing", (func) =>
    expect(aggregateUse(func, [], 0)).toEqual({ consumed_units: "0", credited_units: 0, free_units: "0" }),
  );
  test.each([
    ["5", 10, 4, 6],
    ["6", 10, 4, 6],
    ["6.001", 10, 4, 7],
    ["9", 10, 4, 9],
    ["10", 10, 4, 10],
    ["11", 10, 4, 10],
  ])(
    "with %s used, of %d credited of which %d go on, %d are for all",
    (units, credited_units, rollover_units, shared) =>
      expect(aggregateUse("sum", [part(units, { credited_units, rollover_units })], 0).credited_units).toBe(shared),
  );
  test("who left is billed with the first period that ends with or after them, else with the one that runs", () => {
    const one = (ended_at: number | null, is_part: boolean) => ({
      ended_at: ended_at === null ? null : new Date(ended_at),
      is_part,
    });
    const [first, second, running] = [one(10, false), one(20, false), one(null, false)];
    const [at, above, last] = [one(10, true), one(11, true), one(21, true)];
    expect(groupByPeriod([first, second, running, at, above, last])).toEqual([
      [first, at],
      [second, above],
      [running, last],
    ]);
    expect(groupByPeriod([])).toEqual([]);
    expect(groupByPeriod([last])).toEqual([[last]]);
  });
});
