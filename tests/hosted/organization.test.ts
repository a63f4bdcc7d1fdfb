import { eq } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { organization } from "../../server/identity/organizations/tables.ts";
import { start } from "../support/floe.ts";
import { soldKey } from "../support/grant-rows.ts";
import { answerWith, type HostedPair, startHosted, startProxy } from "../support/hosted.ts";
import { newId } from "../support/ids.ts";

/** One organization with an id here and another at Polar: both are taken everywhere, and nobody else's is. */

let pair: HostedPair;
let here: string;
let there: string;
beforeAll(async () => {
  pair = await startHosted();
  here = pair.seller.organization_id;
  there = pair.polarSeller.organization_id;
});
afterAll(() => pair.close());
beforeEach(() => pair.proxy.setFault(undefined));

const product = (name: string) => ({ name, prices: [{ amount_type: "fixed", price_amount: 1500 }] });
type Asked = { token?: string; body?: unknown; headers?: Record<string, string> };
const ask = async (method: string, path: string, asked: Asked = {}) => {
  const { status, json } = await pair.floe.request(method, path, { token: pair.seller.session, ...asked });
  return [status, json as { items?: unknown[]; id?: string; organization_id?: string }] as const;
};

test("either id is taken in header, query, body and path, and answers have the id at Polar", async () => {
  for (const id of [here, there]) {
    const [made, json] = await ask("POST", "/v1/products/", { body: { ...product(id), organization_id: id } });
    expect([made, json.organization_id]).toEqual([201, there]);
    const [byHeader, listed] = await ask("GET", "/v1/products/", { headers: { "polar-organization": id } });
    expect([byHeader, (listed.items?.length ?? 0) > 0]).toEqual([200, true]);
    const [byQuery, found] = await ask("GET", `/v1/products/?organization_id=${id}`);
    expect([byQuery, (found.items?.length ?? 0) > 0]).toEqual([200, true]);
    const [byPath, own] = await ask("GET", `/v1/organizations/${id}`);
    expect([byPath, own.id]).toEqual([200, there]);
    const [withKey] = await ask("POST", "/v1/products/", {
      token: pair.seller.key,
      body: { ...product(`key ${id}`), organization_id: id },
    });
    expect(withKey).toBe(201);
    const events = [{ name: "used", external_customer_id: "ada", organization_id: id }];
    expect((await ask("POST", "/v1/events/ingest", { body: { events } }))[0]).toBe(200);
  }
  const [status, json] = await ask("GET", "/v1/organizations/");
  expect([status, json.items]).toMatchObject([200, [{ id: there }]]);
  const both = { headers: { "polar-organization": here }, body: { ...product("both"), organization_id: there } };
  expect((await ask("POST", "/v1/products/", both))[0]).toBe(201);
});

test("another organization's id is none, and nothing is sent for it", async () => {
  pair.proxy.recorded.length = 0;
  for (const id of [pair.outside.organization_id, newId()]) {
    expect((await ask("GET", "/v1/products/", { headers: { "polar-organization": id } }))[0]).toBe(404);
    expect((await ask("POST", "/v1/products/", { body: { ...product("x"), organization_id: id } }))[0]).toBe(422);
    expect((await ask("GET", `/v1/organizations/${id}`))[0]).toBe(404);
    expect((await ask("GET", `/v1/organizations/${id}`, { token: pair.outside.session }))[0]).toBe(404);
  }
  // The id at Polar opens nothing to who does not belong to the organization here.
  for (const token of [pair.outside.key, pair.outside.session]) {
    expect((await ask("GET", "/v1/products/", { token, headers: { "polar-organization": there } }))[0]).not.toBe(200);
    expect((await ask("GET", `/v1/organizations/${there}`, { token }))[0]).toBe(404);
  }
  expect(pair.proxy.recorded).toEqual([]);
});

test("a license key is validated with either id, with a key of floe and without one", async () => {
  const { key } = await soldKey(pair.polar, pair.polarSeller);
  for (const organization_id of [here, there]) {
    const body = { key, organization_id };
    const open = await pair.floe.request("POST", "/v1/customer-portal/license-keys/validate", { body });
    expect([open.status, open.json]).toMatchObject([200, { key, status: "granted" }]);
    expect((await ask("POST", "/v1/license-keys/validate", { token: pair.seller.key, body }))[0]).toBe(200);
  }
  const body = { key, organization_id: newId() };
  expect((await pair.floe.request("POST", "/v1/customer-portal/license-keys/validate", { body })).status).toBe(404);
});

test("a link that is known outlives a start without Polar, and a refused change leaves no entry in the audit log", async () => {
  pair.proxy.setFault(answerWith(500, "{}"));
  await expect(pair.floe.hosted?.refreshLink()).resolves.toEqual({ organization_id: here, polar_id: there });
  pair.proxy.setFault(answerWith(422, '{"error":"RequestValidationError","detail":[]}'));
  expect((await ask("POST", "/v1/products/", { body: { ...product("none"), organization_id: here } }))[0]).toBe(422);
  pair.proxy.setFault(undefined);
  const log = await pair.floe.request("GET", "/api/auth/organization/list-audit-events", {
    token: pair.seller.session,
    headers: { "polar-organization": here },
  });
  expect(log.text).not.toContain("none");
});

test("a token of several organizations, and one that is refused", async () => {
  const settings = { FLOE_BILLING: "polar", POLAR_ACCESS_TOKEN: "polar_oat_several", POLAR_TIMEOUT_MS: "1000" };
  const proxy = await startProxy(pair.polar.url);
  const [row] = await pair.polar.deps.db.select().from(organization).where(eq(organization.id, there));
  const one = await pair.polar.request("GET", `/v1/organizations/${there}`, { token: pair.polarSeller.key });
  expect(row?.id).toBe(there);
  const items = [one.json, { ...(one.json as object), id: newId() }];
  proxy.setFault(answerWith(200, JSON.stringify({ items, pagination: { total_count: 2, max_page: 1 } })));
  await expect(start({ settings: { ...settings, POLAR_URL: proxy.url } })).rejects.toThrow(/POLAR_ORGANIZATION/);
  proxy.setFault(answerWith(401, '{"error":"invalid_token"}'));
  const refused = await start({ settings: { ...settings, POLAR_URL: proxy.url } });
  const ready = await refused.request("GET", "/readyz");
  expect([ready.status, ready.json]).toMatchObject([503, { polar: "token_refused" }]);
  expect(refused.logged.join("\n")).toContain("Is it a token of this address?");
  expect(refused.logged.join("\n")).not.toContain("polar_oat_several");
  await refused.close();
  await proxy.close();
});

test("MTR-32: the names of events that buyers may send are kept here, and are not sent to Polar", async () => {
  const { client, organization_id } = pair.seller;
  const params = { id: organization_id };
  pair.proxy.recorded.length = 0;
  const website = "https://names.example.com/";
  const changed = await client.organizations.update({
    params,
    body: { website, customer_event_names: ["a", "a", "b"] },
  });
  expect(changed).toMatchObject({ website, customer_event_names: ["a", "b"] });
  const sent = pair.proxy.recorded
    .filter(({ method }) => method === "PATCH")
    .map(({ body }) => JSON.parse(body.toString()));
  expect(sent).toEqual([{ website }]);
  expect((await client.organizations.get({ params })).customer_event_names).toEqual(["a", "b"]);
  expect((await client.organizations.list({ query: {} })).items[0]?.customer_event_names).toEqual(["a", "b"]);
  // A change of something else keeps them.
  expect((await client.organizations.update({ params, body: { website } })).customer_event_names).toEqual(["a", "b"]);
  const change = async (id: string, token: string, body: object) =>
    (await pair.floe.request("PATCH", `/v1/organizations/${id}`, { token, body })).status;
  const { key } = pair.seller;
  // Bad names, a change that Polar refuses, another organization and a key without the scope change nothing.
  expect(await change(organization_id, key, { customer_event_names: [""] })).toBe(422);
  expect(await change(organization_id, key, { customer_event_names: "c" })).toBe(422);
  expect(await change(organization_id, key, { customer_event_names: null })).toBe(200);
  expect(await change(organization_id, key, { name: "x", customer_event_names: ["c"] })).toBe(422);
  expect(await change(organization_id, pair.outside.key, { customer_event_names: ["c"] })).toBe(404);
  expect(await change(pair.outside.organization_id, key, { customer_event_names: ["c"] })).toBe(404);
  const weak = await pair.floe.keyOf(pair.seller, ["organizations:read"]);
  expect(await change(organization_id, weak, { customer_event_names: ["c"] })).toBe(403);
  expect((await client.organizations.get({ params })).customer_event_names).toEqual(["a", "b"]);
});
