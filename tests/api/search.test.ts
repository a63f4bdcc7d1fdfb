import { afterAll, beforeAll, expect, test } from "vitest";
import type { Entry } from "../support/operations.ts";
import { operations, startOperations } from "../support/operations.ts";
import { watchStatements } from "../support/statements.ts";

let all: Awaited<ReturnType<typeof startOperations>>;
beforeAll(async () => {
  all = await startOperations();
});
afterAll(() => all?.floe.close());

const searchable = operations.filter(({ op }) => op.query && "query" in op.query.shape);
const patterns = ["%q50\\%\\_\\\\z%", "q50\\%\\_\\\\z%"];

test("lists that can be searched are known", () => {
  expect(searchable.length).toBeGreaterThan(6);
});

test.each(searchable.map((entry): [string, Entry] => [entry.title, entry]))(
  "API-16: %s looks for what was asked, to the letter, by one pattern that is made in one place",
  async (_, entry) => {
    const given: unknown[] = [];
    const watch = watchStatements(all.floe, (_statement, _number, values) => {
      given.push(...values.filter((value) => typeof value === "string" && value.includes("q50")));
    });
    const { status } = await all.call(entry, { ...all.may(entry), query: { query: "q50%_\\z" } });
    watch.stop();
    expect(status).toBe(200);
    expect(given.length).toBeGreaterThan(0);
    expect(given.filter((value) => !patterns.includes(String(value)))).toEqual([]);
  },
);
