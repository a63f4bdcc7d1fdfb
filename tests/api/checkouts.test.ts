import { eq } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { orders } from "../../server/billing/orders/tables.ts";
import { payments } from "../../server/billing/payments/tables.ts";
import { user } from "../../server/identity/accounts/tables.ts";
import { organization } from "../../server/identity/organizations/tables.ts";
import { events } from "../../server/platform/db/tables.ts";
import { testTokens } from "../../server/platform/processors/tables.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";

let floe: Floe;
let seller: Seller;
let product: { id: string };
beforeAll(async () => {
  floe = await start();
  seller = await floe.seller();
  product = await seller.client.products.create({
    body: { name: "Field guide", prices: [{ amount_type: "fixed", price_amount: 1900 }], metadata: { slug: "guide" } },
  });
});
afterAll(() => floe.close());

type Json = Record<string, unknown> & { id: string; client_secret: string; status: string };
type Answer = { status: number; json: Json };
const address = { country: "FR" };
const buyer = { customer_email: "buyer@example.com", customer_name: "Ada Buyer", customer_billing_address: address };
const create = async (body: Record<string, unknown> = {}, by = seller): Promise<Json> => {
  const answer = await floe.request("POST", "/v1/checkouts/", {
    token: by.key,
    body: { products: [product.id], ...body },
  });
  expect([answer.status, answer.text]).toEqual([201, expect.any(String)]);
  return answer.json;
};
const ofBuyer = (method: string, secret: string, body?: unknown, tail = ""): Promise<Answer> =>
  floe.request(method, `/v1/checkouts/client/${secret}${tail}`, body === undefined ? {} : { body });
const confirm = (secret: string, body: Record<string, unknown> = {}) =>
  ofBuyer("POST", secret, { ...buyer, confirmation_token_id: "pm_card_visa", ...body }, "/confirm");
const eventsOf = async (organization_id: string) =>
  (await floe.deps.db.select().from(events).where(eq(events.organization_id, organization_id)).orderBy(events.seq)).map(
    ({ type }) => type,
  );
const faultsOf = ({ json }: Answer) =>
  ((json.detail as unknown as { loc: string[]; type: string; msg: string }[]) ?? []).map(
    ({ loc, type }) => `${loc.join(".")} ${type}`,
  );

describe("a customer whom a stranger names by their address", () => {
  const known = async (email: string) => {
    const billing_address = { country: "FR" as const, line1: "1 rue", city: "Nantes", postal_code: "44000" };
    const body = { email, name: "Ada", billing_address };
    return seller.client.customers.create({ body });
  };
  const read = (id: string) => seller.client.customers.get({ params: { id } });
  const theirs = {
    customer_billing_address: { country: "DE", line1: "2 Gasse", city: "Köln", postal_code: "50667" },
    customer_billing_name: "Eve GmbH",
    is_business_customer: true,
  };

  test("CHK-49: keeps the address on their invoices, also after a first try that was refused", async () => {
    const customer = await known("stranger@example.com");
    const { client_secret } = await create();
    const sent = { ...theirs, customer_email: "stranger@example.com" };
    expect((await confirm(client_secret, { ...sent, confirmation_token_id: "pm_card_chargeDeclined" })).status).toBe(
      400,
    );
    expect((await confirm(client_secret, sent)).status).toBe(200);
    expect(await read(customer.id)).toMatchObject({ billing_address: { country: "FR", line1: "1 rue" } });
  });

  test("CHK-49: gets what was not known of them; one whom the seller named gets what they fill in", async () => {
    const { id } = await seller.client.customers.create({ body: { email: "empty@example.com" } });
    await confirm((await create()).client_secret, { ...theirs, customer_email: "empty@example.com" });
    expect(await read(id)).toMatchObject({ billing_name: "Eve GmbH", billing_address: { line1: "2 Gasse" } });
    const named = await known("named@example.com");
    await confirm((await create({ customer_id: named.id })).client_secret, theirs);
    expect(await read(named.id)).toMatchObject({ billing_name: "Eve GmbH", billing_address: { line1: "2 Gasse" } });
  });
});

describe("a sale", () => {
  test("WHK-30: one order, one payment, and the events in their order", async () => {
    const fresh = await floe.seller("sale");
    const guide = await fresh.client.products.create({
      body: { name: "Guide", prices: [{ amount_type: "fixed", price_amount: 1900 }] },
    });
    const checkout = await create({ products: [guide.id], metadata: { campaign: "spring" } }, fresh);
    expect(checkout).toMatchObject({
      status: "open",
      amount: 1900,
      total_amount: 1900,
      is_payment_required: true,
      payment_processor: "stripe",
    });
    expect(checkout.url).toBe(`${floe.url}/checkout/${checkout.client_secret}`);
    const confirmed = await confirm(checkout.client_secret);
    expect([confirmed.status, confirmed.json.status]).toEqual([200, "confirmed"]);
    const after = await fresh.client.checkouts.get({ params: { id: checkout.id } });
    expect(after.status).toBe("succeeded");
    const orders = await fresh.client.orders.list({ query: {} });
    expect(orders.items).toMatchObject([
      {
        status: "paid",
        paid: true,
        total_amount: 1900,
        subtotal_amount: 1900,
        checkout_id: checkout.id,
        billing_reason: "purchase",
        metadata: { campaign: "spring" },
        items: [{ label: "Guide", amount: 1900 }],
      },
    ]);
    expect(orders.items[0]?.invoice_number).toMatch(/-0001$/);
    const paid = await fresh.client.payments.list({ query: {} });
    expect(paid.items).toMatchObject([
      {
        status: "succeeded",
        amount: 1900,
        processor: "stripe",
        method: "card",
        method_metadata: { brand: "visa", last4: "4242" },
        order_id: orders.items[0]?.id,
      },
    ]);
    expect(await eventsOf(fresh.organization_id)).toEqual([
      "product.created",
      "checkout.created",
      "customer.created",
      "customer.state_changed",
      "checkout.updated",
      "order.created",
      "order.updated",
      "order.paid",
      "checkout.updated",
    ]);
  });

  test("CHK-49: the same address again, in other letters, is the same customer", async () => {
    const fresh = await floe.seller("again");
    const guide = await fresh.client.products.create({
      body: { name: "Guide", prices: [{ amount_type: "fixed", price_amount: 500 }] },
    });
    for (const customer_email of ["Ada@example.com", "ada@EXAMPLE.com"]) {
      const checkout = await create({ products: [guide.id] }, fresh);
      expect((await confirm(checkout.client_secret, { customer_email })).status).toBe(200);
    }
    expect((await fresh.client.customers.list({ query: {} })).items).toMatchObject([{ email: "Ada@example.com" }]);
    expect(
      (await fresh.client.orders.list({ query: { sorting: "invoice_number" } })).items.map((order) =>
        order.invoice_number.slice(-4),
      ),
    ).toEqual(["0001", "0002"]);
  });

  test("CHK-51: nothing to pay needs no card, and succeeds by a job", async () => {
    const free = await seller.client.products.create({
      body: { name: "Free sample", prices: [{ amount_type: "free" }] },
    });
    const checkout = await create({ products: [free.id] });
    expect(checkout).toMatchObject({ is_free_product_price: true, is_payment_form_required: false, total_amount: 0 });
    const answer = await ofBuyer("POST", checkout.client_secret, { customer_email: "free@example.com" }, "/confirm");
    expect([answer.status, answer.json.status]).toEqual([200, "confirmed"]);
    await floe.runJobs();
    expect((await seller.client.checkouts.get({ params: { id: checkout.id } })).status).toBe("succeeded");
    const [order] = (await seller.client.orders.list({ query: { checkout_id: checkout.id } })).items;
    expect(order).toMatchObject({ status: "paid", total_amount: 0 });
    expect((await seller.client.payments.list({ query: { checkout_id: checkout.id } })).items).toEqual([]);
  });

  test("CHK-54: a second confirmation is refused, and pays nothing", async () => {
    const checkout = await create();
    await confirm(checkout.client_secret);
    expect(await confirm(checkout.client_secret)).toMatchObject({ status: 403, json: { error: "NotOpenCheckout" } });
    expect((await seller.client.payments.list({ query: { checkout_id: checkout.id } })).items).toHaveLength(1);
  });

  test("a repeated Idempotency-Key gets the first answer instead", async () => {
    const checkout = await create();
    const send = () =>
      floe.request("POST", `/v1/checkouts/client/${checkout.client_secret}/confirm`, {
        headers: { "idempotency-key": "one" },
        body: { ...buyer, confirmation_token_id: "pm_card_visa" },
      });
    const [first, again] = [await send(), await send()];
    expect([first.status, again.status, again.headers["idempotency-replayed"]]).toEqual([200, 200, "true"]);
    expect(again.json).toEqual(first.json);
  });
});

describe("cards", () => {
  test.each([
    ["pm_card_chargeDeclined", "card_declined", "Your card was declined."],
    ["pm_card_chargeDeclinedInsufficientFunds", "insufficient_funds", "Your card has insufficient funds."],
    ["pm_card_chargeDeclinedExpiredCard", "expired_card", "Your card has expired."],
    ["pm_card_chargeDeclinedIncorrectCvc", "incorrect_cvc", "Your card's security code is incorrect."],
  ])("CHK-55: %s leaves the checkout open and the attempt on record", async (token, reason, message) => {
    const checkout = await create();
    const answer = await confirm(checkout.client_secret, { confirmation_token_id: token });
    expect(answer).toMatchObject({ status: 400, json: { error: "PaymentError", detail: message } });
    expect((await ofBuyer("GET", checkout.client_secret)).json).toMatchObject({
      status: "open",
      payment_processor_metadata: {},
    });
    const [attempt] = (await seller.client.payments.list({ query: { checkout_id: checkout.id } })).items;
    expect(attempt).toMatchObject({ status: "failed", decline_reason: reason, decline_message: message });
    expect((await confirm(checkout.client_secret)).status).toBe(200);
    expect((await seller.client.orders.list({ query: { checkout_id: checkout.id } })).items).toHaveLength(1);
  });

  test("an unknown payment method is a sentence for the buyer, not a fault", async () => {
    const checkout = await create();
    expect(await confirm(checkout.client_secret, { confirmation_token_id: "ctoken_nothing" })).toMatchObject({
      status: 400,
      json: { error: "PaymentError" },
    });
  });

  const tokenize = (card: Record<string, unknown>) =>
    floe.request("POST", "/v1/payment-processor/test/confirmation-tokens", {
      body: { card: { exp_month: 12, exp_year: 2040, cvc: "123", ...card } },
    });

  test("a test number becomes a token, and only brand, last four and expiry are kept", async () => {
    const made = await tokenize({ number: "5555 5555 5555 4444" });
    expect(made.status).toBe(201);
    const rows = await floe.deps.db.select().from(testTokens);
    expect(JSON.stringify(rows)).not.toContain("555555555555");
    const checkout = await create();
    await confirm(checkout.client_secret, { confirmation_token_id: (made.json as Json).id });
    const [found] = await floe.deps.db
      .select({ payment: payments })
      .from(payments)
      .innerJoin(orders, eq(orders.id, payments.order_id))
      .where(eq(orders.checkout_id, checkout.id));
    expect(found?.payment.card).toEqual({ brand: "mastercard", last4: "4444", exp_month: 12, exp_year: 2040 });
  });

  test("any other number is refused as a real card and stands nowhere afterwards", async () => {
    const number = "4111111111111111";
    const answer = (await tokenize({ number })) as Answer & { text: string };
    expect([answer.status, faultsOf(answer)]).toEqual([422, ["body.card.number test_card_required"]]);
    expect(answer.text).not.toContain(number);
    expect(floe.logged.join("\n")).not.toContain(number);
  });

  test("a card's number in place of a token is refused, neither kept nor repeated", async () => {
    const number = "4111111111111111";
    const checkout = await create();
    const answer = (await confirm(checkout.client_secret, { confirmation_token_id: number })) as Answer & {
      text: string;
    };
    expect([answer.status, faultsOf(answer)]).toEqual([422, ["body.confirmation_token_id value_error"]]);
    expect(answer.text).not.toContain(number);
    expect(JSON.stringify(await floe.deps.db.select().from(payments))).not.toContain(number);
    expect(floe.logged.join("\n")).not.toContain(number);
    expect((await confirm(checkout.client_secret)).status).toBe(200);
  });

  test("the card form is not for other pages: it allows no other origin", async () => {
    const headers = { origin: "https://elsewhere.example" };
    const card = { number: "4242424242424242", exp_month: 12, exp_year: 2040, cvc: "123" };
    const made = await floe.request("POST", "/v1/payment-processor/test/confirmation-tokens", {
      body: { card },
      headers,
    });
    expect([made.status, made.headers["access-control-allow-origin"]]).toEqual([201, undefined]);
  });

  test("expiry and security code have faults of their own", async () => {
    const answer = (await tokenize({ number: "4242424242424242", exp_month: 13, exp_year: 2020, cvc: "1" })) as Answer;
    expect(faultsOf(answer)).toEqual([
      "body.card.exp_month value_error",
      "body.card.exp_year value_error",
      "body.card.cvc value_error",
    ]);
  });

  const [visa, amex] = ["4242424242424242", "378282246310005"];
  test.each([
    [visa, "123", []],
    [visa, "1234", ["cvc"]],
    [visa, "12", ["cvc"]],
    [amex, "123", []],
    [amex, "1234", []],
    [amex, "12345", ["cvc"]],
    [amex, "12a", ["cvc"]],
  ])("%s with the security code %s: %j", async (number, cvc, wrong) => {
    expect(faultsOf((await tokenize({ number, cvc })) as Answer)).toEqual(
      wrong.map((field) => `body.card.${field} value_error`),
    );
  });

  test("a card may be used to the end of its month, and no longer", async () => {
    const number = visa;
    const now = floe.clock.now();
    const [exp_year, exp_month] = [now.getUTCFullYear(), now.getUTCMonth() + 1];
    expect((await tokenize({ number, exp_month, exp_year })).status).toBe(201);
    const before = exp_month === 1 ? { exp_month: 12, exp_year: exp_year - 1 } : { exp_month: exp_month - 1, exp_year };
    expect(faultsOf((await tokenize({ number, ...before })) as Answer)).toEqual(["body.card.exp_year value_error"]);
  });

  const challenge = async () => {
    const checkout = await create();
    const answer = await confirm(checkout.client_secret, { confirmation_token_id: "pm_card_threeDSecure2Required" });
    const { intent_client_secret = "" } = answer.json.payment_processor_metadata as Record<string, string>;
    expect(answer.json).toMatchObject({
      status: "confirmed",
      payment_processor_metadata: { intent_status: "requires_action" },
    });
    const decide = (approved: boolean) =>
      floe.request("POST", `/v1/payment-processor/test/intents/${intent_client_secret}/authenticate`, {
        body: { approved },
      });
    return { checkout, decide };
  };
  const statusOf = async (id: string) => (await seller.client.checkouts.get({ params: { id } })).status;

  test("3-D Secure: approved, the sale is made, once", async () => {
    const { checkout, decide } = await challenge();
    expect(await statusOf(checkout.id)).toBe("confirmed");
    expect((await decide(true)).json).toEqual({ status: "succeeded" });
    expect((await decide(true)).json).toEqual({ status: "succeeded" });
    expect((await decide(false)).json).toEqual({ status: "succeeded" });
    expect(await statusOf(checkout.id)).toBe("succeeded");
    expect((await seller.client.orders.list({ query: { checkout_id: checkout.id } })).items).toHaveLength(1);
  });

  test("3-D Secure: refused, the checkout is open again", async () => {
    const { checkout, decide } = await challenge();
    expect((await decide(false)).json).toEqual({ status: "failed" });
    expect(await statusOf(checkout.id)).toBe("open");
  });

  test("3-D Secure: never answered, it is given up at the processor too", async () => {
    const { checkout, decide } = await challenge();
    for (let hours = 0; hours < 26; hours += 1) {
      floe.clock.advance(60 * 60_000);
      await floe.runJobs();
    }
    expect(await statusOf(checkout.id)).toBe("expired");
    expect((await decide(true)).json).toEqual({ status: "failed" });
    expect((await seller.client.orders.list({ query: { checkout_id: checkout.id } })).items).toEqual([]);
  });
});

describe("confirming checks everything at once (CHK-48)", () => {
  test("what is missing is named field by field", async () => {
    const { client_secret } = await create();
    const answer = await ofBuyer("POST", client_secret, {}, "/confirm");
    expect([answer.status, faultsOf(answer)]).toEqual([
      422,
      ["body.customer_email missing", "body.customer_billing_address missing", "body.confirmation_token_id missing"],
    ]);
  });

  test("CHK-44: an address in the United States is asked for whole", async () => {
    const { client_secret } = await create();
    const answer = await confirm(client_secret, { customer_billing_address: { country: "US", state: "NY" } });
    expect(faultsOf(answer)).toEqual(
      ["line1", "city", "postal_code"].map((name) => `body.customer_billing_address.${name} missing`),
    );
    const whole = { country: "US", state: "NY", line1: "1 Main St", city: "New York", postal_code: "10001" };
    expect((await confirm(client_secret, { customer_billing_address: whole })).status).toBe(200);
  });

  test("CHK-14: an embargoed country and an unknown state are refused", async () => {
    const { client_secret } = await create();
    for (const customer_billing_address of [{ country: "KP" }, { country: "US", state: "ZZ" }]) {
      expect((await ofBuyer("PATCH", client_secret, { customer_billing_address })).status).toBe(422);
    }
  });

  test("CHK-35: with nothing to pay, what only a payment asks for is cleared, unless the address is wanted", async () => {
    const free = await seller.client.products.create({ body: { name: "Gratis", prices: [{ amount_type: "free" }] } });
    const business = { is_business_customer: true, customer_billing_name: "Acme", payment_method_type: "card" };
    const fields = async (products: string[], more: object = {}) => {
      const { client_secret } = await create({ products, ...more });
      const { json } = await ofBuyer("PATCH", client_secret, business);
      return [json.is_business_customer, json.customer_billing_name, json.payment_method_type];
    };
    expect(await fields([product.id])).toEqual([true, "Acme", "card"]);
    expect(await fields([free.id])).toEqual([false, null, null]);
    expect(await fields([free.id], { require_billing_address: true })).toEqual([true, "Acme", null]);
  });

  test("CHK-49: the customer it was made for is gone", async () => {
    const customer = await seller.client.customers.create({ body: { email: "leaving@example.com" } });
    const { client_secret } = await create({ customer_id: customer.id });
    await seller.client.customers.delete({ params: { id: customer.id }, query: {} });
    expect(await confirm(client_secret)).toMatchObject({ status: 409, json: { error: "CheckoutCustomerDeleted" } });
  });
});

describe("amounts the buyer chooses (CHK-05, CHK-06)", () => {
  let open: { id: string };
  beforeAll(async () => {
    open = await seller.client.products.create({
      body: {
        name: "Tip jar",
        prices: [{ amount_type: "custom", minimum_amount: 300, maximum_amount: 5000, preset_amount: 1000 }],
      },
    });
  });
  test("preset, then what was chosen", async () => {
    expect((await create({ products: [open.id] })).amount).toBe(1000);
    const checkout = await create({ products: [open.id], amount: 700 });
    expect(checkout.amount).toBe(700);
    expect((await ofBuyer("PATCH", checkout.client_secret, { amount: 1200 })).json).toMatchObject({
      amount: 1200,
      total_amount: 1200,
    });
  });
  test.each([
    [299, "greater_than_equal"],
    [5001, "less_than_equal"],
    [-1, "greater_than_equal"],
    [10.5, "invalid_type"],
  ])("%d is refused as %s", async (amount, type) => {
    const answer = (await floe.request("POST", "/v1/checkouts/", {
      token: seller.key,
      body: { products: [open.id], amount },
    })) as Answer;
    expect([answer.status, faultsOf(answer)]).toEqual([422, [`body.amount ${type}`]]);
  });
  test("for a fixed price it is ignored", async () => {
    expect((await create({ amount: 1 })).amount).toBe(1900);
  });
});

describe("creating", () => {
  test("CHK-02: each product that cannot be bought is named by its index", async () => {
    const gone = await seller.client.products.create({
      body: { name: "Gone soon", prices: [{ amount_type: "free" }] },
    });
    await seller.client.products.update({ params: { id: gone.id }, body: { is_archived: true } });
    const other = await floe.seller("elsewhere");
    const theirs = await other.client.products.create({ body: { name: "Theirs", prices: [{ amount_type: "free" }] } });
    const answer = (await floe.request("POST", "/v1/checkouts/", {
      token: seller.key,
      body: { products: [product.id, gone.id, theirs.id] },
    })) as Answer;
    expect([answer.status, faultsOf(answer)]).toEqual([
      422,
      ["body.products.1 value_error", "body.products.2 value_error"],
    ]);
  });

  test("CHK-22: only the exact placeholder of the success URL is replaced", async () => {
    const checkout = await create({
      success_url: "https://example.com/ok?id={CHECKOUT_ID}&x=%7BCHECKOUT_ID%7D&y={CHECKOUT_ID.__class__}",
    });
    expect(checkout.success_url).toBe(
      `https://example.com/ok?id=${checkout.id}&x=${checkout.id}&y={CHECKOUT_ID.__class__}`,
    );
    expect((await create()).success_url).toMatch(/\/checkout\/polar_c_[A-Za-z0-9]{43}\/confirmation$/);
  });

  test("CHK-10, CHK-11, CHK-32: a linked customer fills the form, and keeps its address", async () => {
    const customer = await seller.client.customers.create({
      body: { email: "linked@example.com", name: "Linked", external_id: "user-1" },
    });
    const checkout = await create({ external_customer_id: "user-1" });
    expect(checkout).toMatchObject({
      customer_id: customer.id,
      customer_email: "linked@example.com",
      customer_name: "Linked",
    });
    const changed = await ofBuyer("PATCH", checkout.client_secret, { customer_email: "other@example.com" });
    expect(changed.json.customer_email).toBe("linked@example.com");
  });

  test("CHK-12: a tax number needs a country, and must look like one of it", async () => {
    const send = async (body: object) =>
      faultsOf(
        (await floe.request("POST", "/v1/checkouts/", {
          token: seller.key,
          body: { products: [product.id], ...body },
        })) as Answer,
      );
    expect(await send({ customer_tax_id: "FR12345678901" })).toEqual(["body.customer_billing_address missing"]);
    expect(await send({ customer_tax_id: "nonsense", customer_billing_address: address })).toEqual([
      "body.customer_tax_id invalid",
    ]);
  });
});

describe("reading and time", () => {
  test("CHK-26: unknown is 404, past its day 410, and then expired", async () => {
    expect((await ofBuyer("GET", "polar_c_nothing")).status).toBe(404);
    const checkout = await create();
    expect(Date.parse(String(checkout.expires_at)) - Date.parse(String(checkout.created_at))).toBe(24 * 60 * 60_000);
    expect(JSON.stringify((await ofBuyer("GET", checkout.client_secret)).json)).not.toContain("customer_metadata");
    floe.clock.advance(24 * 60 * 60_000 + 60_000);
    expect(await ofBuyer("GET", checkout.client_secret)).toMatchObject({
      status: 410,
      json: { error: "ExpiredCheckoutError" },
    });
    expect(await confirm(checkout.client_secret)).toMatchObject({ status: 410 });
    await floe.runJobs();
    expect((await seller.client.checkouts.get({ params: { id: checkout.id } })).status).toBe("expired");
  });
});

test("CHK-26: a blocked seller's checkout is 403 to the buyer, and 410 once its day is past", async () => {
  const blocked = await floe.seller("blocked");
  const free = await blocked.client.products.create({ body: { name: "Gratis", prices: [{ amount_type: "free" }] } });
  const { client_secret } = await create({ products: [free.id] }, blocked);
  await floe.deps.db
    .update(organization)
    .set({ blocked_at: floe.clock.now() })
    .where(eq(organization.id, blocked.organization_id));
  const refused = { status: 403, json: { error: "NotPermitted" } };
  expect(await ofBuyer("GET", client_secret)).toMatchObject(refused);
  expect(await ofBuyer("PATCH", client_secret, { customer_name: "Ada" })).toMatchObject(refused);
  expect(await confirm(client_secret)).toMatchObject(refused);
  floe.clock.advance(24 * 60 * 60_000 + 60_000);
  expect((await ofBuyer("GET", client_secret)).status).toBe(410);
});

describe("POST /api/auth/checkout", () => {
  const send = (body: unknown, token?: string) =>
    floe.request("POST", "/api/auth/checkout", {
      body,
      ...(token ? { token } : {}),
      headers: { origin: floe.url },
    }) as Promise<{ status: number; json: { url: string; redirect: boolean; code: string; message: string } }>;
  const read = async (url: string) => {
    const secret = url.split("/").at(-1) ?? "";
    const found = (await seller.client.checkouts.list({ query: {} })).items.find((one) => one.client_secret === secret);
    if (!found) throw new Error("not listed");
    return found;
  };
  test("the signed-in user becomes the customer by external_id", async () => {
    const answer = await send(
      { products: product.id, referenceId: "ref-1", redirect: false, embedOrigin: "https://shop.example/page" },
      seller.session,
    );
    expect([answer.status, answer.json.redirect]).toEqual([200, false]);
    const checkout = await read(answer.json.url);
    expect(checkout).toMatchObject({
      external_customer_id: seller.user_id,
      customer_email: seller.email,
      metadata: { referenceId: "ref-1" },
      embed_origin: "https://shop.example",
    });
  });
  test("without a session it is anyone's, and faults have the account side's shape", async () => {
    expect((await send({ products: [product.id] })).json).toMatchObject({ redirect: true });
    expect(await send({})).toMatchObject({
      status: 400,
      json: {
        code: "VALIDATION_ERROR",
        message: "Invalid body parameters",
        detail: expect.stringContaining("products"),
      },
    });
    expect(await send({ products: [crypto.randomUUID()] })).toMatchObject({
      status: 400,
      json: { message: expect.stringContaining("Product does not exist.") },
    });
  });
});

describe("whose customer it becomes", () => {
  const send = (token: string) =>
    floe.request("POST", "/api/auth/checkout", {
      token,
      body: { products: product.id },
      headers: { origin: floe.url },
    });
  const buy = async (token: string) => {
    const { url } = (await send(token)).json as { url: string };
    expect((await confirm(url.split("/").at(-1) ?? "", {})).status).toBe(200);
  };

  test("an address that the user has not proved does not hand over the customer of that address", async () => {
    const stranger = await floe.seller("stranger");
    const mine = await seller.client.customers.create({ body: { email: stranger.email } });
    await buy(stranger.session);
    expect((await seller.client.customers.get({ params: { id: mine.id } })).external_id).toBeNull();
    await floe.deps.db.update(user).set({ emailVerified: true }).where(eq(user.id, stranger.user_id));
    await buy(stranger.session);
    expect((await seller.client.customers.get({ params: { id: mine.id } })).external_id).toBe(stranger.user_id);
  });
});
