import { describe, expect, test } from "vitest";
import { checkAnswers, type FieldRequest, pickValidAnswers } from "../../server/catalog/custom-fields/rules.ts";

type Type = FieldRequest["field"]["type"];
const ask = (type: Type, properties: object = {}, required = false): FieldRequest => ({
  field: { type, slug: "it", properties: properties as FieldRequest["field"]["properties"] },
  required,
});
const sizes = {
  options: [
    { value: "s", label: "Small" },
    { value: "l", label: "Large" },
  ],
};
/** Midnight of 10 November 2026 and noon of 20 November 2026. */
const november = { ge: 1_794_268_800, le: 1_795_176_000 };

describe("answers to custom fields", () => {
  type Value = string | number | boolean | null | undefined;
  /** Type, properties, whether it is required, what is sent, and what is kept, or the type of the fault. */
  const cases: [Type, object, "" | "required", Value, { kept?: Value; fault?: string; incomplete?: string }][] = [
    ["text", {}, "", "Ada", { kept: "Ada" }],
    ["text", {}, "", null, { kept: null }],
    ["text", {}, "", "", { kept: "" }],
    ["text", {}, "", undefined, {}],
    ["text", {}, "", 12, { fault: "string_type" }],
    ["text", {}, "", true, { fault: "string_type" }],
    ["text", { min_length: 3 }, "", "ab", { fault: "string_too_short" }],
    ["text", { min_length: 3 }, "", "abc", { kept: "abc" }],
    ["text", { max_length: 3 }, "", "abcd", { fault: "string_too_long" }],
    ["text", { max_length: 3 }, "", "🧊🧊🧊", { kept: "🧊🧊🧊" }],
    ["text", {}, "required", "Ada", { kept: "Ada" }],
    ["text", {}, "required", undefined, { incomplete: "missing" }],
    ["text", {}, "required", null, { kept: null, incomplete: "missing" }],
    ["text", {}, "required", "  ", { kept: "  ", incomplete: "missing" }],
    ["text", {}, "required", 1, { fault: "string_type" }],
    ["number", {}, "", 7, { kept: 7 }],
    ["number", {}, "", "-7", { kept: -7 }],
    ["number", {}, "", "7.0", { kept: 7 }],
    ["number", {}, "", "7.5", { fault: "int_type" }],
    ["number", {}, "", 7.5, { fault: "int_type" }],
    ["number", {}, "", "seven", { fault: "int_type" }],
    ["number", {}, "", "", { fault: "int_type" }],
    ["number", {}, "", true, { fault: "int_type" }],
    ["number", {}, "", null, { kept: null }],
    ["number", {}, "", 2_147_483_647, { kept: 2_147_483_647 }],
    ["number", {}, "", 2_147_483_648, { fault: "less_than_equal" }],
    ["number", {}, "", -2_147_483_649, { fault: "greater_than_equal" }],
    ["number", { ge: 1, le: 9 }, "", 0, { fault: "greater_than_equal" }],
    ["number", { ge: 1, le: 9 }, "", "10", { fault: "less_than_equal" }],
    ["number", { ge: 1, le: 9 }, "", 9, { kept: 9 }],
    ["number", {}, "required", 0, { kept: 0 }],
    ["number", {}, "required", undefined, { incomplete: "missing" }],
    ["date", {}, "", "2026-11-21", { kept: "2026-11-21T00:00:00Z" }],
    ["date", {}, "", "2026-11-21T10:00:00.5Z", { kept: "2026-11-21T10:00:00.5Z" }],
    ["date", {}, "", "2026-11-21T10:00:00+02:00", { kept: "2026-11-21T10:00:00+02:00" }],
    ["date", {}, "", "2026-11-21T10:00:00", { kept: "2026-11-21T10:00:00" }],
    ["date", {}, "", "2026-02-30", { fault: "datetime_parsing" }],
    ["date", {}, "", "tomorrow", { fault: "datetime_parsing" }],
    ["date", {}, "", true, { fault: "datetime_parsing" }],
    ["date", {}, "", null, { kept: null }],
    ["date", november, "", "2026-11-09", { fault: "date_too_early" }],
    ["date", november, "", "2026-11-10", { kept: "2026-11-10T00:00:00Z" }],
    ["date", november, "", "2026-11-20T23:59:59Z", { kept: "2026-11-20T23:59:59Z" }],
    ["date", november, "", "2026-11-20T23:59:59-11:00", { kept: "2026-11-20T23:59:59-11:00" }],
    ["date", november, "", "2026-11-21", { fault: "date_too_late" }],
    ["date", {}, "required", undefined, { incomplete: "missing" }],
    ["checkbox", {}, "", true, { kept: true }],
    ["checkbox", {}, "", false, { kept: false }],
    ["checkbox", {}, "", "true", { kept: true }],
    ["checkbox", {}, "", "yes", { fault: "bool_type" }],
    ["checkbox", {}, "", 1, { fault: "bool_type" }],
    ["checkbox", {}, "", null, { fault: "bool_type" }],
    ["checkbox", {}, "", undefined, {}],
    ["checkbox", {}, "required", true, { kept: true }],
    ["checkbox", {}, "required", false, { kept: false, incomplete: "literal_error" }],
    ["checkbox", {}, "required", "false", { kept: false, incomplete: "literal_error" }],
    ["checkbox", {}, "required", undefined, { incomplete: "missing" }],
    ["select", sizes, "", "s", { kept: "s" }],
    ["select", sizes, "", null, { kept: null }],
    ["select", sizes, "", "Small", { fault: "literal_error" }],
    ["select", sizes, "", "", { fault: "literal_error" }],
    ["select", sizes, "required", "l", { kept: "l" }],
    ["select", sizes, "required", null, { kept: null, incomplete: "missing" }],
  ];

  test.each(cases)("CUF-07, CUF-08: %s %o %s: %o", (type, properties, required, sent, { kept, fault, incomplete }) => {
    const asked = [ask(type, properties, required === "required")];
    const answers: Parameters<typeof checkAnswers>[1] = sent === undefined ? {} : { it: sent };
    const faultsOf = (complete: boolean) =>
      checkAnswers(asked, answers, { complete }).faults.map((each) => `${each.loc.join(".")} ${each.type}`);
    const wrong = fault ? [`body.custom_field_data.it ${fault}`] : [];
    expect(faultsOf(false)).toEqual(wrong);
    // What is required is asked for at the confirmation alone.
    expect(faultsOf(true)).toEqual(incomplete ? [`body.custom_field_data.it ${incomplete}`] : wrong);
    expect(checkAnswers(asked, answers, { complete: false }).answers).toEqual(kept === undefined ? {} : { it: kept });
  });
  test(`${cases.length} answers were judged`, () => expect(cases.length).toBeGreaterThan(50));

  test("CUF-06: what nobody asks for is dropped, whatever its name; every fault is told at once", () => {
    const asked = ["a", "b", "c"].map((slug) => ({ field: { ...ask("number").field, slug }, required: true }));
    const sent = JSON.parse('{"a":"x","b":"y","zzz":1,"__proto__":2,"constructor":3}');
    expect(pickValidAnswers(asked, sent)).toEqual({});
    expect(Object.keys(pickValidAnswers(asked, { a: 1, zzz: 2 }))).toEqual(["a"]);
    expect(checkAnswers(asked, sent, { complete: true }).faults.map(({ loc, type }) => [loc.at(-1), type])).toEqual([
      ["a", "int_type"],
      ["b", "int_type"],
      ["c", "missing"],
    ]);
    const odd = [{ field: { ...ask("text").field, slug: "constructor" }, required: true }];
    expect(checkAnswers(odd, {}, { complete: true }).faults).toMatchObject([{ type: "missing" }]);
  });
});
