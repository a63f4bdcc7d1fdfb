import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { events } from "../../server/platform/db/tables.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { newId } from "../support/ids.ts";
import { openStream, type Stream } from "../support/sse.ts";

const path = "/v1/events/stream";
let floe: Floe;
let seller: Seller;
const streams: Stream[] = [];
beforeAll(async () => {
  floe = await start({ listen: true });
  seller = await floe.seller();
});
afterAll(() => floe.close());
afterEach(() => {
  for (const stream of streams.splice(0)) stream.close();
});

type Made = { token: string; expires_at: string; types: string[]; omitted_types: string[] };
const ask = (body: object, token = seller.key, headers: Record<string, string> = {}) =>
  floe.request("POST", `${path}/tokens`, { token, body, headers });
async function make(body: object = {}, token = seller.key): Promise<Made> {
  const answer = await ask(body, token);
  expect(answer.status).toBe(201);
  return answer.json as Made;
}
/** As a page does: no header says who it is. */
async function open(token: string, more = "", headers: Record<string, string> = {}): Promise<Stream> {
  const stream = await openStream(`${floe.url}${path}?token=${token}${more}`, headers);
  streams.push(stream);
  return stream;
}
async function happen(type: string, data: object = { id: newId() }) {
  const [id, { organization_id }] = [newId(), seller];
  await floe.deps.db.insert(events).values({ id, organization_id, type, data, created_at: floe.clock.now() });
  return id;
}

test("STR-10: a token opens one stream, with its filters and scopes, from any page", async () => {
  const [customer_id, key] = [newId(), await floe.keyOf(seller, ["orders:read", "customers:read"])];
  const made = await make({ types: ["order.*", "customer.updated"], customer_id }, key);
  expect(made).toEqual({
    token: expect.stringMatching(/^floe_est_\w{43}$/),
    expires_at: new Date(floe.clock.now().getTime() + 60_000).toISOString(),
    types: ["customer.updated", "order.created", "order.updated", "order.paid", "order.refunded"],
    omitted_types: [],
  });
  const stream = await open(made.token, "", { origin: "https://shop.example" });
  expect([stream.status, stream.headers["access-control-allow-origin"]]).toEqual([200, "*"]);
  expect((await stream.next()).data).toMatchObject({ types: made.types });
  await happen("product.updated", { id: customer_id, customer_id });
  await happen("order.paid", { id: newId(), customer_id: newId() });
  const id = await happen("order.paid", { id: newId(), customer_id });
  expect((await stream.next()).data).toMatchObject({ id, api_version: "2027-01" });
  expect((await open(made.token)).status).toBe(401);
});

test("STR-10: of ten who show a token at once, one gets the stream", async () => {
  const { token } = await make();
  const statuses = await Promise.all(Array.from({ length: 10 }, () => open(token).then(({ status }) => status)));
  expect(statuses.sort()).toEqual([200, ...Array.from({ length: 9 }, () => 401)]);
});

test("STR-10: goes on at a cursor beside the token, and takes no other filter there", async () => {
  const first = await open((await make()).token);
  const { id: cursor = "" } = await first.next();
  const missed = await happen("order.paid");
  const again = await open((await make()).token, `&cursor=${cursor}`);
  await again.next();
  expect((await again.next()).data).toMatchObject({ id: missed });
  const { token } = await make({ types: ["refund.created"] });
  const refused = await floe.request("GET", `${path}?token=${token}&types=order.paid`);
  expect([refused.status, refused.json]).toMatchObject([422, { detail: [{ loc: ["query", "types"] }] }]);
  // A refused request does not use it up.
  expect((await open(token)).status).toBe(200);
});

test("STR-10: only a hash is stored, the credential is sealed, and neither is logged or kept after use", async () => {
  const { token } = await make();
  const readRows = async () => JSON.stringify(await floe.deps.db.execute("select * from event_stream_tokens"));
  const stored = await readRows();
  expect(stored).toContain('"credential"');
  for (const secret of [token, token.slice(9), seller.key, seller.key.slice(9)]) expect(stored).not.toContain(secret);
  await (await open(token)).next();
  expect((await open(`${token}x`)).status).toBe(401);
  const written = JSON.stringify([
    floe.logged,
    await floe.deps.db.execute("select * from request_log"),
    await floe.deps.db.execute("select * from refused_calls"),
    await floe.deps.db.execute("select * from audit_log"),
    await readRows(),
  ]);
  expect(written).not.toContain(token.slice(9));
  expect(written).not.toContain(seller.key.slice(9));
});

test("STR-10: the stream ends with the key that made its token, and a token of an ended key opens none", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  try {
    const made = await floe.request("POST", "/api/auth/api-key/create", {
      token: seller.session,
      body: { name: newId(), organizationId: seller.organization_id },
    });
    const { id: keyId, key } = made.json as { id: string; key: string };
    const [unused, used] = [await make({}, key), await make({}, key)];
    const stream = await open(used.token);
    await stream.next();
    await floe.request("POST", "/api/auth/api-key/delete", { token: seller.session, body: { keyId } });
    expect((await open(unused.token)).status).toBe(401);
    vi.advanceTimersByTime(10_000);
    await stream.ended;
    await happen("order.paid");
    await expect(stream.next()).rejects.toThrow("ended");
  } finally {
    vi.useRealTimers();
  }
});

test("STR-10: a customer's token gives what their session gives", async () => {
  const { id: customer_id } = await seller.client.customers.create({ body: { email: `${newId()}@example.com` } });
  const session = await seller.client.customerSessions.create({ body: { customer_id } });
  const stream = await open((await make({}, session.token)).token);
  await stream.next();
  await happen("order.paid", { id: newId(), customer_id: newId() });
  const object_id = newId();
  await happen("order.paid", { id: object_id, customer_id, secret: "x" });
  expect((await stream.next()).data).toEqual({
    ...{ id: expect.any(String), type: "order.paid", timestamp: floe.clock.now().toISOString(), object_id },
  });
  expect((await ask({ customer_id: newId() }, session.token)).status).toBe(404);
});

test("STR-10: refuses who may not, and what is wrong, with its place", async () => {
  const other = await floe.seller("elsewhere");
  expect((await floe.request("POST", `${path}/tokens`, { body: {} })).status).toBe(401);
  expect((await ask({}, "made up")).status).toBe(401);
  expect((await ask({}, await floe.keyOf(seller, ["webhooks:read"]))).status).toBe(403);
  expect((await ask({ types: ["order.paid"] }, await floe.keyOf(seller, ["products:read"]))).status).toBe(403);
  expect((await ask({ organization_id: other.organization_id })).status).toBe(422);
  expect((await ask({}, seller.key, { "polar-organization": other.organization_id })).status).toBe(422);
  for (const [body, loc] of [
    [{ types: ["order.paid", "foo"] }, ["body", "types", 1]],
    [{ customer_id: "x" }, ["body", "customer_id"]],
    [{ made_up: true }, ["body", "made_up"]],
  ] as const) {
    const { status, json } = await ask(body);
    expect([status, (json as { detail: { loc: unknown }[] }).detail[0]?.loc]).toEqual([422, loc]);
  }
  expect((await floe.request("GET", `${path}?token=`)).status).toBe(401);
});
