/** A request may say which things the keys of its document mean: one thing is changed without being in any catalog. */
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { CatalogInput } from "../../shared/catalog/document.ts";
import { ApiError } from "../../shared/errors.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";

let floe: Floe;
let seller: Seller;
let product: string;
let benefit: string;
beforeAll(async () => {
  floe = await start();
});
afterAll(() => floe.close());

type Entries = { kind: "products" | "benefits"; key: string; id: string }[];
let keys: Entries;
const documentOf = (price: string, more: object = {}): CatalogInput => ({
  version: 1,
  catalog: "any",
  benefits: { thanks: { type: "custom", description: "Our thanks" } },
  products: { book: { name: "Book", price, benefits: ["thanks"], ...more } },
});
const refusal = async (call: Promise<unknown>): Promise<ApiError> => {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ApiError)) throw new Error(`It was not refused: ${String(error)}`);
  return error;
};

beforeEach(async () => {
  seller = await floe.seller("keys");
  const made = await seller.client.benefits.create({ body: { type: "custom", description: "Our thanks" } as never });
  benefit = made.id;
  const body = { name: "Book", prices: [{ amount_type: "fixed" as const, price_amount: 900 }] };
  product = (await seller.client.products.create({ body })).id;
  keys = [
    { kind: "products", key: "book", id: product },
    { kind: "benefits", key: "thanks", id: benefit },
  ];
});

test("a pull says which things its keys mean, and a document with those keys changes them and stores no key", async () => {
  const pulled = await seller.client.catalog.pull({ query: { catalog: "any", all: true } });
  expect(pulled.entries).toEqual([
    { kind: "benefits", key: "our-thanks", id: benefit },
    { kind: "products", key: "book", id: product },
  ]);
  const document = documentOf("12.00");
  const { fingerprint, steps } = await seller.client.catalog.plan({ body: { document, prune: false, keys } });
  expect(steps).toMatchObject([{ action: "update", kind: "products", key: "book", id: product }]);
  await seller.client.catalog.apply({ body: { document, prune: false, keys, fingerprint } });
  const changed = await seller.client.products.get({ params: { id: product } });
  expect(changed.prices).toMatchObject([{ price_amount: 1200 }]);
  expect(changed.benefits).toMatchObject([{ id: benefit }]);
  // The catalog has no entry: what was changed so is in nobody's file.
  const after = await seller.client.catalog.pull({ query: { catalog: "any" } });
  expect([after.entries, after.others]).toEqual([[], []]);
});

test("a thing that changed since the plan makes it stale, also where no catalog has the thing", async () => {
  const document = documentOf("12.00");
  const { fingerprint } = await seller.client.catalog.plan({ body: { document, prune: false, keys } });
  await seller.client.products.update({ params: { id: product }, body: { description: "Another" } });
  const stale = await refusal(seller.client.catalog.apply({ body: { document, prune: false, keys, fingerprint } }));
  expect(stale).toMatchObject({ error: "CatalogPlanStale", status: 409 });
  expect((await seller.client.products.get({ params: { id: product } })).prices).toMatchObject([{ price_amount: 900 }]);
});

test("nothing is created, renamed or removed, and no key names two things", async () => {
  const ask = async (body: { document: CatalogInput; prune: boolean; keys: Entries }) => {
    const [planned, applied] = [
      await refusal(seller.client.catalog.plan({ body })),
      await refusal(seller.client.catalog.apply({ body })),
    ];
    expect([planned.status, applied.status]).toEqual([422, 422]);
    return JSON.stringify(applied.detail);
  };
  const [book, thanks] = keys as [Entries[number], Entries[number]];
  expect(await ask({ document: documentOf("12.00"), prune: false, keys: [book] })).toContain(
    '"document","benefits","thanks"',
  );
  expect(await ask({ document: documentOf("12.00"), prune: true, keys })).toContain('"prune"');
  expect(await ask({ document: documentOf("12.00", { previously: ["old"] }), prune: false, keys })).toContain(
    '"previously"',
  );
  expect(
    await ask({ document: documentOf("12.00"), prune: false, keys: [...keys, { ...book, key: "again" }] }),
  ).toContain("named twice");
  expect(
    await ask({ document: documentOf("12.00"), prune: false, keys: [...keys, { ...thanks, id: product }] }),
  ).toContain("named twice");
  expect((await seller.client.products.list({ query: {} })).pagination.total_count).toBe(1);
});

test("another organization's things are not there", async () => {
  const stranger = await floe.seller("keys-stranger");
  const document: CatalogInput = { version: 1, catalog: "any", products: { book: { name: "Stolen", price: "1.00" } } };
  const body = { document, prune: false, keys: keys.slice(0, 1) };
  for (const call of [stranger.client.catalog.plan({ body }), stranger.client.catalog.apply({ body })])
    expect(JSON.stringify((await refusal(call)).detail)).toContain("There is no such thing among your products.");
  expect(await seller.client.products.get({ params: { id: product } })).toMatchObject({ name: "Book" });
});

test("a key changes what it may write, and needs only to read what that refers to", async () => {
  const writer = floe.client(await floe.keyOf(seller, ["products:read", "products:write", "benefits:read"]));
  await writer.catalog.apply({ body: { document: documentOf("12.00"), prune: false, keys } });
  const document = documentOf("12.00");
  const other = { ...document, benefits: { thanks: { type: "custom" as const, description: "Changed" } } };
  expect(await refusal(writer.catalog.apply({ body: { document: other, prune: false, keys } }))).toMatchObject({
    error: "insufficient_scope",
  });
  expect(await seller.client.benefits.get({ params: { id: benefit } })).toMatchObject({ description: "Our thanks" });
});
