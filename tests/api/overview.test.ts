import { eq } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { session, user } from "../../server/identity/accounts/tables.ts";
import { failedWork } from "../../server/platform/db/tables.ts";
import type { Overview } from "../../shared/api/overview.ts";
import { newAddress } from "../support/accounts.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { callsOf, join, type Person, person } from "../support/people.ts";
import { sellOrder } from "../support/rows.ts";
import { openShop } from "../support/story.ts";

/** The seller's start page: what it reads in one request, and for whom the cookie of a browser opens it. */

let floe: Floe;
let seller: Seller;
let cookie: string;
beforeAll(async () => {
  floe = await start({ settings: { TRUST_PROXY: "127.0.0.1" } });
  seller = await floe.seller("ada");
  cookie = await signIn(seller);
});
afterAll(() => floe?.close());

async function signIn({ email, password }: { email: string; password: string }): Promise<string> {
  const answer = await floe.request("POST", "/api/auth/sign-in/email", {
    body: { email, password },
    headers: { origin: floe.url, "x-forwarded-for": newAddress() },
  });
  return [answer.headers["set-cookie"] ?? []]
    .flat()
    .map((one) => String(one).split(";")[0])
    .join("; ");
}
type Sent = { cookie?: string; body?: unknown; headers?: Record<string, string> };
const ask = (method: string, path: string, { cookie: given = cookie, body, headers = {} }: Sent = {}) =>
  floe.request(method, path, {
    ...(body === undefined ? {} : { body }),
    headers: { cookie: given, "sec-fetch-site": "same-origin", ...headers },
  });
async function read(sent: Sent = {}, query = ""): Promise<Overview> {
  const { status, json, text } = await ask("GET", `/v1/overview${query}`, sent);
  expect(status, text).toBe(200);
  return json;
}

describe("the session of a browser", () => {
  test("opens the overview of the own organization, and that of no other", async () => {
    const other = await floe.seller("bob");
    const own = await read();
    expect([own.organization_id, own.slug.startsWith("ada")]).toEqual([seller.organization_id, true]);
    const named = await ask("GET", "/v1/overview", { headers: { "polar-organization": other.organization_id } });
    expect(named.status).toBe(404);
    const order_id = await sellOrder(floe, other);
    expect((await ask("GET", `/v1/orders/${order_id}/explain`)).status).toBe(404);
  });

  test("opens nothing for a page of another site, which changes nothing either", async () => {
    const order_id = await sellOrder(floe, seller);
    const body = { order_id, reason: "customer_request", amount: 100 };
    for (const headers of [
      { origin: "https://evil.example" },
      { origin: "null" },
      { "sec-fetch-site": "cross-site" },
      { "sec-fetch-site": "same-site" },
    ] as Record<string, string>[]) {
      expect((await ask("GET", "/v1/overview", { headers })).status, JSON.stringify(headers)).toBe(401);
      expect((await ask("POST", "/v1/refunds/", { body, headers })).status, JSON.stringify(headers)).toBe(401);
    }
    const unsaid = await floe.request("POST", "/v1/refunds/", { body, headers: { cookie } });
    expect(unsaid.status).toBe(401);
    // A form of another page needs no permission of its own, and is of a type that is not read.
    const form = { "content-type": "text/plain", origin: "https://evil.example" };
    expect((await ask("POST", "/v1/refunds/", { body: JSON.stringify(body), headers: form })).status).toBe(401);
    expect((await seller.client.orders.get({ params: { id: order_id } })).refunded_amount).toBe(0);
  });

  test("makes an act once for an Idempotency-Key, however often the button is pressed", async () => {
    const order_id = await sellOrder(floe, seller);
    const body = { order_id, reason: "customer_request", amount: 100 };
    const headers = { origin: floe.url, "idempotency-key": "press", "polar-organization": seller.organization_id };
    const answers = await Promise.all([0, 1, 2].map(() => ask("POST", "/v1/refunds/", { body, headers })));
    expect(answers.map(({ status }) => status).filter((status) => ![201, 409].includes(status))).toEqual([]);
    await floe.runJobs();
    expect((await seller.client.orders.get({ params: { id: order_id } })).refunded_amount).toBe(100);
  });

  test("of a member reads, and neither refunds nor cancels", async () => {
    const guest: Person = await person(floe, "member");
    const organizationId = seller.organization_id;
    const owner: Person = { ...seller };
    await join(floe, { owner, organizationId, guest, role: "member" });
    const own = await signIn(guest);
    const overview = await read({ cookie: own });
    expect(overview.scopes).not.toContain("refunds:write");
    expect(overview.orders?.length).toBeGreaterThan(0);
    const order_id = overview.orders?.[0]?.id;
    const body = { order_id, reason: "customer_request", amount: 1 };
    const headers = { origin: floe.url, "polar-organization": organizationId };
    expect((await ask("POST", "/v1/refunds/", { cookie: own, body, headers })).status).toBe(403);
  });

  test("of an admin who visits a seller leaves the admin's name with each act", async () => {
    const admin = await person(floe, "admin");
    await floe.deps.db.update(user).set({ role: "admin" }).where(eq(user.id, admin.user_id));
    const visit = await callsOf(floe)(admin, "POST", "/admin/impersonate-user", { userId: seller.user_id });
    const acting = (visit.json as { session: { token: string } }).session.token;
    const { organization_id } = seller;
    const body = { name: "Visited", organization_id, prices: [{ amount_type: "free" }] };
    expect((await floe.request("POST", "/v1/products/", { token: acting, body })).status).toBe(201);
    const path = `/audit/list?organizationId=${organization_id}&limit=50`;
    const log = await callsOf(floe)(seller, "GET", path);
    expect(log.text).toContain(`"impersonatedBy":"${admin.user_id}"`);
  });

  test("ends with the session", async () => {
    const short = await signIn(seller);
    const out = { cookie: short, headers: { origin: floe.url }, body: {} };
    expect((await ask("POST", "/api/auth/sign-out", out)).status).toBe(200);
    expect((await ask("GET", "/v1/overview", { cookie: short })).status).toBe(401);
    const banned = await person(floe, "banned");
    const own = await signIn(banned);
    await floe.deps.db.delete(session).where(eq(session.userId, banned.user_id));
    expect((await ask("GET", "/v1/overview", { cookie: own })).status).toBe(401);
  });

  test("of somebody without an organization is told to name one", async () => {
    const nobody = await person(floe, "nobody");
    expect((await ask("GET", "/v1/overview", { cookie: await signIn(nobody) })).status).toBe(422);
  });
});

describe("the overview", () => {
  test("adds up revenue by the days of the time zone, and shows the latest orders and the next renewals", async () => {
    const shop = await openShop(floe, "2027-05-31T20:00:00Z");
    const product = await shop.sells("Field Guide", 1900);
    await shop.subscribes(product);
    await shop.on("2027-06-02T10:00:00Z");
    await shop.subscribes(product);
    const get = async (timezone: string): Promise<Overview> =>
      (await floe.request("GET", `/v1/overview?timezone=${timezone}`, { token: shop.seller.key })).json;
    const utc = await get("UTC");
    expect(utc.figures).toMatchObject({ today_revenue: 1900, month_revenue: 1900, monthly_recurring_revenue: 3800 });
    expect(utc.figures?.days.length).toBe(30);
    expect(utc.figures?.days.filter(({ revenue }) => revenue > 0).map(({ date }) => date)).toEqual([
      "2027-05-31",
      "2027-06-02",
    ]);
    // There it was June already.
    expect((await get("Asia/Tokyo")).figures?.month_revenue).toBe(3800);
    expect(utc.orders?.map(({ product_name, status, total_amount }) => [product_name, status, total_amount])).toEqual([
      ["Field Guide", "paid", 1900],
      ["Field Guide", "paid", 1900],
    ]);
    expect(utc.renewals?.map(({ current_period_end }) => String(current_period_end).slice(0, 10))).toEqual([
      "2027-06-30",
      "2027-07-02",
    ]);
    expect([utc.has_products, utc.has_checkout_links]).toEqual([true, false]);
    expect(utc.missing_legal).toEqual(["legal_name", "address", "tax_id", "terms_url", "privacy_url"]);
    const { client, organization_id } = shop.seller;
    await client.organizations.update({
      params: { id: organization_id },
      body: { invoice_settings: { legal_name: "Frost GmbH", address: { country: "DE" } } },
    });
    expect((await get("UTC")).missing_legal).toEqual(["tax_id", "terms_url", "privacy_url"]);
  });

  test("shows failed payments of unpaid orders, failing endpoints and jobs that were given up", async () => {
    const shop = await openShop(floe, "2027-06-01T09:00:00Z");
    const { key, organization_id, client } = shop.seller;
    const id = await shop.subscribes(await shop.sells("Atlas", 4900), {});
    const { customer_id } = await shop.get(id);
    await shop.leaves(customer_id, "pm_card_chargeCustomerFail");
    const get = async (): Promise<Overview> => (await floe.request("GET", "/v1/overview", { token: key })).json;
    const fine = await get();
    expect([fine.failed_payments, fine.failing_endpoints, fine.dead_letters.count]).toEqual([[], [], 0]);
    await client.webhooks.createEndpoint({ body: { url: "https://hooks.example.com/a", events: ["order.paid"] } });
    const [endpoint] = (await client.webhooks.listEndpoints({ query: {} })).items;
    await shop.accepted("PATCH", `/v1/webhooks/endpoints/${endpoint?.id}`, { enabled: false });
    const job = {
      kind: "a.worker",
      row_id: organization_id,
      attempts: 9,
      error: "secret",
      first_failed_at: new Date(),
    };
    await floe.deps.db.insert(failedWork).values({ ...job, organization_id, retry_at: null });
    const made = await shop.accepted("POST", "/v1/checkouts/", { products: [await shop.sells("Map", 900)] });
    const confirm = `/v1/checkouts/client/${made.client_secret}/confirm`;
    const body = { confirmation_token_id: "pm_card_chargeDeclined", customer_email: "eve@example.com" };
    await floe.request("POST", confirm, { body: { ...body, customer_billing_address: { country: "FR" } } });
    await floe.runJobs();
    const faults = await get();
    expect(faults.failed_payments).toMatchObject([{ amount: 900, customer_email: "eve@example.com" }]);
    expect(faults.failing_endpoints).toMatchObject([{ url: "https://hooks.example.com/a", enabled: false }]);
    expect(faults.dead_letters).toEqual({ count: 1, kinds: ["a.worker"] });
    expect(JSON.stringify(faults)).not.toContain("secret");
    await floe.deps.db.delete(failedWork).where(eq(failedWork.organization_id, organization_id));
  });

  test("shows a key only what its scopes allow", async () => {
    const { json } = await floe.request("GET", "/v1/overview", { token: await floe.keyOf(seller, ["orders:read"]) });
    const narrow = json as Overview;
    const { figures, failed_payments, failing_endpoints, meters, renewals } = narrow;
    expect([figures, failed_payments, failing_endpoints, meters, renewals]).toEqual([null, null, null, null, null]);
    expect(narrow.orders).not.toBeNull();
    const refused = await floe.keyOf(seller, ["events:read"]);
    expect((await floe.request("GET", "/v1/overview", { token: refused })).status).toBe(403);
    const wrong = await floe.request("GET", "/v1/overview?timezone=Nowhere/Else", { token: seller.key });
    expect(wrong.status).toBe(422);
  });
});
