import { and, eq } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { orders } from "../../server/billing/orders/tables.ts";
import { subscriptions } from "../../server/billing/subscriptions/tables.ts";
import { apikey, user } from "../../server/identity/accounts/tables.ts";
import { organization } from "../../server/identity/organizations/tables.ts";
import { addUpChanges } from "../../server/operations/metrics/store.ts";
import { metricTallies } from "../../server/operations/metrics/tables.ts";
import { hashToken, seal } from "../../server/platform/crypto/secrets.ts";
import { metricKinds, metricSlugs } from "../../shared/api/metrics.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { newId } from "../support/ids.ts";
import { type Asked, recount } from "../support/metrics.ts";
import { callsOf, join, organizationOf, person } from "../support/people.ts";
import { disputeOrder, payment, sell, sellOrder } from "../support/rows.ts";

let floe: Floe;
let ada: Seller;
let bob: Seller;
/** Made before the clock moves, as a session ends some day. */
const others: Record<"life" | "box" | "sums", Seller> = {} as never;
beforeAll(async () => {
  floe = await start();
  ada = await floe.seller("ada");
  bob = await floe.seller("bob");
  for (const name of ["life", "box", "sums"] as const) others[name] = await floe.seller(name);
});
afterAll(() => floe?.close());

const ask = (token: string | undefined, query: string, path = "") =>
  floe.request("GET", `/v1/metrics/${path}?${query}`, token === undefined ? {} : { token });
const january = "start_date=2026-01-01&end_date=2026-01-31";

/** Rows of a subscription and its orders, as MET-07 tells of them. */
async function writeExample(seller: Seller) {
  const { organization_id, client } = seller;
  const product = await client.products.create({
    body: { name: "Club", recurring_interval: "month", prices: [{ amount_type: "fixed", price_amount: 1000 }] },
  });
  const { id: customer_id } = await client.customers.create({ body: { email: `member-${newId()}@example.com` } });
  const owned = { organization_id, customer_id, product_id: product.id, currency: "usd" };
  const started_at = new Date("2026-01-03T10:00:00Z");
  const subscription_id = newId();
  await floe.deps.db.insert(subscriptions).values({
    ...{ ...owned, id: subscription_id, status: "active", amount: 1000, recurring_interval: "month" },
    ...{ recurring_interval_count: 1, anchor_day: 3, created_at: started_at, started_at },
    ...{ current_period_start: started_at, current_period_end: new Date("2026-03-03T10:00:00Z") },
  });
  const sale = (day: string, subtotal_amount: number, platform_fee_amount: number, more: object = {}) => {
    const paid_at = new Date(`${day}T10:00:00Z`);
    return {
      ...{
        ...owned,
        id: newId(),
        created_at: paid_at,
        paid_at,
        status: "paid" as const,
        terms: "",
        description: "Club",
      },
      ...{ billing_reason: "purchase" as const, derivation: {} as never, tax_behavior: "exclusive" as const },
      ...{ subtotal_amount, platform_fee_amount, discount_amount: 0, tax_amount: 0, ...more },
    };
  };
  await floe.deps.db
    .insert(orders)
    .values([
      sale("2026-01-03", 1000, 90, { subscription_id }),
      sale("2026-01-20", 2000, 120, { refunded_amount: 500, status: "partially_refunded" }),
      sale("2026-02-02", 1000, 90, { subscription_id }),
    ]);
  return { customer_id, product, subscription_id };
}

describe("what is asked for", () => {
  test("MET-02, MET-03: the longest range of each interval is answered, one day more is 422 at the query", async () => {
    const { json } = await ask(ada.key, "", "limits");
    const { min_date, intervals } = json as { min_date: string; intervals: Record<string, { max_days: number }> };
    expect([min_date, Object.keys(intervals)]).toEqual(["2023-01-01", ["hour", "day", "week", "month", "year"]]);
    for (const [interval, { max_days }] of Object.entries(intervals)) {
      const until = (days: number) =>
        `start_date=2025-01-01&end_date=${new Date(Date.UTC(2025, 0, 1 + days)).toISOString().slice(0, 10)}&interval=${interval}`;
      expect((await ask(ada.key, until(max_days))).status).toBe(200);
      for (const days of [max_days + 1, -1]) {
        const refused = await ask(ada.key, until(days));
        const [fault] = (refused.json as { detail: { loc: string[] }[] }).detail;
        expect([refused.status, fault?.loc]).toEqual([422, ["query"]]);
      }
    }
  });

  test.each([
    ["", ["start_date"]],
    [january, ["interval"]],
    [`${january}&interval=minute`, ["interval"]],
    [`${january}&interval=day&timezone=Mars/Base`, ["timezone"]],
    ["start_date=2026-02-30&end_date=2026-03-01&interval=day", ["start_date"]],
    ["start_date=0001-01-01&end_date=0001-01-02&interval=day", ["start_date"]],
    ["start_date=9999-12-31&end_date=9999-12-31&interval=year", ["start_date"]],
    [`${january}&interval=day&metrics=revenue&metrics=profit`, ["metrics"]],
    [`${january}&interval=day&product_id=x`, ["product_id"]],
    [`${january}&interval=day&billing_type=weekly`, ["billing_type"]],
  ])("MET-01: %s is 422 at its place", async (query, [place]) => {
    const { status, json } = await ask(ada.key, query);
    expect(status).toBe(422);
    expect((json as { detail: { loc: string[] }[] }).detail.map(({ loc }) => loc.slice(0, 2))).toContainEqual([
      "query",
      place,
    ]);
    expect((await ask(ada.key, query, "export")).status).toBe(422);
  });

  test("MET-01, MET-04: the metrics that are named, and no others", async () => {
    const { json } = await ask(ada.key, `${january}&interval=week&metrics=revenue&metrics=churn_rate`);
    const { periods, totals, metrics } = json as { periods: object[]; totals: object; metrics: Record<string, object> };
    expect(Object.keys(totals)).toEqual(["revenue", "churn_rate"]);
    expect(Object.keys(periods[0] ?? {})).toEqual(["timestamp", "revenue", "churn_rate"]);
    expect(metrics.churn_rate).toEqual({ slug: "churn_rate", display_name: "Churn Rate", type: "percentage" });
  });

  test("an older client reads the cost metrics as money", async () => {
    const type = async (headers: Record<string, string>) => {
      const { json } = await floe.request("GET", `/v1/metrics/?${january}&interval=year`, { token: ada.key, headers });
      return (json as { metrics: { costs: { type: string } } }).metrics.costs.type;
    };
    expect(await type({})).toBe("currency");
    expect(await type({ "polar-version": "2026-10" })).toBe("currency_sub_cent");
  });
});

describe("what is answered", () => {
  test("MET-07, MET-08: the worked examples", async () => {
    const seller = await floe.seller("example");
    const { subscription_id } = await writeExample(seller);
    const months = { start_date: "2026-01-01", end_date: "2026-02-28" };
    const { periods } = await seller.client.metrics.get({ query: { ...months, interval: "month" } });
    expect(periods).toMatchObject([
      {
        ...{ timestamp: new Date("2026-01-01T00:00:00Z"), orders: 2, revenue: 3000, net_revenue: 2290 },
        ...{ average_order_value: 1500, new_subscriptions: 1, new_subscriptions_revenue: 1000 },
      },
      { renewed_subscriptions: 1, renewed_subscriptions_revenue: 1000, cumulative_revenue: 4000 },
    ]);
    const year = await seller.client.metrics.get({ query: { ...months, interval: "year" } });
    expect(year.totals).toMatchObject({ new_subscriptions_revenue: 2000, renewed_subscriptions: 0, orders: 3 });
    const { db } = floe.deps;
    for (const [amount, mrr] of [
      [12_000, 1000],
      [9999, 833],
    ] as const) {
      await db
        .update(subscriptions)
        .set({ amount, recurring_interval: "year" })
        .where(and(eq(subscriptions.organization_id, seller.organization_id), eq(subscriptions.id, subscription_id)));
      const { totals } = await seller.client.metrics.get({ query: { ...months, interval: "month" } });
      expect([totals.monthly_recurring_revenue, totals.annual_recurring_revenue]).toEqual([mrr, 12 * mrr]);
    }
  });

  test("MET-06: an order counts once it is paid, also when it is refunded, and an average is rounded up", async () => {
    const seller = await floe.seller("average");
    const { product, customer_id } = await writeExample(seller);
    const { db } = floe.deps;
    const [known] = await db.select().from(orders).where(eq(orders.organization_id, seller.organization_id));
    if (!known) throw new Error("There is no order.");
    const day = new Date("2026-01-25T10:00:00Z");
    const another = { ...known, ...{ product_id: product.id, customer_id, subscription_id: null, created_at: day } };
    await db.insert(orders).values([
      { ...another, id: newId(), paid_at: null, status: "pending", subtotal_amount: 9000 },
      { ...another, id: newId(), paid_at: day, status: "refunded", subtotal_amount: 1, refunded_amount: 1 },
    ]);
    const query = { start_date: "2026-01-01", end_date: "2026-01-31", interval: "month" as const };
    const { periods } = await seller.client.metrics.get({ query });
    // 3001 by three orders is 1000.33.
    expect(periods).toMatchObject([{ orders: 3, revenue: 3001, average_order_value: 1001 }]);
  });

  test("MET-11: churn is what was canceled in the 30 days before, of what was active before them", async () => {
    const seller = await floe.seller("churn");
    const [{ subscription_id }] = [await writeExample(seller), await writeExample(seller)];
    const [canceled_at, ended_at] = [new Date("2026-02-10T10:00:00Z"), new Date("2026-03-03T10:00:00Z")];
    await floe.deps.db
      .update(subscriptions)
      .set({ canceled_at, ends_at: ended_at, cancel_at_period_end: true })
      .where(and(eq(subscriptions.organization_id, seller.organization_id), eq(subscriptions.id, subscription_id)));
    const rates = async (start_date: string, end_date: string, interval: "month" | "year") => {
      const query = { start_date, end_date, interval, metrics: ["churn_rate" as const] };
      return (await seller.client.metrics.get({ query })).periods.map(({ churn_rate }) => churn_rate);
    };
    // Of March the 30 days before begin on January 30th, when both were active.
    expect(await rates("2026-01-01", "2026-04-30", "month")).toEqual([0, 0, 0.5, 0]);
    expect(await rates("2026-01-01", "2026-12-31", "year")).toEqual([0]);
  });

  test("a year that begins on a Friday, by the week: the first begins on the Monday before, and counts the range alone", async () => {
    const { json } = await ask(
      ada.key,
      "start_date=2027-01-01&end_date=2027-01-31&interval=week&timezone=Asia/Kolkata",
    );
    const times = (json as { periods: { timestamp: string }[] }).periods.map(({ timestamp }) => timestamp);
    expect(times.slice(0, 2)).toEqual(["2026-12-27T18:30:00.000Z", "2027-01-03T18:30:00.000Z"]);
    expect(times.length).toBe(5);
  });

  test("as a CSV file, in the zone that is asked for", async () => {
    const query = `${january}&interval=month&timezone=Europe/Paris&metrics=orders&metrics=checkouts_conversion`;
    const { text, headers } = await ask(ada.key, query, "export");
    expect(text).toBe("timestamp,orders,checkouts_conversion\r\n2026-01-01T00:00:00+01:00,0,0\r\n");
    expect(headers["content-disposition"]).toContain("polar-metrics.csv");
    expect((await ask(ada.key, `${january}&interval=month`, "export")).text.split("\r\n")[0]).toBe(
      ["timestamp", ...metricSlugs].join(","),
    );
  });
});

describe("who may", () => {
  test("MET-12: metrics:read, and no other scope", async () => {
    const reader = await floe.keyOf(ada, ["metrics:read"]);
    const other = await floe.keyOf(ada, ["orders:read"]);
    for (const [path, query] of [
      ["", `${january}&interval=day`],
      ["export", `${january}&interval=day`],
      ["limits", ""],
    ] as const) {
      expect((await ask(reader, query, path)).status).toBe(200);
      expect((await ask(other, query, path)).status).toBe(403);
      expect((await ask(undefined, query, path)).status).toBe(401);
    }
  });

  test("MET-12: other organizations in the filter are dropped, and nothing of theirs is counted", async () => {
    const seller = await floe.seller("shop");
    await sell(floe, seller);
    const day = floe.clock.now().toISOString().slice(0, 10);
    const range = `start_date=${day}&end_date=${day}&interval=day&metrics=orders`;
    const count = async (token: string, query = "") =>
      ((await ask(token, range + query)).json as { totals: { orders: number } }).totals.orders;
    expect(await count(seller.key)).toBe(1);
    expect(
      await count(seller.key, `&organization_id=${seller.organization_id}&organization_id=${bob.organization_id}`),
    ).toBe(1);
    expect(await count(bob.key, `&organization_id=${seller.organization_id}`)).toBe(0);
    expect(await count(bob.session, `&organization_id=${seller.organization_id}`)).toBe(0);
    const [product] = (await seller.client.products.list({ query: {} })).items;
    const [customer] = (await seller.client.customers.list({ query: {} })).items;
    expect(await count(seller.key, `&product_id=${product?.id}&customer_id=${customer?.id}`)).toBe(1);
    expect(await count(bob.key, `&product_id=${product?.id}`)).toBe(0);
    expect(await count(bob.key, `&customer_id=${customer?.id}`)).toBe(0);
    // The sums of all products together are kept under this id.
    await floe.runJobs();
    await addUpChanges(floe.deps.db, 100);
    expect(await count(seller.key, `&product_id=${"0".repeat(8)}-0000-0000-0000-${"0".repeat(12)}`)).toBe(0);
    expect(await count(seller.key)).toBe(1);
  });

  test("a person reads all their organizations together, or the one that they name", async () => {
    const owner = await floe.seller("owner");
    const second = await organizationOf(floe, owner, "second");
    await sell(floe, owner);
    const day = floe.clock.now().toISOString().slice(0, 10);
    const count = async (query: string) => {
      const { json } = await ask(owner.session, `start_date=${day}&end_date=${day}&interval=day${query}`);
      return (json as { totals: { orders: number } }).totals.orders;
    };
    expect(await count("")).toBe(1);
    expect(await count(`&organization_id=${second}`)).toBe(0);
    expect(await count(`&organization_id=${owner.organization_id}`)).toBe(1);
    expect((await ask(owner.session, "", "limits")).status).toBe(200);
  });
});

describe("an address that shows them", () => {
  const link = async (token: string, body: object = {}) => {
    const { status, json } = await floe.request("POST", "/v1/metrics/links", { token, body });
    const { url = "", expires_at } = json as { url?: string; expires_at: string };
    return { status, url, expires_at, token: new URLSearchParams(url.split("#")[1]).get("token") ?? "" };
  };
  const day = "start_date=2026-11-01&end_date=2026-11-30&interval=month&metrics=orders";

  test("reads the metrics of one organization, what they are about, and nothing else; it makes no other address", async () => {
    const made = await link(ada.key);
    expect(made.status).toBe(201);
    // Browsers send what stands behind # to nobody.
    expect(made.url.split("#")[0]).toBe(`${floe.deps.config.url}/metrics`);
    expect(Date.parse(made.expires_at) - floe.clock.now().getTime()).toBe(600_000);
    for (const path of ["", "limits", "export"]) expect((await ask(made.token, day, path)).status).toBe(200);
    const product = await ada.client.products.create({
      body: { name: "Atlas", prices: [{ amount_type: "fixed", price_amount: 900 }] },
    });
    expect((await ask(made.token, "", "about")).json).toMatchObject({
      ...{ organization_id: ada.organization_id, currency: "usd", now: floe.clock.now().toISOString() },
      products: expect.arrayContaining([{ id: product.id, name: "Atlas", is_archived: false }]),
    });
    for (const path of ["/v1/orders/", "/v1/products/", "/v1/customers/", `/v1/organizations/${ada.organization_id}`])
      expect((await floe.request("GET", path, { token: made.token })).status, path).toBe(403);
    expect((await floe.request("GET", "/api/auth/get-session", { token: made.token })).json).toBeNull();
    expect((await link(made.token)).status).toBe(403);
    expect((await link(await floe.keyOf(ada, ["metrics:read"]))).status).toBe(201);
    expect((await link(await floe.keyOf(ada, ["orders:read"]))).status).toBe(403);
  });

  test("is of no other organization, nor is what somebody makes up or changes", async () => {
    await sell(floe, bob);
    const made = await link(ada.key);
    const of = `&organization_id=${bob.organization_id}`;
    const today = floe.clock.now().toISOString().slice(0, 10);
    const { json } = await ask(made.token, `start_date=${today}&end_date=${today}&interval=day&metrics=orders${of}`);
    expect((json as { totals: object }).totals).toEqual({ orders: 0 });
    const headers = { "polar-organization": bob.organization_id };
    expect((await floe.request("GET", "/v1/metrics/about", { token: made.token, headers })).status).toBe(422);
    // The last digit says what time it is good until; the first are of the seal.
    const other = (digit = "") => (digit === "0" ? "1" : "0");
    for (const token of [
      made.token.slice(0, -1) + other(made.token.at(-1)),
      `${made.token.slice(0, 9)}${other(made.token[9])}${made.token.slice(10)}`,
      made.token.slice(0, -2),
      "floe_mtr_",
      `floe_mtr_${"0".repeat(64)}`,
      `floe_mtr_${Buffer.from(seal(floe.deps.config.secret, "card-link", "", `["${ada.organization_id}",null,null,${9e15}]`), "base64url").toString("hex")}`,
    ])
      expect((await ask(token, day)).status, token).toBe(401);
  });

  test("runs out after ten minutes, with the key that made it, and while its organization is blocked", async () => {
    const key = await floe.keyOf(ada, ["metrics:read"]);
    const lasting = await link(ada.key);
    const made = await link(key);
    expect((await ask(made.token, day)).status).toBe(200);
    const mine = eq(apikey.key, hashToken(floe.deps.config.secret, key));
    for (const gone of [{ enabled: false }, { enabled: true, expiresAt: floe.clock.now() }]) {
      await floe.deps.db.update(apikey).set(gone).where(mine);
      expect((await ask(made.token, day)).status).toBe(401);
    }
    await floe.deps.db
      .update(apikey)
      .set({ expiresAt: null, permissions: JSON.stringify({ scopes: ["orders:read"] }) })
      .where(mine);
    expect((await ask(made.token, day)).status).toBe(401);
    await floe.deps.db.delete(apikey).where(mine);
    expect((await ask(made.token, day)).status).toBe(401);
    const shut = await link(bob.key);
    for (const [blocked_at, status] of [
      [floe.clock.now(), 401],
      [null, 200],
    ] as const) {
      await floe.deps.db.update(organization).set({ blocked_at }).where(eq(organization.id, bob.organization_id));
      expect((await ask(shut.token, day)).status).toBe(status);
    }
    floe.clock.advance(599_000);
    expect((await ask(lasting.token, day)).status).toBe(200);
    floe.clock.advance(1000);
    expect((await ask(lasting.token, day)).status).toBe(401);
  });

  test("of a person is of the organization that they name, while they are in it and may read metrics there", async () => {
    const owner = await floe.seller("landlord");
    const guest = await person(floe);
    // Elsewhere they may all the while.
    await organizationOf(floe, guest, "own");
    expect((await link(guest.session, { organization_id: owner.organization_id })).status).toBe(422);
    const id = await join(floe, { owner, organizationId: owner.organization_id, guest, role: "admin" });
    expect((await link(guest.session)).status).toBe(422);
    const made = await link(guest.session, { organization_id: owner.organization_id });
    expect((await ask(made.token, "", "about")).json).toMatchObject({ organization_id: owner.organization_id });
    const body = { memberIdOrEmail: id, organizationId: owner.organization_id };
    await floe.deps.db.update(user).set({ banned: true }).where(eq(user.id, guest.user_id));
    expect((await ask(made.token, day)).status).toBe(401);
    await floe.deps.db.update(user).set({ banned: false }).where(eq(user.id, guest.user_id));
    expect((await ask(made.token, day)).status).toBe(200);
    expect((await callsOf(floe)(owner, "POST", "/organization/remove-member", body)).status).toBe(200);
    expect((await ask(made.token, day)).status).toBe(401);
    const own = await link(owner.session, { organization_id: owner.organization_id });
    await floe.deps.db
      .update(organization)
      .set({ blocked_at: floe.clock.now() })
      .where(eq(organization.id, owner.organization_id));
    expect((await ask(own.token, day)).status).toBe(401);
  });
});

/** Every metric by the hour of these days is what the rows come to. */
async function expectRight(seller: Seller, days: number): Promise<void> {
  const now = floe.clock.now();
  const day = (ms: number) => new Date(ms).toISOString().slice(0, 10);
  for (const [interval, timezone, back] of [
    ["hour", "Asia/Kolkata", 7],
    ["day", "UTC", days],
    ["month", "America/New_York", days],
  ] as const) {
    const query: Asked = {
      ...{
        start_date: day(now.getTime() - back * 86_400_000),
        end_date: day(now.getTime() + 86_400_000),
        interval,
        timezone,
      },
    };
    if (interval === "hour") query.end_date = day(now.getTime());
    const { periods, totals } = await seller.client.metrics.get({ query });
    const counted = await recount(floe, seller.organization_id, query, now);
    expect(periods.map(({ timestamp, ...values }) => ({ timestamp: timestamp.toISOString(), ...values }))).toEqual(
      counted.periods,
    );
    expect(totals).toEqual(counted.totals);
  }
}

describe("the sums follow what happens", () => {
  test("sales, a refund, a dispute that is lost, a subscription that is canceled, and a customer who is deleted", async () => {
    const seller = others.life;
    const { client } = seller;
    const first = await sellOrder(floe, seller);
    await expectRight(seller, 40);
    await client.refunds.create({ body: { order_id: first, amount: 500, reason: "customer_request" } });
    await floe.runJobs();
    await addUpChanges(floe.deps.db, 100);
    await expectRight(seller, 40);
    floe.clock.advance(3 * 3_600_000);
    const second = await sellOrder(floe, seller);
    await client.disputes.accept({ params: { id: await disputeOrder(floe, seller, second) } });
    const { id } = await client.products.create({
      body: { name: "Club", recurring_interval: "month", prices: [{ amount_type: "fixed", price_amount: 900 }] },
    });
    const { client_secret } = await client.checkouts.create({
      body: { products: [id], customer_email: "m@example.com" },
    });
    await floe.client().checkoutClient.confirm({ params: { client_secret }, body: payment });
    await floe.runJobs();
    await expectRight(seller, 40);
    floe.clock.advance(31 * 86_400_000);
    await floe.runJobs();
    const [running] = (await client.subscriptions.list({ query: {} })).items;
    await client.subscriptions.update({
      params: { id: running?.id ?? "" },
      body: { cancel_at_period_end: true, customer_cancellation_reason: "unused" },
    });
    await expectRight(seller, 40);
    for (const { id: customer } of (await client.customers.list({ query: {} })).items)
      await client.customers.delete({ params: { id: customer }, query: {} });
    await floe.runJobs();
    await addUpChanges(floe.deps.db, 100);
    await expectRight(seller, 40);
    const { totals } = await client.metrics.get({
      query: { ...range(floe.clock.now()), interval: "month", timezone: "UTC" },
    });
    expect(totals).toMatchObject({
      orders: 4,
      renewed_subscriptions: 1,
      canceled_subscriptions_unused: 1,
      checkouts: 3,
    });
  });

  test("a sandbox that is moved through months and put back is measured as it was", async () => {
    const seller = others.box;
    const { client } = seller;
    const { id } = await client.products.create({
      body: { name: "Club", recurring_interval: "month", prices: [{ amount_type: "fixed", price_amount: 900 }] },
    });
    const { client_secret } = await client.checkouts.create({
      body: { products: [id], customer_email: "m@example.com" },
    });
    await floe.client().checkoutClient.confirm({ params: { client_secret }, body: payment });
    await floe.runJobs();
    const query = { ...range(floe.clock.now(), 200), interval: "month" as const };
    const before = await client.metrics.get({ query });
    await client.sandbox.saveSnapshot({ body: { name: "start" } });
    for (let isDone = false; !isDone; ) isDone = (await client.sandbox.advance({ body: { by: "3months" } })).done;
    const moved = await client.metrics.get({ query });
    expect(moved.totals).toMatchObject({ orders: 4, renewed_subscriptions: 3, revenue: 3600 });
    await addUpChanges(floe.deps.db, 100);
    expect(await client.metrics.get({ query })).toEqual(moved);
    await client.sandbox.restoreSnapshot({ params: { name: "start" } });
    // What the clock has moved on by is not undone for what is still to end.
    expect((await client.metrics.get({ query })).periods).toEqual(before.periods);
    expect((await client.sandbox.diffSnapshots({ params: { name: "start" }, query: {} })).kinds).toEqual([]);
  });

  test("changes are added up to one row for each stretch of time, and go with their organization", async () => {
    const seller = others.sums;
    for (let count = 0; count < 3; count += 1) await sell(floe, seller);
    const mine = eq(metricTallies.organization_id, seller.organization_id);
    const kept = () => floe.deps.db.select().from(metricTallies).where(mine);
    expect((await kept()).every(({ seconds }) => seconds === 0)).toBe(true);
    await addUpChanges(floe.deps.db, 100);
    const rows = await kept();
    expect(
      rows
        .map(({ seconds }) => seconds)
        .sort((a, b) => a - b)
        .every((seconds) => seconds > 0),
    ).toBe(true);
    // Three products, each by the quarter of an hour, the hour and the day, and all of them together.
    expect(rows.length).toBe(12);
    expect(rows.filter(({ seconds, orders: sum }) => seconds === 86_400 && sum === 3).length).toBe(1);
    expect(await addUpChanges(floe.deps.db, 100)).toBe(0);
    await floe.deps.db.delete(organization).where(eq(organization.id, seller.organization_id));
    expect(await kept()).toEqual([]);
  });
});

function range(now: Date, ahead_days = 1) {
  const day = (ms: number) => new Date(ms).toISOString().slice(0, 10);
  return { start_date: day(now.getTime() - 60 * 86_400_000), end_date: day(now.getTime() + ahead_days * 86_400_000) };
}

test("every metric has a name of its own", () => {
  const names = Object.values(metricKinds).map(([name]) => name);
  expect([new Set(names).size, names.length]).toEqual([55, 55]);
});
