import { expect, test } from "vitest";
import { type Candidate, chooseMeant } from "../../server/portal/cancellations/rules.ts";

const ends_at = new Date("2026-12-24T10:00:00Z");
const pro: Candidate = { id: "a", names: ["a", "Pro plan", "ACME-0001", "ACME-0007"], ends_at };
const team: Candidate = { id: "b", names: ["b", "Team plan", "ACME-0002"], ends_at };
const twin: Candidate = { id: "c", names: ["c", "Pro plan", "ACME-0003"], ends_at };

test.each<[string, Candidate[], string, string | null, string | undefined]>([
  ["none to cancel", [], "Pro plan", null, undefined],
  ["the only one, whatever it is called", [pro], "my contract", null, "a"],
  ["by the number of an order, in any case", [pro, team], " acme-0002 ", null, "b"],
  ["by the number of an earlier order", [pro, team], "ACME-0001", null, "a"],
  ["by the product", [pro, team], "team plan", null, "b"],
  ["by its id", [pro, team], "a", null, "a"],
  ["a part of a name is none", [pro, team], "Pro", null, undefined],
  ["two of one name", [pro, twin], "Pro plan", null, undefined],
  ["two of one name, one named by its order", [pro, twin], "ACME-0003", null, "c"],
  ["none is named of several", [pro, team], "my contract", null, undefined],
  ["a day before its end", [pro], "x", "2026-12-01", "a"],
  ["the day of its end", [pro], "x", "2026-12-24", "a"],
  ["a day after its end: the seller decides", [pro], "x", "2026-12-25", undefined],
])("CUP-31: which subscription a declaration means: %s", (_, candidates, reference, wanted_on, id) => {
  expect(chooseMeant(candidates, { reference, wanted_on })?.id).toBe(id);
});
