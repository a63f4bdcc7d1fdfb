import { expect, test } from "vitest";
import { published, unlisted } from "../../server/hosted/published.ts";
import { findPublishedQuery, listOwnQuery } from "../../server/hosted/relay/request.ts";
import { operations } from "../support/operations.ts";
import { readPublishedOperations } from "../support/published-operations.ts";

test("the list of Polar's operations is that of Polar's own SDK", () => {
  expect(published).toEqual(readPublishedOperations());
  expect(Object.keys(unlisted).filter((name) => name in published)).toEqual([]);
});

test("what is relayed follows from the contract: most operations are, and the others are floe's own", () => {
  const own = operations.filter(({ op }) => !findPublishedQuery(op)).map(({ title }) => title);
  expect(operations.length - own.length).toBe(175);
  const groups = new Set(own.map((title) => title.split(".")[0]));
  for (const group of ["tax", "catalog", "sandbox", "grantRuns", "diagnostics", "cardLinks"])
    expect([...groups]).toContain(group);
  const queries = operations.flatMap(({ title, op }) => listOwnQuery(op).map((name) => `${title} ${name}`));
  expect(queries).toContain("orders.list invoice_number");
  expect(queries).not.toContain("orders.list created_after");
});
