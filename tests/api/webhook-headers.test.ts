import { eq } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { resealEndpoints } from "../../server/messaging/webhooks/secrets.ts";
import { webhookEndpoints } from "../../server/messaging/webhooks/tables.ts";
import { tryUnseal } from "../../server/platform/crypto/secrets.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { type Received, type Receiver, startReceiver } from "../support/receiver.ts";

/** A seller's own headers of webhooks (WHK-50), and the id of the request that caused an event (WHK-51). */

const key = "Bearer gateway-key-of-the-seller";
let floe: Floe;
let seller: Seller;
let receiver: Receiver;
beforeAll(async () => {
  floe = await start();
});
afterAll(() => floe.close());
beforeEach(async () => {
  seller = await floe.seller();
  receiver = await startReceiver();
});
afterEach(() => receiver.close());

const create = (headers?: Record<string, string>) =>
  seller.client.webhooks.createEndpoint({
    body: { url: receiver.url, events: ["product.created"], ...(headers && { headers }) },
  });
type Change = Parameters<Seller["client"]["webhooks"]["updateEndpoint"]>[0]["body"];
const update = (id: string, body: Change) => seller.client.webhooks.updateEndpoint({ params: { id }, body });
const getStored = async (id: string) => {
  const [row] = await floe.deps.db.select().from(webhookEndpoints).where(eq(webhookEndpoints.id, id));
  return row as typeof webhookEndpoints.$inferSelect;
};
async function send(): Promise<Received> {
  await seller.client.products.create({ body: { name: "Guide", prices: [{ amount_type: "free" }] } });
  await floe.runJobs();
  return receiver.received.at(-1) as Received;
}

test("every event carries the headers, whose values nothing shows or stores in the open", async () => {
  const made = await create({ Authorization: key, "X-Tenant": "7" });
  expect(made.header_names).toEqual(["authorization", "x-tenant"]);
  const { headers, body } = await send();
  expect([headers.authorization, headers["x-tenant"]]).toEqual([key, "7"]);
  expect(headers["webhook-signature"]).toMatch(/^v1,/);
  const shown = JSON.stringify([
    made,
    await seller.client.webhooks.getEndpoint({ params: { id: made.id } }),
    await seller.client.webhooks.listEndpoints({ query: {} }),
    await getStored(made.id),
    body,
  ]);
  expect(shown).not.toContain("gateway-key");
});

test("a change replaces all of them, null leaves them, and an empty object ends them", async () => {
  const { id } = await create({ authorization: key });
  expect((await update(id, { headers: null, name: "Gateway" })).header_names).toEqual(["authorization"]);
  expect((await update(id, { headers: { "X-New": "1" } })).header_names).toEqual(["x-new"]);
  expect(await send().then(({ headers }) => [headers["x-new"], headers.authorization])).toEqual(["1", undefined]);
  expect((await update(id, { headers: {} })).header_names).toEqual([]);
  expect((await getStored(id)).headers).toBeNull();
  expect((await send()).headers["x-new"]).toBeUndefined();
});

test("an address on another server gets no headers that were given for the first one", async () => {
  const { id } = await create({ authorization: key });
  const other = await startReceiver();
  await expect(update(id, { url: other.url })).rejects.toMatchObject({
    error: "PolarRequestValidationError",
    detail: [{ loc: ["body", "headers"], msg: expect.stringContaining(new URL(receiver.url).origin) }],
  });
  await send();
  expect(other.received).toEqual([]);
  expect((await update(id, { url: `${receiver.url}/other` })).header_names).toEqual(["authorization"]);
  expect((await update(id, { url: other.url, headers: { authorization: "Bearer for the other" } })).url).toBe(
    other.url,
  );
  await send();
  expect(other.received.map(({ headers }) => headers.authorization)).toEqual(["Bearer for the other"]);
  await other.close();
});

test.each([
  ["a line end", { "x-a": "1\r\nx-b: 2" }, "x-a"],
  ["a space at its end", { "x-a": "1 " }, "x-a"],
  ["letters that HTTP does not know", { "x-a": "é" }, "x-a"],
  ["nothing", { "x-a": "" }, "x-a"],
  ["1025 characters", { "x-a": "a".repeat(1025) }, "x-a"],
  ["a name with a space", { "x a": "1" }, "x a"],
  ["a name that begins with an underscore", { _a: "1" }, "_a"],
  ["the signature", { "Webhook-Signature": "v1,forged" }, "Webhook-Signature"],
  ["the length", { "content-length": "0" }, "content-length"],
  ["the host", { Host: "other.example.com" }, "Host"],
  ["a name twice", { "X-A": "1", "x-a": "2" }, "x-a"],
])("refuses %s", async (_, headers, name) => {
  await expect(create(headers as Record<string, string>)).rejects.toMatchObject({
    error: "RequestValidationError",
    detail: [{ loc: ["body", "headers", name] }],
  });
});

test("there are at most ten", async () => {
  const list = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`x-${at}`, "1"]));
  expect((await create(list(10))).header_names).toHaveLength(10);
  await expect(create(list(11))).rejects.toMatchObject({ detail: [{ loc: ["body", "headers"] }] });
});

test("what a receiver says back of them is neither kept nor shown", async () => {
  receiver.echo("headers");
  await create({ authorization: key, "x-tenant": "7" });
  await send();
  const { items } = await seller.client.webhooks.listDeliveries({ query: {} });
  expect(items[0]?.response).toContain('"authorization":"****"');
  expect(items[0]?.response).toContain('"x-tenant":"7"');
  const probed = await seller.client.webhooks.probe({ body: { url: receiver.url } });
  expect(receiver.received.at(-1)?.headers.authorization).toBe(key);
  expect(probed.response).toContain('"authorization":"****"');
});

test("they are sealed again with a new secret of the server, and a lost secret sends nothing without them", async () => {
  const { id } = await create({ authorization: key });
  const before = await getStored(id);
  const secret = "a".repeat(32);
  const config = { ...floe.deps.config, secret, secrets: [secret, ...floe.deps.config.secrets] };
  await resealEndpoints({ ...floe.deps, config });
  const after = await getStored(id);
  expect(tryUnseal([secret], "webhook-headers", id, after.headers ?? "")).toBe(JSON.stringify({ authorization: key }));
  const store = (headers: string | null) =>
    floe.deps.db.update(webhookEndpoints).set({ headers, secret: before.secret }).where(eq(webhookEndpoints.id, id));
  // This server does not know the secret with which the headers are sealed now.
  await store(after.headers);
  await send().catch(() => undefined);
  expect(receiver.received).toEqual([]);
  await store(before.headers);
});

test("an event of a request carries the request's id, and an event of a job none", async () => {
  await create();
  const client = floe.client(seller.key, { "x-request-id": "request-of-the-test" });
  await client.products.create({ body: { name: "Guide", prices: [{ amount_type: "free" }] } });
  await floe.runJobs();
  expect(receiver.received.at(-1)?.headers["x-request-id"]).toBe("request-of-the-test");
  await seller.client.webhooks.probe({ body: { url: receiver.url } });
  expect(receiver.received.at(-1)?.headers["x-request-id"]).toBeUndefined();
});

test("WHK-51: an event of a traced request carries its trace in each attempt, and one of a plain request none", async () => {
  await create();
  const make = async (headers: Record<string, string>) => {
    const { products } = floe.client(seller.key, headers);
    await products.create({ body: { name: "Guide", prices: [{ amount_type: "free" }] } });
    await floe.runJobs();
    return receiver.received.at(-1)?.headers.traceparent;
  };
  const trace = "4bf92f3577b34da6a3ce929d0e0e4736";
  receiver.answer(500);
  const first = await make({ traceparent: `00-${trace}-00f067aa0ba902b7-01` });
  expect(first).toMatch(new RegExp(`^00-${trace}-(?!00f067aa0ba902b7)[0-9a-f]{16}-01$`));
  receiver.answer(200);
  const attempts = receiver.received.length;
  floe.clock.advance(60_000);
  await floe.runJobs();
  expect(receiver.received.slice(attempts).map(({ headers }) => headers.traceparent)).toEqual([first]);
  // What the caller decided, such as not to record it, is passed on; what is no trace is not.
  expect(await make({ traceparent: `00-${trace}-00f067aa0ba902b7-00` })).toMatch(/-00$/);
  expect(await make({ traceparent: "00-nonsense\r\nx: y" })).toBeUndefined();
  expect(await make({})).toBeUndefined();
});
