import { eq } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { customers } from "../../server/customers/customers/tables.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { callsOf, type Person, person } from "../support/people.ts";
import { allowMany } from "../support/portal-rows.ts";

/** What a signed-in user has as a customer, under `/api/auth`. */

let floe: Floe;
let seller: Seller;
let user: Person;
let customerId: string;
beforeAll(async () => {
  floe = await start();
  seller = await floe.seller();
  user = await person(floe);
  await allowMany(seller);
  const { client } = seller;
  const made = await client.customers.create({ body: { email: user.email, external_id: user.user_id } });
  customerId = made.id;
  const note = await client.benefits.create({ body: { type: "custom", description: "A note", properties: {} } });
  const prices = [{ amount_type: "free" as const }];
  const product = await client.products.create({ body: { name: "News", recurring_interval: "month", prices } });
  await client.products.setBenefits({ params: { id: product.id }, body: { benefits: [note.id] } });
  await client.subscriptions.create({
    body: { product_id: product.id, customer_id: customerId, metadata: { my_key: 1 } },
  });
  await floe.runJobs();
});
afterAll(() => floe?.close());

const call = (method: "GET" | "POST", path: string, as: Person | null = user, body?: unknown) =>
  callsOf(floe)(as, method, path, body);

test("state, lists and portal are of the customer whom the user is, in the account client's names", async () => {
  const state = await call("GET", "/customer/state");
  expect(state.json).toMatchObject({
    id: customerId,
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
    expect((await floe.client(token).customerPortal.getMe({})).id).toBe(customerId);
  }
});

const setEventNames = (customer_event_names: string[]) =>
  seller.client.organizations.update({ params: { id: seller.organization_id }, body: { customer_event_names } });

test("what they use is counted for them, and for nobody else", async () => {
  const ingest = (body: unknown, as: Person | null = user) => call("POST", "/usage/ingest", as, body);
  await setEventNames(["call"]);
  expect((await ingest({ event: "call", metadata: { tokens: 5 } })).json).toMatchObject({ inserted: 1 });
  const { items } = await seller.client.events.list({ query: { customer_id: [customerId] } });
  expect(items.filter(({ name }) => name === "call")).toMatchObject([{ metadata: { tokens: 5 } }]);
  for (const wrong of [
    {},
    { event: "" },
    { event: "call", metadata: { _cost: 3 } },
    { event: "call", metadata: { deep: {} } },
    { event: "call", metadata: 3 },
  ])
    expect((await ingest(wrong)).status).toBe(400);
  expect((await call("GET", "/usage/meters/list")).json).toMatchObject({ result: { items: [] } });
});

describe("MTR-32: usage that a customer sends", () => {
  const send = (event: string, metadata: object = {}) => call("POST", "/usage/ingest", user, { event, metadata });
  const listEvents = async () => (await seller.client.events.list({ query: { source: ["customer"] } })).items;

  test("is refused until the seller lists the event's name", async () => {
    const { json } = await floe.request("GET", "/v1/organizations/", { token: (await floe.seller("fresh")).key });
    expect(json).toMatchObject({ items: [{ customer_event_names: [] }] });
    const before = await listEvents();
    for (const names of [[], ["other"], ["Call"]]) {
      await setEventNames(names);
      expect(await send("call")).toMatchObject({ status: 403, json: { code: expect.any(String) } });
    }
    expect(await listEvents()).toEqual(before);
  });

  test("never lowers what a meter says, whatever it aggregates, and is marked as the customer's", async () => {
    const { client, key } = seller;
    const functions = ["count", "sum", "max", "min", "avg", "unique"] as const;
    const clauses = [{ property: "name", operator: "eq" as const, value: "run" }];
    const filter = { conjunction: "and" as const, clauses };
    const create = (func: (typeof functions)[number], name: string) =>
      client.meters.create({ body: { name, filter, aggregation: { func, property: "n" } } });
    const meters: { id: string }[] = [];
    for (const func of functions) meters.push(await create(func, `Own ${func}`));
    const events = [{ name: "run", customer_id: customerId, metadata: { n: 500 } }];
    await floe.request("POST", "/v1/events/ingest", { token: key, body: { events } });
    await setEventNames(["run"]);
    const read = async () => {
      await floe.runJobs();
      const { items } = await client.customerMeters.list({ query: { customer_id: [customerId], limit: 100 } });
      return new Map(items.map(({ meter_id, consumed_units }) => [meter_id, consumed_units]));
    };
    const before = await read();
    for (const n of [-500, -0.001, -1e300]) expect((await send("run", { n })).status, String(n)).toBe(400);
    expect(await read()).toEqual(before);
    for (const n of [0, 0.5, 600, "-500", true]) expect((await send("run", { n })).status, String(n)).toBe(200);
    const after = await read();
    expect(functions.map((func, index) => [func, after.get(meters[index]?.id ?? "")])).toEqual([
      ["count", 6],
      ["sum", 1100.5],
      ["max", 600],
      ["min", 500],
      ["avg", 500],
      ["unique", 6],
    ]);
    // Meters that are made later, and quantities, read the same events again.
    for (const [index, func] of functions.entries()) {
      const later = await create(func, `Later ${func}`);
      const first = after.get(meters[index]?.id ?? "");
      expect([func, (await read()).get(later.id)]).toEqual([func, first]);
      const stretch = {
        start_timestamp: new Date(Date.now() - 3_600_000).toISOString(),
        end_timestamp: new Date(Date.now() + 3_600_000).toISOString(),
      };
      const query = { ...stretch, interval: "year" as const, timezone: "UTC", customer_id: [customerId] };
      expect([func, (await client.meters.quantities({ params: { id: later.id }, query })).total]).toEqual([
        func,
        first,
      ]);
    }
    const sent = (await listEvents()).filter(({ metadata }) => "n" in metadata);
    expect(sent.map(({ source, name }) => [source, name])).toEqual(sent.map(() => ["customer", "run"]));
    expect(sent).toHaveLength(5);
    const { items: known } = await client.events.list({ query: { meter_id: meters[4]?.id, name: ["run"] } });
    expect(known.map(({ metadata }) => metadata)).toEqual([{ n: 500 }]);
    const agent = { "user-agent": "speakeasy-sdk/typescript 0.46.0 2.0.0 0.1.0 @polar-sh/sdk" };
    const shown = await floe.request("GET", "/v1/events/?source=customer", { token: key, headers: agent });
    expect(new Set((shown.json as { items: { source: string }[] }).items.map(({ source }) => source))).toEqual(
      new Set(["user"]),
    );
    for (const { id } of meters) await client.meters.update({ params: { id }, body: { is_archived: true } });
  });
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
  expect(named.json).toMatchObject({ id: customerId });
  await floe.deps.db.update(customers).set({ external_id: null }).where(eq(customers.id, customerId));
  expect((await call("GET", `/customer/state?organizationId=${seller.organization_id}`)).status).toBe(404);
});
