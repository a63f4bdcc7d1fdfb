import { createPolar as createPolar04 } from "@polar-sh/sdk/2026-04";
import { createPolar as createPolar10 } from "@polar-sh/sdk/2026-10";
import { createPolar as createPolar27 } from "@polar-sh/sdk/2027-01";
import { Polar as Polar38 } from "polar-sdk-0.38";
import { Polar as Polar49 } from "polar-sdk-0.49";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { buyerOf, leaveCard, sellSeats, tokenOf } from "../support/portal-rows.ts";
import { rowOf, sellOrder } from "../support/rows.ts";
import type { Wire } from "../support/sdks.ts";

/** The published clients read customers' own place: each checks every answer against its own types. */

let floe: Floe;
let seller: Seller;
let token: string;
let slug: string;
let bought: { order_id: string; subscription_id: string };
beforeAll(async () => {
  floe = await start({ listen: true });
  seller = await floe.seller();
  await sellOrder(floe, seller, await buyerOf(seller));
  bought = await sellSeats(floe, seller, 3);
  await leaveCard(floe, seller);
  await rowOf.portalMeters(floe, seller);
  await rowOf.portalKeys(floe, seller);
  await rowOf.portalDownloads(floe, seller);
  await seller.client.customerSeats.assign({
    body: { subscription_id: bought.subscription_id, customer_id: await buyerOf(seller), immediate_claim: true },
  });
  token = await tokenOf(seller);
  slug = (await seller.client.organizations.get({ params: { id: seller.organization_id } })).slug;
});
afterAll(() => floe?.close());

const idsOf = (list: Wire) => (list.result ?? list).items.map(({ id }: { id: string }) => id);

test.each([
  ["0.38.1", Polar38],
  ["0.49.0", Polar49],
])("%s reads all of it", async (name, Polar) => {
  const { customerPortal: portal } = new Polar({ serverURL: floe.url }) as Wire;
  const as = { customerSession: token };
  expect((await portal.customers.get(as)).email).toBe("row@example.com");
  expect((await portal.customers.update(as, { billingName: "Row Ltd" })).billingName).toBe("Row Ltd");
  expect(idsOf(await portal.customers.listPaymentMethods(as, {}))).not.toEqual([]);
  const orders = await portal.orders.list(as, {});
  expect(idsOf(orders)).toContain(bought.order_id);
  const order = await portal.orders.get(as, { id: bought.order_id });
  expect([order.id, order.product.name]).toEqual([bought.order_id, "Team"]);
  const subscriptions = await portal.subscriptions.list(as, {});
  expect(idsOf(subscriptions)).toEqual([bought.subscription_id]);
  expect((await portal.subscriptions.get(as, { id: bought.subscription_id })).seats ?? 3).toBe(3);
  expect(idsOf(await portal.customerMeters.list(as, {}))).toHaveLength(1);
  const [key] = idsOf(await portal.licenseKeys.list(as, {}));
  expect((await portal.licenseKeys.get(as, { id: key })).activations).toEqual([]);
  expect(idsOf(await portal.downloadables.list(as, {}))).toHaveLength(1);
  expect((await portal.organizations.get({ slug })).products.length).toBeGreaterThan(0);
  if (name === "0.38.1") return;
  expect((await portal.seats.listSeats(as, { subscriptionId: bought.subscription_id })).totalSeats).toBe(3);
});

test.each([
  ["2026-04", createPolar04],
  ["2026-10", createPolar10],
  ["2027-01", createPolar27],
])("1.0.1 (%s) reads all of it", async (_, create) => {
  const { customerPortal: portal } = create({ baseUrl: floe.url, accessToken: token, timeout: 30 } as never) as Wire;
  expect((await portal.customers.get()).email).toBe("row@example.com");
  expect((await portal.customerSession.introspect()).expires_at).toBeDefined();
  expect(idsOf(await portal.customers.listPaymentMethods({}))).not.toEqual([]);
  expect(idsOf(await portal.orders.list({}))).toContain(bought.order_id);
  expect((await portal.orders.get(bought.order_id)).product.name).toBe("Team");
  expect(idsOf(await portal.subscriptions.list({}))).toEqual([bought.subscription_id]);
  expect((await portal.seats.listSeats({ subscription_id: bought.subscription_id })).total_seats).toBe(3);
  expect((await portal.organizations.get(slug)).organization.slug).toBe(slug);
});
