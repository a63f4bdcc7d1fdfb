/** What is sent with a checkout counts, or is refused with its place: nothing of it is dropped in silence. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { callsOf } from "../support/calls.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";

let floe: Floe;
let seller: Seller;
let call: ReturnType<typeof callsOf>;
let product: { id: string };
let discount: { id: string };
const fixed = (price_currency: string, price_amount: number) => ({
  amount_type: "fixed" as const,
  price_amount,
  price_currency: price_currency as "usd",
});
beforeAll(async () => {
  floe = await start();
  seller = await floe.seller();
  call = callsOf(floe, seller);
  product = await seller.client.products.create({
    body: { name: "Field guide", prices: [fixed("usd", 100), fixed("eur", 90)], metadata: { slug: "guide" } },
  });
  discount = await seller.client.discounts.create({ body: { name: "D", duration: "once", basis_points: 5000 } });
});
afterAll(() => floe.close());

const path = "/v1/checkouts/";
const create = async (body: object = {}) => {
  const answer = await call.send("POST", path, { products: [product.id], ...body });
  expect([answer.status, answer.json.detail]).toEqual([201, undefined]);
  return answer.json as unknown as Record<string, unknown> & { id: string; client_secret: string };
};
const ofBuyer = (method: string, secret: string, body: object, headers: Record<string, string> = {}) =>
  floe.request(method, `/v1/checkouts/client/${secret}`, { body, headers }) as Promise<{
    status: number;
    json: Record<string, unknown>;
  }>;
const paying = {
  customer_email: "buyer@example.com",
  customer_billing_address: { country: "FR" },
  confirmation_token_id: "pm_card_visa",
};
const confirm = (secret: string, body: object = {}, headers: Record<string, string> = {}) =>
  ofBuyer("POST", `${secret}/confirm`, { ...paying, ...body }, headers);

describe("the currency (CHK-03, CHK-04)", () => {
  let euros: Seller;
  let both: { id: string };
  let dollars: { id: string };
  const made = async (body: object) => {
    const answer = await callsOf(floe, euros).send("POST", path, body);
    return answer.json as unknown as Record<string, unknown> & { id: string };
  };
  beforeAll(async () => {
    euros = await floe.seller("euros");
    dollars = await euros.client.products.create({ body: { name: "Old", prices: [fixed("usd", 700)] } });
    const own = { params: { id: euros.organization_id }, body: { default_presentment_currency: "eur" as const } };
    await euros.client.organizations.update(own);
    const prices = [fixed("usd", 100), fixed("eur", 90)];
    both = await euros.client.products.create({ body: { name: "Guide", prices } });
  });

  test("is the one asked for, else the organization's, else the first price's", async () => {
    expect(await made({ products: [both.id] })).toMatchObject({ currency: "eur", amount: 90 });
    expect(await made({ products: [both.id], currency: "usd" })).toMatchObject({ currency: "usd", amount: 100 });
    expect(await made({ products: [dollars.id] })).toMatchObject({ currency: "usd", amount: 700 });
    expect(await create()).toMatchObject({ currency: "usd", amount: 100, product_price: { price_currency: "usd" } });
    expect(await create({ currency: "eur" })).toMatchObject({ currency: "eur", amount: 90 });
    expect(await call.refused("POST", path, { products: [product.id], currency: "gbp" })).toEqual([
      "currency value_error",
    ]);
  });

  test("can be changed by the seller, price and amount with it", async () => {
    const { id, client_secret } = await create();
    const changed = await call.send("PATCH", `${path}${id}`, { currency: "eur" });
    expect([changed.status, changed.json]).toMatchObject([
      200,
      { currency: "eur", amount: 90, total_amount: 90, product_price: { price_currency: "eur", price_amount: 90 } },
    ]);
    expect(await call.refused("PATCH", `${path}${id}`, { currency: "gbp" })).toEqual(["currency value_error"]);
    expect((await call.send("PATCH", `${path}${id}`, { currency: null })).json).toMatchObject({ currency: "eur" });
    expect((await confirm(client_secret)).status).toBe(200);
    expect((await seller.client.orders.list({ query: { checkout_id: id } })).items).toMatchObject([
      { currency: "eur", total_amount: 90 },
    ]);
  });

  test("stays when the buyer takes another product, as far as that has it", async () => {
    const checkout = await made({ products: [both.id, dollars.id], currency: "eur" });
    const take = async (product_id: string) =>
      (await ofBuyer("PATCH", String(checkout.client_secret), { product_id })).json;
    expect(await take(dollars.id)).toMatchObject({ currency: "usd", amount: 700 });
    expect(await take(both.id)).toMatchObject({ currency: "usd", amount: 100 });
    const fresh = await made({ products: [dollars.id, both.id], currency: "usd" });
    const other = await callsOf(floe, euros).send("PATCH", `${path}${fresh.id}`, {
      product_id: both.id,
      currency: "eur",
    });
    expect(other.json).toMatchObject({ product_id: both.id, currency: "eur", amount: 90 });
  });
});

test("a discount, a trial and seats are taken where they fit, and refused at their place where they do not", async () => {
  const made = await create({ discount_id: discount.id, trial_interval: "day", trial_interval_count: 7 });
  expect(made).toMatchObject({
    discount_id: discount.id,
    discount_amount: Math.round(Number(made.amount) / 2),
    trial_interval: "day",
    // What is bought once has no trial (CHK-45).
    active_trial_interval: null,
    trial_end: null,
  });
  const wanted: [object, string][] = [
    [{ discount_id: product.id }, "discount_id value_error"],
    [{ seats: 2 }, "seats value_error"],
  ];
  for (const [body, refused] of wanted) {
    expect(await call.refused("POST", path, { products: [product.id], ...body })).toEqual([refused]);
    expect(await call.refused("PATCH", `${path}${made.id}`, body)).toEqual([refused]);
  }
  const nulls = { discount_id: null, trial_interval: null, trial_interval_count: null, seats: null, prices: {} };
  await create(nulls);
});

test("CHK-11: an address that is sent is not replaced by the linked customer's", async () => {
  const customer = await seller.client.customers.create({ body: { email: "linked@example.com", name: "Linked" } });
  const sent = { customer_id: customer.id, customer_email: "sent@example.com", customer_name: "Sent" };
  const checkout = await create(sent);
  expect(checkout).toMatchObject(sent);
  expect((await confirm(checkout.client_secret)).status).toBe(200);
  expect(await seller.client.customers.get({ params: { id: customer.id } })).toMatchObject({
    email: "linked@example.com",
    name: "Linked",
  });
});

test("CUS-15: a team without an address buys with the buyer's, and keeps having none", async () => {
  const made = await call.send("POST", "/v1/customers/", { type: "team", name: "Acme" });
  const checkout = await create({ customer_id: made.json.id });
  expect(checkout).toMatchObject({ customer_id: made.json.id, customer_email: null, customer_name: null });
  const nobody = await confirm(checkout.client_secret, { customer_email: null });
  expect([nobody.status, nobody.json.detail]).toMatchObject([422, [{ loc: ["body", "customer_email"] }]]);
  expect((await confirm(checkout.client_secret)).json).toMatchObject({ customer_email: paying.customer_email });
  const { items } = await seller.client.orders.list({ query: { checkout_id: checkout.id } });
  expect(items).toMatchObject([{ customer: { id: made.json.id, type: "team", email: "" } }]);
});

test("CHK-50: no token is null to clients that can read it, and empty to those that cannot", async () => {
  const tokenFor = async (headers: Record<string, string>) =>
    (await confirm((await create()).client_secret, {}, headers)).json.customer_session_token;
  // From the second on, the customer was found by the address that was typed.
  await tokenFor({});
  expect(await tokenFor({ "polar-version": "2026-10" })).toBeNull();
  for (const [release, token] of [
    ["0.49.0", null],
    ["0.47.1", null],
    ["0.46.0", ""],
    ["0.38.1", ""],
  ] as const)
    expect(await tokenFor({ "user-agent": `speakeasy-sdk/typescript ${release} 2 3 @polar-sh/sdk` })).toBe(token);
});

describe("POST /api/auth/checkout", () => {
  type Sent = { status: number; json: { url: string; code: string; message: string } };
  const send = (body: object) =>
    floe.request("POST", "/api/auth/checkout", {
      body: { products: product.id, ...body },
      token: seller.session,
      headers: { origin: floe.url },
    }) as Promise<Sent>;
  const opened = async (body: object) => {
    const { status, json } = await send(body);
    expect([status, json.message]).toEqual([200, undefined]);
    floe.clock.advance(1000);
    const { items } = await seller.client.checkouts.list({ query: {} });
    return items.find(({ client_secret }) => json.url.endsWith(client_secret));
  };

  test("keeps the reference under the name that published plugins look for", async () => {
    expect((await opened({ referenceId: "r-1", metadata: { campaign: "spring" } }))?.metadata).toEqual({
      referenceId: "r-1",
      campaign: "spring",
    });
    expect((await opened({ referenceId: "r-1", metadata: { referenceId: "own" } }))?.metadata).toEqual({
      referenceId: "own",
    });
  });

  test("sends the buyer to the seller's own pages and this server's, and nowhere else", async () => {
    const body = { website: "https://shop.example/", embed_hosts: ["*.pages.example"] };
    await seller.client.organizations.update({ params: { id: seller.organization_id }, body: body as never });
    for (const [sent, kept] of [
      ["/thanks?id={CHECKOUT_ID}", `${floe.url}/thanks?id=`],
      ["https://shop.example/thanks", "https://shop.example/thanks"],
      ["https://a.pages.example/x", "https://a.pages.example/x"],
      ["http://localhost:3000/x", "http://localhost:3000/x"],
    ] as const) {
      const checkout = await opened({ successUrl: sent, returnUrl: sent });
      expect(checkout?.success_url.replace(checkout.id, "")).toBe(kept);
      expect(checkout?.return_url).toContain(kept);
    }
    const nowhere = ["https://evil.example/", "//evil.example/", "/\\evil.example", "http://shop.example/", "https://"];
    for (const url of [...nowhere, "javascript:alert(1)", "thanks"]) {
      for (const field of ["successUrl", "returnUrl"])
        expect([url, await send({ [field]: url })]).toMatchObject([
          url,
          { status: 400, json: { message: expect.stringMatching(/^(Only a page of the organization|Invalid body)/) } },
        ]);
    }
  });

  test("takes or refuses everything else that the published plugin sends", async () => {
    expect((await opened({ allowTrial: false }))?.allow_trial).toBe(false);
    expect(await opened({ trialInterval: "day", trialIntervalCount: 7 })).toMatchObject({
      trial_interval: "day",
      trial_interval_count: 7,
    });
    expect(await opened({ discountId: discount.id })).toMatchObject({ discount_id: discount.id });
    const unknown = await send({ discountId: product.id });
    expect([unknown.status, unknown.json.message]).toEqual([400, expect.stringContaining("does not exist")]);
  });
});
