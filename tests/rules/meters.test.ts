import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type CreditGrant,
  closeLots,
  consumeCreditGrants,
  orderLots,
  revokeCreditGrants,
} from "../../server/usage/meters/credit-grants.ts";
import { checkUpdate, type MeterRow, planUpdate } from "../../server/usage/meters/rules.ts";
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

describe("credit", () => {
  const at = (day: number) => new Date(Date.UTC(2026, 0, day));
  const lot = (id: string, over: object = {}) => ({
    ...{ id, created_at: at(1), amount: 10, taken: 0, expired: 0, rollover: false, priority: 0 },
    ...{ expires_at: null, expired_at: null, source_kind: "benefit", source_id: "b" },
    ...over,
  });
  const ids = (lots: readonly Pick<CreditGrant, "id">[]) => lots.map(({ id }) => id).join(" ");

  test.each<[string, ReturnType<typeof lot>[], Date | null, string]>([
    ["none", [], null, ""],
    ["what expires first", [lot("a", { expires_at: at(9) }), lot("b", { expires_at: at(8) })], null, "b a"],
    ["what expires before what never does", [lot("a"), lot("b", { expires_at: at(9) })], null, "b a"],
    ["what ends with the period before what rolls over", [lot("a", { rollover: true }), lot("b")], null, "b a"],
    [
      "what rolls over and expires within the period before what ends with it",
      [lot("a"), lot("b", { rollover: true, expires_at: at(19) })],
      at(20),
      "b a",
    ],
    [
      "at the same instant what does not roll over",
      [lot("a", { rollover: true, expires_at: at(20) }), lot("b")],
      at(20),
      "b a",
    ],
    [
      "what ends with the period before what expires after it",
      [lot("a", { rollover: true, expires_at: at(21) }), lot("b")],
      at(20),
      "b a",
    ],
    [
      "the end of the period, where the lot's own is later",
      [lot("a", { expires_at: at(30) }), lot("b")],
      at(20),
      "a b",
    ],
    ["the lesser number of priority", [lot("a", { priority: 2 }), lot("b", { priority: 1 })], null, "b a"],
    ["the older of two alike", [lot("a", { created_at: at(2) }), lot("b")], null, "b a"],
    ["at the same instant the lesser id", [lot("b"), lot("a")], null, "a b"],
    [
      "two that never end, by their priority",
      [lot("a", { rollover: true, priority: 1 }), lot("b", { rollover: true })],
      null,
      "b a",
    ],
    [
      "an end before the priority",
      [lot("a", { priority: -1 }), lot("b", { priority: 9, expires_at: at(3) })],
      null,
      "b a",
    ],
  ])("BEN-53: is spent in this order: %s", (_, lots, ends_at, order) =>
    expect(ids(orderLots(lots, ends_at))).toBe(order),
  );

  test.each<[string, string, number[]]>([
    ["nothing", "0", [10, 5]],
    ["a part of a unit takes a whole one", "0.1", [9, 5]],
    ["exactly the first", "10", [0, 5]],
    ["one more", "11", [0, 4]],
    ["all", "15", [0, 0]],
    ["more than there is", "16", [0, 0]],
  ])("BEN-53: spending %s", (_, consumed, left) => {
    const lots = [lot("a"), lot("b", { amount: 9, taken: 3, expired: 1, rollover: true })];
    expect(consumeCreditGrants(lots, consumed, null).map((one) => one.left)).toEqual(left);
  });

  test("BEN-53: at a reset only what rolls over goes on; where no period is over, all does; of what expired nothing", () => {
    const lots = [
      lot("a", { amount: 4 }),
      lot("b", { rollover: true }),
      lot("c", { amount: 2, rollover: true, expired_at: at(2) }),
    ];
    const close = (all: boolean) =>
      closeLots(lots, "5", null, all).map(({ lot: { id }, rolled, spent, expired }) => [id, rolled, spent, expired]);
    expect(close(false)).toEqual([
      ["a", 0, 4, 0],
      ["b", 9, 1, 0],
      ["c", 0, 2, 0],
    ]);
    const [fresh] = closeLots([lot("a", { amount: 4 })], "1", null);
    expect(fresh).toMatchObject({ rolled: 0, spent: 1, expired: 3 });
    expect(closeLots([lot("a", { amount: 4 })], "1", null, true)[0]).toMatchObject({ rolled: 3, spent: 1, expired: 0 });
  });

  const source = { kind: "benefit", id: "b" };
  const others = { source_id: "z" };
  test.each<[string, ReturnType<typeof lot>[], number, [string, number][]]>([
    ["nothing", [lot("a")], 0, []],
    ["all of one", [lot("a")], 10, [["a", 10]]],
    ["none below nothing", [lot("a")], 11, [["a", 10]]],
    ["the last one first", [lot("a"), lot("b", { created_at: at(2) })], 4, [["b", 4]]],
    ["at the same instant the greater id", [lot("a"), lot("b")], 4, [["b", 4]]],
    [
      "the source's own first, also an older one",
      [lot("a"), lot("b", { ...others, created_at: at(2) })],
      4,
      [["a", 4]],
    ],
    [
      "more than its own, and another source keeps what it gave",
      [lot("a"), lot("b", { ...others, created_at: at(3) })],
      11,
      [["a", 10]],
    ],
    [
      "of another kind with the same id is not its own",
      [lot("b", { source_kind: "event", created_at: at(2) }), lot("a")],
      1,
      [["a", 1]],
    ],
    ["what is left of it", [lot("a", { taken: 4, expired: 3 })], 9, [["a", 3]]],
  ])("BEN-54: taking back %s", (_, lots, units, taken) =>
    expect(revokeCreditGrants(lots, units, source).map((one) => [one.lot.id, one.units])).toEqual(taken),
  );
});
