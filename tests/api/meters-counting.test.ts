/** What the program says of events and what the database says of them: made up at random, and compared. */
import { and, eq, inArray, sql } from "drizzle-orm";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { usageEvents } from "../../server/usage/events/tables.ts";
import {
  compileFilter,
  compileMeasure,
  filterSql,
  type Measured,
  measureSql,
} from "../../server/usage/meters/matching.ts";
import { customerMeters, meters } from "../../server/usage/meters/tables.ts";
import type { Filter } from "../../shared/api/meters.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { newId } from "../support/ids.ts";

let floe: Floe;
let seller: Seller;
beforeAll(async () => {
  floe = await start();
  seller = await floe.seller();
});
afterAll(() => floe?.close());

const runs = Number(process.env.FLOE_TEST_RUNS ?? 30);
/** A fixed seed, so that a failure is found again; another one looks elsewhere. */
const seed = Number(process.env.FLOE_TEST_SEED ?? 4455);
const options = { numRuns: runs, seed };

// Few values, so that many of them meet; each as several types, and texts that sort otherwise than they are written.
const words = [
  "",
  "a",
  "A",
  "b",
  "ab",
  "a%b",
  "a_b",
  "%",
  "t",
  "f",
  "true",
  "1",
  "10",
  "9",
  "-1",
  "é",
  "z",
  "ÿ",
  "\u{ffff}",
  "😀",
];
const texts = fc.constantFrom(...words.filter((word) => word !== ""));
const numbers = fc.constantFrom(0, -0, 1, -1, 9, 10, 1.5, 0.1, -0.5, 1e21, 1e-7, 2 ** 53, 2_147_483_647, 123456789.25);
const scalars = fc.oneof(texts, numbers, fc.boolean());
const keys = ["n", "m", "a.b", "_cost", "name", "constructor"];
const metadata = fc
  .record(
    {
      n: scalars,
      m: scalars,
      "a.b": scalars,
      name: scalars,
      _cost: fc.record({ amount: numbers, currency: fc.constant("usd") }),
    },
    { requiredKeys: [] },
  )
  .map((map) => map as Record<string, never>);
const names = fc.constantFrom("a", "b", "Completion");
const times = fc.constantFrom(0, 1000, 1500, 1_700_000_000_000, 1_700_000_000_999);
const event = fc.record({ name: names, timestamp: times.map((ms) => new Date(ms)), metadata });

const property = fc.constantFrom(
  ...keys,
  ...[
    "source",
    "timestamp",
    "metadata.n",
    "metadata.timestamp",
    "_cost.amount",
    "_cost.currency",
    "n.x",
    "missing",
    "__proto__",
  ],
);
const operator = fc.constantFrom("eq", "ne", "gt", "gte", "lt", "lte", "like", "not_like" as const);
const value = fc.oneof(
  fc.constantFrom(...words, "user", "Completion", "usd", "5", "0"),
  fc.constantFrom(0, 1, -1, 9, 10, 5, 2_147_483_647, 1_700_000_000),
  fc.boolean(),
);
const { filters } = fc.letrec<{ filters: Filter; part: Filter["clauses"][number] }>((tie) => ({
  part: fc.oneof({ depthSize: "small" }, fc.record({ property, operator, value }), tie("filters")),
  filters: fc.record({ conjunction: fc.constantFrom("and", "or"), clauses: fc.array(tie("part"), { maxLength: 3 }) }),
}));

/** Events as they lie in the database. */
async function lay(
  events: { name: string; timestamp: Date; metadata: object }[],
): Promise<(Measured & { id: string })[]> {
  const rows = events.map((one) => ({
    ...one,
    metadata: JSON.parse(JSON.stringify(one.metadata)),
    id: newId(),
    organization_id: seller.organization_id,
    source: "user" as const,
    depth: 0,
  }));
  await floe.deps.db.insert(usageEvents).values(rows);
  return rows;
}

test("MTR-18: the program takes the same events as the database, and the same of them", async () => {
  const { db } = floe.deps;
  const all = await lay(fc.sample(event, { numRuns: 200, seed }));
  const ids = all.map(({ id }) => id);
  await fc.assert(
    fc.asyncProperty(
      filters,
      property,
      fc.constantFrom("sum", "unique", "count" as const),
      async (filter, of, func) => {
        const aggregation = func === "count" ? { func } : { func, property: of };
        const rows = await db
          .select({
            id: usageEvents.id,
            measure: sql<string | null>`${measureSql(usageEvents, { aggregation })}::text`,
          })
          .from(usageEvents)
          .where(
            and(
              eq(usageEvents.organization_id, seller.organization_id),
              inArray(usageEvents.id, ids),
              filterSql(usageEvents, filter),
            ),
          );
        const said = new Map(rows.map(({ id, measure }) => [id, measure]));
        const [matches, measure] = [compileFilter(filter), compileMeasure({ aggregation })];
        const taken = all.filter((one) => matches(one));
        expect([...said.keys()].sort()).toEqual(taken.map(({ id }) => id).sort());
        for (const one of taken) {
          const text = said.get(one.id) ?? null;
          const own = measure(one);
          if (func === "unique") expect(text === null ? null : JSON.parse(text)).toEqual(own === 0 ? 0 : own);
          else expect(text === null ? null : Number(text)).toEqual(own === 0 ? 0 : own);
        }
      },
    ),
    options,
  );
});

test("MTR-14: nothing at all takes everything, and what is missing is never taken", async () => {
  const [one] = await lay([{ name: "a", timestamp: new Date(0), metadata: {} }]);
  const takes = (clauses: Filter["clauses"], conjunction: Filter["conjunction"] = "and") =>
    one && compileFilter({ conjunction, clauses })(one);
  expect([takes([]), takes([], "or")]).toEqual([true, true]);
  for (const operation of ["ne", "not_like", "eq"] as const)
    expect(takes([{ property: "n", operator: operation, value: "x" }])).toBe(false);
});

/** What customers have used, as it was kept while events came. */
const kept = async () =>
  (
    await floe.deps.db
      .select()
      .from(customerMeters)
      .where(eq(customerMeters.organization_id, seller.organization_id))
      .orderBy(customerMeters.meter_id, customerMeters.customer_id)
  ).map(({ meter_id, customer_id, consumed_units, counted, total }) => [
    meter_id,
    customer_id,
    Number(consumed_units),
    counted,
    Number(total),
  ]);

test("what is kept as events come, in any batches and order, is what a count of them all says", async () => {
  const { db } = floe.deps;
  const { client, key } = seller;
  const owners = [];
  for (const place of [1, 2, 3]) {
    const body = { email: `count-${place}@example.com`, external_id: `count-${place}` };
    owners.push(await client.customers.create({ body }));
  }
  for (const func of ["count", "sum", "max", "min", "avg", "unique"] as const)
    for (const [place, filter] of fc.sample(filters, { numRuns: 2, seed }).entries())
      await client.meters.create({
        body: {
          name: `Any ${func}`,
          filter: place === 0 ? { conjunction: "and", clauses: [] } : filter,
          aggregation: { func, property: "n" },
        },
      });
  await floe.runJobs();
  const whose = fc.constantFrom(
    ...owners.flatMap(({ id, external_id }) => [{ customer_id: id }, { external_customer_id: external_id }]),
    { external_customer_id: "count-later" },
  );
  const own = fc.option(
    fc.integer({ min: 1, max: 30 }).map((place) => `own-${place}`),
    { nil: undefined },
  );
  const sent = fc.tuple(event, whose, own).map(([one, owner, external_id]) => ({ ...one, ...owner, external_id }));
  for (const events of fc.sample(fc.array(sent, { minLength: 1, maxLength: 30 }), { numRuns: 20, seed })) {
    const { status, text } = await floe.request("POST", "/v1/events/ingest", { token: key, body: { events } });
    expect(status, text).toBe(200);
  }
  await client.customers.create({ body: { email: "count-4@example.com", external_id: "count-later" } });
  await floe.runJobs();
  const before = await kept();
  expect(before.length).toBeGreaterThan(6 * 3);
  await db
    .update(meters)
    .set({ recount_at: floe.clock.now() })
    .where(eq(meters.organization_id, seller.organization_id));
  await floe.runJobs();
  expect(await kept()).toEqual(before);
});
