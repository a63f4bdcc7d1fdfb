import Fastify from "fastify";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { completeConfig, readSettings } from "../../server/platform/config.ts";
import { limitRequests } from "../../server/platform/http/limits.ts";
import { checkoutClient } from "../../shared/api/checkout-client.ts";
import { licenseKeyUses } from "../../shared/api/license-keys.ts";
import { type Accounts, newAddress, startAccounts } from "../support/accounts.ts";
import { type Seller, TestClock } from "../support/floe.ts";
import { newId } from "../support/ids.ts";

const max = 5;
const clock = new TestClock(new Date());
let floe: Accounts;
let seller: Seller;

beforeAll(async () => {
  floe = await startAccounts({ FLOE_REQUESTS_PER_MINUTE: String(max), TRUST_PROXY: "127.0.0.1" }, { clock });
  seller = await floe.seller();
});
afterAll(() => floe.close());
/** Whatever was counted is over. */
afterEach(() => clock.advance(3600_000));

type Given = Parameters<Accounts["request"]>[2];
const list = (given: Given) => floe.request("GET", "/v1/products/", given);
const statuses = async (times: number, ask: (n: number) => Promise<{ status: number }>): Promise<number[]> => {
  const seen: number[] = [];
  for (let n = 0; n < times; n += 1) seen.push((await ask(n)).status);
  return seen;
};
/** Which keys were used is written every few seconds: now, so that it is not taken for what a request asked. */
const forgetQueries = async () => {
  await floe.auth.flush();
  floe.queries.length = 0;
};
const from = (address: string) => ({ "x-forwarded-for": address });

test("API-01: the keys of an organization are counted together, whatever the address, and others by themselves", async () => {
  const second = await floe.keyOf(seller, ["products:read"]);
  const asked = (token: string) => list({ token, headers: from(newAddress()) });
  expect(await statuses(max, (n) => asked(n % 2 ? second : seller.key))).toEqual(Array(max).fill(200));
  const refused = await asked(second);
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "61"]);
  expect(refused.json).toEqual({ error: "TooManyRequests", detail: "Too many requests. Try again in 61 s." });
  expect(refused.headers.get("access-control-allow-origin"), "a page elsewhere can read it").toBe("*");
  const other = await floe.seller("other");
  expect((await asked(other.key)).status).toBe(200);
  expect((await asked(seller.session)).status, "a person is not their organization").toBe(200);
  clock.advance(60_000);
  expect((await asked(seller.key)).status).toBe(200);
});

test("API-01: who is beyond it is refused before the body is read and without asking the database", async () => {
  await statuses(max, () => list({ token: seller.key }));
  await forgetQueries();
  const headers = { "content-type": "application/json" };
  const refused = await floe.request("POST", "/v1/products/", { token: seller.key, body: "{not JSON", headers });
  expect([refused.status, floe.queries]).toEqual([429, []]);
});

test("API-01: who shows no token counts by address, an IPv6 network as one", async () => {
  const ask = (address: string) => floe.request("GET", "/v1/checkouts/client/nothing", { headers: from(address) });
  expect(await statuses(max + 1, (n) => ask(`2001:db8:0:1::${n + 1}`))).toEqual([...Array(max).fill(404), 429]);
  expect((await ask("2001:db8:0:2::1")).status).toBe(404);
});

test("the document counts as any call; it is kept as it is sent, so that to send it costs nothing", async () => {
  const ask = (address: string, accepts = "gzip, br") =>
    floe.request("GET", "/openapi.json", { headers: { ...from(address), "accept-encoding": accepts } });
  const answers = [await ask("192.0.2.77"), await ask("192.0.2.77"), await ask("192.0.2.77", "gzip;q=0")];
  expect(answers.map(({ headers }) => headers.get("content-encoding"))).toEqual(["gzip", "gzip", null]);
  expect(answers.map(({ json }) => (json as { openapi: string }).openapi)).toEqual(["3.1.0", "3.1.0", "3.1.0"]);
  // Asked in the process itself, where nobody unpacks it: made into text each time, a hundred took four seconds.
  const before = process.cpuUsage();
  for (let n = 0; n < 100; n += 1) {
    const headers = { ...from(newAddress()), "accept-encoding": "gzip" };
    expect((await floe.app.inject({ url: "/openapi.json", headers })).statusCode).toBe(200);
  }
  expect(process.cpuUsage(before).user / 1000).toBeLessThan(2000);
  expect(await statuses(max - 2, () => ask("192.0.2.77"))).toEqual([200, 200, 429]);
});

test("what is open to everybody beside the API counts by address, each for itself; pictures come several to a page", async () => {
  const ask = (path: string, address: string) => floe.request("GET", path, { headers: from(address) });
  const open = [
    ["/readyz", max],
    ["/api/reference/js/nothing.js", max],
    ["/media/nothing", 10 * max],
  ] as const;
  for (const [path, most] of open) {
    const seen = await statuses(most + 1, () => ask(path, "192.0.2.90"));
    expect([path, seen.slice(0, -1).filter((status) => status === 429), seen.at(-1)]).toEqual([path, [], 429]);
    expect((await ask(path, "192.0.2.91")).status, path).not.toBe(429);
  }
  expect((await ask("/media/nothing", "192.0.2.90")).json).toMatchObject({ error: "TooManyRequests" });
  const lives = await statuses(5 * max, () => ask("/healthz", "192.0.2.90"));
  expect(new Set(lives), "costs nothing, and a keeper asks often").toEqual(new Set([200]));
});

test("an address types so many cards into the test form, and no more: each is a row", async () => {
  const card = { number: "4242424242424242", exp_month: 12, exp_year: 2040, cvc: "123" };
  const type = (address: string) =>
    floe.request("POST", "/v1/payment-processor/test/confirmation-tokens", { body: { card }, headers: from(address) });
  const made = await statuses(61, () => type("192.0.2.88"));
  expect(made).toEqual([...Array(60).fill(201), 429]);
  expect((await type("192.0.2.89")).status).toBe(201);
});

test("API-01: a browser may ask a hundred times a second", async () => {
  const cookie = await floe.browser(seller);
  expect(new Set(await statuses(100, () => list({ cookie })))).toEqual(new Set([200]));
  expect((await list({ cookie })).status).toBe(429);
  expect((await list({ token: seller.session })).status, "the same session as a token counts apart").toBe(200);
  clock.advance(1000);
  expect((await list({ cookie })).status).toBe(200);
});

test("API-01: an address guesses sixty tokens a minute; one that is good is not a guess, and goes on", async () => {
  const headers = from(newAddress());
  const guess = (token: string) => list({ token, headers });
  expect((await guess(seller.key)).status).toBe(200);
  const wrong = await statuses(60, (n) => guess(n % 2 ? `floe_oat_${n}` : `floe_pat_${n}`));
  expect(new Set(wrong)).toEqual(new Set([401]));
  await forgetQueries();
  expect([(await guess("floe_oat_more")).status, floe.queries]).toEqual([429, []]);
  const session = await floe.request("POST", "/api/auth/checkout", { token: "x", body: { slug: "a" }, headers });
  expect([session.status, session.json], "no other door").toMatchObject([429, { code: "TOO_MANY_REQUESTS" }]);
  expect((await guess(seller.key)).status, "known to be good").toBe(200);
  expect((await list({ token: "floe_oat_more", headers: from(newAddress()) })).status).toBe(401);
});

test("API-01: a token that is no longer good is a guess again", async () => {
  const key = await floe.keyOf(seller, ["products:read"]);
  const headers = from(newAddress());
  expect((await list({ token: key, headers })).status).toBe(200);
  const { json } = await floe.request("GET", `/api/auth/api-key/list?organizationId=${seller.organization_id}`, {
    token: seller.session,
  });
  const keys = (json as { apiKeys: { id: string; start: string }[] }).apiKeys;
  const keyId = keys.find(({ start }) => key.startsWith(start))?.id;
  await floe.request("POST", "/api/auth/api-key/delete", { token: seller.session, body: { keyId } });
  expect(new Set(await statuses(61, () => list({ token: key, headers })))).toEqual(new Set([401]));
  expect((await list({ token: key, headers })).status).toBe(429);
});

test("API-02, API-04: confirming is counted apart, by address, whatever token is shown: 6 a minute, 20 an hour, then half an hour none", async () => {
  const address = newAddress();
  const confirm = (token?: string) =>
    floe.request("POST", `/v1/checkouts/client/nothing/confirm${token ? "/" : ""}`, {
      ...(token && { token }),
      body: {},
      headers: from(address),
    });
  const tokens = [undefined, "floe_oat_wrong", seller.key];
  expect(await statuses(6, (n) => confirm(tokens[n % 3]))).toEqual([404, 401, 404, 404, 401, 404]);
  const refused = await confirm(seller.key);
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "1801"]);
  clock.advance(1_799_000);
  expect((await confirm()).status, "API-03").toBe(429);
  expect(await statuses(max, () => list({ token: seller.key, headers: from(address) })), "the rest goes on").toEqual(
    Array(max).fill(200),
  );
  clock.advance(2_601_000);
  for (let n = 0; n < 20; n += 1) {
    if (n % 5 === 0) clock.advance(60_000);
    expect((await confirm()).status).toBe(404);
  }
  clock.advance(60_000);
  expect((await confirm()).headers.get("retry-after")).toBe("1801");
});

test.each(Object.values(licenseKeyUses).map(({ path }) => path))(
  "BEN-40: an address asks %s about a key three times a second, whatever key or token it shows, then not for a minute",
  async (path) => {
    const address = newAddress();
    const tokens = [undefined, "floe_oat_wrong", seller.key];
    const guess = (n: number, at = address) => {
      const token = tokens[n % 3];
      const body = { key: `BOOK-${n}`, organization_id: seller.organization_id, label: "Desk", activation_id: newId() };
      return floe.request("POST", path, { ...(token && { token }), body, headers: from(at) });
    };
    expect(await statuses(3, guess)).toEqual([404, 401, 404]);
    clock.advance(1000);
    expect(await statuses(4, guess)).toEqual([404, 401, 404, 429]);
    clock.advance(59_000);
    const refused = await guess(2);
    expect([refused.status, refused.json, Number(refused.headers.get("retry-after")) > 0]).toMatchObject([
      429,
      { error: "TooManyRequests" },
      true,
    ]);
    expect((await guess(0, newAddress())).status, "others go on").toBe(404);
    clock.advance(61_000);
    expect((await guess(0)).status).toBe(404);
    // A seller's own server asks for everybody, at the pace of its key.
    const ours = path.replace("/customer-portal", "");
    const body = { key: "BOOK-1", label: "Desk", activation_id: newId() };
    const ask = () => floe.request("POST", ours, { token: seller.key, body, headers: from(address) });
    expect(await statuses(max + 1, ask)).toEqual([...Array(max).fill(404), 429]);
  },
);

test("API-04: the limit of confirming is the operation's, wherever its address moves", async () => {
  const { confirm } = checkoutClient;
  const { path } = confirm;
  const app = Fastify();
  try {
    Object.assign(confirm, { path: "/v1/elsewhere/:client_secret/pay" });
    const { config, db, log } = floe.deps;
    limitRequests(app, { clock, config, db, log }, floe.auth);
    app.route({ method: confirm.method, url: confirm.path, handler: () => "paid" });
    const ask = async () => {
      const { statusCode } = await app.inject({ method: confirm.method, url: "/v1/elsewhere/nothing/pay" });
      return { status: statusCode };
    };
    expect(await statuses(7, ask)).toEqual([...Array(6).fill(200), 429]);
  } finally {
    Object.assign(confirm, { path });
    await app.close();
  }
});

test("API-01: by default 500 a minute, none where only this machine reaches an embedded floe; it can be set", () => {
  const of = (given: Record<string, string>) =>
    completeConfig(readSettings({ FLOE_SECRET: "9f3a1c77e2b84d06a5c1f0de4b7799aa31", ...given }, {}))
      .requests_per_minute;
  expect(of({})).toBe(0);
  expect(of({ HOST: "0.0.0.0" })).toBe(500);
  expect(of({ DATABASE_URL: "postgres://localhost/floe" })).toBe(500);
  expect(of({ HOST: "0.0.0.0", FLOE_REQUESTS_PER_MINUTE: "0" })).toBe(0);
  expect(of({ FLOE_REQUESTS_PER_MINUTE: "90" })).toBe(90);
  expect(() => of({ FLOE_REQUESTS_PER_MINUTE: "many" })).toThrow("FLOE_REQUESTS_PER_MINUTE");
});

test("a proxy that is not trusted is told of once: everybody behind it is one", async () => {
  const said: string[] = [];
  const log = { info: () => {}, warn: (_: object, text = "") => void said.push(text), error: () => {} };
  const app = Fastify();
  const config = { ...floe.deps.config, TRUST_PROXY: undefined };
  limitRequests(app, { clock, config, db: floe.deps.db, log }, floe.auth);
  app.get("/v1/here", () => "here");
  const ask = async (n: number) => {
    const { statusCode } = await app.inject({ url: "/v1/here", headers: from(`192.0.2.${n}`) });
    return { status: statusCode };
  };
  expect(await statuses(max, ask)).toEqual(Array(max).fill(200));
  expect((await ask(9)).status).toBeGreaterThanOrEqual(400);
  expect(said).toEqual([expect.stringContaining("TRUST_PROXY")]);
  await app.close();
});
