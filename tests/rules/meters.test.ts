import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { checkUpdate, type MeterRow, planUpdate } from "../../server/meters/rules.ts";
import { type Filter, MeterCreate, MeterUpdate } from "../../shared/api/meters.ts";
import { parseFilter, printFilter } from "../../shared/meter-filter.ts";

const meter = (over: object = {}) => ({
  name: "Tokens",
  filter: { conjunction: "and", clauses: [] },
  aggregation: { func: "count" },
  ...over,
});
const placesOf = (body: object) => {
  const result = MeterCreate.safeParse(body);
  return result.success ? [] : result.error.issues.map(({ path }) => path.join("."));
};
const clause = (over: object = {}) => ({ property: "name", operator: "eq", value: "x", ...over });
const filter = (...clauses: object[]) => meter({ filter: { conjunction: "or", clauses } });
const nested = (depth: number): object =>
  depth === 1 ? { conjunction: "and", clauses: [clause()] } : { conjunction: "and", clauses: [nested(depth - 1)] };

describe("a new meter", () => {
  test.each<[string, object, boolean]>([
    ["MTR-10: a name of three characters", meter({ name: "abc" }), true],
    ["MTR-10: of two", meter({ name: "ab" }), false],
    ["MTR-10: of blanks", meter({ name: "    " }), false],
    ["MTR-10: no filter", meter({ filter: undefined }), false],
    ["MTR-10: no aggregation", meter({ aggregation: undefined }), false],
    ["MTR-10: a unit of its own with its label", meter({ unit: "custom", custom_label: "pages" }), true],
    ["MTR-10: and without", meter({ unit: "custom" }), false],
    ["MTR-10: an unknown unit", meter({ unit: "bytes" }), false],
    ["MTR-14: no clause at all", filter(), true],
    ["MTR-14: clauses within clauses", filter(clause(), nested(7)), true],
    ["MTR-14: deeper than anybody means", filter(nested(20)), false],
    ["MTR-14: a text of 1000 characters", filter(clause({ value: "x".repeat(1000) })), true],
    ["MTR-14: of 1001", filter(clause({ value: "x".repeat(1001) })), false],
    ["MTR-14: the largest number", filter(clause({ value: 2_147_483_647 })), true],
    ["MTR-14: one more", filter(clause({ value: 2_147_483_648 })), false],
    ["MTR-14: a fraction", filter(clause({ value: 1.5 })), false],
    ["MTR-14: a boolean", filter(clause({ value: false })), true],
    ["MTR-14: nothing", filter(clause({ value: null })), false],
    ["MTR-14: an unknown operator", filter(clause({ operator: "in" })), false],
    ["MTR-14: an unknown conjunction", meter({ filter: { conjunction: "xor", clauses: [] } }), false],
    ["an unknown aggregation", meter({ aggregation: { func: "median", property: "x" } }), false],
    ["a sum of nothing", meter({ aggregation: { func: "sum" } }), false],
    ...["sum", "max", "min", "avg", "unique"].map((func): [string, object, boolean] => [
      `${func} of a property`,
      meter({ aggregation: { func, property: "n" } }),
      true,
    ]),
    ...["eq", "ne", "gt", "gte", "lt", "lte", "like", "not_like"].map((operator): [string, object, boolean] => [
      `MTR-14: ${operator}`,
      filter(clause({ operator })),
      true,
    ]),
  ])("%s", (_, body, fine) => {
    expect(placesOf(body).length === 0).toBe(fine);
  });
});

const row: MeterRow = {
  id: "00000000-0000-7000-8000-000000000001",
  organization_id: "00000000-0000-7000-8000-0000000000ff",
  created_at: new Date(0),
  modified_at: null,
  archived_at: null,
  first_counted_at: null,
  recount_at: null,
  recounted_at: null,
  name: "Tokens",
  unit: "scalar",
  custom_label: null,
  custom_multiplier: null,
  filter: { conjunction: "and", clauses: [] },
  aggregation: { func: "count" },
  metadata: {},
};
const archived = { ...row, archived_at: new Date(5) };
const free = { priced: false, credited: false, counted: false };
const check = (had: MeterRow, body: object, use = free) =>
  checkUpdate(had, MeterUpdate.parse(body), use).map(({ loc }) => loc.join("."));
const plan = (had: MeterRow, body: object) => planUpdate(had, MeterUpdate.parse(body), new Date(9));

describe("a change", () => {
  test("MTR-13: a meter in use is not archived; one that is may be sent so again", () => {
    expect(check(row, { is_archived: true }, { ...free, priced: true })).toEqual(["body.is_archived"]);
    expect(check(row, { is_archived: true }, { ...free, credited: true })).toEqual(["body.is_archived"]);
    expect(check(row, { is_archived: true })).toEqual([]);
    expect(check(row, { is_archived: false, name: "Other" }, { ...free, priced: true })).toEqual([]);
    expect(check(archived, { is_archived: true }, { ...free, priced: true })).toEqual([]);
  });

  test("MTR-13: archiving stamps once, and is taken back", () => {
    expect(plan(row, { is_archived: true })).toEqual({ archived_at: new Date(9), modified_at: new Date(9) });
    expect(plan(archived, { is_archived: true })).toEqual({});
    expect(plan(archived, { is_archived: false })).toEqual({
      archived_at: null,
      recount_at: new Date(9),
      modified_at: new Date(9),
    });
  });

  test("MTR-11: what has counted goes on counting the same, also where that is sent as it is", () => {
    const counted = { ...free, counted: true };
    const { filter, aggregation } = row;
    expect(check(row, { filter, aggregation }, counted)).toEqual(["body.filter", "body.aggregation"]);
    expect(check(row, { name: "Words", metadata: {} }, counted)).toEqual([]);
    expect(plan(row, { aggregation: { func: "sum", property: "n" } })).toMatchObject({ recount_at: new Date(9) });
  });

  test("what is sent as it is changes nothing", () => {
    expect(plan(row, { name: "Tokens", filter: row.filter, aggregation: row.aggregation, metadata: {} })).toEqual({});
  });

  test("MTR-10: a unit of its own keeps its label", () => {
    expect(check(row, { unit: "custom" })).toEqual(["body.custom_label"]);
    expect(check(row, { unit: "custom", custom_label: "pages" })).toEqual([]);
    expect(check({ ...row, unit: "custom", custom_label: "pages" }, { custom_label: null })).toEqual([
      "body.custom_label",
    ]);
  });
});

describe("a filter in words", () => {
  const value = fc.oneof(
    fc.string({ maxLength: 20 }),
    fc.integer({ min: -2_147_483_648, max: 2_147_483_647 }),
    fc.boolean(),
  );
  const operator = fc.constantFrom("eq", "ne", "gt", "gte", "lt", "lte", "like", "not_like" as const);
  const one = fc.record({ property: fc.string({ minLength: 1, maxLength: 12 }), operator, value });
  const { filters } = fc.letrec<{ filters: Filter; part: Filter["clauses"][number] }>((tie) => ({
    part: fc.oneof({ depthSize: "small" }, one as fc.Arbitrary<Filter["clauses"][number]>, tie("filters")),
    filters: fc.record({
      conjunction: fc.constantFrom("and" as const, "or" as const),
      clauses: fc.array(tie("part"), { minLength: 2, maxLength: 3 }),
    }),
  }));

  test("MTR-14: what is printed reads back as the same filter", () => {
    fc.assert(
      fc.property(filters, (wanted) => {
        expect(parseFilter(printFilter(wanted))).toEqual(wanted);
      }),
    );
  });
});
