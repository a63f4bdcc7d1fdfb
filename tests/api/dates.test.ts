import { afterAll, beforeAll, expect, test } from "vitest";
import type { z } from "zod";
import { type Entry, type Operations, operations, startOperations } from "../support/operations.ts";
import { queryOf } from "../support/rows.ts";
import { type Json, wireSchema } from "../support/samples.ts";

/** Times at the edges: a year that is no year of the database's is refused, and never kept as another one. */

let all: Operations;
beforeAll(async () => {
  all = await startOperations();
});
afterAll(() => all?.floe.close());

const outside = [
  "0001-01-01T00:00:00Z",
  "0013-01-01T00:00:00Z",
  "0049-01-01T00:00:00Z",
  "0099-12-31T00:00:00Z",
  "1969-12-31T23:59:59Z",
  "1970-01-01T00:00:00+00:01",
  "9999-12-31T23:59:59-23:59",
];
const inside = ["1970-01-01T00:00:00.000Z", "2049-01-01T00:00:00.000Z", "9999-12-31T23:59:59.000Z"];

/** The fields of a shape that hold a time, at its top. */
function timesIn(schema: z.ZodType | undefined): string[] {
  const properties = schema ? (wireSchema(schema).properties ?? {}) : {};
  const isTime = (inner: Json): boolean =>
    inner.format === "date-time" || [...(inner.anyOf ?? []), ...(inner.oneOf ?? [])].some(isTime);
  return Object.entries(properties).flatMap(([name, inner]) => (isTime(inner) ? [name] : []));
}
const cases = operations.flatMap((entry): [string, Entry, "query" | "body", string][] =>
  (["query", "body"] as const).flatMap((part) =>
    timesIn(entry.op[part]).map((field): [string, Entry, "query" | "body", string] => [
      entry.title,
      entry,
      part,
      field,
    ]),
  ),
);

test("there are operations that take times", () => {
  const named = cases.map(([title, , part, field]) => `${title} ${part}.${field}`);
  expect(named).toEqual(expect.arrayContaining(["orders.list query.created_after", "discounts.create body.starts_at"]));
});

test.each(cases)("%s refuses a time outside of 1970 to 9999", async (_title, entry, part, field) => {
  for (const time of outside) {
    const sent =
      part === "query"
        ? { query: { ...queryOf[entry.title], [field]: time } }
        : { body: { ...(all.sampleOf(entry) as object), [field]: time } };
    const { status, json } = await all.call(entry, { ...all.may(entry), ...sent });
    expect([time, status, json.detail?.map(({ loc }) => loc.join("."))]).toEqual([time, 422, [`${part}.${field}`]]);
  }
});

test("a time inside is kept as it was sent", async () => {
  const { client } = all.seller;
  for (const time of inside) {
    const made = await client.discounts.create({
      body: { name: "Edge", duration: "once", basis_points: 1000, ends_at: time },
    });
    expect((await client.discounts.get({ params: { id: made.id } })).ends_at).toEqual(new Date(time));
    const listed = await client.orders.list({ query: { created_before: time } });
    expect(listed.pagination.total_count > 0).toBe(time !== inside[0]);
  }
});

test("a catalogue holds the same times", async () => {
  const plan = (starts_at: string) =>
    all.floe.request("POST", "/v1/catalog/plan", {
      token: all.seller.key,
      body: {
        document: {
          version: 1,
          catalog: "x",
          discounts: { x: { name: "X", percent: 5, duration: "once", starts_at } },
        },
      },
    });
  for (const time of outside) expect((await plan(time)).status, time).toBe(422);
  for (const time of inside) expect((await plan(time)).status, time).toBe(200);
});
