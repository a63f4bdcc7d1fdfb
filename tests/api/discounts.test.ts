import { eq } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { discounts } from "../../server/catalog/discounts/tables.ts";
import { type Accounts, startAccounts } from "../support/accounts.ts";
import { callsOf } from "../support/calls.ts";
import type { Seller } from "../support/floe.ts";

let floe: Accounts;
let seller: Seller;
let call: ReturnType<typeof callsOf>;
beforeAll(async () => {
  floe = await startAccounts();
  seller = await floe.seller("ada");
  call = callsOf(floe, seller);
});
afterAll(() => floe?.close());

const path = "/v1/discounts/";
const discount = (over: object = {}) => ({ name: "Sale", duration: "once", basis_points: 1000, ...over });
const made = async (over: object = {}): Promise<string> => {
  const { status, json } = await call.send("POST", path, discount(over));
  expect(status).toBe(201);
  return json.id;
};
const book = async (who = seller) =>
  (await who.client.products.create({ body: { name: "Book", prices: [{ amount_type: "fixed", price_amount: 900 }] } }))
    .id;

test("DSC-01: a code is one discount's, in whatever case, until that is deleted", async () => {
  const id = await made({ code: " Summer25 " });
  expect((await call.send("GET", `${path}${id}`)).json).toMatchObject({ code: "Summer25", type: "percentage" });
  const taken = (await call.send("POST", path, discount({ code: "SUMMER25" }))).json;
  expect(taken.detail).toMatchObject([{ loc: ["body", "code"], msg: "Discount with this code already exists." }]);
  const other = await made({ code: null });
  expect(await call.refused("PATCH", `${path}${other}`, { code: "summer25" })).toEqual(["code value_error"]);
  expect((await call.send("PATCH", `${path}${id}`, { code: "sUMMER25" })).json).toMatchObject({ code: "sUMMER25" });
  expect((await call.send("DELETE", `${path}${id}`)).status).toBe(204);
  expect((await call.send("PATCH", `${path}${other}`, { code: "summer25" })).status).toBe(200);
  const neighbour = callsOf(floe, await floe.seller("bob"));
  expect((await neighbour.send("POST", path, discount({ code: "summer25" }))).status).toBe(201);
});

test("DSC-03, DSC-04: both types are answered with their own fields alone", async () => {
  const fixed = (
    await call.send("POST", path, {
      name: "F",
      duration: "repeating",
      duration_in_months: 3,
      amounts: { eur: 4, usd: 5 },
    })
  ).json;
  expect(fixed).toMatchObject({
    type: "fixed",
    amount: 5,
    currency: "usd",
    amounts: { usd: 5, eur: 4 },
    duration_in_months: 3,
  });
  expect(fixed).not.toHaveProperty("basis_points");
  const percentage = (await call.send("POST", path, discount({ type: "percentage" }))).json;
  expect(percentage).toMatchObject({ type: "percentage", basis_points: 1000, redemptions_count: 0, products: [] });
  for (const field of ["amount", "amounts", "currency", "duration_in_months"])
    expect(percentage).not.toHaveProperty(field);
  expect(await call.refused("POST", path, { name: "", duration: "once", amount: 1, amounts: { usd: 1 } })).toHaveLength(
    2,
  );
});

test("DSC-05: products are limited to in their order, replaced as a whole, and foreign ones told by their place", async () => {
  const [one, two, foreign] = [await book(), await book(), await book(await floe.seller("bob"))];
  const id = await made({ products: [two, one.toUpperCase(), two] });
  const limited = async () =>
    (await call.send("GET", `${path}${id}`)).json as unknown as { products: { id: string }[] };
  const ids = async () => (await limited()).products.map((product) => product.id);
  expect(await ids()).toEqual([two, one]);
  expect(await call.refused("PATCH", `${path}${id}`, { products: [one, foreign], code: "!!!" })).toEqual([
    "code invalid_format",
  ]);
  expect(await call.refused("PATCH", `${path}${id}`, { products: [one, foreign] })).toEqual(["products.1 value_error"]);
  expect(await call.refused("POST", path, discount({ products: [foreign] }))).toEqual(["products.0 value_error"]);
  await call.send("PATCH", `${path}${id}`, { products: null, name: "Still limited" });
  expect(await ids()).toEqual([two, one]);
  await call.send("PATCH", `${path}${id}`, { products: [one] });
  expect(await ids()).toEqual([one]);
  await call.send("PATCH", `${path}${id}`, { products: [] });
  expect(await ids()).toEqual([]);
});

test("DSC-07: once redeemed, the money is frozen over the wire; name, code, dates and caps are not", async () => {
  const id = await made({ basis_points: undefined, amounts: { usd: 500, eur: 400 } });
  await floe.deps.db.update(discounts).set({ redemptions_count: 1 }).where(eq(discounts.id, id));
  const refused = (body: object) => call.refused("PATCH", `${path}${id}`, body);
  expect(await refused({ amount: 1, currency: "gbp", amounts: null })).toHaveLength(3);
  expect(await refused({ type: "percentage", duration: "forever" })).toEqual([
    "type value_error",
    "duration value_error",
  ]);
  const fine = { amounts: { usd: 500, eur: 400 }, amount: 500, currency: "usd", type: "fixed", duration: "once" };
  const { status, json } = await call.send("PATCH", `${path}${id}`, {
    ...fine,
    name: "New",
    code: "AFTER",
    max_redemptions: 1,
  });
  expect([status, json]).toMatchObject([200, { name: "New", code: "AFTER", amounts: { usd: 500, eur: 400 } }]);
});

test("DSC-08: a deleted discount is found by nothing, and each step is told", async () => {
  const before = await Promise.all(["created", "updated", "deleted"].map((verb) => call.told(`discount.${verb}`)));
  const id = await made({ code: "GONE1" });
  await call.send("PATCH", `${path}${id}`, { name: "Soon gone" });
  expect((await call.send("DELETE", `${path}${id}`)).status).toBe(204);
  const after = await Promise.all(["created", "updated", "deleted"].map((verb) => call.told(`discount.${verb}`)));
  expect(after.map((count, index) => count - (before[index] ?? 0))).toEqual([1, 1, 1]);
  const answers = [
    await call.send("GET", `${path}${id}`),
    await call.send("PATCH", `${path}${id}`, { name: "x" }),
    await call.send("DELETE", `${path}${id}`),
  ];
  expect(answers.map(({ status }) => status)).toEqual([404, 404, 404]);
  expect(await call.ids(`${path}?query=GONE1`)).toEqual([]);
  const [row] = await floe.deps.db.select().from(discounts).where(eq(discounts.id, id));
  expect(row?.deleted_at).not.toBeNull();
});

test("DSC-25: a list has each filter and sort, with its products in one statement for the page", async () => {
  const own = await floe.seller("lists");
  const { send, ids } = callsOf(floe, own);
  const products = [await book(own), await book(own)];
  const add = async (over: object) => (await send("POST", path, discount({ products, ...over }))).json.id;
  const a = await add({ name: "Alpha", code: "CCC", ends_at: "2030-01-01T00:00:00Z" });
  const b = await add({ name: "Beta", code: "BBB", ends_at: "2029-01-01T00:00:00Z" });
  const c = await add({ name: "Gamma", code: "AAA", ends_at: "2031-01-01T00:00:00Z" });
  await floe.deps.db.update(discounts).set({ redemptions_count: 7 }).where(eq(discounts.id, b));
  expect(await ids(path)).toEqual([c, b, a]);
  const sorted: [string, string[]][] = [
    ["created_at", [a, b, c]],
    ["name", [a, b, c]],
    ["code", [c, b, a]],
    ["-redemptions_count,created_at", [b, a, c]],
    ["ends_at", [b, a, c]],
  ];
  for (const [sorting, wanted] of sorted)
    expect([sorting, await ids(`${path}?sorting=${sorting.replace(",", "&sorting=")}`)]).toEqual([sorting, wanted]);
  expect(await ids(`${path}?query=alph`)).toEqual([a]);
  expect(await ids(`${path}?query=bb`)).toEqual([b]);
  expect(await ids(`${path}?organization_id=${seller.organization_id}`)).toEqual([]);
  expect(await ids(`${path}?limit=2&page=2`)).toEqual([a]);
  expect((await send("GET", `${path}${a}`, undefined, seller.key)).status).toBe(404);
  floe.queries.length = 0;
  await ids(path);
  expect(floe.queries.filter((query) => query.includes('"discounts"'))).toHaveLength(1);
  expect(floe.queries.filter((query) => query.includes('"products"'))).toHaveLength(1);
});
