import { crc32 } from "node:zlib";
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { subscriptions } from "../../server/billing/subscriptions/tables.ts";
import { organization } from "../../server/identity/organizations/tables.ts";
import { events } from "../../server/platform/db/tables.ts";
import { testRefunds } from "../../server/platform/processors/tables.ts";
import { scopes } from "../../shared/scopes.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { payment, sell, sellOrder } from "../support/rows.ts";
import { cards, openShop } from "../support/story.ts";

/** Rules of products, checkouts, orders, subscriptions and customers that hold one fact each. */

let floe: Floe;
let seller: Seller;
beforeAll(async () => {
  floe = await start({ settings: { TRUST_PROXY: "127.0.0.1" } });
  seller = await floe.seller();
});
afterAll(() => floe?.close());

const book = (price_amount = 1900, more: object = {}) =>
  seller.client.products.create({ body: { name: "Book", prices: [{ amount_type: "fixed", price_amount }], ...more } });
type Json = Record<string, never> & { error?: string; client_secret: string };
const create = async (body: object, headers: Record<string, string> = {}) => {
  const { status, json } = await floe.request("POST", "/v1/checkouts/", { token: seller.key, body, headers });
  return { status, json: json as Json };
};
const confirm = async (client_secret: string, body: object = {}) => {
  const sent = { ...payment, customer_email: "buyer@example.com", ...body };
  const { status, json } = await floe.request("POST", `/v1/checkouts/client/${client_secret}/confirm`, { body: sent });
  return { status, json: json as Json };
};
const listEvents = async ({ organization_id }: Seller) => {
  const rows = await floe.deps.db
    .select()
    .from(events)
    .where(eq(events.organization_id, organization_id))
    .orderBy(events.seq);
  return rows.map(({ type }) => type);
};

describe("products", () => {
  test("POL-02, POL-03: a currency without a minor unit has whole units, one with three decimals is refused", async () => {
    const prices = [
      { amount_type: "fixed", price_amount: 1900 },
      { amount_type: "fixed", price_amount: 500, price_currency: "jpy" },
    ];
    const { id } = await book(500, { prices });
    const { json } = await create({ products: [id], currency: "jpy" });
    expect([json.amount, json.currency]).toEqual([500, "jpy"]);
    for (const price_currency of ["kwd", "bhd", "jod"]) {
      const prices = [{ amount_type: "fixed", price_amount: 5000, price_currency }];
      const { status } = await floe.request("POST", "/v1/products/", {
        token: seller.key,
        body: { name: "Book", prices },
      });
      expect([price_currency, status]).toEqual([price_currency, 422]);
    }
  });

  test("PRD-13: a price by unit is refused where prices are", async () => {
    const prices = [{ amount_type: "unit", price_amount: 100 }];
    const refused = await floe.request("POST", "/v1/products/", { token: seller.key, body: { name: "Bolts", prices } });
    const [fault] = (refused.json as { detail: { loc: string[] }[] }).detail;
    expect([refused.status, fault?.loc.slice(0, 3)]).toEqual([422, ["body", "prices", 0]]);
  });

  test("PRD-15: one static price beside any number of metered ones; two static ones are refused", async () => {
    const { id: meter_id } = await seller.client.meters.create({
      body: {
        name: "Calls",
        filter: { conjunction: "and", clauses: [{ property: "name", operator: "eq", value: "call" }] },
        aggregation: { func: "count" },
      },
    });
    const fixed = { amount_type: "fixed", price_amount: 900 };
    const metered = { amount_type: "metered_unit", meter_id, unit_amount: "1" };
    const sells = async (prices: object[]) => {
      const body = { name: "Plan", recurring_interval: "month", prices };
      return (await floe.request("POST", "/v1/products/", { token: seller.key, body })).status;
    };
    expect(await sells([fixed, metered])).toBe(201);
    for (const second of [fixed, { amount_type: "free" }, { amount_type: "custom" }])
      expect(await sells([fixed, second])).toBe(422);
  });
});

describe("checkouts", () => {
  test("CHK-01: a list of products, one product or one price; the first product is chosen", async () => {
    const [first, second] = [await book(), await book(2900)];
    const chosen = async (body: object) => (await create(body)).json.product_id;
    expect(await chosen({ products: [second.id, first.id] })).toBe(second.id);
    expect(await chosen({ product_id: first.id })).toBe(first.id);
    expect(await chosen({ product_price_id: second.prices[0]?.id })).toBe(second.id);
  });

  test("CHK-19: the country of the buyer's IP address stands in for an unknown one, and replaces none", async () => {
    const { id } = await book();
    const french = "78.192.0.1";
    const opened = async (body: object) =>
      (await create({ products: [id], customer_ip_address: french, ...body })).json.customer_billing_address;
    expect(await opened({})).toMatchObject({ country: "FR" });
    expect(await opened({ customer_billing_address: { country: "DE" } })).toMatchObject({ country: "DE" });
    const { id: customer_id } = await seller.client.customers.create({
      body: { email: "known@example.com", billing_address: { country: "ES" } },
    });
    expect(await opened({ customer_id })).toMatchObject({ country: "ES" });
  });

  test("CHK-27, CHK-59: only an open checkout is confirmed; a job closes one whose time is up, with an event", async () => {
    const other = await floe.seller("expiring");
    const { client_secret } = await sell(floe, other);
    expect(await confirm(client_secret)).toMatchObject({ status: 403, json: { error: "NotOpenCheckout" } });
    const product = await other.client.products.create({
      body: { name: "Map", prices: [{ amount_type: "fixed", price_amount: 500 }] },
    });
    const late = await other.client.checkouts.create({ body: { products: [product.id] } });
    floe.clock.time = new Date(new Date(late.expires_at).getTime() + 1);
    await floe.runJobs();
    expect((await other.client.checkouts.get({ params: { id: late.id } })).status).toBe("expired");
    expect((await listEvents(other)).filter((type) => type === "checkout.expired")).toHaveLength(1);
  });

  test("CHK-39, CHK-41: net is the amount less its discount; under the least charge nothing is asked of a card", async () => {
    const discount = (basis_points: number) =>
      seller.client.discounts.create({ body: { name: "Off", type: "percentage", basis_points, duration: "once" } });
    const { id } = await book(1000);
    const open = async (basis_points: number) => {
      const { id: discount_id } = await discount(basis_points);
      const { json } = await create({ products: [id], discount_id });
      return [json.amount, json.discount_amount, json.net_amount, json.total_amount, json.is_payment_required];
    };
    expect(await open(2500)).toEqual([1000, 250, 750, 750, true]);
    expect(await open(9500)).toEqual([1000, 950, 50, 50, true]);
    // 49 cents cannot be charged: they are owed.
    expect(await open(9510)).toEqual([1000, 951, 49, 49, false]);
  });

  test("CHK-57: what is confirmed is delivered at its price, though the price is archived before the payment", async () => {
    const { id } = await book(1900);
    const { json } = await create({ products: [id] });
    const asked = await confirm(json.client_secret, { confirmation_token_id: "pm_card_threeDSecureRequired" });
    expect(asked.json.status).toBe("confirmed");
    await seller.client.products.update({
      params: { id },
      body: { prices: [{ amount_type: "fixed", price_amount: 9900 }] },
    });
    const metadata = asked.json.payment_processor_metadata as unknown as { intent_client_secret: string };
    const path = `/v1/payment-processor/test/intents/${metadata.intent_client_secret}/authenticate`;
    expect((await floe.request("POST", path, { body: { approved: true } })).status).toBe(200);
    await floe.runJobs();
    const [order] = (await seller.client.orders.list({ query: { product_id: [id] } })).items;
    expect([order?.status, order?.total_amount]).toEqual(["paid", 1900]);
  });

  test("CHK-58: a recurring product begins a subscription with its order; a one-time product has an order alone", async () => {
    const buy = async (more: object) => {
      const { id } = await book(1900, more);
      const { json } = await create({ products: [id] });
      await confirm(json.client_secret, { customer_email: `${id}@example.com` });
      const [order] = (await seller.client.orders.list({ query: { product_id: [id] } })).items;
      return [order?.billing_reason, order?.subscription_id !== null];
    };
    expect(await buy({})).toEqual(["purchase", false]);
    expect(await buy({ recurring_interval: "month" })).toEqual(["subscription_create", true]);
  });

  test("DSC-11, DSC-19: a discount is counted when a checkout is confirmed, and only where something is asked", async () => {
    const limited = await seller.client.discounts.create({
      body: { name: "Two", type: "percentage", basis_points: 5000, duration: "once", code: "TWO", max_redemptions: 2 },
    });
    const count = async () => {
      await floe.runJobs();
      return (await seller.client.discounts.get({ params: { id: limited.id } })).redemptions_count;
    };
    const { id } = await book();
    const { json } = await create({ products: [id], discount_id: limited.id });
    expect([json.discount_amount, await count()]).toEqual([950, 0]);
    await confirm(json.client_secret);
    expect(await count()).toBe(1);
    const free = await seller.client.products.create({ body: { name: "Leaflet", prices: [{ amount_type: "free" }] } });
    const { status, json: refused } = await create({ products: [free.id], discount_id: limited.id });
    expect([status, refused.discount_amount ?? 0]).toEqual([status === 201 ? 201 : 422, 0]);
    expect(await count()).toBe(1);
  });

  test("ORG-06: a blocked organization has no key that counts, and sells nothing", async () => {
    const blocked = await floe.seller("blocked");
    const product = await blocked.client.products.create({
      body: { name: "Map", prices: [{ amount_type: "fixed", price_amount: 500 }] },
    });
    const { client_secret } = await blocked.client.checkouts.create({ body: { products: [product.id] } });
    const link = await blocked.client.checkoutLinks.create({ body: { products: [product.id] } });
    const { organization_id } = blocked;
    await floe.deps.db
      .update(organization)
      .set({ blocked_at: floe.clock.now() })
      .where(eq(organization.id, organization_id));
    for (const token of [blocked.key, blocked.session]) {
      const { status } = await floe.request("GET", `/v1/products/?organization_id=${organization_id}`, { token });
      expect([401, 403]).toContain(status);
    }
    expect((await confirm(client_secret)).status).toBe(403);
    expect((await floe.request("GET", new URL(link.url).pathname)).status).toBe(403);
  });
});

describe("orders", () => {
  test("ORD-20: invoice numbers follow each other without a gap, also where a confirmation was refused between", async () => {
    const other = await floe.seller("numbers");
    await sellOrder(floe, other);
    const product = await other.client.products.create({
      body: { name: "Map", prices: [{ amount_type: "fixed", price_amount: 500 }] },
    });
    const { client_secret } = await other.client.checkouts.create({ body: { products: [product.id] } });
    const declined = { confirmation_token_id: "pm_card_chargeDeclined" };
    expect((await confirm(client_secret, declined)).json.error).toBe("PaymentError");
    await sellOrder(floe, other);
    const { items } = await other.client.orders.list({ query: {} });
    const numbers = items.map(({ invoice_number }) => Number(/\d+$/.exec(invoice_number ?? "")?.[0])).sort();
    expect(numbers).toEqual([1, 2]);
  });

  test("ORD-23: an invoice is 404 until it is printed; its link needs no key", async () => {
    const id = await sellOrder(floe, seller);
    const read = () => floe.request("GET", `/v1/orders/${id}/invoice`, { token: seller.key });
    expect((await read()).status).toBe(404);
    await seller.client.invoices.generate({ params: { id } });
    await floe.runJobs();
    const { status, json } = await read();
    expect(status).toBe(200);
    const { pathname, search } = new URL((json as { url: string }).url);
    const printed = await floe.app.inject({ url: `${pathname}${search}` });
    expect([printed.statusCode, printed.headers["content-type"]]).toEqual([200, "application/pdf"]);
    expect((await floe.app.inject({ url: pathname })).statusCode).toBeGreaterThanOrEqual(400);
  });

  test("ORD-28: a customer's own failed attempts do not count in the schedule of retries", async () => {
    const shop = await openShop(floe, "2026-06-01");
    const plan = await shop.sells("Plan", 1000);
    const id = await shop.subscribes(plan);
    const { customer_id } = await shop.get(id);
    const failing = await shop.leaves(customer_id, cards.failing);
    const { token } = await shop.seller.client.customerSessions.create({ body: { customer_id } });
    await floe.deps.db.update(subscriptions).set({ payment_method_id: failing }).where(eq(subscriptions.id, id));
    await shop.on("2026-07-01");
    const [order] = (await shop.seller.client.orders.list({ query: { subscription_id: [id], status: ["pending"] } }))
      .items;
    const next = order?.next_payment_attempt_at;
    const body = { confirmation_token_id: "pm_card_chargeDeclined" };
    const tried = await floe.request("POST", `/v1/customer-portal/orders/${order?.id}/confirm-payment`, {
      token,
      body,
    });
    await floe.runJobs();
    const [after] = (await shop.seller.client.orders.list({ query: { subscription_id: [id], status: ["pending"] } }))
      .items;
    expect([tried.status === 404, after?.next_payment_attempt_at]).toEqual([false, next]);
  });

  test("RFD-06: the amount goes back together with its tax", async () => {
    const taxed = await floe.seller("taxed");
    await taxed.client.tax.createRegistration({ body: { country: "FR" } });
    const id = await sellOrder(floe, taxed);
    const { tax_amount, net_amount } = await taxed.client.orders.get({ params: { id } });
    expect(tax_amount).toBeGreaterThan(0);
    const body = { order_id: id, amount: net_amount, reason: "customer_request" as const };
    const refund = await taxed.client.refunds.create({ body });
    expect([refund.amount, refund.tax_amount]).toEqual([net_amount, tax_amount]);
    const [paid] = (await taxed.client.payments.list({ query: { order_id: [id] } })).items;
    const given = await floe.deps.db
      .select({ amount: testRefunds.amount })
      .from(testRefunds)
      .where(eq(testRefunds.intent_id, String(paid?.processor_metadata.intent_id)));
    expect(given).toEqual([{ amount: net_amount + tax_amount }]);
  });
});

describe("subscriptions", () => {
  test("SUB-01, SUB-31: states of a life; what is said of the end is kept by a later end without it", async () => {
    const shop = await openShop(floe, "2026-06-01");
    const id = await shop.subscribes(await shop.sells("Plan", 1000));
    const said = { customer_cancellation_reason: "too_expensive", customer_cancellation_comment: "Too dear" };
    expect(await shop.changes(id, { cancel_at_period_end: true, ...said })).toBe("done");
    expect(await shop.state(id)).toBe("active 1000 2026-06-01 to 2026-07-01, ending");
    await shop.accepted("DELETE", `/v1/subscriptions/${id}`);
    expect(await shop.get(id)).toMatchObject({ status: "canceled", ...said });
    await shop.on("2026-09-01");
    expect(await shop.orders(id)).toHaveLength(1);
  });

  test("SUB-07, SUB-25, SUB-17: meters count from nothing at the start, say what was used, and end with the renewal", async () => {
    const shop = await openShop(floe, "2026-06-01");
    const { client } = shop.seller;
    const { id: meter_id } = await client.meters.create({
      body: {
        name: "Calls",
        filter: { conjunction: "and", clauses: [{ property: "name", operator: "eq", value: "call" }] },
        aggregation: { func: "count" },
      },
    });
    const { id: customer_id } = await client.customers.create({ body: { email: "metered@example.com" } });
    const use = async (count: number) => {
      const all = Array.from({ length: count }, () => ({ name: "call", customer_id }));
      await shop.accepted("POST", "/v1/events/ingest", { events: all });
      await floe.runJobs();
    };
    await use(7);
    const metered = { amount_type: "metered_unit", meter_id, unit_amount: "10" };
    const plan = await shop.sells("Plan", [{ amount_type: "fixed", price_amount: 1000 }, metered]);
    const id = await shop.subscribes(plan, { checkout: { customer_id } });
    const meter = async () => {
      const [one] = (await shop.get(id)).meters;
      return [one?.consumed_units, one?.credited_units, one?.amount];
    };
    expect(await meter()).toEqual([0, 0, 0]);
    await shop.set("2026-06-10");
    await use(3);
    expect(await meter()).toEqual([3, 0, 30]);
    await shop.on("2026-07-01");
    expect(await meter()).toEqual([0, 0, 0]);
    const lines = await shop.lines(id);
    expect(lines.map(([, amount]) => amount).sort((a, b) => a - b)).toEqual([30, 1000]);
  });

  test("SUB-59: a change tells `updated`, then what applies, and last what the customer holds", async () => {
    const shop = await openShop(floe, "2026-06-01");
    const id = await shop.subscribes(await shop.sells("Plan", 1000));
    const before = (await listEvents(shop.seller)).length;
    await shop.accepted("DELETE", `/v1/subscriptions/${id}`);
    await floe.runJobs();
    const types = (await listEvents(shop.seller)).slice(before);
    const order = ["subscription.updated", "subscription.canceled", "subscription.revoked", "customer.state_changed"];
    expect(types.filter((type) => order.includes(type))).toEqual(order);
  });
});

describe("customers and keys", () => {
  test("CUP-02, CUP-04: a session answers its token once, and its portal address has token and e-mail, encoded", async () => {
    const { id: customer_id } = await seller.client.customers.create({ body: { email: "ada+tag@example.com" } });
    const session = await seller.client.customerSessions.create({ body: { customer_id } });
    const { searchParams } = new URL(session.customer_portal_url);
    expect(session.customer_portal_url).toContain("ada%2Btag%40example.com");
    expect([searchParams.get("customer_session_token"), searchParams.get("email")]).toEqual([
      session.token,
      "ada+tag@example.com",
    ]);
    expect([session.customer_id, session.expires_at > floe.clock.now()]).toEqual([customer_id, true]);
    const stored = JSON.stringify(await floe.deps.db.execute("select * from customer_sessions"));
    expect(stored).not.toContain(session.token);
  });

  test("MTR-17: `like` finds a part of a text literally; % and _ mean themselves", async () => {
    const { id: meter_id } = await seller.client.meters.create({
      body: {
        name: "Odd",
        filter: { conjunction: "and", clauses: [{ property: "model", operator: "like", value: "5%_x" }] },
        aggregation: { func: "count" },
      },
    });
    const { id: customer_id } = await seller.client.customers.create({ body: { email: "odd@example.com" } });
    const all = ["a5%_xb", "5%_x", "5ZZx", "5%ax", "50_x"].map((model) => ({
      name: "m",
      customer_id,
      metadata: { model },
    }));
    await floe.request("POST", "/v1/events/ingest", { token: seller.key, body: { events: all } });
    await floe.runJobs();
    const { items } = await seller.client.customerMeters.list({ query: { customer_id: [customer_id] } });
    const meter = items.find((one) => one.meter_id === meter_id);
    // MTR-22: what was used, what was credited, and the difference, below 0.
    expect([meter?.consumed_units, meter?.credited_units, meter?.balance]).toEqual([2, 0, -2]);
  });

  test("MTR-24: however many events come within fifteen seconds, the customer's state is told once", async () => {
    const other = await floe.seller("usage");
    await other.client.meters.create({
      body: {
        name: "Calls",
        filter: { conjunction: "and", clauses: [{ property: "name", operator: "eq", value: "call" }] },
        aggregation: { func: "count" },
      },
    });
    const { id: customer_id } = await other.client.customers.create({ body: { email: "busy@example.com" } });
    await floe.runJobs();
    const count = async () => (await listEvents(other)).filter((type) => type === "customer.state_changed").length;
    const before = await count();
    for (let sent = 0; sent < 5; sent += 1)
      await floe.request("POST", "/v1/events/ingest", {
        token: other.key,
        body: { events: [{ name: "call", customer_id }] },
      });
    const { items } = await other.client.customerMeters.list({ query: { customer_id: [customer_id] } });
    expect(items[0]?.consumed_units).toBe(5);
    floe.clock.advance(16_000);
    await floe.runJobs();
    expect((await count()) - before).toBe(1);
  });

  test("TOK-01, TOK-10: a key is a prefix, 37 signs and a checksum of six; it can have no scope but the listed ones", async () => {
    expect(seller.key).toMatch(/^[a-z]+_[a-z]+_[0-9A-Za-z]{43}$/);
    const [random, checksum = ""] = [seller.key.slice(-43, -6), seller.key.slice(-6)];
    const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    const value = [...checksum].reduce((sum, digit) => sum * 62 + digits.indexOf(digit), 0);
    expect(value).toBe(crc32(random));
    // With a password that was given just now.
    await floe.keyOf(seller, ["products:read"]);
    const ask = async (given: string[]) => {
      const body = { name: "key", organizationId: seller.organization_id, scopes: given };
      return (await floe.request("POST", "/api/auth/api-key/create", { token: seller.session, body })).status;
    };
    expect(await ask([...scopes].slice(0, 3))).toBe(200);
    for (const wrong of [["everything"], ["products:write", "admin"], ["*"]])
      expect(await ask(wrong)).toBeGreaterThanOrEqual(400);
  });
});
