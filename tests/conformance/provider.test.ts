import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Floe, Seller } from "../support/floe.ts";
import { soldKey } from "../support/grant-rows.ts";
import { type HostedPair, startHosted } from "../support/hosted.ts";
import { newId } from "../support/ids.ts";

/** The switch to hosted Polar, with a second floe in Polar's place: both speak the same contract. */

let pair: HostedPair;
let hosted: Floe;
let hostedSeller: Seller;
let floe: Floe;
let seller: Seller;
let outside: Seller;
beforeAll(async () => {
  pair = await startHosted();
  ({ polar: hosted, polarSeller: hostedSeller, floe, seller, outside } = pair);
});
afterAll(() => pair.close());

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

  test("a license key that is replaced is another one there, and one of nobody's is refused", async () => {
    const { id, key } = await soldKey(hosted, hostedSeller);
    const replaced = await seller.client.licenseKeys.rotate({ params: { id } });
    const there = await hostedSeller.client.licenseKeys.get({ params: { id } });
    expect([replaced.id, replaced.key === key, there.key]).toEqual([id, false, replaced.key]);
    await expect(outside.client.licenseKeys.rotate({ params: { id } })).rejects.toMatchObject({ status: 404 });
    await expect(seller.client.licenseKeys.rotate({ params: { id: newId() } })).rejects.toMatchObject({ status: 404 });
    expect((await hostedSeller.client.licenseKeys.get({ params: { id } })).key).toBe(replaced.key);
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

  test("SUB-65: a bound of a change that Polar does not check is refused, and nothing is sent", async () => {
    const path = `/v1/subscriptions/${newId()}`;
    for (const [name, value] of Object.entries({ quote: "q", maximum_amount: 100 })) {
      const body = { product_id: newId(), [name]: value };
      const { status, json } = await floe.request("PATCH", path, { token: seller.key, body });
      expect([status, json]).toMatchObject([422, { detail: [{ loc: ["body", name] }] }]);
    }
    const sent = await floe.request("PATCH", path, { token: seller.key, body: { product_id: newId() } });
    expect(sent.status).toBe(404);
  });

  test("WHK-50: headers of a webhook endpoint, which Polar would leave out, are refused", async () => {
    const endpoint = {
      url: "https://example.com/hooks",
      events: ["order.paid"],
      format: "raw",
      headers: { "x-a": "1" },
    };
    for (const [method, path] of [
      ["POST", "/v1/webhooks/endpoints"],
      ["PATCH", `/v1/webhooks/endpoints/${newId()}`],
    ] as const) {
      const { status, json } = await floe.request(method, path, { token: seller.key, body: endpoint });
      expect([status, json]).toMatchObject([422, { detail: [{ loc: ["body", "headers"] }] }]);
    }
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

  test("customers ask with their own tokens: what they are told, and what they are refused, is theirs there", async () => {
    const product = await seller.client.products.create({ body: { name: "For them", prices: [fixed] } });
    const checkout = await seller.client.checkouts.create({
      body: { products: [product.id], customer_email: "own@example.com" },
    });
    await seller.client.checkoutClient.confirm({
      params: { client_secret: checkout.client_secret },
      body: { customer_billing_address: { country: "FR" }, confirmation_token_id: "pm_card_visa" },
    });
    const [order] = (await seller.client.orders.list({ query: { checkout_id: checkout.id } })).items;
    const customer_id = order?.customer_id ?? "";
    const { token } = await seller.client.customerSessions.create({ body: { customer_id } });
    const own = floe.client(token);
    expect(await own.customerPortal.getMe({})).toMatchObject({ id: customer_id, email: "own@example.com" });
    const orders = await own.portalOrders.list({ query: { product_id: [product.id] } });
    expect(orders.items.map(({ id }) => id)).toEqual([order?.id]);
    const changed = await own.customerPortal.updateMe({ body: { billing_name: "Own" } });
    expect(changed).toMatchObject({ billing_name: "Own" });
    expect((await hostedSeller.client.customers.get({ params: { id: customer_id } })).billing_name).toBe("Own");
    const ask = async (path: string, as?: string, method = "GET", body?: object) => {
      const { status, json } = await floe.request(method, path, { ...(as && { token: as }), ...(body && { body }) });
      return `${status} ${(json as { error?: string } | undefined)?.error ?? ""}`.trim();
    };
    const { id: other } = await seller.client.customers.create({ body: { email: "another@example.com" } });
    const foreign = await seller.client.customerSessions.create({ body: { customer_id: other } });
    const changedToken = token.replace(/.$/, (last) => (last === "x" ? "y" : "x"));
    expect(await ask(`/v1/customer-portal/orders/${order?.id}`, foreign.token)).toBe("404 ResourceNotFound");
    expect(await ask(`/v1/customer-portal/orders/${order?.id}`, changedToken)).toBe("401 invalid_token");
    // Neither a stranger nor a seller is a customer, and a customer is no seller.
    expect(await ask("/v1/customer-portal/orders/")).toBe("401 Unauthorized");
    expect(await ask("/v1/customer-portal/orders/", seller.key)).toBe("403 insufficient_scope");
    expect(await ask("/v1/orders/", token)).toBe("403 insufficient_scope");
    const asked = { email: "own@example.com", organization_id: hostedSeller.organization_id };
    expect(await ask("/v1/customer-portal/customer-session/request", undefined, "POST", asked)).toBe("202");
    expect(await ask(`/v1/customer-portal/subscriptions/${other}/forecast`, token)).toBe("403 NotPermitted");
    const team = await seller.client.customers.create({
      body: { type: "team", owner: { email: "owner@example.com" } },
    });
    const members = await seller.client.customerMembers.listOfCustomer({ params: { id: team.id }, query: {} });
    expect(members.items).toMatchObject([{ role: "owner", email: "owner@example.com" }]);
    expect(await ask(`/v1/customers/${team.id}/members`, outside.key)).toBe("404 ResourceNotFound");
  });
});
