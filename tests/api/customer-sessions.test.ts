import { eq } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { customerSessions } from "../../server/customers/sessions/tables.ts";
import { organization } from "../../server/identity/organizations/tables.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { newId } from "../support/ids.ts";

let floe: Floe;
let seller: Seller;
beforeAll(async () => {
  floe = await start();
  seller = await floe.seller();
});
afterAll(() => floe?.close());

let people = 0;
const person = async (by = seller) => {
  people += 1;
  const body = { email: `person-${people}@example.com`, external_id: `person-${people}`, name: "Ada" };
  return by.client.customers.create({ body });
};
const create = (body: object, token = seller.key) => floe.request("POST", "/v1/customer-sessions/", { token, body });
const me = (token: string) => floe.request("GET", "/v1/customer-portal/customers/me", { token });
const hourMs = 60 * 60 * 1000;

describe("a session that the seller makes", () => {
  test("CUP-01 to CUP-06: opens its own customer, by our id and by the seller's, and its token is shown once", async () => {
    const customer = await person();
    const return_url = "https://shop.example.com/account";
    const made = await seller.client.customerSessions.create({ body: { customer_id: customer.id, return_url } });
    expect(made).toMatchObject({ customer_id: customer.id, customer: { email: customer.email }, return_url });
    expect(made.token).toMatch(/^polar_cst_[0-9A-Za-z]{43}$/);
    const url = new URL(made.customer_portal_url);
    expect(Object.fromEntries(url.searchParams)).toEqual({ customer_session_token: made.token, email: customer.email });
    const shown = floe.client(made.token).customerPortal;
    expect(await shown.getMe({})).toMatchObject({ id: customer.id, email: customer.email, name: "Ada" });
    const { id, expires_at } = made;
    expect(await shown.introspect({})).toMatchObject({ id, expires_at, return_url });
    expect(expires_at.getTime() - made.created_at.getTime()).toBe(hourMs);
    for (const body of [
      { external_customer_id: customer.external_id },
      { customer_external_id: customer.external_id },
    ]) {
      const { token } = (await create(body)).json as { token: string };
      expect((await me(token)).json).toMatchObject({ id: customer.id });
    }
    // Several live side by side, and none is stored in a form that opens anything.
    expect((await me(made.token)).status).toBe(200);
    const rows = await floe.deps.db
      .select()
      .from(customerSessions)
      .where(eq(customerSessions.customer_id, customer.id));
    expect(rows).toHaveLength(3);
    expect(JSON.stringify(rows)).not.toContain(made.token);
  });

  test.each<[string, (foreign: string, gone: string) => object, string, string]>([
    ["nobody", () => ({}), "customer_id", "missing"],
    [
      "an id and an external id",
      (id) => ({ customer_id: id, external_customer_id: "x" }),
      "external_customer_id",
      "value_error",
    ],
    ["an unknown customer", () => ({ customer_id: newId() }), "customer_id", "value_error"],
    ["an unknown external id", () => ({ external_customer_id: "nobody" }), "external_customer_id", "value_error"],
    ["another seller's customer", (id) => ({ customer_id: id }), "customer_id", "value_error"],
    ["a deleted customer", (_, id) => ({ customer_id: id }), "customer_id", "value_error"],
    ["no page", (id) => ({ customer_id: id, return_url: "javascript:alert(1)" }), "return_url", "value_error"],
  ])("for %s is refused at its place", async (_, bodyOf, field, type) => {
    const foreign = await person(await floe.seller("foreign"));
    const gone = await person();
    await seller.client.customers.delete({ params: { id: gone.id }, query: {} });
    const { status, json } = await create(bodyOf(foreign.id, gone.id));
    expect(status).toBe(422);
    const [first] = (json as { detail: { loc: string[]; type: string }[] }).detail;
    expect(first?.loc).toEqual(["body", field]);
    if (field !== "return_url") expect(first?.type).toBe(type);
  });

  test("CUS-19, CUP-03: ends after an hour, with its customer, and while its seller is blocked", async () => {
    const other = await floe.seller("ending");
    const open = async () => {
      const { id } = await person(other);
      const { token } = await other.client.customerSessions.create({ body: { customer_id: id } });
      return { id, token };
    };
    const refused = async (token: string) => {
      const { status, json } = await me(token);
      expect([status, json]).toMatchObject([401, { error: "invalid_token" }]);
    };
    const [lasting, deleted] = [await open(), await open()];
    await other.client.customers.delete({ params: { id: deleted.id }, query: {} });
    await refused(deleted.token);
    const block = (blocked_at: Date | null) =>
      floe.deps.db.update(organization).set({ blocked_at }).where(eq(organization.id, other.organization_id));
    await block(floe.clock.now());
    await refused(lasting.token);
    await block(null);
    floe.clock.advance(hourMs - 1000);
    expect((await me(lasting.token)).status).toBe(200);
    floe.clock.advance(2000);
    await refused(lasting.token);
    await refused(lasting.token.replace(/.$/, (last) => (last === "x" ? "y" : "x")));
  });

  test("CUP-05, CUP-27: asks for its customer alone: it is no seller's, and a seller's key is no customer's", async () => {
    const { id } = await person();
    const { token } = await seller.client.customerSessions.create({ body: { customer_id: id } });
    const as = (method: string, path: string, body?: object) =>
      floe.request(method, path, { token, ...(body ? { body } : {}) }).then(({ status }) => status);
    expect(await as("GET", "/v1/customers/")).toBe(403);
    expect(await as("GET", `/v1/customers/${id}`)).toBe(403);
    expect(await as("PATCH", `/v1/customers/${id}`, { name: "x" })).toBe(403);
    expect(await as("POST", "/v1/customer-sessions/", { customer_id: id })).toBe(403);
    expect(await as("GET", "/v1/organizations/")).toBe(403);
    expect(await as("GET", "/api/auth/get-session")).not.toBe(500);
    for (const key of [seller.key, seller.session]) expect((await me(key)).status).toBe(403);
    expect((await floe.request("GET", "/v1/customer-portal/customers/me")).status).toBe(401);
  });
});

describe("CHK-50: the session of a checkout", () => {
  let product_id: string;
  beforeAll(async () => {
    const prices = [{ amount_type: "fixed" as const, price_amount: 1900 }];
    product_id = (await seller.client.products.create({ body: { name: "Guide", prices } })).id;
  });
  const open = (body: object = {}) => seller.client.checkouts.create({ body: { products: [product_id], ...body } });
  const confirm = async (client_secret: string, body: object = {}, headers: Record<string, string> = {}) => {
    const usual = { customer_billing_address: { country: "FR" }, confirmation_token_id: "pm_card_visa" };
    const path = `/v1/checkouts/client/${client_secret}/confirm`;
    const { status, json } = await floe.request("POST", path, { body: { ...usual, ...body }, headers });
    return { ...(json as { customer_session_token: string | null; customer_id: string }), status };
  };

  test("opens the portal for who is a customer by it, and for whom the seller named", async () => {
    const made = await open();
    const first = await confirm(made.client_secret, { customer_email: "first@example.com" });
    const shown = await me(first.customer_session_token ?? "");
    expect([shown.status, shown.json]).toMatchObject([200, { id: first.customer_id, email: "first@example.com" }]);
    const known = await person();
    const named = await open({ customer_id: known.id });
    const second = await confirm(named.client_secret);
    expect((await me(second.customer_session_token ?? "")).json).toMatchObject({ id: known.id });
  });

  test("is none for who typed the address of a customer, however often they try", async () => {
    const known = await person();
    const made = await open();
    const sent = { customer_email: (known.email ?? "").toUpperCase() };
    expect(
      (await confirm(made.client_secret, { ...sent, confirmation_token_id: "pm_card_chargeDeclined" })).status,
    ).toBe(400);
    const newest = { "polar-version": "2026-10" };
    const answer = await confirm(made.client_secret, sent, newest);
    expect([answer.status, answer.customer_id, answer.customer_session_token]).toEqual([200, known.id, null]);
    // Clients that cannot read that it is absent read an empty text.
    const old = { "user-agent": "speakeasy-sdk/typescript 0.38.1 2.727.9 0.1.0 @polar-sh/sdk" };
    expect((await confirm((await open()).client_secret, sent, old)).customer_session_token).toBe("");
    const rows = await floe.deps.db.select().from(customerSessions).where(eq(customerSessions.customer_id, known.id));
    expect(rows).toEqual([]);
  });

  test("is there after a card was declined, and not before", async () => {
    const made = await open();
    const sent = { customer_email: "declined@example.com" };
    const declined = await confirm(made.client_secret, { ...sent, confirmation_token_id: "pm_card_chargeDeclined" });
    expect([declined.status, declined.customer_session_token]).toEqual([400, undefined]);
    const paid = await confirm(made.client_secret, sent);
    expect((await me(paid.customer_session_token ?? "")).json).toMatchObject({ email: "declined@example.com" });
  });
});
