/** What holds for everything that a seller defines alike: what bodies may carry, and what lists find and how. */
import { sql } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Accounts, startAccounts } from "../support/accounts.ts";
import { callsOf } from "../support/calls.ts";
import type { Seller } from "../support/floe.ts";
import { newId } from "../support/ids.ts";

let floe: Accounts;
let seller: Seller;
let call: ReturnType<typeof callsOf>;
beforeAll(async () => {
  floe = await startAccounts();
  seller = await floe.seller("ada");
  call = callsOf(floe, seller);
});
afterAll(() => floe?.close());

const price = { amount_type: "fixed", price_amount: 900, price_currency: "usd" };
const everything = { conjunction: "and", clauses: [] };
/** A body of each resource that goes by a name. */
const bodies: Record<string, (name: string) => object> = {
  products: (name) => ({ name, prices: [price] }),
  benefits: (description) => ({ type: "custom", description, properties: {} }),
  discounts: (name) => ({ name, duration: "once", basis_points: 1000 }),
  meters: (name) => ({ name, filter: everything, aggregation: { func: "count" } }),
  "custom-fields": (name) => ({ type: "text", slug: newId(), name, properties: {} }),
};
const resources = Object.keys(bodies);
const bodyOf = (resource: string, name = "Thing"): object => bodies[resource]?.(name) ?? {};
const pathOf = (resource: string) => `/v1/${resource}/`;

test.each(resources)("API-17, API-32: metadata of %s has its limits, and values keep their kind", async (resource) => {
  const send = (metadata: unknown) => call.send("POST", pathOf(resource), { ...bodyOf(resource), metadata });
  const keys = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`key${index}`, 1]));
  const fine = { yes: true, no: false, one: 1, half: 0.5, text: "x".repeat(500), ["k".repeat(40)]: "1" };
  const { status, json } = await send(fine);
  expect([status, (json as unknown as { metadata: object }).metadata]).toEqual([201, fine]);
  expect((await send(keys(50))).status).toBe(201);
  const wrong: unknown[] = [
    keys(51),
    { ["k".repeat(41)]: 1 },
    { "": 1 },
    { a: "x".repeat(501) },
    { a: "" },
    { a: null },
    { a: [1] },
    { a: { b: 1 } },
    "text",
  ];
  for (const metadata of wrong) {
    const { status, json } = await send(metadata);
    const places = status === 422 ? json.detail.map(({ loc }) => loc.find((part) => part === "metadata")) : [];
    expect([metadata, status, [...new Set(places)]]).toEqual([metadata, 422, ["metadata"]]);
  }
});

test.each(resources)(
  "API-08, API-16: %s by a part of their name, to the letter but not the case; what is unknown is ignored",
  async (resource) => {
    const path = pathOf(resource);
    const own = callsOf(floe, await floe.seller("lists"));
    const add = async (name: string) =>
      (await own.send("POST", path, { ...bodyOf(resource, name), color: "red", id: "mine" })).json.id;
    const [percent, underscore, slash, plain] = [
      await add("Half 50% off"),
      await add("Snake_case"),
      await add("Back\\slash ÄRGER"),
      await add("Half 500 snakeXcase"),
    ];
    const find = (query: string) => own.ids(`${path}?sorting=created_at&query=${encodeURIComponent(query)}&color=red`);
    const found: [string, (string | undefined)[]][] = [
      ["hAlF", [percent, plain]],
      ["50%", [percent]],
      ["%", [percent]],
      ["snake_CASE", [underscore]],
      ["_", [underscore]],
      ["\\", [slash]],
      ["k\\S", [slash]],
      ["ärger", [slash]],
      ["", [percent, underscore, slash, plain]],
      ["nothing", []],
      ["'); drop table products", []],
    ];
    for (const [query, ids] of found) expect([query, await find(query)]).toEqual([query, ids]);
  },
);

/** The index by which each order of a list is read. */
const orders: Record<string, Record<string, string>> = {
  products: {
    created_at: "products_by_creation",
    name: "products_by_name",
    price_amount: "products_by_amount",
    price_amount_type: "products_by_amount_type",
  },
  benefits: {
    created_at: "benefits_by_creation",
    user_order: "benefits_by_creation",
    description: "benefits_by_description",
    type: "benefits_by_type",
  },
  discounts: {
    created_at: "discounts_by_creation",
    name: "discounts_by_name",
    code: "discounts_by_code",
    redemptions_count: "discounts_by_redemptions",
    ends_at: "discounts_by_end",
  },
  meters: { created_at: "meters_by_creation", name: "meters_by_name" },
  "custom-fields": {
    created_at: "custom_fields_by_creation",
    slug: "custom_fields_slug",
    name: "custom_fields_by_name",
    type: "custom_fields_by_type",
  },
};

test.each(resources)(
  "every order of %s is that of an index, both ways; a page is one statement, how many there are another",
  async (resource) => {
    const { db } = floe.deps;
    const table = resource.replace("-", "_");
    for (const [key, index] of Object.entries(orders[resource] ?? {}))
      for (const sorting of [key, `-${key}`]) {
        floe.queries.length = 0;
        await call.ids(`${pathOf(resource)}?sorting=${sorting}&limit=5&page=2`);
        const [page = "", ...rest] = floe.queries.filter((query) => query.includes(`from "${table}"`));
        const tallied = floe.queries.filter((query) => query.includes('from "list_tallies"'));
        expect([...rest, ...tallied]).toHaveLength(1);
        const own = `"organization_id" = '${seller.organization_id}'`;
        const asked = page.replace(/"organization_id" = \$\d+/g, own).replace(/\$\d+/g, "5");
        // Few rows are sooner sorted than found; the question is what is there for many.
        const plan = await db.transaction(async (tx) => {
          await tx.execute(sql`set local enable_sort = off`);
          await tx.execute(sql`set local enable_seqscan = off`);
          return tx.execute(sql.raw(`explain ${asked}`));
        });
        const way = sorting === key ? "" : "Backward ";
        expect(JSON.stringify(plan)).toMatch(new RegExp(`Index (Only )?Scan ${way}using ${index} `));
      }
  },
);
