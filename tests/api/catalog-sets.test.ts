/** Catalogues are planned and applied in sets: the number of statements does not depend on the number of entries. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { CatalogInput } from "../../shared/catalog/document.ts";
import type { Kind } from "../../shared/catalog/kinds/kind.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { watchStatements } from "../support/statements.ts";

let floe: Floe;
let seller: Seller;
let statements: ReturnType<typeof watchStatements>;
beforeAll(async () => {
  floe = await start();
  statements = watchStatements(floe, () => {});
});
afterAll(() => floe.close());

const plan = (document: CatalogInput, prune = false) => seller.client.catalog.plan({ body: { document, prune } });
const apply = (document: CatalogInput, prune = false) => seller.client.catalog.apply({ body: { document, prune } });

/** Each kind as it is written first (0), and with another value in every field that can change (1). */
const entries: { [K in Kind]: (n: number, turn: 0 | 1) => NonNullable<CatalogInput[K]>[string] } = {
  meters: (n, turn) => ({
    name: `Meter ${n} ${turn}`,
    filter: `name eq "c${turn}"`,
    aggregation: "count",
    archived: turn === 1,
  }),
  benefits: (n, turn) => ({
    type: "meter_credit",
    description: `Credit ${n} ${turn}`,
    properties: { meter: "base", units: 5 + turn },
  }),
  custom_fields: (n, turn) => ({ type: "text", name: `Field ${n}`, slug: `slug_${n}_${turn}`, properties: {} }),
  products: (n, turn) => ({
    name: `Product ${n} ${turn}`,
    recurring: "month",
    prices: [{ fixed: `${9 + turn}.00` }, { metered: "base", unit_price: `0.0${1 + turn}` }],
    benefits: turn === 0 ? ["base"] : [],
    custom_fields: turn === 0 ? [] : ["base"],
    archived: turn === 1,
  }),
  discounts: (n, turn) => ({
    name: `Discount ${n}`,
    code: `CODE${n}X${turn}`,
    percent: 20 + turn,
    duration: "once",
    products: ["base"],
  }),
  checkout_links: (n, turn) => ({
    label: `Link ${n}`,
    products: ["base"],
    discount: turn === 0 ? null : "base",
    allow_discount_codes: turn === 0,
  }),
  webhooks: (n, turn) => ({ url: `http://127.0.0.1:9/${n}/${turn}`, events: ["order.paid"], enabled: turn === 0 }),
};
/** What entries of the other kinds name. */
const base: CatalogInput = {
  version: 1,
  catalog: "acme",
  meters: { base: { name: "Base meter", filter: "", aggregation: "count" } },
  benefits: { base: { type: "custom", description: "Base benefit", properties: { note: "Thanks" } } },
  custom_fields: { base: { type: "text", name: "Base field", properties: {} } },
  products: { base: { name: "Base product", prices: ["10.00"] } },
  discounts: { base: { name: "Base discount", percent: 10, duration: "once" } },
};
const withEntries = (kind: Kind, count: number, turn: 0 | 1): CatalogInput => ({
  ...base,
  [kind]: {
    ...base[kind],
    ...Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, entries[kind](n, turn)])),
  },
});

describe("as many statements for twelve as for one", () => {
  const count = async (work: () => Promise<{ steps: unknown[]; issues: unknown[] }>, steps: number) => {
    const before = statements.count();
    expect(await work()).toMatchObject({ steps: { length: steps }, issues: [] });
    return statements.count() - before;
  };
  const measure = async (kind: Kind, total: number): Promise<number[]> => {
    seller = await floe.seller(`${kind.replaceAll("_", "-")}-${total}`);
    await apply(base);
    await seller.client.events.ingest({ query: {}, body: { events: [{ name: "other", external_customer_id: "c" }] } });
    const [created, changed] = [withEntries(kind, total, 0), withEntries(kind, total, 1)];
    return [
      await count(() => plan(created), total),
      await count(() => apply(created), total),
      await count(() => plan(changed), total),
      await count(() => plan(base, true), total),
      await count(() => apply(changed), total),
    ];
  };

  test.each(Object.keys(entries) as Kind[])("%s", async (kind) => {
    expect(await measure(kind, 12)).toEqual(await measure(kind, 1));
  });
});

describe("names that only one may have", () => {
  const discounts = (codes: Record<string, string>): CatalogInput => ({
    version: 1,
    catalog: "acme",
    discounts: Object.fromEntries(
      Object.entries(codes).map(([key, code]) => [
        key,
        { name: `Discount ${key}`, code, percent: 10, duration: "once" },
      ]),
    ),
  });
  const fields = (slugs: Record<string, string>): CatalogInput => ({
    version: 1,
    catalog: "acme",
    custom_fields: Object.fromEntries(
      Object.entries(slugs).map(([key, slug]) => [key, { type: "text", name: `Field ${key}`, slug, properties: {} }]),
    ),
  });
  beforeAll(async () => {
    seller = await floe.seller("names");
  });

  test.each([
    ["a code", discounts, "ONE", "TWO", "THREE"],
    ["a slug", fields, "one", "two", "three"],
  ])("%s passes on to an entry that comes later in the file, and to no other", async (_, document, one, two, three) => {
    await apply(document({ a: one, b: two }));
    expect((await plan(document({ a: two, b: three }))).issues).toMatchObject([
      { path: expect.stringMatching(/\.a\./) },
    ]);
    expect((await plan(document({ a: two, b: one }))).issues).toHaveLength(2);
    expect(
      (await plan(document({ a: one, b: two, c: two.toUpperCase() === two ? two.toLowerCase() : two }))).issues,
    ).toHaveLength(1);
    expect((await plan(document({ c: three, d: three }))).issues).toMatchObject([
      { path: expect.stringMatching(/\.d\./) },
    ]);
    expect((await plan(document({ a: three, b: three }))).issues).toMatchObject([
      { path: expect.stringMatching(/\.b\./) },
    ]);
    // Answers are moved away from a slug before another field has it.
    const isMoved = document === fields;
    expect((await plan(document({ c: two, b: three }))).issues).toHaveLength(isMoved ? 1 : 0);
    await apply(document({ b: three, a: two }));
    expect((await plan(document({ b: three, a: two }))).steps).toEqual([]);
  });

  test("entries that change different fields keep their others", async () => {
    seller = await floe.seller("fields");
    const [a, b] = [
      { name: "Ada", code: "ADA", percent: 10, duration: "once" as const, metadata: { of: "a" } },
      { name: "Bob", code: "BOB", percent: 20, duration: "once" as const, ends_at: "2036-01-01T00:00:00Z" },
    ];
    const write = (discounts: NonNullable<CatalogInput["discounts"]>): CatalogInput => ({
      version: 1,
      catalog: "acme",
      discounts,
    });
    await apply(write({ a, b }));
    const changed = write({ a: { ...a, name: "Ada L" }, b: { ...b, percent: 30, ends_at: null } });
    await apply(changed);
    expect((await plan(changed)).steps).toEqual([]);
    const { items } = await seller.client.discounts.list({ query: { sorting: ["name"] } });
    expect(items).toMatchObject([
      { name: "Ada L", code: "ADA", basis_points: 1000, ends_at: null, metadata: { of: "a" } },
      { name: "Bob", code: "BOB", basis_points: 3000, ends_at: null, metadata: {} },
    ]);
  });
});
