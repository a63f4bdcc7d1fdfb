import { eq } from "drizzle-orm";
import { CustomerBalance$inboundSchema } from "polar-sdk-0.38/models/components/customerbalance.js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { customerBalances } from "../../server/billing/orders/tables.ts";
import { findDifferences } from "../../server/operations/verify/recompute.ts";
import { events } from "../../server/platform/db/tables.ts";
import { callsOf } from "../support/calls.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { payment } from "../support/rows.ts";

let floe: Floe;
let seller: Seller;
let call: ReturnType<typeof callsOf>;
beforeAll(async () => {
  floe = await start();
  seller = await floe.seller();
  call = callsOf(floe, seller);
  const own = await seller.client.organizations.get({ params: { id: seller.organization_id } });
  const feature_settings = { ...own.feature_settings, seat_based_pricing_enabled: true };
  await seller.client.organizations.update({ params: { id: own.id }, body: { feature_settings } as never });
});
afterAll(() => floe.close());

const sell = (body: object) =>
  seller.client.products.create({
    body: { name: "Guide", prices: [{ amount_type: "fixed", price_amount: 1000 }], ...body } as never,
  });
const open = (body: object) => seller.client.checkouts.create({ body: body as never });
/** What the browser of a buyer sends: it knows the client secret and nothing else. */
async function buyer(method: string, path: string, body?: object) {
  const { status, json } = await floe.request(method, path, body ? { body } : {});
  return { status, json: json as Record<string, unknown> & { quote: string; checkout: { quote: string } } };
}
let buyers = 0;
const confirm = (client_secret: string, body: object = {}) => {
  buyers += 1;
  return floe.client().checkoutClient.confirm({
    params: { client_secret },
    body: { customer_email: `buyer${buyers}@example.com`, ...payment, ...body } as never,
  });
};
const orderOf = async (checkout_id: string) => {
  await floe.runJobs();
  const [order] = (await seller.client.orders.list({ query: { checkout_id } })).items;
  if (!order) throw new Error("There is no order.");
  return order;
};
const subscriptionOf = async (id: string | null) => seller.client.subscriptions.get({ params: { id: id ?? "" } });
const tiers = [
  { min_seats: 1, max_seats: 4, price_per_seat: 1000 },
  { min_seats: 5, max_seats: null, price_per_seat: 900 },
];
const bySeat = (seat_tier_type: "volume" | "graduated") => ({
  amount_type: "seat_based",
  seat_tiers: { seat_tier_type, tiers },
});

describe("an external id that the customer does not get (CHK-49)", () => {
  test("is told with what the customer who was found by the address has, until they have it", async () => {
    const { client } = seller;
    const product = await sell({});
    const own = await client.customers.create({ body: { email: "claimed@example.com" } });
    const other = await client.customers.create({ body: { email: "older@example.com", external_id: "old-1" } });
    for (const [customer, requested] of [
      [own, "claim-1"],
      [other, "claim-2"],
    ] as const) {
      const made = await open({ products: [product.id], external_customer_id: requested });
      expect(made.external_customer_id_conflict).toBeNull();
      const paid = await confirm(made.client_secret, { customer_email: customer.email });
      expect(paid).not.toHaveProperty("external_customer_id_conflict");
      const conflict = { requested, actual: customer.external_id };
      const read = await client.checkouts.get({ params: { id: made.id } });
      expect(read).toMatchObject({ external_customer_id: requested, external_customer_id_conflict: conflict });
      const told = await floe.deps.db.select().from(events).where(eq(events.type, "checkout.updated"));
      const last = told
        .map(({ data }) => data as { id: string })
        .filter(({ id }) => id === made.id)
        .at(-1);
      expect(last).toMatchObject({ external_customer_id_conflict: conflict });
    }
    await client.customers.update({ params: { id: own.id }, body: { external_id: "claim-1" } });
    const [first] = (await client.checkouts.list({ query: { external_customer_id: ["claim-1"] } })).items;
    expect(first?.external_customer_id_conflict).toBeNull();
    const fresh = await open({ products: [product.id], external_customer_id: "claim-3" });
    await confirm(fresh.client_secret);
    const bought = await client.checkouts.get({ params: { id: fresh.id } });
    expect(bought.external_customer_id_conflict).toBeNull();
  });
});

describe("one-time purchases", () => {
  test("of a fixed part and graduated seats with a discount: checkout, order and payment agree to the cent", async () => {
    const product = await sell({ prices: [{ amount_type: "fixed", price_amount: 2000 }, bySeat("graduated")] });
    const discount = await seller.client.discounts.create({
      body: { name: "Launch", code: "LAUNCH33", duration: "once", basis_points: 3333 },
    });
    const checkout = await open({ products: [product.id] });
    expect(checkout).toMatchObject({ seats: 1, amount: 3000, is_discount_applicable: true });
    const { json } = await buyer("PATCH", `/v1/checkouts/client/${checkout.client_secret}`, {
      seats: 6,
      discount_code: "launch33",
    });
    // 2000 + 4 × 1000 + 2 × 900; a third of each line, rounded by itself: 667 + 1333 + 600.
    const amounts = { discount_amount: 2600, net_amount: 5200, tax_amount: 0, total_amount: 5200 };
    expect(json).toMatchObject({ seats: 6, amount: 7800, discount_id: discount.id, ...amounts });
    await confirm(checkout.client_secret, { quote: json.quote });
    const order = await orderOf(checkout.id);
    expect(order).toMatchObject({
      status: "paid",
      subtotal_amount: 7800,
      ...amounts,
      seats: 6,
      discount_id: discount.id,
      discount: { id: discount.id, code: "LAUNCH33" },
      subscription: null,
    });
    expect(order.items.map(({ label, amount }) => [label, amount])).toEqual([
      ["Guide", 2000],
      ["Guide (4 seats)", 4000],
      ["Guide (2 seats)", 1800],
    ]);
    const [paid] = (await seller.client.payments.list({ query: { order_id: [order.id] } })).items;
    expect(paid).toMatchObject({ status: "succeeded", amount: 5200 });
    expect((await seller.client.discounts.get({ params: { id: discount.id } })).redemptions_count).toBe(1);
  });

  test("for nothing, by a discount of all of it, ask for no card", async () => {
    const product = await sell({});
    const discount = await seller.client.discounts.create({
      body: { name: "Gift", duration: "once", basis_points: 10_000 },
    });
    const checkout = await open({ products: [product.id], discount_id: discount.id });
    expect(checkout).toMatchObject({ total_amount: 0, is_payment_form_required: false, is_free_product_price: false });
    await floe.client().checkoutClient.confirm({
      params: { client_secret: checkout.client_secret },
      body: { customer_email: "gift@example.com" },
    });
    expect(await orderOf(checkout.id)).toMatchObject({ status: "paid", total_amount: 0, discount_amount: 1000 });
  });

  test("of less than a card can be charged with are owed, and charged to nobody now (ORD-04)", async () => {
    const product = await sell({ prices: [{ amount_type: "fixed", price_amount: 100 }] });
    const discount = await seller.client.discounts.create({
      body: { name: "Most", duration: "once", basis_points: 7000 },
    });
    const checkout = await open({ products: [product.id], discount_id: discount.id });
    expect(checkout).toMatchObject({ total_amount: 30, is_payment_required: false, is_payment_form_required: false });
    await floe.client().checkoutClient.confirm({
      params: { client_secret: checkout.client_secret },
      body: { customer_email: "owing@example.com" },
    });
    const order = await orderOf(checkout.id);
    expect(order).toMatchObject({
      status: "paid",
      total_amount: 30,
      applied_balance_amount: -30,
      due_amount: 0,
      refundable_amount: 0,
    });
    const [balance] = await floe.deps.db
      .select()
      .from(customerBalances)
      .where(eq(customerBalances.customer_id, order.customer_id));
    expect(balance).toMatchObject({ currency: "usd", amount: -30 });
    // CUS-26: SDK 0.38 reads the first two fields.
    const shown = await seller.client.customers.getBalance({ params: { id: order.customer_id } });
    expect(CustomerBalance$inboundSchema.parse(shown)).toEqual({ balance: -30, currency: "usd" });
    expect(shown.balances).toEqual([{ balance: -30, currency: "usd" }]);
    const stranger = await floe.seller("stranger");
    await expect(stranger.client.customers.getBalance({ params: { id: order.customer_id } })).rejects.toMatchObject({
      status: 404,
    });
  });

  test("at a price made for one checkout alone, which no other can name", async () => {
    const product = await sell({});
    const checkout = await open({
      products: [product.id],
      prices: { [product.id]: [{ amount_type: "fixed", price_amount: 700 }] },
    });
    expect(checkout).toMatchObject({ amount: 700, product_price: { source: "ad_hoc", price_amount: 700 } });
    expect(checkout.prices[product.id]).toMatchObject([{ price_amount: 700 }]);
    const own = checkout.product_price_id;
    expect(await call.refused("POST", "/v1/checkouts/", { product_price_id: own })).toEqual([
      "product_price_id value_error",
    ]);
    const other = await open({ products: [product.id] });
    const path = `/v1/checkouts/client/${other.client_secret}`;
    expect((await buyer("PATCH", path, { product_price_id: own })).status).toBe(422);
    await confirm(checkout.client_secret);
    expect(await orderOf(checkout.id)).toMatchObject({ total_amount: 700 });
    expect((await seller.client.products.get({ params: { id: product.id } })).prices).toHaveLength(1);
  });

  test("in a currency that the seller has a price in", async () => {
    const prices = [
      { amount_type: "fixed", price_amount: 1000, price_currency: "usd" },
      { amount_type: "fixed", price_amount: 900, price_currency: "eur" },
    ];
    const product = await sell({ prices });
    const checkout = await open({ products: [product.id], currency: "eur" });
    expect(checkout).toMatchObject({ currency: "eur", total_amount: 900 });
    // By where the buyer is, as far as that is known: an address in France, one in the United States, one in a network of our own.
    for (const [ip, currency, country] of [
      ["2.2.2.2", "eur", "FR"],
      ["::ffff:2.2.2.2", "eur", "FR"],
      ["8.8.8.8", "usd", "US"],
      ["10.0.0.1", "usd", undefined],
      ["2001:db8::1", "usd", undefined],
    ] as const) {
      const found = await open({ products: [product.id], customer_ip_address: ip });
      expect([ip, found.currency, found.customer_billing_address?.country]).toEqual([ip, currency, country]);
    }
    const named = {
      products: [product.id],
      customer_ip_address: "2.2.2.2",
      currency: "usd",
      customer_billing_address: { country: "DE" },
    };
    expect(await open(named)).toMatchObject({ currency: "usd", customer_billing_address: { country: "DE" } });
    expect(await call.refused("POST", "/v1/checkouts/", { products: [product.id], currency: "gbp" })).toEqual([
      "currency value_error",
    ]);
  });
});

describe("subscriptions", () => {
  test("begin with their first order, whose card is kept (SUB-03, WHK-31)", async () => {
    const product = await sell({ recurring_interval: "month" });
    const checkout = await open({ products: [product.id], metadata: { ref: "a" } });
    expect(checkout).toMatchObject({ is_payment_required: true, is_payment_setup_required: true });
    await confirm(checkout.client_secret);
    const order = await orderOf(checkout.id);
    expect(order).toMatchObject({ billing_reason: "subscription_create", status: "paid", total_amount: 1000 });
    const subscription = await subscriptionOf(order.subscription_id);
    expect(subscription).toMatchObject({
      status: "active",
      amount: 1000,
      currency: "usd",
      recurring_interval: "month",
      checkout_id: checkout.id,
      metadata: { ref: "a" },
      trial_end: null,
      prices: [{ amount_type: "fixed", price_amount: 1000 }],
    });
    expect(order.subscription).toMatchObject({ id: subscription.id, status: "active" });
    expect(subscription.current_period_start).toEqual(subscription.started_at);
    const told = await floe.deps.db
      .select({ type: events.type })
      .from(events)
      .where(eq(events.organization_id, seller.organization_id))
      .orderBy(events.seq);
    // What is told of the customer is told afterwards: the card that was kept is theirs now.
    expect(told.map(({ type }) => type).slice(-10, -3)).toEqual([
      "subscription.created",
      "subscription.active",
      "subscription.updated",
      "order.created",
      "order.updated",
      "order.paid",
      "checkout.updated",
    ]);
  });

  test("are what their customer holds (CUS-23)", async () => {
    const product = await sell({ recurring_interval: "month", prices: [{ amount_type: "free" }] });
    const { client_secret, id } = await open({ products: [product.id] });
    const body = { customer_email: "holder@example.com" };
    await floe.client().checkoutClient.confirm({ params: { client_secret }, body });
    const { customer_id, subscription_id } = await orderOf(id);
    const state = await seller.client.customers.getState({ params: { id: customer_id } });
    expect(state.active_subscriptions).toMatchObject([
      { id: subscription_id, status: "active", product_id: product.id },
    ]);
    const ids = async (active: boolean) =>
      (await seller.client.customers.list({ query: { active, email: body.customer_email } })).items.map(
        (one) => one.id,
      );
    expect([await ids(true), await ids(false)]).toEqual([[customer_id], []]);
  });

  test("begin with a trial, for which the card is kept and nothing charged (ORD-07)", async () => {
    const product = await sell({ recurring_interval: "month", trial_interval: "day", trial_interval_count: 7 });
    const checkout = await open({ products: [product.id] });
    expect(checkout).toMatchObject({
      active_trial_interval: "day",
      active_trial_interval_count: 7,
      total_amount: 1000,
      is_payment_required: false,
      is_payment_setup_required: true,
    });
    await confirm(checkout.client_secret);
    const order = await orderOf(checkout.id);
    expect(order).toMatchObject({ status: "paid", total_amount: 0, subtotal_amount: 0, discount: null });
    expect(order.items).toMatchObject([{ label: expect.stringMatching(/^Trial period for Guide \(/), amount: 0 }]);
    const subscription = await subscriptionOf(order.subscription_id);
    expect(subscription).toMatchObject({ status: "trialing", amount: 1000 });
    expect(subscription.current_period_end).toEqual(subscription.trial_end);
    expect((await seller.client.payments.list({ query: { order_id: [order.id] } })).items).toEqual([]);
    // Declining it pays at once.
    const now = await open({ products: [product.id] });
    const { json } = await buyer("PATCH", `/v1/checkouts/client/${now.client_secret}`, { allow_trial: false });
    expect(json).toMatchObject({ trial_end: null, is_payment_required: true });
  });

  test("have one trial for each buyer where the seller says so, told by address and card (CHK-53)", async () => {
    const own = await floe.seller("trials");
    const settings = (await own.client.organizations.get({ params: { id: own.organization_id } }))
      .subscription_settings;
    await own.client.organizations.update({
      params: { id: own.organization_id },
      body: {
        subscription_settings: { ...settings, allow_multiple_subscriptions: true, prevent_trial_abuse: true },
      } as never,
    });
    const product = await own.client.products.create({
      body: {
        name: "Guide",
        recurring_interval: "month",
        trial_interval: "day",
        trial_interval_count: 7,
        prices: [{ amount_type: "fixed", price_amount: 1000 }],
      },
    });
    const begin = async (customer_email: string, card: string, more: object = {}) => {
      const { client_secret } = await own.client.checkouts.create({ body: { products: [product.id] } });
      const body = { ...payment, customer_email, confirmation_token_id: card, ...more };
      const answer = await buyer("POST", `/v1/checkouts/client/${client_secret}/confirm`, body);
      return answer.json.error ?? answer.json.status;
    };
    expect(await begin("trial@example.com", "pm_card_visa")).toBe("confirmed");
    expect(await begin("Trial+again@example.com", "pm_card_mastercard")).toBe("TrialAlreadyRedeemed");
    expect(await begin("other@example.com", "pm_card_visa")).toBe("TrialAlreadyRedeemed");
    expect(await begin("other@example.com", "pm_card_visa", { allow_trial: false })).toBe("confirmed");
    expect(await begin("third@example.com", "pm_card_amex")).toBe("confirmed");
    // What came to nothing has used nothing up.
    expect(await begin("fourth@example.com", "pm_card_chargeDeclined")).toBe("PaymentError");
    expect(await begin("fourth@example.com", "pm_card_visa_debit")).toBe("confirmed");
  });

  test("are refused for one reason at a time, in the order of CHK-48", async () => {
    const own = await floe.seller("ordered");
    const set = (subscription_settings: object) =>
      own.client.organizations.update({
        params: { id: own.organization_id },
        body: { subscription_settings } as never,
      });
    const { subscription_settings: settings } = await own.client.organizations.get({
      params: { id: own.organization_id },
    });
    await set({ ...settings, allow_multiple_subscriptions: true, prevent_trial_abuse: true });
    const product = await own.client.products.create({
      body: {
        name: "Guide",
        recurring_interval: "month",
        trial_interval: "day",
        trial_interval_count: 7,
        prices: [{ amount_type: "fixed", price_amount: 1000 }],
      },
    });
    const off = { type: "percentage", basis_points: 1000, duration: "once" } as const;
    const once = await own.client.discounts.create({ body: { ...off, name: "Once", max_redemptions: 1 } });
    const each = await own.client.discounts.create({ body: { ...off, name: "Each", max_redemptions_per_customer: 1 } });
    const open = async (discount_id: string) =>
      (await own.client.checkouts.create({ body: { products: [product.id], discount_id } })).client_secret;
    const confirm = async (secret: string, body: object) => {
      const { status, json } = await buyer("POST", `/v1/checkouts/client/${secret}/confirm`, body);
      const { error, detail } = json as { error?: string; detail?: { loc?: string[] }[] };
      return status === 200 ? 200 : status === 422 ? detail?.map(({ loc }) => loc?.join(".")) : error;
    };
    const ada = { ...payment, customer_email: "ada@example.com" };
    const [taken, again] = [await open(once.id), await open(each.id)];
    expect(await confirm(await open(once.id), ada)).toBe(200);
    // Of these all that is missing would be told, and a trial was had: the discount comes first.
    expect(await confirm(taken, {})).toEqual(["body.discount_id"]);
    expect(
      await confirm(await open(each.id), {
        ...ada,
        customer_email: "bob@example.com",
        confirmation_token_id: "pm_card_amex",
      }),
    ).toBe(200);
    const bob = { ...ada, customer_email: "bob+2@example.com", confirmation_token_id: "pm_card_mastercard" };
    expect(await confirm(again, bob)).toBe("DiscountRedemptionLimitReached");
    expect(await confirm(again, { customer_email: ada.customer_email })).toEqual([
      "body.customer_billing_address",
      "body.confirmation_token_id",
    ]);
    expect(await confirm(again, ada)).toBe("TrialAlreadyRedeemed");
    // Who has subscribed already is told so before anything else.
    await set({ ...settings, allow_multiple_subscriptions: false, prevent_trial_abuse: true });
    expect(await confirm(taken, { customer_email: ada.customer_email })).toBe("AlreadyActiveSubscriptionError");
  });

  test("that cost nothing, or only what is used, begin without a charge", async () => {
    const meter = await seller.client.meters.create({
      body: { name: "Calls", filter: { conjunction: "and", clauses: [] }, aggregation: { func: "count" } },
    });
    const metered = { amount_type: "metered_unit", meter_id: meter.id, unit_amount: "0.5" };
    const product = await sell({ recurring_interval: "month", prices: [metered] });
    const checkout = await open({ products: [product.id] });
    expect(checkout).toMatchObject({ amount: 0, is_payment_required: false, is_payment_setup_required: true });
    await confirm(checkout.client_secret);
    const order = await orderOf(checkout.id);
    expect(order).toMatchObject({ status: "paid", total_amount: 0, items: [] });
    expect(await subscriptionOf(order.subscription_id)).toMatchObject({
      status: "active",
      amount: 0,
      prices: [{ amount_type: "metered_unit", unit_amount: "0.5" }],
    });
  });

  test("of one buyer are one, unless the seller allows more (CHK-52)", async () => {
    const product = await sell({ recurring_interval: "month", prices: [{ amount_type: "free" }] });
    const body = { customer_email: "once@example.com" };
    const first = await open({ products: [product.id] });
    await floe.client().checkoutClient.confirm({ params: { client_secret: first.client_secret }, body });
    await floe.runJobs();
    const again = await open({ products: [product.id] });
    const path = `/v1/checkouts/client/${again.client_secret}`;
    for (const [method, target] of [
      ["PATCH", path],
      ["POST", `${path}/confirm`],
    ] as const) {
      const { status, json } = await buyer(method, target, { customer_email: "Once@example.com" });
      expect([status, json.error]).toEqual([403, "AlreadyActiveSubscriptionError"]);
    }
  });

  test("that are free are upgraded under their id, and no others (CHK-15, SUB-06)", async () => {
    const free = await sell({ recurring_interval: "month", prices: [{ amount_type: "free" }] });
    const pro = await sell({ recurring_interval: "month" });
    const start = await open({ products: [free.id] });
    const body = { customer_email: "upgrade@example.com" };
    await floe.client().checkoutClient.confirm({ params: { client_secret: start.client_secret }, body });
    const { subscription_id } = await orderOf(start.id);
    const checkout = await open({ products: [pro.id], subscription_id });
    expect(checkout).toMatchObject({ subscription_id, customer_email: "upgrade@example.com" });
    await confirm(checkout.client_secret);
    const order = await orderOf(checkout.id);
    expect(order).toMatchObject({ subscription_id, billing_reason: "subscription_update", total_amount: 1000 });
    expect(await subscriptionOf(subscription_id)).toMatchObject({ product_id: pro.id, amount: 1000, status: "active" });
    expect(await call.refused("POST", "/v1/checkouts/", { products: [pro.id], subscription_id })).toEqual([
      "subscription_id value_error",
    ]);
  });
});

test("every figure is explained in words, and computed again by a program that shares no code (explain)", async () => {
  const product = await sell({ prices: [{ amount_type: "fixed", price_amount: 2000 }, bySeat("graduated")] });
  const discount = await seller.client.discounts.create({
    body: { name: "Launch", duration: "once", basis_points: 3333 },
  });
  const checkout = await open({ products: [product.id], discount_id: discount.id, seats: 6 });
  await confirm(checkout.client_secret);
  const { id } = await orderOf(checkout.id);
  const explained = await seller.client.orders.explain({ params: { id } });
  expect(explained.steps.slice(0, 7)).toMatchObject([
    { depth: 0, label: "Total", amount: 5200 },
    { depth: 1, label: "Subtotal", amount: 7800 },
    { depth: 2, label: "Guide", amount: 2000, because: "a fixed price" },
    { depth: 2, label: "Guide (4 seats)", amount: 4000, because: expect.stringContaining("4 seats × $10.00") },
    { depth: 2, label: "Guide (2 seats)", amount: 1800, because: expect.stringContaining("the tier of 5 and more") },
    { depth: 1, label: "Discount Launch", amount: -2600, because: expect.stringContaining("33.33 % of each line") },
    { depth: 2, label: "on Guide", amount: -667, because: "33.33 % of $20.00" },
  ]);
  expect(findDifferences(explained)).toEqual([]);
  const { derivation } = explained;
  for (const bent of [
    { ...derivation, total_amount: derivation.total_amount - 1 },
    { ...derivation, discount_amount: derivation.discount_amount + 1 },
    { ...derivation, lines: derivation.lines.slice(1) },
    { ...derivation, tax: { ...derivation.tax, rates: [{ rate: "7" }] } },
  ])
    expect(findDifferences({ ...explained, derivation: bent })).not.toEqual([]);
  const stranger = await floe.seller("stranger");
  expect((await callsOf(floe, stranger).send("GET", `/v1/orders/${id}/explain`)).status).toBe(404);
});

describe("a quote that was shown", () => {
  test("is what is charged, or nothing is: 409 with the terms that hold now", async () => {
    const product = await sell({});
    const discount = await seller.client.discounts.create({
      body: { name: "Half", duration: "once", basis_points: 5000 },
    });
    const checkout = await open({ products: [product.id], discount_id: discount.id });
    const path = `/v1/checkouts/client/${checkout.client_secret}`;
    const shown = (await buyer("GET", path)).json;
    await seller.client.discounts.update({ params: { id: discount.id }, body: { basis_points: 1000 } });
    const body = { customer_email: "quote@example.com", ...payment };
    const refused = await buyer("POST", `${path}/confirm`, { ...body, quote: shown.quote });
    expect([refused.status, refused.json.error, refused.json.checkout]).toMatchObject([
      409,
      "QuoteChanged",
      { status: "open", total_amount: 900 },
    ]);
    expect((await seller.client.payments.list({ query: { customer_email: ["quote@example.com"] } })).items).toEqual([]);
    for (const forged of ["zzzzzzz.abc", `${shown.quote}x`, "", "..", "__proto__"].filter(Boolean)) {
      const { status } = await buyer("POST", `${path}/confirm`, { ...body, quote: forged });
      expect([forged, status]).toEqual([forged, 409]);
    }
    const agreed = await buyer("POST", `${path}/confirm`, { ...body, quote: refused.json.checkout.quote });
    expect(agreed.status).toBe(200);
    expect(await orderOf(checkout.id)).toMatchObject({ total_amount: 900 });
  });

  test("is of one checkout, and good for an hour", async () => {
    const product = await sell({});
    const [one, two] = [await open({ products: [product.id] }), await open({ products: [product.id] })];
    const path = `/v1/checkouts/client/${two.client_secret}/confirm`;
    const body = { customer_email: "quote2@example.com", ...payment };
    expect((await buyer("POST", path, { ...body, quote: one.quote })).status).toBe(409);
  });
});
