import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { parseQuery } from "../../server/platform/http/query.ts";
import { type Floe, start } from "../support/floe.ts";

/** What every object of the process has: a key more, and every request of everybody carries it. */
const shared = [Object.prototype, Array.prototype, Function.prototype] as const;
const keysOf = () => shared.map((prototype) => Reflect.ownKeys(prototype));
const before = keysOf();

let floe: Floe;
beforeAll(async () => {
  floe = await start();
});
afterAll(() => floe?.close());
afterEach(() => {
  // What one test lets in must not fail the others.
  for (const [index, prototype] of shared.entries())
    for (const key of Reflect.ownKeys(prototype))
      if (!before[index]?.includes(key)) Reflect.deleteProperty(prototype, key);
});

const attacks = [
  "__proto__[polluted]=1",
  "__proto__[polluted]=1&__proto__[polluted]=2",
  "%5F_proto__%5Bpolluted%5D=1",
  "__proto__=x&__proto__[polluted]=1",
  "constructor[prototype]=x&constructor[polluted]=1",
  "prototype[polluted]=1",
  "toString[polluted]=1",
  "hasOwnProperty[polluted]=1&valueOf[polluted]=1",
  "metadata[__proto__]=x&metadata[constructor]=y",
];

test.each(attacks)("?%s adds nothing to what all objects share, wherever it is sent", async (query) => {
  for (const path of ["/healthz", "/", "/v1/products/", "/openapi.json", "/api/auth/get-session", "/buy/x", "/nowhere"])
    expect((await floe.request("GET", `${path}?${query}`)).status, path).toBeLessThan(500);
  expect(keysOf()).toEqual(before);
  for (const prototype of [Object.prototype.toString, Object.prototype.hasOwnProperty, Object])
    expect(Object.hasOwn(prototype, "polluted")).toBe(false);
  expect(({} as Record<string, unknown>).polluted).toBeUndefined();
});

test.each([
  "[plan][x]=v",
  "[plan=v",
  "[]=v",
  "[a[b]]=v",
  "[__proto__]=v",
  "]x=v",
  "[a]b=v",
  "[a]=v&metadata[b=v",
  "[b=v&metadata[a]=v",
])("API-18: ?metadata%s cannot be read as a filter, and is refused", async (filter) => {
  const { key: token } = await floe.seller();
  for (const path of ["customers", "products", "orders", "subscriptions", "benefits", "events"]) {
    const { status, json } = await floe.request("GET", `/v1/${path}/?metadata${filter}`, { token });
    expect([path, status, json]).toMatchObject([path, 422, { detail: [{ loc: ["query", "metadata"] }] }]);
  }
});

test("after an attack on the role of everybody, people still sign up, and nobody is an administrator", async () => {
  await floe.request("GET", "/healthz?__proto__[role]=admin&__proto__[authorization]=x&__proto__[zz]=1");
  const seller = await floe.seller();
  const asked = await floe.request("GET", "/api/auth/admin/list-users", { token: seller.session });
  expect(asked.status).toBe(403);
  expect((await floe.request("GET", "/v1/products/")).status).toBe(401);
});

test("a query's maps hold what was sent and nothing else", () => {
  const query = parseQuery("a=1&a=2&a=3&metadata[x]=1&metadata[y]=2&metadata[y]=3&constructor=c&toString[z]=1");
  expect(Object.getPrototypeOf(query)).toBeNull();
  expect(Object.getPrototypeOf(query.metadata)).toBeNull();
  expect(JSON.parse(JSON.stringify(query))).toEqual({
    a: ["1", "2", "3"],
    metadata: { x: "1", y: ["2", "3"] },
    constructor: "c",
    toString: { z: "1" },
  });
  expect(Reflect.ownKeys(parseQuery("__proto__=x&__proto__[y]=1"))).toEqual([]);
});

test("behind every reader stands a second wall: what all objects share has no back door, and takes no new key", () => {
  expect(Reflect.get({}, "__proto__")).toBeUndefined();
  expect(Reflect.set(Object.prototype, "polluted", true)).toBe(false);
  expect(Reflect.get({}, "polluted")).toBeUndefined();
});

test("a name that all objects know is no thing of a catalogue, and may be one", async () => {
  const seller = await floe.seller();
  const plan = (sections: object) =>
    floe.request("POST", "/v1/catalog/plan", {
      token: seller.key,
      body: { document: { version: 1, catalog: "x", ...sections } },
    });
  const discount = { name: "X", percent: 5, duration: "once" };
  const absent = await plan({ products: {}, discounts: { x: { ...discount, products: ["constructor"] } } });
  expect(absent.status).toBe(422);
  const product = { name: "Constructor", prices: [{ fixed: "19.00" }] };
  const there = await plan({
    products: { constructor: product },
    discounts: { x: { ...discount, products: ["constructor"] } },
  });
  expect([there.status, there.text]).toEqual([200, expect.stringContaining("Constructor")]);
});

test("a provider's error is told in its own words, also where all objects know that word", async () => {
  const answer = await floe.request("GET", "/api/auth/callback/github?error=constructor&state=x");
  expect(String(answer.headers.location)).not.toContain("function");
});
