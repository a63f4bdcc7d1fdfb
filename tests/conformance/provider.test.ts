import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { legacyProfile } from "../../server/lib/profiles.ts";
import { polarProvider } from "../../server/providers/polar.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";

/** The switch to hosted Polar, with a second floe in Polar's place: both speak the same contract. */

let hosted: Floe;
let hostedSeller: Seller;
let floe: Floe;
let seller: Seller;
let outside: Seller;
let allowed = "";
beforeAll(async () => {
  hosted = await start({ listen: true });
  hostedSeller = await hosted.seller("hosted");
  floe = await start({
    provider: (config) =>
      polarProvider({
        ...config,
        POLAR_ACCESS_TOKEN: hostedSeller.key,
        POLAR_URL: hosted.url,
        get POLAR_ORGANIZATION() {
          return allowed;
        },
      }),
  });
  seller = await floe.seller("here");
  outside = await floe.seller("outside");
  allowed = seller.organization_id;
});
afterAll(async () => {
  await floe.close();
  await hosted.close();
});

const fixed = { amount_type: "fixed", price_amount: 1500 } as const;

describe("hosted Polar behind the same API", () => {
  test("what is made here is there, and reads the same", async () => {
    const made = await seller.client.products.create({ body: { name: "Relayed", prices: [fixed] } });
    const there = await hostedSeller.client.products.get({ params: { id: made.id } });
    expect(made).toMatchObject({ id: there.id, name: "Relayed", organization_id: hostedSeller.organization_id });
    const listed = await seller.client.products.list({ query: { query: "Relayed", sorting: "name" } });
    expect(listed.items.map((item) => item.id)).toEqual([made.id]);
    const renamed = await seller.client.products.update({ params: { id: made.id }, body: { name: "Renamed" } });
    expect(renamed.name).toBe("Renamed");
  });

  test("a sale goes through, and the order is seen from here", async () => {
    const product = await seller.client.products.create({ body: { name: "For sale", prices: [fixed] } });
    const checkout = await seller.client.checkouts.create({ body: { products: [product.id] } });
    const buyer = {
      customer_email: "buyer@example.com",
      customer_billing_address: { country: "FR" as const },
      confirmation_token_id: "pm_card_visa",
    };
    const confirmed = await seller.client.checkoutClient.confirm({
      params: { client_secret: checkout.client_secret },
      body: buyer,
    });
    expect(confirmed.status).toBe("confirmed");
    expect((await seller.client.orders.list({ query: { checkout_id: checkout.id } })).items).toMatchObject([
      { status: "paid", total_amount: 1500 },
    ]);
    expect((await seller.client.payments.list({ query: {} })).items).toHaveLength(1);
  });

  test("refusals come through with their status, name and places", async () => {
    const bad = await floe.request("POST", "/v1/products/", {
      token: seller.key,
      body: { name: "Cheap", prices: [{ ...fixed, price_amount: 1 }] },
    });
    expect(bad).toMatchObject({ status: 422, json: { detail: [{ type: "minimum_price" }] } });
    const unknown = await floe.request("GET", `/v1/products/${crypto.randomUUID()}`, { token: seller.key });
    expect(unknown).toMatchObject({ status: 404, json: { error: "ResourceNotFound" } });
    const customer = await seller.client.customers.create({ body: { email: "gone@example.com" } });
    const exported = await floe.request("GET", "/v1/customers/export", { token: seller.key });
    expect([exported.headers["content-type"], exported.text]).toEqual([
      "text/csv; charset=utf-8",
      expect.stringContaining(`\r\n${customer.id},`),
    ]);
    expect((await floe.request("DELETE", `/v1/customers/${customer.id}`, { token: seller.key })).status).toBe(204);
  });

  test("to any other organization here nothing exists there", async () => {
    const product = await seller.client.products.create({ body: { name: "Ours", prices: [fixed] } });
    expect((await floe.request("GET", `/v1/products/${product.id}`, { token: outside.key })).status).toBe(404);
    expect((await floe.request("GET", "/v1/orders/", { token: outside.key })).status).toBe(404);
    expect(
      (await floe.request("POST", "/v1/products/", { token: outside.key, body: { name: "Nothing", prices: [fixed] } }))
        .status,
    ).toBe(404);
  });

  test("out of reach, it says so, and a wrong token is not the caller's fault", async () => {
    const broken = polarProvider({
      ...floe.deps.config,
      POLAR_ACCESS_TOKEN: "floe_oat_wrong",
      POLAR_URL: hosted.url,
      POLAR_ORGANIZATION: seller.organization_id,
    });
    const actor = {
      kind: "key",
      organization_id: seller.organization_id,
      clock_offset_ms: 0,
      sandbox: false,
      scopes: new Set<never>(),
      user_id: null,
      key_id: null,
    } as const;
    const ctx = {
      ...floe.deps,
      actor,
      client: legacyProfile,
      ip: "",
      alongside: [],
    } as const;
    await expect(broken.products.get(ctx, { params: { id: crypto.randomUUID() } })).rejects.toMatchObject({
      status: 503,
    });
  });
});
