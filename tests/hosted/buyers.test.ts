import { eq } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { user } from "../../server/identity/accounts/tables.ts";
import { answerWith, type HostedPair, startHosted } from "../support/hosted.ts";
import { newId } from "../support/ids.ts";

/** The account side's calls for who is signed in on a seller's page, with the sale at hosted Polar. */

let pair: HostedPair;
let product: { id: string };
beforeAll(async () => {
  pair = await startHosted();
  product = await pair.polarSeller.client.products.create({
    body: { name: "Guide", metadata: { slug: "guide" }, prices: [{ amount_type: "fixed", price_amount: 1500 }] },
  });
});
afterAll(() => pair.close());
beforeEach(() => pair.proxy.setFault(undefined));

const call = async (method: string, path: string, token: string, body?: unknown) => {
  const sent = { token, ...(body === undefined ? {} : { body }), headers: { origin: pair.floe.url } };
  const { status, json } = await pair.floe.request(method, `/api/auth${path}`, sent);
  return [status, json as Record<string, unknown>] as const;
};
const buy = (body: object, token = pair.outside.session) =>
  call("POST", "/checkout", token, { redirect: false, ...body });

test("a checkout is opened at Polar for the signed-in user: by an id, by several, by slug", async () => {
  const [found] = await pair.floe.deps.db.select().from(user).where(eq(user.id, pair.outside.user_id));
  for (const named of [{ products: product.id }, { products: [product.id] }, { slug: "guide" }]) {
    const [status, json] = await buy({
      ...named,
      referenceId: "order-7",
      metadata: { campaign: "spring", count: 2 },
      allowDiscountCodes: false,
    });
    expect([status, json.redirect]).toEqual([200, false]);
    const secret = new URL(String(json.url)).pathname.split("/").at(-1);
    const { items } = await pair.polarSeller.client.checkouts.list({ query: {} });
    const made = items.find(({ client_secret }) => client_secret === secret);
    expect(made).toMatchObject({
      product_id: product.id,
      external_customer_id: pair.outside.user_id,
      customer_email: found?.email,
      customer_name: found?.name,
      allow_discount_codes: false,
      metadata: { referenceId: "order-7", campaign: "spring", count: 2 },
    });
    expect(json.url).toBe(made?.url);
  }
});

test("what a buyer may not set is refused, and Polar's own refusals come through with its message", async () => {
  const secretDiscount = await pair.polarSeller.client.discounts.create({
    body: { name: "No code", type: "percentage", basis_points: 5000, duration: "once" },
  });
  const refused: [object, string][] = [
    [{ products: product.id, trialInterval: "month", trialIntervalCount: 9 }, "Only the seller sets a trial"],
    [{ products: product.id, discountId: secretDiscount.id }, "Discount does not exist"],
    [{ products: product.id, discountId: newId() }, "Discount does not exist"],
    [{ products: product.id, successUrl: "https://evil.example/" }, "Only a page of the organization"],
    [{ slug: "no-such-product" }, "Product does not exist"],
  ];
  pair.proxy.recorded.length = 0;
  for (const [body, message] of refused) {
    const [status, json] = await buy(body);
    expect([status, json.message]).toEqual([400, expect.stringContaining(message)]);
  }
  expect(pair.proxy.recorded.filter(({ method }) => method === "POST")).toEqual([]);
  const [status, json] = await buy({ products: newId() });
  expect([status, typeof json.message, typeof json.code]).toEqual([400, "string", "string"]);
  pair.proxy.setFault(answerWith(500, '{"detail":"secret"}'));
  const [away, said] = await buy({ products: product.id });
  expect([away, JSON.stringify(said).includes("secret")]).toEqual([503, false]);
});

test("after a purchase the user sees state, orders, benefits and portal, and nobody else's", async () => {
  const [, { url }] = await buy({ slug: "guide" });
  const client_secret = new URL(String(url)).pathname.split("/").at(-1) ?? "";
  await pair.polarSeller.client.checkoutClient.confirm({
    params: { client_secret },
    body: { customer_billing_address: { country: "FR" }, confirmation_token_id: "pm_card_visa" },
  });
  await pair.polar.runJobs();
  const token = pair.outside.session;
  const [status, state] = await call("GET", "/customer/state", token);
  expect([status, state.externalId]).toEqual([200, pair.outside.user_id]);
  const [listed, orders] = await call("GET", "/customer/orders/list", token);
  expect([listed, orders]).toMatchObject([200, { result: { items: [{ productId: product.id }] } }]);
  for (const path of ["/customer/subscriptions/list", "/customer/benefits/list", "/usage/meters/list"])
    expect((await call("GET", path, token))[0], path).toBe(200);
  const [opened, portal] = await call("GET", "/customer/portal", token);
  expect([opened, String(portal.url).startsWith(pair.polar.url)]).toEqual([200, true]);
  // The seller's own user has bought nothing.
  for (const path of ["/customer/state", "/customer/orders/list"])
    expect((await call("GET", path, pair.seller.session))[0], path).toBe(404);
});

test("the pages of a checkout and of the portal lead to those of Polar, and what it does not know stays here", async () => {
  const checkout = await pair.polarSeller.client.checkouts.create({ body: { products: [product.id] } });
  const open = async (path: string) => {
    const { status, headers } = await pair.floe.request("GET", path, { headers: { accept: "text/html" } });
    return [status, headers.location];
  };
  const opened = new URL(checkout.url);
  opened.searchParams.append("theme", "dark");
  opened.searchParams.append("embed_origin", "https://shop.example/?a=b");
  const query = "?theme=dark&embed_origin=https%3A%2F%2Fshop.example%2F%3Fa%3Db";
  expect(await open(`/checkout/${checkout.client_secret}${query}`)).toEqual([303, opened.href]);
  const { slug } = await pair.polarSeller.client.organizations.get({
    params: { id: pair.polarSeller.organization_id },
  });
  expect(await open(`/${slug}/portal?customer_session_token=x`)).toEqual([
    303,
    `${pair.proxy.url}/${slug}/portal?customer_session_token=x`,
  ]);
  expect(await open("/checkout/polar_c_nobody")).toEqual([404, undefined]);
  expect(await open("/nobody/portal")).toEqual([404, undefined]);
  expect(await open("/checkout/..%2f..%2fv1")).toEqual([404, undefined]);
  pair.proxy.setFault(
    answerWith(200, JSON.stringify({ ...JSON.parse(JSON.stringify(checkout)), url: "javascript:x" })),
  );
  expect((await open(`/checkout/${checkout.client_secret}`))[0]).not.toBe(303);
});
