/** A person of several organizations who names none: what each operation is about then (PRD-07, API-09, API-11, CHK-02). */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { formatUrl } from "../../shared/request.ts";
import type { Seller } from "../support/floe.ts";
import { type Floe, start } from "../support/floe.ts";
import { rollBack } from "../support/imports.ts";
import { migrationFresh } from "../support/migration-rows.ts";
import { isOfCustomers, operations } from "../support/operations.ts";
import { callsOf, join, organizationOf, person } from "../support/people.ts";
import { bodyOf, queryOf, type Row, rowOf, sellOrder } from "../support/rows.ts";

let floe: Floe;
/** The same person in each of their two organizations. */
let first: Seller;
let second: Seller;
let foreign: Seller;
type Json = {
  id: string;
  error?: string;
  organization_id: string;
  detail: { loc: unknown[]; type: string; msg: string }[];
  items: { id: string; organization_id?: string }[];
  pagination: { total_count: number };
  organization_access_token?: { organization_id: string };
};
type Answer = { status: number; json: Json; text: string };
type Sent = { body?: unknown; headers?: Record<string, string>; token?: string };
const ask = (method: string, path: string, sent: Sent = {}) =>
  floe.request(method, path, { token: first.session, ...sent }) as Promise<Answer>;
const faultsOf = ({ status, json }: Answer) => [
  status,
  ...json.detail.map(({ loc, type }) => `${loc.join(".")} ${type}`),
];
const header = ({ organization_id }: Seller) => ({ "polar-organization": organization_id });

beforeAll(async () => {
  floe = await start();
  first = await floe.seller("first");
  const organization_id = await organizationOf(floe, first, "second");
  const key = await floe.keyOf({ ...first, organization_id }, undefined as never);
  second = { ...first, organization_id, key, client: floe.client(key) };
  foreign = await floe.seller("foreign");
});
afterAll(() => floe.close());

const own = operations.filter(
  ({ op }) => op.access.by === "seller" && !op.path.includes("/catalog/") && !isOfCustomers(op),
);
// Names are of no organization: those that several have are one.
const lists = own.filter(
  ({ op, title }) =>
    op.method === "GET" && op.response && !op.params && op.query?.shape.page && title !== "events.names",
);
/** Whether an answer says whose it is. */
const saysWhose = ({ response }: (typeof own)[number]["op"]): boolean =>
  response instanceof z.ZodObject && "organization_id" in response.shape;
const reads = own.filter(
  ({ op, resource }) =>
    op.method === "GET" &&
    op.params &&
    resource !== "organizations" &&
    !op.path.includes(":external_id") &&
    !op.path.includes(":name"),
);
const creates = own.filter(({ op, title }) => op.status === 201 && !op.params && bodyOf[title]);

describe.each(lists)("$title", ({ op, resource }) => {
  test("API-11: is of all organizations of the person; a filter by several is of any of them", async () => {
    for (const one of [first, second, foreign]) await rowOf[resource](floe, one);
    const { items: mine } = (await ask("GET", `${op.path}?limit=100`, { token: first.key })).json;
    const { items: others } = (await ask("GET", `${op.path}?limit=100`, { token: second.key })).json;
    const idsOf = (items: Json["items"]) => items.map(({ id }) => id).sort();
    expect([mine.length > 0, others.length > 0]).toEqual([true, true]);
    const all = (await ask("GET", `${op.path}?limit=100`)).json;
    expect(idsOf(all.items)).toEqual(idsOf([...mine, ...others]));
    expect(all.pagination.total_count).toBe(mine.length + others.length);
    const paged: string[] = [];
    const limit = Math.ceil(all.items.length / 4);
    for (let page = 1; (page - 1) * limit < all.items.length; page += 1)
      paged.push(...(await ask("GET", `${op.path}?limit=${limit}&page=${page}`)).json.items.map(({ id }) => id));
    expect(paged).toEqual(all.items.map(({ id }) => id));
    expect(idsOf((await ask("GET", `${op.path}?limit=100`, { headers: header(second) })).json.items)).toEqual(
      idsOf(others),
    );
    if (!op.query || !("organization_id" in op.query.shape)) return;
    const among = async (...sellers: Seller[]) => {
      const query = sellers.map(({ organization_id }) => `&organization_id=${organization_id}`).join("");
      const answer = await ask("GET", `${op.path}?limit=100${query}`);
      expect(answer.status).toBe(200);
      return idsOf(answer.json.items);
    };
    expect(await among(first)).toEqual(idsOf(mine));
    expect(await among(second, foreign)).toEqual(idsOf(others));
    expect(await among(first, second)).toEqual(idsOf([...mine, ...others]));
    expect(await among(foreign)).toEqual([]);
  });
});

test.each(reads)("$title finds the row in whichever of them it is, and no other's", async ({ op, resource, name }) => {
  const pathOf = async (seller: Seller) => {
    const row = await readRowOf(resource, seller);
    const query = queryOf[`${resource}.${name}`] ?? {};
    return formatUrl(op.path, { params: row.of?.[name] ?? row.params, query });
  };
  for (const seller of [first, second]) {
    const answer = await ask("GET", await pathOf(seller));
    expect(answer.status).toBe(200);
    if (saysWhose(op)) expect(answer.text).toContain(seller.organization_id);
  }
  expect((await ask("GET", await pathOf(foreign))).status).toBe(404);
});

/** One row of a resource for all that reads it: those with a document take long to make. */
const made = new Map<string, Row>();
async function readRowOf(resource: (typeof own)[number]["resource"], seller: Seller): Promise<Row> {
  const key = `${resource} ${seller.organization_id}`;
  const row = made.get(key) ?? (await rowOf[resource](floe, await fresh(seller)));
  made.set(key, row);
  return row;
}

/** Rows with a name of their own can be made once. */
async function fresh(seller: Seller): Promise<Seller> {
  for (const { id } of (await seller.client.customers.list({ query: { limit: 100 } })).items)
    await seller.client.customers.delete({ params: { id }, query: {} });
  for (const { id } of (await seller.client.customFields.list({ query: { limit: 100 } })).items)
    await seller.client.customFields.delete({ params: { id } });
  return seller;
}

test("changes and deletions reach the row in whichever of them it is, are written down there, and are repeatable", async () => {
  const price = { amount_type: "fixed" as const, price_amount: 900 };
  for (const seller of [first, second]) {
    const { id } = await seller.client.products.create({ body: { name: "Book", prices: [price] } });
    expect((await ask("PATCH", `/v1/products/${id}`, { body: { name: "Guide" } })).json).toMatchObject({
      name: "Guide",
    });
    const note = await seller.client.benefits.create({ body: { type: "custom", description: "A note" } });
    const headers = { "idempotency-key": `benefits-${id}` };
    const give = () => ask("POST", `/v1/products/${id}/benefits`, { body: { benefits: [note.id] }, headers });
    expect([(await give()).status, (await give()).status]).toEqual([200, 200]);
    expect((await ask("DELETE", `/v1/benefits/${note.id}`)).status).toBe(204);
    const log = await callsOf(floe)(first, "GET", `/audit/list?organizationId=${seller.organization_id}`);
    expect(log.text).toContain("benefit.deleted");
  }
  const theirs = await foreign.client.products.create({ body: { name: "Book", prices: [price] } });
  for (const method of ["PATCH", "GET"])
    expect((await ask(method, `/v1/products/${theirs.id}`, method === "GET" ? {} : { body: {} })).status).toBe(404);
});

test("what is called by a name, which several may have, is that of the one that is named, or that they stand in", async () => {
  for (const seller of [first, second]) await rowOf.sandbox(floe, seller);
  const path = "/v1/sandbox/snapshots/row/restore";
  await callsOf(floe)(first, "POST", "/organization/set-active", { organizationId: first.organization_id });
  const stood = await ask("POST", path);
  const named = await ask("POST", path, { headers: header(second) });
  expect([stood, named].map(({ json }) => json.organization_id)).toEqual([
    first.organization_id,
    second.organization_id,
  ]);
});

// A customer session says whose it is by its customer.
test.each(creates.filter(({ op, title }) => !op.ofProducts && title !== "customerSessions.create"))(
  "PRD-07, API-09: $title says which, and is refused where it says none, whichever one is active",
  async ({ op, title }) => {
    const product = await second.client.products.create({ body: { name: "Row", prices: [{ amount_type: "free" }] } });
    const bodyWith = async (number: number) => ({
      ...bodyOf[title]?.(product.id, number),
      ...(await migrationFresh[title]?.(floe, second))?.body,
      ...(title === "refunds.create" ? { order_id: await sellOrder(floe, second) } : {}),
    });
    const body = await bodyWith(77);
    await callsOf(floe)(first, "POST", "/organization/set-active", { organizationId: first.organization_id });
    expect(faultsOf(await ask("POST", op.path, { body }))).toEqual([422, "body.organization_id missing"]);
    // A person of one organization has to say it too.
    expect(faultsOf(await ask("POST", op.path, { body, token: foreign.session }))).toEqual([
      422,
      "body.organization_id missing",
    ]);
    const elsewhere = { ...body, organization_id: foreign.organization_id };
    expect(faultsOf(await ask("POST", op.path, { body: elsewhere }))).toEqual([
      422,
      "body.organization_id value_error",
    ]);
    // A token is shown once, beside what it belongs to.
    const ownerOf = ({ json }: Answer) => (json.organization_access_token ?? json).organization_id;
    const made = await ask("POST", op.path, { body: { ...body, organization_id: second.organization_id } });
    expect([made.status, ownerOf(made)]).toEqual([201, second.organization_id]);
    // An organization has one import at a time.
    if (title === "imports.create") await rollBack(second.client, { id: String(made.json.id) });
    const named = await ask("POST", op.path, { body: await bodyWith(78), headers: header(second) });
    expect([named.status, ownerOf(named)]).toEqual([201, second.organization_id]);
  },
);

// A subscription names one product and a customer, who is of one organization anyhow.
test.each(creates.filter(({ op, title }) => op.ofProducts && title !== "subscriptions.create"))(
  "CHK-02: $title is of the organization whose products are named, which is one",
  async ({ op }) => {
    const prices = [{ amount_type: "fixed" as const, price_amount: 900 }];
    const of = async (seller: Seller) => seller.client.products.create({ body: { name: "Book", prices } });
    const [one, two, theirs] = [await of(first), await of(second), await of(foreign)];
    for (const [product, seller] of [
      [one, first],
      [two, second],
    ] as const)
      for (const body of [
        { products: [product.id] },
        { product_id: product.id },
        { product_price_id: product.prices[0]?.id },
      ]) {
        const made = await ask("POST", op.path, { body });
        expect([made.status, made.json.organization_id]).toEqual([201, seller.organization_id]);
      }
    const mixed = await ask("POST", op.path, { body: { products: [one.id, two.id] } });
    expect([faultsOf(mixed), mixed.json.detail[0]?.msg]).toEqual([
      [422, "body.products value_error"],
      "Products must all belong to the same organization.",
    ]);
    const body = { products: [two.id, theirs.id] };
    expect(faultsOf(await ask("POST", op.path, { body }))).toEqual([422, "body.products.1 value_error"]);
    const none = { products: [theirs.id] };
    expect(faultsOf(await ask("POST", op.path, { body: none }))).toEqual([422, "body.products.0 value_error"]);
  },
);

test("an id of the seller's own is found where it is one customer's, and refused where it is two organizations'", async () => {
  const make = (seller: Seller, external_id: string) =>
    seller.client.customers.create({ body: { email: `${external_id}@example.com`, external_id } });
  const alone = await make(second, "alone");
  expect((await ask("GET", "/v1/customers/external/alone")).json.id).toBe(alone.id);
  expect((await ask("PATCH", "/v1/customers/external/alone", { body: { name: "A" } })).json.id).toBe(alone.id);
  expect((await ask("GET", "/v1/customers/external/nobody")).status).toBe(404);
  const [, there] = [await make(first, "both"), await make(second, "both")];
  for (const method of ["GET", "PATCH", "DELETE"]) {
    const sent = method === "PATCH" ? { body: { name: "B" } } : {};
    const answer = await ask(method, "/v1/customers/external/both", sent);
    expect([method, answer.status, answer.json.error]).toEqual([method, 409, "AmbiguousExternalCustomerID"]);
  }
  for (const [path, headers] of [
    ["/v1/customers/external/both", header(second)],
    [`/v1/customers/external/both?organization_id=${second.organization_id}`, {}],
  ] as const)
    expect((await ask("GET", path, { headers })).json.id).toBe(there.id);
});

test("shows of each organization only what the person may read there", async () => {
  const guest = await person(floe, "guest");
  const at = await organizationOf(floe, guest, "own");
  const organizationId = first.organization_id;
  const permission = { products: ["read"] };
  await callsOf(floe)(first, "POST", "/organization/create-role", { organizationId, role: "reader", permission });
  await join(floe, { owner: first, organizationId, guest, role: "reader" });
  const key = await callsOf(floe)(guest, "POST", "/api-key/create", { name: "k", organizationId: at });
  const client = floe.client(String(key.json.key));
  const body = { name: "Own", prices: [{ amount_type: "free" as const }] };
  const mine = await client.products.create({ body });
  await first.client.products.create({ body });
  const products = (await ask("GET", "/v1/products/?limit=100", { token: guest.session })).json.items;
  expect(new Set(products.map(({ organization_id }) => organization_id))).toEqual(new Set([at, first.organization_id]));
  const changed = await ask("PATCH", `/v1/products/${mine.id}`, { token: guest.session, body: { name: "Mine" } });
  expect(changed.status).toBe(200);
  const endpoint = { url: "http://127.0.0.1:9/hook", events: ["order.paid" as const] };
  const hook = await client.webhooks.createEndpoint({ body: endpoint });
  await first.client.webhooks.createEndpoint({ body: endpoint });
  const hooks = await ask("GET", "/v1/webhooks/endpoints", { token: guest.session });
  expect(hooks.json.items.map(({ id }) => id)).toEqual([hook.id]);
  expect(hooks.text).not.toContain(first.organization_id);
});
