import { eq, type SQL, sql } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { redactBody } from "../../server/operations/logs/redact-body.ts";
import { requestLog } from "../../server/operations/logs/tables.ts";
import { createRequestLog, requestRowsMax } from "../../server/operations/logs/writer.ts";
import { mails } from "../../server/platform/db/tables.ts";
import { eventually } from "../support/eventually.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { newId } from "../support/ids.ts";
import { type Receiver, startReceiver } from "../support/receiver.ts";
import { payment } from "../support/rows.ts";

/** API-41: the log of the requests of an organization, and what one request did. */

type Entry = Record<string, unknown> & { id: string; request_id: string | null };
let floe: Floe;
let seller: Seller;
let receiver: Receiver;
beforeAll(async () => {
  floe = await start();
  seller = await floe.seller("ada");
  receiver = await startReceiver();
});
afterAll(async () => {
  await receiver?.close();
  await floe?.close();
});

const list = async (query: string, token = seller.key): Promise<Entry[]> => {
  const { status, json, text } = await floe.request("GET", `/v1/logs?${query}`, { token });
  expect(status, text).toBe(200);
  return (json as { items: Entry[] }).items;
};
/** The entries of a request, which are written a moment after it. */
const find = (request_id: string, query = "", token = seller.key) =>
  eventually(async () => {
    const found = await list(`request_id=${request_id}&${query}`, token);
    return found.length > 0 ? found : undefined;
  }, "the request in the log");
const row = (organization_id: string, n: number) => ({
  ...{ organization_id, request_id: `flood-${n}`, operation: "products.list", method: "GET", path: "/v1/products/" },
  ...{ status: 200, error: null, duration_ms: 1, actor_kind: "key" as const, user_id: null, key_id: null, body: null },
});

test("API-41 one request connects its events, order, payment, mails and deliveries", async () => {
  const { client, key } = seller;
  await client.webhooks.createEndpoint({ body: { url: receiver.url, events: ["order.created", "order.paid"] } });
  const prices = [{ amount_type: "fixed" as const, price_amount: 1900 }];
  const product = await client.products.create({ body: { name: "Book", prices } });
  const body = { products: [product.id], customer_email: "buyer@example.com" };
  const { client_secret } = await client.checkouts.create({ body });
  const request_id = `sale-${newId()}`;
  const path = `/v1/checkouts/client/${client_secret}/confirm`;
  const sent = await floe.request("POST", path, { body: payment, headers: { "x-request-id": request_id } });
  expect(sent.status, sent.text).toBe(200);
  await floe.runJobs();
  // The buyer shows no credential: whose request it is shows what it did.
  const [entry] = await find(request_id, "kind=request&bodies=true");
  expect(entry).toMatchObject({ kind: "request", status: "ok", http_status: 200, method: "POST" });
  expect(entry).toMatchObject({ target: "/v1/checkouts/client/:client_secret/confirm", actor: { kind: "anonymous" } });
  const said = JSON.stringify(entry);
  for (const secret of [client_secret, "Buyer", "pm_card_visa"]) expect(said).not.toContain(secret);
  const { json } = await floe.request("GET", `/v1/logs/${request_id}`, { token: key });
  const trace = json as Record<string, Entry[]>;
  expect(trace.events?.map(({ type }) => type)).toEqual(expect.arrayContaining(["order.created", "order.paid"]));
  expect(trace.orders).toMatchObject([{ status: "paid", total_amount: 1900 }]);
  expect(trace.payments).toMatchObject([{ status: "succeeded", amount: 1900, order_id: trace.orders?.[0]?.id }]);
  expect(trace.deliveries?.map(({ name }) => name)).toEqual(["order.created", "order.paid"]);
  expect(trace.requests?.map(({ request_id: id }) => id)).toEqual([request_id]);
  // Mails of an order are written by a job. Those of the seller are in the list, and those of others are not.
  await floe.deps.db.update(mails).set({ request_id }).where(eq(mails.seller_id, seller.organization_id));
  expect((await list("kind=mail"))[0]).toMatchObject({ kind: "mail", target: "buyer@example.com" });
  expect(trace.deliveries?.[0]?.target).toBe(receiver.url);
  // Who may read neither customers, orders, payments nor endpoints reads them here no more.
  const narrow = await floe.keyOf(seller, ["logs:read"]);
  const { json: seen } = await floe.request("GET", `/v1/logs/${request_id}`, { token: narrow });
  expect(seen).toMatchObject({ orders: null, payments: null, mails: [{ target: null, name: "mail" }] });
  for (const secret of ["buyer@example.com", receiver.url]) expect(JSON.stringify(seen)).not.toContain(secret);
  const deliveries = await list("kind=delivery", narrow);
  expect(deliveries.map(({ target }) => target)).toEqual([null, null]);
});

test("API-41 needs a scope of its own, and shows nothing of another organization", async () => {
  const other = await floe.seller("bob");
  const request_id = `own-${newId()}`;
  await floe.request("GET", "/v1/products/", { token: seller.key, headers: { "x-request-id": request_id } });
  const [entry] = await find(request_id);
  expect(entry).toMatchObject({ target: "/v1/products/", name: "products.list", actor: { kind: "key", name: "test" } });
  expect(await list(`request_id=${request_id}`, other.key)).toEqual([]);
  const get = (token: string) => floe.request("GET", `/v1/logs/${request_id}`, { token });
  expect((await get(other.key)).status).toBe(404);
  const narrow = await floe.keyOf(seller, ["orders:read"]);
  expect([(await get(narrow)).status, (await floe.request("GET", "/v1/logs", { token: narrow })).status]).toEqual([
    403, 403,
  ]);
  expect((await floe.request("GET", "/v1/logs")).status).toBe(401);
});

test("API-41 has the refusals of a request, and filters by outcome, method, path and time", async () => {
  const request_id = `none-${newId()}`;
  const headers = { "x-request-id": request_id };
  await floe.request("GET", `/v1/orders/${newId()}`, { token: seller.key, headers });
  const [entry] = await find(request_id);
  expect(entry).toMatchObject({ status: "failed", http_status: 404, error: "ResourceNotFound", name: "orders.get" });
  expect((await list("status=ok&kind=request")).some(({ id }) => id === entry?.id)).toBe(false);
  expect((await list("status=failed&path=/v1/orders")).map(({ id }) => id)).toContain(entry?.id);
  expect((await list("method=POST")).some(({ id }) => id === entry?.id)).toBe(false);
  const until = new Date(floe.clock.now().getTime() - 3_600_000).toISOString();
  expect((await list(`until=${until}`)).some(({ id }) => id === entry?.id)).toBe(false);
  expect((await floe.request("GET", "/v1/logs?kind=letters", { token: seller.key })).status).toBe(422);
});

test("API-41 a flood is written in a few statements, and fills no disk", async () => {
  const { organization_id } = await floe.seller("flood");
  let statements = 0;
  const db = {
    execute: (query: SQL) => {
      statements += 1;
      return floe.deps.db.execute(query);
    },
  };
  const log = createRequestLog({ ...floe.deps, db: db as typeof floe.deps.db });
  for (let n = 0; n < 5000; n += 1) log.add(row(organization_id, n), 0);
  await log.flush();
  const count = () => floe.deps.db.$count(requestLog, eq(requestLog.organization_id, organization_id));
  expect([await count(), statements <= 2]).toEqual([200, true]);
  log.add(row(organization_id, 5000), 0);
  await log.flush();
  const [last] = await floe.deps.db.select().from(requestLog).where(eq(requestLog.request_id, "flood-5000"));
  expect(last?.skipped).toBe(4800);
  // The oldest beyond the limit are deleted.
  await floe.deps.db.execute(sql`insert into ${requestLog} (id, organization_id, request_id, operation, method, path, status,
      duration_ms, actor_kind, created_at, written_at)
    select gen_random_uuid(), ${organization_id}, 'old', 'products.list', 'GET', '/', 200, 1, 'key', now(), now()
    from generate_series(1, ${requestRowsMax + 300})`);
  const fresh = createRequestLog(floe.deps);
  fresh.add(row(organization_id, 5001), 0);
  await fresh.flush();
  expect(await count()).toBe(requestRowsMax);
});

test("API-41 keeps of a body no text", () => {
  const body = {
    ...{
      email: "ada@example.com",
      amount: 5,
      enabled: true,
      nothing: null,
      id: "0192aaaa-0000-7000-8000-000000000000",
    },
    ...{
      metadata: { "ada@example.com": "x" },
      "ada@example.com": 1,
      list: ["secret", 2],
      deep: { a: { b: { c: {} } } },
    },
  };
  expect(redactBody(body)).toEqual({
    ...{ email: "[text]", amount: 5, enabled: true, nothing: null, id: "0192aaaa-0000-7000-8000-000000000000" },
    ...{ metadata: "[map]", list: ["[text]", 2], deep: { a: { b: { c: "[…]" } } } },
  });
  const many = Object.fromEntries([...Array(500)].map((_, n) => [`field_${n}`, "x"]));
  expect(JSON.stringify(redactBody({ events: Array(500).fill(many) })).length).toBeLessThan(2100);
});
