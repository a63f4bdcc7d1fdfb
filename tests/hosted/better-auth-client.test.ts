import { polarClient } from "@polar-sh/better-auth/client";
import { createAuthClient } from "better-auth/client";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type HostedPair, startHosted } from "../support/hosted.ts";
import type { Wire } from "../support/sdks.ts";

/** The published plugin for a seller's own page, unchanged, against a listening server whose sales are at hosted Polar. */

let pair: HostedPair;
beforeAll(async () => {
  pair = await startHosted({ listen: true });
});
afterAll(() => pair.close());

/** The published client, signed in as the user of a session. */
function createSignedIn(session: string): Wire {
  const customFetchImpl: typeof fetch = (input, init) => {
    const headers = new Headers(init?.headers);
    headers.set("origin", pair.floe.url);
    headers.set("authorization", `Bearer ${session}`);
    return fetch(input, { ...init, headers });
  };
  // Its types are of another version of the published client.
  const plugins = [polarClient() as never];
  return createAuthClient({ baseURL: pair.floe.url, fetchOptions: { customFetchImpl }, plugins });
}
const read = <T>({ data, error }: { data: T; error: unknown }): T => {
  expect(error).toBeNull();
  return data;
};

test("A.8.5: polarClient() sells in hosted mode: checkout, state, portal, orders, subscriptions, benefits, meters", async () => {
  const { client: seller } = pair.polarSeller;
  const { user_id, email, session } = pair.outside;
  const clauses = [{ property: "name", operator: "eq" as const, value: "call" }];
  const meter = await seller.meters.create({
    body: { name: "Calls", filter: { conjunction: "and", clauses }, aggregation: { func: "count" } },
  });
  const properties = { meter_id: meter.id, units: 10, rollover: false };
  const credit = await seller.benefits.create({ body: { type: "meter_credit", description: "Calls", properties } });
  const { id: product } = await seller.products.create({
    body: {
      ...{ name: "Pro", recurring_interval: "month", metadata: { slug: "pro" } },
      prices: [{ amount_type: "fixed", price_amount: 900 }],
    },
  });
  await seller.products.setBenefits({ params: { id: product }, body: { benefits: [credit.id] } });
  const client = createSignedIn(session);

  for (const named of [{ products: product }, { slug: "pro" }])
    expect(read<Wire>(await client.checkout({ ...named, redirect: false })).redirect).toBe(false);
  const begun = read<Wire>(await client.checkout({ products: [product], referenceId: "page-1", redirect: false }));
  expect(String(begun.url).startsWith(pair.polar.url)).toBe(true);
  const client_secret = new URL(begun.url).pathname.split("/").pop() ?? "";
  await seller.checkoutClient.confirm({
    params: { client_secret },
    body: { customer_billing_address: { country: "FR" }, confirmation_token_id: "pm_card_visa" },
  });
  await pair.polar.runJobs();

  expect(read<Wire>(await client.customer.state())).toMatchObject({
    ...{ externalId: user_id, email },
    activeSubscriptions: [{ productId: product, metadata: { referenceId: "page-1" } }],
    grantedBenefits: [{ benefitId: credit.id, benefitType: "meter_credit" }],
    activeMeters: [{ meterId: meter.id, creditedUnits: 10, balance: 10 }],
  });
  const orders = read<Wire>(await client.customer.orders.list());
  expect(orders.result.items).toMatchObject([{ totalAmount: 900, paid: true }]);
  const subscriptions = read<Wire>(await client.customer.subscriptions.list({ query: { active: true } }));
  expect(subscriptions.result.items).toMatchObject([{ productId: product }]);
  const benefits = read<Wire>(await client.customer.benefits.list({ query: { page: 1, limit: 10 } }));
  expect(benefits.result.items.map((one: Wire) => one.benefitId)).toEqual([credit.id]);
  // Buyers send what the seller has listed, and nothing else.
  const send = (event: string, tokens: number) => client.usage.ingest({ event, metadata: { tokens } });
  expect((await send("call", 5)).error).toMatchObject({ status: 403 });
  const { update } = pair.seller.client.organizations;
  const params = { id: pair.seller.organization_id };
  expect(await update({ params, body: { customer_event_names: ["call"] } })).toMatchObject({
    customer_event_names: ["call"],
  });
  expect(read<Wire>(await send("call", 5)).inserted).toBe(1);
  expect((await send("other", 5)).error).toMatchObject({ status: 403 });
  expect((await send("call", -5)).error?.status).toBeGreaterThanOrEqual(400);
  await pair.polar.runJobs();
  const meters = read<Wire>(await client.usage.meters.list({ query: { page: 1, limit: 10 } }));
  expect(meters.result.items).toMatchObject([{ meterId: meter.id, consumedUnits: 1, balance: 9 }]);
  const { url } = read<Wire>(await client.customer.portal({ redirect: false }));
  expect(String(url).startsWith(pair.polar.url)).toBe(true);
  // Another user has bought nothing.
  expect((await createSignedIn(pair.seller.session).customer.state()).error).toMatchObject({ status: 404 });
}, 60_000);
