import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { linkCard } from "../../server/billing/subscriptions/card-link.ts";
import { completeConfig, readSettings } from "../../server/platform/config.ts";
import { api } from "../../shared/api/index.ts";
import type { Contract, Operation } from "../../shared/contract.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { sellUnpaid } from "../support/portal-rows.ts";

/** The operation of the contract at a path; undefined outside of it. */
const findOperation = (method: string, path: string): Operation | undefined =>
  Object.values(api as Contract)
    .flatMap((operations) => Object.values(operations))
    .find((op) => op.method === method && new RegExp(`^${op.path.replaceAll(/:\w+/g, "[^/]+")}$`).test(path));

/** ORG-05: who may pay with test cards on a server that has no card processor. */

const configOf = (given: Record<string, string>) =>
  completeConfig(readSettings({ FLOE_SECRET: "9f3a1c77e2b84d06a5c1f0de4b7799aa31", ...given }, {}));

test.each([
  [true, {}],
  [true, { HOST: "::1", FLOE_URL: "http://[::1]:4455/" }],
  [true, { DATABASE_URL: "postgres://localhost/floe" }],
  [false, { FLOE_TEST_CARDS: "off" }],
  [false, { FLOE_URL: "https://pay.example.com" }],
  [false, { FLOE_URL: "http://localhost.example.com" }],
  [false, { HOST: "0.0.0.0" }],
  [false, { HOST: "192.168.1.2" }],
  [true, { FLOE_URL: "https://pay.example.com", FLOE_TEST_CARDS: "on" }],
])("test cards pay: %s, with %j", (expected, given) => {
  expect(configOf(given).test_cards).toBe(expected);
});

describe("a server of this machine alone", () => {
  let floe: Floe;
  let seller: Seller;
  const card = { confirmation_token_id: "pm_card_visa" };
  beforeAll(async () => {
    floe = await start({ settings: { TRUST_PROXY: "127.0.0.1" } });
    seller = await floe.seller();
  });
  afterAll(() => floe?.close());

  /** Open a checkout and pay it with a test card, each with these headers. */
  async function buy(headers: Record<string, string>): Promise<string[]> {
    const prices = [{ amount_type: "fixed" as const, price_amount: 1900 }];
    const { id } = await seller.client.products.create({ body: { name: "Book", prices } });
    const { client_secret } = await seller.client.checkouts.create({ body: { products: [id] } });
    const sent = { origin: floe.url, ...headers };
    const buyer = { customer_email: "b@example.com", customer_name: "B", customer_billing_address: { country: "FR" } };
    const { json } = await floe.request("GET", `/v1/checkouts/client/${client_secret}`, { headers });
    const { is_payment_available } = json as { is_payment_available: boolean };
    expect(is_payment_available).toBe(await takesPayments(headers));
    const answers = [
      await floe.request("POST", "/v1/checkouts/", { token: seller.key, body: { products: [id] }, headers: sent }),
      await floe.request("POST", "/api/auth/checkout", { body: { products: id, redirect: false }, headers: sent }),
      await floe.request("POST", `/v1/checkouts/client/${client_secret}/confirm`, {
        body: { ...buyer, ...card },
        headers: sent,
      }),
    ];
    return answers.map(({ status }) => (status < 400 ? "taken" : status === 403 ? "refused" : `odd ${status}`));
  }
  const takesPayments = async (headers: Record<string, string>) => {
    const path = `/v1/organizations/${seller.organization_id}`;
    const { json } = await floe.request("GET", path, { token: seller.key, headers });
    return (json as { capabilities: { checkout_payments: boolean } }).capabilities.checkout_payments;
  };

  test.each([
    [{ host: "shop.example.com" }],
    [{ host: "localhost.example.com" }],
    [{ host: "192.168.1.7:4455" }],
    [{ "x-forwarded-for": "203.0.113.7" }],
    [{ "x-forwarded-for": "10.0.0.7, 203.0.113.7" }],
    [{ "x-forwarded-for": "unknown" }],
    [{ "x-forwarded-host": "shop.example.com" }],
    [{ "x-forwarded-proto": "https" }],
    [{ forwarded: "for=203.0.113.7" }],
    [{ via: "1.1 proxy" }],
    [{ "x-real-ip": "203.0.113.7" }],
    [{ "cf-connecting-ip": "203.0.113.7" }],
  ])("ORG-05: takes no test card from behind a proxy: %j", async (headers) => {
    expect(await buy(headers)).toEqual(["refused", "refused", "refused"]);
    expect(await takesPayments(headers)).toBe(false);
  });

  test.each([
    [{}],
    [{ host: "localhost:4455" }],
    [{ host: "127.0.0.1:4455" }],
    [{ host: "[::1]" }],
    [{ "x-forwarded-for": "10.0.0.7" }],
    [{ "x-real-ip": "::1" }],
  ])("takes them from this machine and its network: %j", async (headers) => {
    expect(await buy(headers)).toEqual(["taken", "taken", "taken"]);
    expect(await takesPayments(headers)).toBe(true);
  });

  test("takes them from everywhere where the settings say so", async () => {
    floe.deps.config.FLOE_TEST_CARDS = true;
    expect(await buy({ host: "shop.example.com", "x-forwarded-for": "203.0.113.7" })).toEqual([
      "taken",
      "taken",
      "taken",
    ]);
    floe.deps.config.FLOE_TEST_CARDS = undefined;
  });
});

describe("a public server without a card processor", () => {
  let floe: Floe;
  let seller: Seller;
  let customer_id: string;
  let portal: string;
  let paid: { id: string };
  let unpaid: { id: string };
  const card = { confirmation_token_id: "pm_card_visa" };
  const buyer = { customer_name: "Buyer", customer_billing_address: { country: "FR" } };
  const month = (price_amount: number) => ({
    name: "Plan",
    recurring_interval: "month" as const,
    prices: [price_amount === 0 ? { amount_type: "free" as const } : { amount_type: "fixed" as const, price_amount }],
  });
  const create = (body: Parameters<Seller["client"]["products"]["create"]>[0]["body"], by = seller) =>
    by.client.products.create({ body });
  type Answer = { status: number; json: { error?: string; code?: string; warnings?: string[]; url?: string } };
  const request = (method: string, path: string, token?: string, body?: object): Promise<Answer> =>
    floe.request(method, path, {
      ...(token === undefined ? {} : { token }),
      ...(body === undefined ? {} : { body }),
      headers: { origin: floe.url },
    });
  const confirm = (client_secret: string, body: object = {}) =>
    request("POST", `/v1/checkouts/client/${client_secret}/confirm`, undefined, { ...buyer, ...card, ...body });
  const countPayments = async () => (await seller.client.payments.list({ query: {} })).pagination.total_count;

  beforeAll(async () => {
    floe = await start({ settings: { FLOE_URL: "https://pay.example.com", FLOE_TEST_CARDS: "on" } });
    seller = await floe.seller();
    ({ id: customer_id } = await seller.client.customers.create({ body: { email: "buyer@example.com" } }));
    unpaid = await sellUnpaid(floe, seller, customer_id);
    paid = await create(month(1900));
    const { client_secret } = await seller.client.checkouts.create({ body: { products: [paid.id], customer_id } });
    expect((await confirm(client_secret)).status).toBe(200);
    await floe.runJobs();
    portal = (await seller.client.customerSessions.create({ body: { customer_id } })).token;
  });
  afterAll(() => floe?.close());

  test("refuses each way to pay or to save a card, charges nothing, and says why", async () => {
    const { client } = seller;
    const opened = await client.checkouts.create({ body: { products: [paid.id], customer_email: "late@example.com" } });
    const link = await client.checkoutLinks.create({ body: { products: [paid.id] } });
    const dear = await create(month(9900));
    const trial = await create({ ...month(500), trial_interval: "day", trial_interval_count: 7 });
    const [owing] = (await client.subscriptions.list({ query: { customer_id: [customer_id] } })).items.filter(
      ({ status }) => status === "past_due",
    );
    const [active] = (await client.subscriptions.list({ query: { product_id: [paid.id] } })).items;
    const now = floe.clock.now();
    const { organization_id } = seller;
    const cardLink = linkCard(floe.deps.config, { organization_id, id: owing?.id ?? "", customer_id }, now).url;
    const before = await countPayments();
    expect((await request("GET", "/readyz")).json.warnings).toEqual([expect.stringContaining("FLOE_TEST_CARDS is on")]);
    const organization = await client.organizations.get({ params: { id: organization_id } });
    const shown = [
      `/v1/customer-portal/organizations/${organization.slug}`,
      `/v1/card-links/${cardLink.split("/").at(-1)}`,
      `/v1/checkouts/client/${opened.client_secret}`,
    ];
    const readAvailable = async () => {
      const answers = await Promise.all(shown.map((path) => request("GET", path)));
      return answers.map(({ json }) => (json as { is_payment_available?: boolean }).is_payment_available);
    };
    expect(await readAvailable()).toEqual([true, true, true]);
    floe.deps.config.test_cards = false;
    // Portal, card link and checkout say so before a try.
    expect(await readAvailable()).toEqual([false, false, false]);
    const change = { product_id: dear.id, proration_behavior: "invoice" };
    const ways: [string, string, string?, object?][] = [
      ["POST", "/v1/checkouts/", seller.key, { products: [paid.id] }],
      ["POST", "/v1/checkouts/", seller.key, { products: [trial.id] }],
      ["POST", "/api/auth/checkout", undefined, { products: paid.id, redirect: false }],
      ["GET", new URL(link.url).pathname],
      ["POST", `/v1/checkouts/client/${opened.client_secret}/confirm`, undefined, { ...buyer, ...card }],
      ["POST", "/v1/customer-portal/customers/me/payment-methods", portal, { ...card, set_default: true }],
      ["POST", `/v1/customer-portal/orders/${unpaid.id}/confirm-payment`, portal, card],
      ["POST", `/v1/card-links/${cardLink.split("/").at(-1)}/confirm`, undefined, card],
      ["PATCH", `/v1/subscriptions/${active?.id}`, seller.key, change],
    ];
    for (const [method, path, token, body] of ways) {
      const { status, json } = await request(method, path, token, body);
      // The account side has a code in place of the name.
      const refusal = json.error ?? (json.code === "THIS_ORGANIZATION_CANNOT_TAKE_PAYMENTS_NOW" && "PaymentNotReady");
      expect([method, path, status, refusal]).toEqual([method, path, 403, "PaymentNotReady"]);
      const op = findOperation(method, path);
      if (op) expect([method, path, op.errors]).toEqual([method, path, expect.arrayContaining(["PaymentNotReady"])]);
    }
    // Who opens the link in a browser reads why, and not that the offer is gone.
    const visit = { headers: { accept: "text/html" } };
    const { status: refused, text } = await floe.request("GET", new URL(link.url).pathname, visit);
    expect([refused, text]).toEqual([403, "This organization cannot take payments now."]);
    expect(await countPayments()).toBe(before);
    const { status, json } = await request("GET", "/readyz");
    expect([status, json.warnings]).toEqual([503, [expect.stringContaining("No card processor is set up")]]);
    floe.deps.config.test_cards = true;
  });

  test("gives away what is free, and sells in sandboxes", async () => {
    floe.deps.config.test_cards = false;
    const free = await create(month(0));
    const { client_secret } = await seller.client.checkouts.create({ body: { products: [free.id] } });
    const { status } = await confirm(client_secret, { customer_email: "free@example.com" });
    expect(status).toBe(200);
    const sandbox = { name: "Sandbox", slug: "sandbox-of-test-cards", sandbox: true };
    const { id } = await floe.client(seller.session).organizations.create({ body: sandbox });
    const own = (path: string, body: object) =>
      request("POST", `${path}?organization_id=${id}`, seller.session, { ...body, organization_id: id });
    const made = await own("/v1/products/", month(1900));
    const tried = await own("/v1/checkouts/", { products: [(made.json as unknown as { id: string }).id] });
    const secret = (tried.json as unknown as { client_secret: string }).client_secret;
    expect((await confirm(secret, { customer_email: "try@example.com" })).status).toBe(200);
    floe.deps.config.test_cards = true;
  });

  test("lets renewals wait, which do not count as failed, and charges them once it may", async () => {
    floe.deps.config.test_cards = false;
    const before = await countPayments();
    const [begun] = (await seller.client.subscriptions.list({ query: { product_id: [paid.id] } })).items;
    floe.clock.advance(32 * 24 * 3_600_000);
    await floe.runJobs();
    const read = async () => {
      const { status } = await seller.client.subscriptions.get({ params: { id: begun?.id ?? "" } });
      const orders = (await seller.client.orders.list({ query: { product_id: [paid.id] } })).items;
      return [status, orders.map((order) => order.status).toSorted()];
    };
    expect(await read()).toEqual(["active", ["paid", "pending"]]);
    expect(await countPayments()).toBe(before);
    floe.deps.config.test_cards = true;
    floe.clock.advance(3_600_000);
    await floe.runJobs();
    expect(await read()).toEqual(["active", ["paid", "paid"]]);
  });
});
