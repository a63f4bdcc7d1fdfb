import { count } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { apikey } from "../../server/identity/accounts/tables.ts";
import { refusedCalls } from "../../server/platform/db/tables.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { newId } from "../support/ids.ts";
import { join, person } from "../support/people.ts";

let floe: Floe;
let seller: Seller;
beforeAll(async () => {
  floe = await start({ settings: { FLOE_REQUESTS_PER_MINUTE: "200" } });
});
afterAll(() => floe.close());
beforeEach(async () => {
  floe.clock.advance(60 * 60_000);
  seller = await floe.seller();
});

type Entry = { id: string; action: string; actor: Record<string, unknown>; details: Record<string, unknown> };
async function list(token: string, query: Record<string, string>): Promise<Entry[]> {
  await floe.auth.flush();
  const answer = await floe.request("GET", `/api/auth/audit/list?${new URLSearchParams(query)}`, { token });
  return (answer.json as { entries: Entry[] }).entries;
}
const listRefused = (one = seller, query: Record<string, string> = {}) =>
  list(one.session, { organizationId: one.organization_id, action: "call.refused", limit: "100", ...query });
const book = { name: "Book", prices: [{ amount_type: "free" as const }] };

test("a refused call is an entry of the organization whose caller made it: who, what and why", async () => {
  const foreign = await (await floe.seller("other")).client.products.create({ body: book });
  const reader = await floe.keyOf(seller, ["products:read"]);
  const member = await person(floe, "member");
  const owner = { ...seller, password: "" };
  await join(floe, { owner, organizationId: seller.organization_id, guest: member, role: "member" });
  const withoutScope = { token: reader, body: book, headers: { "user-agent": "ci/1.0" } };
  expect((await floe.request("POST", "/v1/products/", withoutScope)).status).toBe(403);
  expect((await floe.request("GET", `/v1/products/${foreign.id}`, { token: seller.key })).status).toBe(404);
  const invitation = { email: "a@example.com", role: "admin", organizationId: seller.organization_id };
  const invite = { token: member.session, body: invitation };
  expect((await floe.request("POST", "/api/auth/organization/invite-member", invite)).status).toBe(403);
  const mine = { token: member.session };
  const reading = `/api/auth/audit/list?organizationId=${seller.organization_id}`;
  expect((await floe.request("GET", reading, mine)).status).toBe(403);
  const entries = await listRefused();
  expect(entries.map(({ actor, details }) => [actor.kind, actor.email, details.operation, details.reason])).toEqual(
    expect.arrayContaining([
      ["key", null, "POST /v1/products/", "insufficient_scope"],
      ["key", null, "GET /v1/products/:id", "ResourceNotFound"],
      ["user", member.email, "POST /api/auth/organization/invite-member", expect.any(String)],
      ["user", member.email, "GET /api/auth/audit/list", expect.any(String)],
    ]),
  );
  expect(entries).toHaveLength(4);
  expect(
    entries.find(({ details }) => details.status === 403 && details.operation === "POST /v1/products/"),
  ).toMatchObject({ actor: { keyName: "test" }, details: { count: 1 }, userAgent: "ci/1.0", ipAddress: "127.0.0.1" });
  // In the log beside what was done, by its time, and in the log of the person's own account.
  const all = await list(seller.session, { organizationId: seller.organization_id, limit: "100" });
  expect(all.filter(({ action }) => action === "call.refused")).toHaveLength(4);
  expect(all.map(({ id }) => id)).toEqual(
    all
      .map(({ id }) => id)
      .toSorted()
      .reverse(),
  );
  expect((await list(member.session, { action: "call." })).length).toBe(2);
});

test("refusals beyond a limit, and of a key that is good no more, are of the key's organization", async () => {
  const key = await floe.keyOf(seller, ["products:read"]);
  const ask = () => floe.request("GET", "/v1/products/", { token: key });
  const statuses = [];
  for (let index = 0; index < 205; index++) statuses.push((await ask()).status);
  expect(statuses.filter((status) => status === 429).length).toBe(5);
  const expired = await floe.keyOf(seller, ["products:read"]);
  await floe.deps.db.update(apikey).set({ enabled: false });
  floe.clock.advance(60_000);
  expect((await floe.request("GET", "/v1/products/", { token: expired })).status).toBe(401);
  expect((await floe.request("GET", "/v1/products/", { token: `floe_oat_${"x".repeat(43)}` })).status).toBe(401);
  const entries = await listRefused();
  expect(entries.map(({ details }) => [details.reason, details.count]).toSorted()).toEqual([
    ["TooManyRequests", 5],
    ["invalid_token", 1],
  ]);
});

test("10,000 refusals are few rows, counted, and cost no statement before they are answered", async () => {
  const started = await floe.deps.db.$count(refusedCalls);
  const key = await floe.keyOf(seller, ["products:read"]);
  const ids = Array.from({ length: 150 }, newId);
  for (const id of ids) expect((await floe.request("GET", `/v1/orders/${id}`, { token: key })).status).toBe(403);
  const caller = { kind: "key" as const, organization_id: seller.organization_id, user_id: null, key_id: newId() };
  for (let index = 0; index < 10_000; index++)
    floe.auth.refusedCalls.add(caller, {
      operation: `GET /v1/orders/${index}`,
      reason: "insufficient_scope",
      status: 403,
      ip_address: "192.0.2.1",
      user_agent: null,
    });
  const newest = await listRefused();
  const [orders] = await listRefused(seller, { before: newest.at(-1)?.id ?? "" });
  expect(orders?.details).toMatchObject({ operation: "GET /v1/orders/:id", count: 150 });
  const rest = newest.find(({ details }) => details.operation === "*");
  expect(rest?.details.count).toBe(10_000 - 99);
  expect((await floe.deps.db.$count(refusedCalls)) - started).toBe(101);
  // What is written again is added to the same row.
  expect((await floe.request("GET", `/v1/orders/${newId()}`, { token: key })).status).toBe(403);
  await floe.auth.flush();
  const [row] = await floe.deps.db.select({ rows: count() }).from(refusedCalls);
  expect(Number(row?.rows) - started).toBe(101);
  const [again] = await listRefused(seller, { before: newest.at(-1)?.id ?? "" });
  expect(again?.details.count).toBe(151);
});

test("nobody writes into the log of an organization that is not theirs, nor for a call that there is not", async () => {
  const stranger = await person(floe);
  const headers = { "polar-organization": seller.organization_id };
  expect((await floe.request("GET", "/v1/products/", { token: stranger.session, headers })).status).toBe(404);
  const body = { organizationId: seller.organization_id };
  await floe.request("POST", "/api/auth/organization/delete", { token: stranger.session, body });
  expect((await floe.request("GET", "/v1/products/", { token: seller.key })).status).toBe(200);
  await floe.request("GET", "/v1/nowhere", { token: seller.key });
  await floe.request("GET", "/api/auth/nowhere", { token: seller.session });
  expect(await listRefused()).toEqual([]);
  expect((await list(stranger.session, { action: "call.refused" })).length).toBe(1);
});
