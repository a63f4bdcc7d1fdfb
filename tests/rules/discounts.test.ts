import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  checkProducts,
  coversProduct,
  type DiscountRow,
  findDiscountTerms,
  isLimited,
  isRedeemable,
  planTerms,
  planUpdate,
  serializeDiscountBase,
} from "../../server/catalog/discounts/rules.ts";
import { DiscountCreate, DiscountUpdate } from "../../shared/api/discounts.ts";

const placesOf = (result: { success: boolean; error?: { issues: { path: PropertyKey[] }[] } }) =>
  result.success ? [] : (result.error?.issues.map(({ path }) => path.join(".")) ?? []);
const created = (body: object) => [
  ...new Set(placesOf(DiscountCreate.safeParse({ name: "D", duration: "once", ...body }))),
];

const row = (values: Partial<DiscountRow>): DiscountRow => ({
  id: "00000000-0000-7000-8000-000000000001",
  organization_id: "00000000-0000-7000-8000-0000000000ff",
  created_at: new Date(0),
  modified_at: null,
  deleted_at: null,
  name: "D",
  code: null,
  type: "percentage",
  amounts: null,
  currency: null,
  basis_points: null,
  duration: "once",
  duration_in_months: null,
  starts_at: null,
  ends_at: null,
  max_redemptions: null,
  max_redemptions_per_customer: null,
  redemptions_count: 0,
  metadata: {},
  ...values,
});
const percentage = (values: Partial<DiscountRow> = {}) => row({ basis_points: 1000, ...values });
const fixed = (values: Partial<DiscountRow> = {}) =>
  row({ type: "fixed", amounts: { usd: 500, eur: 400 }, currency: "usd", ...values });
const update = (had: DiscountRow, body: object) => {
  const { patch, faults } = planUpdate(had, DiscountUpdate.parse(body), "usd");
  return { patch, faults: faults.map(({ loc, msg }) => `${loc.slice(1).join(".")}: ${msg}`) };
};
const frozen = "This field cannot be changed because the discount has already been redeemed.";

describe("a new discount", () => {
  test.each<[string, object, string[]]>([
    ["DSC-01: a name is needed", { name: "", basis_points: 1 }, ["name"]],
    ["DSC-01: two characters are no code", { code: "ab", basis_points: 1 }, ["code"]],
    ["DSC-01: three are", { code: "abc", basis_points: 1 }, []],
    ["DSC-01: 256 are", { code: "a".repeat(256), basis_points: 1 }, []],
    ["DSC-01: 257 are not", { code: "a".repeat(257), basis_points: 1 }, ["code"]],
    ["DSC-01: letters and digits of any script", { code: "Été٢０２５夏", basis_points: 1 }, []],
    ["DSC-01: no sign", { code: "BLACK-FRIDAY", basis_points: 1 }, ["code"]],
    ["DSC-01: no space inside", { code: "BLACK FRIDAY", basis_points: 1 }, ["code"]],
    ["DSC-03: 0 basis points are none", { basis_points: 0 }, ["basis_points"]],
    ["DSC-03: 10000 are everything", { basis_points: 10_000 }, []],
    ["DSC-03: 10001 are too many", { basis_points: 10_001 }, ["basis_points"]],
    ["DSC-03: an amount of 0", { amount: 0 }, []],
    ["DSC-03: the largest amount", { amount: 999_999_999_999, currency: "eur" }, []],
    ["DSC-03: one more", { amount: 1_000_000_000_000 }, ["amount"]],
    ["DSC-03: a map of amounts", { amounts: { usd: 1, eur: 2 } }, []],
    ["DSC-03: an empty map", { amounts: {} }, ["amounts"]],
    ["DSC-03: a currency that does not exist", { amounts: { xxx: 1 } }, ["amounts"]],
    ["DSC-03: both ways", { amount: 1, amounts: { usd: 1 } }, ["amounts"]],
    ["DSC-03: neither way", { type: "fixed" }, ["amount"]],
    ["DSC-03: a percentage without its share", { type: "percentage" }, ["basis_points"]],
    ["DSC-03: a percentage with an amount", { type: "percentage", basis_points: 1, amount: 1 }, ["amount"]],
    ["DSC-03: a fixed one with a share", { type: "fixed", basis_points: 1, amount: 1 }, ["basis_points"]],
    [
      "DSC-03: an end at the start",
      { basis_points: 1, starts_at: "2026-01-01T00:00:00Z", ends_at: "2026-01-01T00:00:00Z" },
      ["ends_at"],
    ],
    ["DSC-03: no redemption at all", { basis_points: 1, max_redemptions: 0 }, ["max_redemptions"]],
    ["DSC-03: nobody's", { basis_points: 1, max_redemptions_per_customer: 0 }, ["max_redemptions_per_customer"]],
    ["DSC-04: repeating needs months", { basis_points: 1, duration: "repeating" }, ["duration_in_months"]],
    ["DSC-04: 999 months", { basis_points: 1, duration: "repeating", duration_in_months: 999 }, []],
    ["DSC-04: 1000", { basis_points: 1, duration: "repeating", duration_in_months: 1000 }, ["duration_in_months"]],
    [
      "DSC-04: forever has none",
      { basis_points: 1, duration: "forever", duration_in_months: 1 },
      ["duration_in_months"],
    ],
    [
      "every fault at once",
      { name: "", code: "!", type: "fixed", max_redemptions: 0 },
      ["name", "code", "max_redemptions", "amount"],
    ],
  ])("%s", (_, body, places) => {
    expect(created(body).sort()).toEqual(places.sort());
  });

  test("DSC-01: a code is trimmed and keeps its case; a blank one is none", () => {
    const code = (text: string) =>
      DiscountCreate.parse({ name: "D", duration: "once", basis_points: 1, code: text }).code;
    expect([code("  Summer25 "), code("   "), code("")]).toEqual(["Summer25", null, null]);
  });

  test("DSC-03: older clients read one of the amounts, in the organization's currency where there is one", () => {
    const terms = (body: object) =>
      planTerms(DiscountCreate.parse({ name: "D", duration: "once", type: "fixed", ...body }), "eur");
    expect(terms({ amount: 5 })).toMatchObject({ amounts: { eur: 5 }, currency: "eur" });
    expect(terms({ amounts: { usd: 5, eur: 4 } })).toMatchObject({ currency: "eur" });
    expect(terms({ amounts: { usd: 5, gbp: 4 } })).toMatchObject({ currency: "usd" });
    expect(serializeDiscountBase(fixed())).toMatchObject({
      amount: 500,
      currency: "usd",
      amounts: { usd: 500, eur: 400 },
    });
    expect(serializeDiscountBase(percentage())).not.toHaveProperty("duration_in_months");
  });
});

describe("a change", () => {
  test("DSC-07: type and duration never change; the same value is fine", () => {
    expect(update(percentage(), { type: "percentage", duration: "once" })).toEqual({ patch: {}, faults: [] });
    expect(update(percentage(), { type: "fixed", duration: "forever" }).faults).toEqual([
      "type: The type of a discount can't be changed.",
      "duration: The duration of a discount can't be changed.",
    ]);
  });

  test.each<[string, DiscountRow, object, string[]]>([
    ["the share", percentage(), { basis_points: 2000 }, ["basis_points"]],
    ["no share", percentage(), { basis_points: null }, ["basis_points"]],
    ["the amount", fixed(), { amount: 501 }, ["amount"]],
    ["no amount", fixed(), { amount: null }, ["amount"]],
    ["the currency", fixed(), { currency: "gbp" }, ["currency"]],
    ["no currency", fixed(), { currency: null }, ["currency"]],
    ["the amounts", fixed(), { amounts: { usd: 500 } }, ["amounts"]],
    ["no amounts", fixed(), { amounts: null }, ["amounts"]],
    [
      "the months",
      percentage({ duration: "repeating", duration_in_months: 3 }),
      { duration_in_months: 4 },
      ["duration_in_months"],
    ],
    [
      "no months",
      percentage({ duration: "repeating", duration_in_months: 3 }),
      { duration_in_months: null },
      ["duration_in_months"],
    ],
    ["an amount where there is none", percentage(), { amount: 5 }, ["amount"]],
  ])("DSC-07: once redeemed, %s is frozen", (_, had, body, places) => {
    const redeemed = { ...had, redemptions_count: 1 };
    expect(update(redeemed, body).faults).toEqual(places.map((place) => `${place}: ${frozen}`));
  });

  test("DSC-07: once redeemed, the same again passes, in any order, and all else is free", () => {
    const had = fixed({ redemptions_count: 3 });
    const same = { amount: 500, currency: "usd", amounts: { eur: 400, usd: 500 }, basis_points: null };
    expect(update(had, { ...same, duration_in_months: null })).toEqual({ patch: {}, faults: [] });
    const free = { name: "N", code: "NEW1", max_redemptions: 1, ends_at: "2020-01-01T00:00:00Z", metadata: { a: 1 } };
    expect(update(had, free)).toEqual({ patch: { ...free, ends_at: new Date("2020-01-01") }, faults: [] });
  });

  test("before that, the money changes within its type", () => {
    expect(update(percentage(), { basis_points: 2000 }).patch).toEqual({ basis_points: 2000 });
    expect(update(fixed(), { amount: 500, currency: "usd" }).patch).toEqual({});
    expect(update(fixed(), { amount: 300 }).patch).toEqual({ amounts: { usd: 300 }, currency: "usd" });
    expect(update(fixed(), { amounts: { gbp: 1 } }).patch).toEqual({ amounts: { gbp: 1 }, currency: "gbp" });
    expect(update(percentage(), { amount: 5, duration_in_months: 2 }).faults).toHaveLength(2);
    expect(update(fixed(), { basis_points: 5 }).faults).toHaveLength(1);
    expect(update(fixed(), { amount: 5, amounts: { usd: 5 } }).faults).toHaveLength(1);
  });

  test("DSC-03: an end before the kept start is refused, at the date that was sent", () => {
    const had = percentage({ starts_at: new Date("2026-06-01"), ends_at: new Date("2026-07-01") });
    expect(update(had, { ends_at: "2026-06-01T00:00:00Z" }).faults[0]).toMatch(/^ends_at/);
    expect(update(had, { starts_at: "2026-08-01T00:00:00Z" }).faults[0]).toMatch(/^starts_at/);
    expect(update(had, { starts_at: null, ends_at: "2020-01-01T00:00:00Z" }).faults).toEqual([]);
  });

  test("DSC-07: whatever is sent to a redeemed discount, its money stays", () => {
    const body = fc.record(
      {
        amount: fc.option(fc.nat(1000)),
        currency: fc.constantFrom("usd", "eur", null),
        amounts: fc.option(fc.constantFrom({ usd: 500 }, { usd: 500, eur: 400 }, { eur: 1 })),
        basis_points: fc.option(fc.integer({ min: 1, max: 10_000 })),
        duration_in_months: fc.option(fc.integer({ min: 1, max: 999 })),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(body, fc.constantFrom(fixed, percentage), (sent, make) => {
        expect(update(make({ redemptions_count: 1 }), sent).patch).toEqual({});
      }),
    );
  });
});

describe("whether a discount can be taken (DSC-09)", () => {
  const now = new Date("2026-11-01T12:00:00Z");
  const [before, after] = [new Date(now.getTime() - 1), new Date(now.getTime() + 1)];
  test.each([
    ["without limits", {}, true],
    ["deleted", { deleted_at: before }, false],
    ["from this moment on", { starts_at: now }, true],
    ["from later on", { starts_at: after }, false],
    ["until this moment", { ends_at: now }, true],
    ["until before", { ends_at: before }, false],
    ["with one left", { max_redemptions: 3, redemptions_count: 2 }, true],
    ["with none left", { max_redemptions: 3, redemptions_count: 3 }, false],
    ["with more taken than are left by now", { max_redemptions: 1, redemptions_count: 2 }, false],
  ])("%s: %j", (_, values, isGood) => {
    expect(isRedeemable(percentage(values), now)).toBe(isGood);
  });
  test.each([
    ["no limit", {}, false],
    ["a limit of all", { max_redemptions: 1 }, true],
    ["a limit of each customer", { max_redemptions_per_customer: 1 }, true],
  ])("with %s it is limited: %j", (_, values, limited) => {
    expect(isLimited(percentage(values))).toBe(limited);
  });
});

describe("what a discount is for (DSC-05)", () => {
  test.each([
    ["all products", [], true],
    ["this product among others", ["other", "this"], true],
    ["another product", ["other"], false],
  ])("%s", (_, ids, covered) => {
    expect(coversProduct({ ...percentage(), products: ids.map((id) => ({ id })) as never }, "this")).toBe(covered);
  });
  test("each product that is not the organization's is a fault in its place", () => {
    const faults = checkProducts(["a", "b", "c", "b"], [{ id: "a" }, { id: "c" }]);
    expect(faults.map(({ loc, input }) => [loc.join("."), input])).toEqual([
      ["body.products.1", "b"],
      ["body.products.3", "b"],
    ]);
  });
  test.each([
    ["a percentage in any currency", percentage(), "jpy", { type: "percentage", basis_points: 1000 }],
    ["an amount in its currency", fixed(), "eur", { type: "fixed", amount: 400 }],
    ["nothing in a currency without an amount", fixed(), "jpy", undefined],
  ])("it takes off %s", (_, had, currency, terms) => {
    const found = findDiscountTerms(had, currency);
    expect(found).toEqual(terms && { id: had.id, name: "D", code: null, ...terms });
  });
});
