import { expect, test } from "vitest";
import { Fault, getFaultKind } from "../../cli/fault.ts";
import { UnreachableError } from "../../cli/http.ts";

test("a fault of a part that is bundled by itself is one, and no other error is", () => {
  class OtherFault extends Error {
    kind = "not_permitted";
    parts = {};
    override name = "Fault";
  }
  const own = new Fault("error", "x");
  const lost = new UnreachableError("ECONNREFUSED", "x");
  expect([own, lost, new OtherFault()].map((one) => one instanceof Fault)).toEqual([true, true, true]);
  expect([own, lost, new OtherFault()].map((one) => one instanceof UnreachableError)).toEqual([false, true, false]);
  expect(
    [new Error("x"), { name: "Fault", kind: "error", parts: {} }, null].map((one) => one instanceof Fault),
  ).toEqual([false, false, false]);
});

test("a thing that has changed meanwhile is a conflict, by either status", () => {
  expect([409, 412, 400, 404].map(getFaultKind)).toEqual(["conflict", "conflict", "error", "not_found"]);
});
