import { eq } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { subscriptions } from "../../server/billing/subscriptions/tables.ts";
import { events } from "../../server/platform/db/tables.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { failedGrant, grant } from "../support/grant-rows.ts";
import { newId } from "../support/ids.ts";
import { connectedAccount, inviteTo, sellSeats, tokenOf } from "../support/portal-rows.ts";
import { payment, sellOrder } from "../support/rows.ts";
import { cards, openShop } from "../support/story.ts";

/** Rules of benefits, grants and seats that hold one fact each. */

let floe: Floe;
let seller: Seller;
beforeAll(async () => {
  floe = await start({ settings: { DISCORD_CLIENT_ID: "44551", DISCORD_CLIENT_SECRET: "a secret" } });
  seller = await floe.seller();
});
afterAll(() => floe?.close());

/** The types of the events about grants that a seller was sent, in order. */
async function listGrantEvents({ organization_id }: Seller): Promise<string[]> {
  const rows = await floe.deps.db
    .select({ type: events.type })
    .from(events)
    .where(eq(events.organization_id, organization_id))
    .orderBy(events.seq);
  return rows.map(({ type }) => type).filter((type) => type.startsWith("benefit_grant."));
}

type Shop = Awaited<ReturnType<typeof openShop>>;

/** A product that gives one note, and the note's benefit. */
async function sellNote(shop: Shop, recurring_interval: "month" | null = "month", price = 1000) {
  const product_id = await shop.sells("With a note", price, { recurring_interval });
  const { id: benefit_id } = await shop.seller.client.benefits.create({
    body: { type: "custom", description: "Note", properties: { note: "Thanks" } },
  });
  await shop.seller.client.products.setBenefits({ params: { id: product_id }, body: { benefits: [benefit_id] } });
  await floe.runJobs();
  return { product_id, benefit_id };
}

test("BEN-06: the same benefit by a subscription and by an order is two grants, each of one of them", async () => {
  const shop = await openShop(floe, "2026-06-01");
  const { product_id, benefit_id } = await sellNote(shop);
  const subscription_id = await shop.subscribes(product_id);
  const { customer_id } = await shop.get(subscription_id);
  const once = await shop.sells("Once", 500, { recurring_interval: null });
  await shop.seller.client.products.setBenefits({ params: { id: once }, body: { benefits: [benefit_id] } });
  await floe.runJobs();
  const { client_secret } = await shop.seller.client.checkouts.create({ body: { products: [once], customer_id } });
  await floe.client().checkoutClient.confirm({ params: { client_secret }, body: payment });
  await floe.runJobs();
  const { items } = await shop.seller.client.benefits.grants({ params: { id: benefit_id }, query: {} });
  expect(items.map((one) => [one.subscription_id !== null, one.order_id !== null]).sort()).toEqual([
    [false, true],
    [true, false],
  ]);
});

test("BEN-07: a grant is granted, revoked or neither with an error; each replaces the others", async () => {
  const other = await floe.seller("states");
  const { id } = await grant(floe, other);
  const read = async () => {
    const [one] = (await other.client.benefitGrants.list({ query: {} })).items.filter((row) => row.id === id);
    return [one?.is_granted, one?.granted_at !== null, one?.is_revoked, one?.revoked_at !== null, one?.error];
  };
  expect(await read()).toEqual([true, true, false, false, null]);
  const [order] = (await other.client.orders.list({ query: {} })).items;
  await other.client.refunds.create({
    body: { order_id: order?.id ?? "", amount: 1900, reason: "customer_request", revoke_benefits: true },
  });
  await floe.runJobs();
  expect(await read()).toEqual([false, false, true, true, null]);

  const failing = await floe.seller("failing");
  const failed_id = await failedGrant(floe, failing);
  const [failed] = (await failing.client.benefitGrants.list({ query: {} })).items.filter((row) => row.id === failed_id);
  expect([failed?.is_granted, failed?.is_revoked]).toEqual([false, false]);
  expect(failed?.error).toMatchObject({ message: expect.any(String), type: expect.any(String) });
});

test("BEN-08: what is granted already is not granted a second time", async () => {
  const shop = await openShop(floe, "2026-06-01");
  const { product_id, benefit_id } = await sellNote(shop);
  await shop.subscribes(product_id);
  const before = await listGrantEvents(shop.seller);
  // Setting the same benefits again, and a later run of the jobs, offers the same grant once more.
  await shop.seller.client.products.setBenefits({ params: { id: product_id }, body: { benefits: [benefit_id] } });
  await floe.runJobs();
  expect(await listGrantEvents(shop.seller)).toEqual(before);
  const { pagination } = await shop.seller.client.benefits.grants({ params: { id: benefit_id }, query: {} });
  expect(pagination.total_count).toBe(1);
});

test("BEN-12: a change that matters updates live grants with an event each, and no revoked one", async () => {
  const shop = await openShop(floe, "2026-06-01");
  const product_id = await shop.sells("With a key", 1000);
  const { id: benefit_id } = await shop.seller.client.benefits.create({
    body: { type: "license_keys", description: "Key", properties: { limit_usage: 5 } },
  });
  await shop.seller.client.products.setBenefits({ params: { id: product_id }, body: { benefits: [benefit_id] } });
  const [, ended] = [await shop.subscribes(product_id), await shop.subscribes(product_id)];
  await shop.accepted("DELETE", `/v1/subscriptions/${ended}`);
  await floe.runJobs();
  const count = async () => (await listGrantEvents(shop.seller)).filter((type) => type.endsWith(".updated")).length;
  const before = await count();
  await shop.accepted("PATCH", `/v1/benefits/${benefit_id}`, { type: "license_keys", description: "Another name" });
  await floe.runJobs();
  expect((await count()) - before).toBe(0);
  const properties = { limit_usage: 9 };
  await shop.accepted("PATCH", `/v1/benefits/${benefit_id}`, { type: "license_keys", properties });
  await floe.runJobs();
  expect((await count()) - before).toBe(1);
});

test("BEN-13, ORD-18: a paid renewal cycles every live grant; one that is not paid cycles none", async () => {
  const shop = await openShop(floe, "2026-06-01");
  const { product_id } = await sellNote(shop);
  const paid = await shop.subscribes(product_id);
  const refused = await shop.subscribes(product_id);
  const { customer_id } = await shop.get(refused);
  const payment_method_id = await shop.leaves(customer_id, cards.failing);
  await floe.deps.db.update(subscriptions).set({ payment_method_id }).where(eq(subscriptions.id, refused));
  const count = async () => (await listGrantEvents(shop.seller)).filter((type) => type.endsWith(".cycled")).length;
  expect(await count()).toBe(0);
  await shop.on("2026-07-01");
  expect([(await shop.get(paid)).status, (await shop.get(refused)).status]).toEqual(["active", "past_due"]);
  expect(await count()).toBe(1);
});

test("BEN-15: a deleted customer is granted nothing, and loses what they had", async () => {
  const shop = await openShop(floe, "2026-06-01");
  const { product_id, benefit_id } = await sellNote(shop);
  const { customer_id } = await shop.get(await shop.subscribes(product_id));
  await shop.seller.client.customers.delete({ params: { id: customer_id }, query: {} });
  await floe.runJobs();
  const { items } = await shop.seller.client.benefits.grants({ params: { id: benefit_id }, query: {} });
  expect(items.map((one) => one.is_granted)).toEqual([false]);
  const { id: later } = await shop.seller.client.benefits.create({
    body: { type: "custom", description: "Later", properties: {} },
  });
  await shop.seller.client.products.setBenefits({
    params: { id: product_id },
    body: { benefits: [benefit_id, later] },
  });
  await floe.runJobs();
  expect((await shop.seller.client.benefits.grants({ params: { id: later }, query: {} })).items).toEqual([]);
});

test("BEN-16: grants are listed by customer and by whether they are granted", async () => {
  const shop = await openShop(floe, "2026-06-01");
  const { product_id, benefit_id } = await sellNote(shop);
  const [live, ended] = [await shop.subscribes(product_id), await shop.subscribes(product_id)];
  await shop.accepted("DELETE", `/v1/subscriptions/${ended}`);
  await floe.runJobs();
  const { customer_id } = await shop.get(live);
  const listOf = async (query: object) => {
    const one = await shop.seller.client.benefits.grants({ params: { id: benefit_id }, query });
    const all = await shop.seller.client.benefitGrants.list({ query });
    expect(all.items.map(({ id }) => id).sort()).toEqual(one.items.map(({ id }) => id).sort());
    return one.items.map((row) => row.subscription_id);
  };
  expect((await listOf({})).sort()).toEqual([live, ended].sort());
  expect(await listOf({ customer_id: [customer_id] })).toEqual([live]);
  expect(await listOf({ is_granted: false })).toEqual([ended]);
  expect(await listOf({ is_granted: true })).toEqual([live]);
});

test("SUB-43: another product takes away what only the old one gave, adds what is new and keeps the rest", async () => {
  const shop = await openShop(floe, "2026-06-01");
  const { product_id, benefit_id: old } = await sellNote(shop);
  const { product_id: other, benefit_id: added } = await sellNote(shop);
  const { id: both } = await shop.seller.client.benefits.create({
    body: { type: "custom", description: "Both", properties: {} },
  });
  for (const [id, own] of [
    [product_id, old],
    [other, added],
  ] as const)
    await shop.seller.client.products.setBenefits({ params: { id }, body: { benefits: [own, both] } });
  await floe.runJobs();
  const id = await shop.subscribes(product_id);
  const { customer_id } = await shop.get(id);
  const list = async () =>
    (await shop.seller.client.benefitGrants.list({ query: { customer_id: [customer_id] } })).items;
  const kept = (await list()).find((one) => one.benefit_id === both);
  expect(await shop.changes(id, { product_id: other })).toBe("done");
  await floe.runJobs();
  const after = (await list()).filter((one) => one.is_granted);
  expect(after.map((one) => one.benefit_id).sort()).toEqual([added, both].sort());
  expect(after.find((one) => one.benefit_id === both)?.granted_at).toEqual(kept?.granted_at);
});

test("SEAT-06, SEAT-10: seats left are those bought less pending and claimed; an invitation opens one once", async () => {
  const { subscription_id } = await sellSeats(floe, seller, 3);
  const left = async () => (await seller.client.customerSeats.list({ query: { subscription_id } })).available_seats;
  expect(await left()).toBe(3);
  const { seat, token } = await inviteTo(floe, seller, subscription_id);
  expect([seat.status, await left()]).toEqual(["pending", 2]);
  const claim = (invitation_token: string) =>
    floe.request("POST", "/v1/customer-seats/claim", { body: { invitation_token } });
  const claimed = await claim(token);
  expect([claimed.status, claimed.json]).toEqual([
    200,
    expect.objectContaining({ customer_session_token: expect.any(String) }),
  ]);
  expect(await left()).toBe(2);
  const second = await inviteTo(floe, seller, subscription_id);
  await seller.client.customerSeats.revoke({ params: { seat_id: second.seat.id } });
  expect(await left()).toBe(2);
  // Used, withdrawn and wrong alike.
  for (const refused of [token, second.token, newId()]) {
    const { status, json } = await claim(refused);
    expect([status, (json as { error: string }).error]).toEqual([400, "InvalidInvitationToken"]);
  }
});

test("CUP-21: a customer changes the account of a grant and nothing else; one that is not connected is refused", async () => {
  const token = await tokenOf(seller);
  const order_id = await sellOrder(floe, seller);
  const body = { type: "custom" as const, description: "Thanks", properties: {} };
  const customer_id = (await seller.client.customers.getExternal({ params: { external_id: "row-1" } })).id;
  const { id } = await grant(floe, seller, body, { customer_id });
  await connectedAccount(floe, seller);
  const change = async (sent: object) => {
    const { status } = await floe.request("PATCH", `/v1/customer-portal/benefit-grants/${id}`, { token, body: sent });
    const [row] = (await seller.client.benefitGrants.list({ query: { customer_id: [customer_id] } })).items;
    return { status, row };
  };
  const { row: before } = await change({ benefit_type: "custom" });
  for (const properties of [{ account_id: "2" }, { account_id: newId() }])
    expect((await change({ benefit_type: "custom", properties })).status).toBe(422);
  expect((await change({ benefit_type: "discord" })).status).toBe(422);
  const sent = { is_granted: false, granted_at: null, order_id, benefit_id: newId(), error: { message: "x" } };
  const { row: after } = await change({ benefit_type: "custom", ...sent, properties: { note: "mine" } });
  expect(after).toEqual(before);
});
