import { eq } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { customers } from "../../server/customers/tables.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { callsOf, type Person, person } from "../support/people.ts";
import { allowMany } from "../support/portal-rows.ts";

/** What a signed-in user has as a customer, under `/api/auth`. */

let floe: Floe;
let seller: Seller;
let user: Person;
let customer_id: string;
beforeAll(async () => {
  floe = await start();
  seller = await floe.seller();
  user = await person(floe);
  await allowMany(seller);
  const { client } = seller;
  const made = await client.customers.create({ body: { email: user.email, external_id: user.user_id } });
  customer_id = made.id;
  const note = await client.benefits.create({ body: { type: "custom", description: "A note", properties: {} } });
  const prices = [{ amount_type: "free" as const }];
  const product = await client.products.create({ body: { name: "News", recurring_interval: "month", prices } });
  await client.products.setBenefits({ params: { id: product.id }, body: { benefits: [note.id] } });
  await client.subscriptions.create({ body: { product_id: product.id, customer_id, metadata: { my_key: 1 } } });
  await floe.runJobs();
});
afterAll(() => floe?.close());

const call = (method: "GET" | "POST", path: string, as: Person | null = user, body?: unknown) =>
  callsOf(floe)(as, method, path, body);

test("state, lists and portal are of the customer whom the user is, in the account client's names", async () => {
  const state = await call("GET", "/customer/state");
  expect(state.json).toMatchObject({
    id: customer_id,
    externalId: user.user_id,
    activeSubscriptions: [{ metadata: { my_key: 1 } }],
    grantedBenefits: [{ benefitType: "custom" }],
  });
  for (const path of ["/customer/subscriptions/list", "/customer/benefits/list"]) {
    const { status, json } = await call("GET", `${path}?page=1&limit=5`);
    expect([path, status, json]).toMatchObject([path, 200, { result: { pagination: { totalCount: 1, maxPage: 1 } } }]);
  }
  expect((await call("GET", "/customer/orders/list")).json).toMatchObject({ result: { items: [] } });
  for (const method of ["GET", "POST"] as const) {
    const { json } = await call(method, "/customer/portal");
    const token = new URL(String(json.url)).searchParams.get("customer_session_token") ?? "";
    expect((await floe.client(token).customerPortal.getMe({})).id).toBe(customer_id);
  }
});

test("what they use is counted for them, and for nobody else", async () => {
  const ingest = (body: unknown, as: Person | null = user) => call("POST", "/usage/ingest", as, body);
  expect((await ingest({ event: "call", metadata: { tokens: 5 } })).json).toMatchObject({ inserted: 1 });
  const { items } = await seller.client.events.list({ query: { customer_id: [customer_id] } });
  expect(items.filter(({ name }) => name === "call")).toMatchObject([{ metadata: { tokens: 5 } }]);
  for (const wrong of [{}, { event: "" }, { event: "call", metadata: { deep: {} } }, { event: "call", metadata: 3 }])
    expect((await ingest(wrong)).status).toBe(400);
  expect((await call("GET", "/usage/meters/list")).json).toMatchObject({ result: { items: [] } });
});

test("nobody, who is no customer, and who does not say of which seller are refused", async () => {
  const stranger = await person(floe, "stranger");
  for (const path of ["/customer/state", "/customer/orders/list", "/customer/portal"]) {
    expect((await call("GET", path, null)).status).toBe(401);
    expect((await call("GET", path, stranger)).status).toBe(404);
    expect((await call("GET", `${path}?slug=elsewhere`)).status).toBe(404);
  }
  expect((await call("GET", "/customer/orders/list?page=0")).status).toBe(400);
  const other = await floe.seller("other");
  await other.client.customers.create({ body: { email: user.email, external_id: user.user_id } });
  expect((await call("GET", "/customer/state")).status).toBe(400);
  const named = await call("GET", `/customer/state?organizationId=${seller.organization_id}`);
  expect(named.json).toMatchObject({ id: customer_id });
  await floe.deps.db.update(customers).set({ external_id: null }).where(eq(customers.id, customer_id));
  expect((await call("GET", `/customer/state?organizationId=${seller.organization_id}`)).status).toBe(404);
});
