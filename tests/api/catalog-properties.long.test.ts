/** Any catalogue, not only the one that was thought of: what is applied is what is pulled, and what is planned is what is done. */
import fc from "fast-check";
import Fastify from "fastify";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { CatalogPlan } from "../../shared/api/catalog.ts";
import type { Filter, FilterClause } from "../../shared/api/meters.ts";
import { Catalog, type CatalogInput } from "../../shared/catalog/document.ts";
import { describeCatalog } from "../../shared/catalog/schema.ts";
import { FilterError, normalizeFilter, parseFilter, printFilter } from "../../shared/meter-filter.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";

const word = fc.stringMatching(/^[A-Za-z][A-Za-z0-9 |*<>"'#@_-]{2,20}[A-Za-z0-9]$/);
const metadata = fc.dictionary(
  fc.stringMatching(/^[a-z_]{1,8}$/),
  fc.oneof(fc.string({ minLength: 1, maxLength: 8, unit: "grapheme-ascii" }), fc.integer(), fc.boolean()),
  { maxKeys: 3, noNullPrototype: true },
);
const clause: fc.Arbitrary<FilterClause> = fc.record({
  property: fc.oneof(
    fc.constantFrom("name", "and", "not", "a b", "like", 'q"uo\\te'),
    fc.string({ minLength: 1, maxLength: 9 }),
  ),
  operator: fc.constantFrom("eq", "ne", "gt", "gte", "lt", "lte", "like", "not_like"),
  value: fc.oneof(fc.string({ maxLength: 9 }), fc.integer({ min: -2_147_483_648, max: 2_147_483_647 }), fc.boolean()),
});
const filterOf = (depth: number): fc.Arbitrary<Filter> =>
  fc.record({
    conjunction: fc.constantFrom("and", "or"),
    clauses: fc.array(depth > 0 ? fc.oneof(clause, clause, filterOf(depth - 1)) : clause, { maxLength: 3 }),
  });

describe("a filter", () => {
  test("is printed as it is read, whatever is in it", () => {
    fc.assert(
      fc.property(filterOf(3), (filter) => {
        const normal = normalizeFilter(filter);
        expect(parseFilter(printFilter(normal))).toEqual(normal);
        expect(parseFilter(printFilter(filter))).toEqual(normal);
        expect(normalizeFilter(normal)).toEqual(normal);
      }),
      { numRuns: 300 },
    );
  });
  test("that is any text is read, or refused at a character of it", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 40 }), (text) => {
        try {
          parseFilter(text);
        } catch (error) {
          if (!(error instanceof FilterError)) throw error;
          expect(error.at).toBeLessThanOrEqual(text.length);
        }
      }),
      { numRuns: 300 },
    );
  });
});

const inDollars = (amount: number): string => (amount / 100).toFixed(2);
const price = fc.oneof(
  fc.record({ fixed: fc.integer({ min: 50, max: 99_999 }).map(inDollars) }),
  fc.integer({ min: 50, max: 99_999 }).map((amount) => `${inDollars(amount)} usd`),
  fc.constant({ free: true as const }),
  fc.record({ custom: fc.record({ preset: fc.integer({ min: 500, max: 9000 }).map(inDollars) }) }),
  fc.record({
    seats: fc.constantFrom(
      [{ from: 1, price: "9.00" }],
      [
        { from: 1, to: 9, price: "9.00" },
        { from: 10, price: "8.00" },
      ],
    ),
    tiers: fc.constantFrom("volume" as const, "graduated" as const),
  }),
);
const some = <T>(names: string[], item: fc.Arbitrary<T>) =>
  fc.record(Object.fromEntries(names.map((name) => [name, item])));
/** References go to keys that every such catalogue has. A meter in use cannot be put away (m3 is in none). */
const catalogs: fc.Arbitrary<CatalogInput> = fc
  .record({
    version: fc.constant(1 as const),
    catalog: fc.constant("any"),
    meters: some(
      ["m1", "m2"],
      fc.record(
        {
          name: word,
          filter: filterOf(2),
          aggregation: fc.constantFrom("count", "sum tokens", "unique user"),
          metadata,
        },
        { requiredKeys: ["name", "filter", "aggregation"] },
      ),
    ).chain((used) =>
      fc
        .boolean()
        .map((archived) => ({ ...used, m3: { name: "Put away", filter: "", aggregation: "count", archived } })),
    ),
    benefits: fc.record({
      b1: fc.record({
        type: fc.constant("custom" as const),
        description: word,
        properties: fc.record({ note: fc.constantFrom("Write to us.", "", null) }),
      }),
      b2: fc.record({
        type: fc.constant("meter_credit" as const),
        description: word,
        properties: fc.record({ meter: fc.constantFrom("m1", "m2"), units: fc.integer({ min: 1, max: 999 }) }),
      }),
      b3: fc.record({
        type: fc.constant("license_keys" as const),
        description: word,
        properties: fc.record(
          { prefix: fc.constantFrom("KEY", " KEY ", "", null), limit_usage: fc.constantFrom(5, null) },
          { requiredKeys: [] },
        ),
      }),
    }),
    custom_fields: fc.record({
      c1: fc.record({
        type: fc.constant("text" as const),
        name: word,
        properties: fc.record({
          form_label: fc.constantFrom("Label", ""),
          max_length: fc.integer({ min: 1, max: 99 }),
        }),
        metadata,
      }),
    }),
    products: some(
      ["p1", "p2"],
      fc.record(
        {
          name: word,
          description: fc.constantFrom("For teams", "", null),
          prices: fc
            .tuple(price, fc.boolean())
            .map(([first, isMetered]) =>
              isMetered ? [first, { metered: "m1", unit_price: "0.0010", cap: "5.00" }] : [first],
            ),
          recurring: fc.constant("month" as const),
          benefits: fc.shuffledSubarray(["b1", "b2", "b3"]),
          custom_fields: fc.constantFrom([], ["c1"], [{ field: "c1", required: true }]),
          archived: fc.boolean(),
          metadata,
        },
        { requiredKeys: ["name", "prices", "recurring"] },
      ),
    ),
    discounts: fc.record({
      d1: fc.record({
        name: word,
        percent: fc.integer({ min: 1, max: 10_000 }).map((share) => share / 100),
        duration: fc.constant("once" as const),
      }),
      d2: fc.record({
        name: word,
        amount: fc.constantFrom<Record<string, string>>({ usd: "5.00" }, { usd: "5.00", eur: "4.50" }, { jpy: "70" }),
        duration: fc.record({ months: fc.integer({ min: 1, max: 24 }) }),
        products: fc.constantFrom([], ["p1"], ["p2", "p1"]),
        ends_at: fc.constantFrom("2036-01-01T00:00:00Z", "2036-01-01T01:00:00+01:00", null),
      }),
    }),
    webhooks: fc.record({
      w1: fc.record({
        url: fc.constantFrom("http://127.0.0.1:9/a", "http://127.0.0.1:9/b"),
        events: fc.shuffledSubarray(["order.paid", "order.created"] as const, { minLength: 1 }),
        enabled: fc.boolean(),
      }),
    }),
  })
  .map((made) => JSON.parse(JSON.stringify(made)));

describe("any catalogue", () => {
  let floe: Floe;
  let seller: Seller;
  beforeAll(async () => {
    floe = await start();
  });
  afterAll(() => floe?.close());
  const plan = (document: CatalogInput) => seller.client.catalog.plan({ body: { document } });
  const apply = (document: CatalogInput) => seller.client.catalog.apply({ body: { document } });
  const left = ({ steps, issues }: CatalogPlan) => [steps, issues];

  test("applied is what is pulled, applied twice does nothing twice, and an edit is the fields that were edited", async () => {
    await fc.assert(
      fc.asyncProperty(catalogs, catalogs, async (first, other) => {
        seller = await floe.seller("any");
        await seller.client.organizations.update({
          params: { id: seller.organization_id },
          body: { feature_settings: { seat_based_pricing_enabled: true } },
        });
        await apply(first);
        expect(left(await apply(first))).toEqual([[], []]);
        const { document } = await seller.client.catalog.pull({ query: { catalog: "any" } });
        expect(left(await plan(document as CatalogInput))).toEqual([[], []]);
        expect(Catalog.safeParse(document).error).toBeUndefined();
        // One thing of each kind is edited in one field, by what the other catalogue has there.
        const edited = structuredClone(first);
        Object.assign(edited.meters?.m1 ?? {}, { name: `${first.meters?.m1?.name} too` });
        Object.assign(edited.products?.p1 ?? {}, { prices: other.products?.p1?.prices });
        Object.assign(edited.discounts?.d1 ?? {}, { percent: other.discounts?.d1?.percent });
        const planned = await plan(edited);
        const expected = ["meters.m1.name", "products.p1.prices", "discounts.d1.basis_points"];
        const isSame = [false, undefined, first.discounts?.d1?.percent === other.discounts?.d1?.percent];
        const told = planned.steps.flatMap(({ kind, key, changes }) =>
          changes.map(({ field }) => `${kind}.${key}.${field}`),
        );
        expect(expected).toEqual(expect.arrayContaining(told));
        for (const [index, name] of expected.entries())
          if (isSame[index] !== undefined) expect(told.includes(name)).toBe(!isSame[index]);
        await apply(edited);
        expect(left(await plan(edited))).toEqual([[], []]);
      }),
      { numRuns: 5, endOnFailure: true },
    );
  });
});

test("the JSON Schema takes every such catalogue, placeholders and environments, and refuses what is wrong", async () => {
  const app = Fastify({ ajv: { customOptions: { removeAdditional: false, coerceTypes: false, strict: false } } });
  app.post("/", { schema: { body: describeCatalog() } }, async () => ({ ok: true }));
  const check = async (payload: object) => (await app.inject({ method: "POST", url: "/", payload })).statusCode;
  for (const one of fc.sample(catalogs, 10)) expect(await check(one)).toBe(200);
  const base = { version: 1, catalog: "any" };
  const app1 = { url: `$${"{env:APP_URL}"}/hooks`, events: ["order.paid"] };
  expect(await check({ ...base, $schema: "./x.json", webhooks: { app: app1 } })).toBe(200);
  expect(
    await check({ ...base, environments: { production: { webhooks: { app: { url: "https://a.example" } } } } }),
  ).toBe(200);
  for (const wrong of [
    { ...base, webhooks: { app: { ...app1, secret: "x" } } },
    { ...base, webhooks: { app: { ...app1, events: ["order.eaten"] } } },
    { ...base, products: { Pro: { name: "Pro", prices: [{ fixed: "1.00" }] } } },
    { ...base, products: { pro: { name: "Pro", prices: [] } } },
    { ...base, environments: { production: { product: {} } } },
    { catalog: "any" },
  ])
    expect([wrong, await check(wrong)]).toEqual([wrong, 400]);
  expect(JSON.stringify(describeCatalog())).toContain(
    "An amount with its decimals: 25.00, or 2500 in a currency that has none.",
  );
  await app.close();
});
