import { SystemEvent$inboundSchema as SystemEvent38 } from "polar-sdk-0.38/models/components/systemevent.js";
import { SystemEvent$inboundSchema as SystemEvent49 } from "polar-sdk-0.49/models/components/systemevent.js";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Floe, start } from "../support/floe.ts";
import { cards, openShop } from "../support/story.ts";

/** What floe notes itself in the list of events, from the first customer to the last refund. */

let floe: Floe;
beforeAll(async () => {
  floe = await start();
});
afterAll(() => floe?.close());

type Listed = { id: string; name: string; timestamp: string; customer_id: string | null; metadata: object };
type Shop = Awaited<ReturnType<typeof openShop>>;
/** The list as a client of a version, or of none, reads it: what floe noted, the first thing first. */
async function list(shop: Shop, version?: string, query = "source=system"): Promise<Listed[]> {
  const { status, json } = await floe.request("GET", `/v1/events/?${query}&sorting=timestamp&limit=100`, {
    token: shop.seller.key,
    ...(version && { headers: { "polar-version": version } }),
  });
  expect(status).toBe(200);
  return (json as { items: Listed[] }).items;
}

/** A customer buys, has a renewal, another product, a pause, an end, and their money back. */
async function live() {
  const shop = await openShop(floe, "2026-01-01");
  const meter = await shop.accepted("POST", "/v1/meters/", {
    name: "All of it",
    filter: { conjunction: "and", clauses: [] },
    aggregation: { func: "count" },
  });
  const benefit = await shop.accepted("POST", "/v1/benefits/", {
    ...{ type: "custom", description: "Note", properties: { note: "Thanks" } },
  });
  const [small, large] = [await shop.sells("Small", 1000), await shop.sells("Large", 3000)];
  for (const id of [small, large])
    await shop.accepted("POST", `/v1/products/${id}/benefits`, { benefits: [benefit.id] });
  const id = await shop.subscribes(small);
  const { customer_id } = await shop.get(id);
  await shop.on("2026-02-01");
  await shop.accepted("PATCH", `/v1/customers/${customer_id}`, { name: "Ada", metadata: { plan: "b" } });
  await shop.changes(id, { product_id: large, proration_behavior: "prorate" });
  await shop.changes(id, { cancel_at_period_end: true, customer_cancellation_comment: "Too dear" });
  await shop.changes(id, { cancel_at_period_end: false });
  await shop.changes(id, { pause_at_period_end: true });
  await shop.on("2026-03-02");
  await shop.changes(id, { resume: true });
  await shop.changes(id, { revoke: true });
  const failing = await shop.subscribes(small, { buyer: { customer_email: "grace@example.com" } });
  await shop.leaves((await shop.get(failing)).customer_id, cards.failing);
  const { items } = await shop.seller.client.orders.list({
    query: { subscription_id: [id], sorting: ["created_at"] } as never,
  });
  await shop.accepted("POST", "/v1/refunds/", { order_id: items[0]?.id, reason: "customer_request", amount: 400 });
  await floe.runJobs();
  return { shop, id, customer_id, meter, small, large, order_id: items[0]?.id };
}

test("MTR-05: what becomes of customers and what they buy is in the list of events, and no meter counts it", async () => {
  const { shop, id, customer_id, meter, small, large, order_id } = await live();
  const all = await list(shop, "2026-10");
  const theirs = all.filter((one) => one.customer_id === customer_id);
  const counts = Object.fromEntries(
    [...Map.groupBy(theirs, ({ name }) => name)].map(([name, some]) => [name, some.length]),
  );
  expect(counts).toMatchInlineSnapshot(`
    {
      "benefit.cycled": 1,
      "benefit.granted": 2,
      "benefit.revoked": 2,
      "customer.created": 1,
      "customer.updated": 1,
      "order.paid": 4,
      "order.refunded": 1,
      "subscription.canceled": 2,
      "subscription.created": 1,
      "subscription.cycled": 1,
      "subscription.paused": 1,
      "subscription.product_updated": 1,
      "subscription.resumed": 1,
      "subscription.revoked": 1,
      "subscription.uncanceled": 1,
      "subscription.updated": 1,
    }
  `);
  const metadataOf = (name: string) => theirs.find((one) => one.name === name)?.metadata;
  expect(metadataOf("subscription.product_updated")).toEqual({
    ...{ subscription_id: id, old_product_id: small, new_product_id: large },
  });
  expect(metadataOf("customer.updated")).toMatchObject({
    ...{ customer_id, customer_name: "Ada", updated_fields: { name: "Ada", metadata: { plan: "b" } } },
  });
  expect(metadataOf("order.refunded")).toEqual({ order_id, refunded_amount: 400, currency: "usd" });
  expect(metadataOf("order.paid")).toMatchObject({ order_id, amount: 1000, subscription_id: id, product_id: small });
  expect(metadataOf("subscription.canceled")).toMatchObject({
    customer_cancellation_comment: "Too dear",
    amount: 3000,
  });
  // By the shop's own clock, and told as it was: the event of the outbox has the same id.
  expect(theirs.find(({ name }) => name === "subscription.cycled")?.timestamp).toBe("2026-02-01T00:00:00.000Z");

  const { items: names } = await shop.seller.client.events.names({ query: { source: ["system"], limit: 100 } });
  const named = Object.fromEntries(names.map(({ name, occurrences }) => [name, occurrences]));
  expect(named).toEqual(
    Object.fromEntries([...Map.groupBy(all, ({ name }) => name)].map(([name, some]) => [name, some.length])),
  );

  expect(await list(shop, "2026-10", `meter_id=${meter.id}`)).toEqual([]);
  expect((await shop.seller.client.customerMeters.list({ query: {} })).items).toEqual([]);
});

test("MTR-05: every client reads what it knows of them, and is not shown the others", async () => {
  const { shop } = await live();
  const faults = (await list(shop, "2026-10")).flatMap((one) => {
    const { success, error } = SystemEvent49.safeParse(one);
    return success ? [] : [`${one.name}: ${error}`];
  });
  expect(faults).toEqual([]);
  const first = await list(shop);
  expect(new Set(first.map(({ name }) => name))).toEqual(
    new Set([
      ...[
        "benefit.granted",
        "benefit.cycled",
        "benefit.revoked",
        "subscription.cycled",
        "subscription.product_updated",
      ],
      "subscription.revoked",
    ]),
  );
  expect(first.every((one) => SystemEvent38.safeParse(one).success)).toBe(true);
});

/** A team takes more seats, puts off others and forgets about it, is behind with a payment, and with another one for good. */
async function grow() {
  const shop = await openShop(floe, "2026-01-01");
  const tiers = { tiers: [{ min_seats: 1, max_seats: null, price_per_seat: 100 }] };
  const product_id = await shop.sells("Team", [{ amount_type: "seat_based", seat_tiers: tiers }]);
  const id = await shop.subscribes(product_id, { checkout: { seats: 3 } });
  const { customer_id } = await shop.get(id);
  await shop.changes(id, { seats: 5, proration_behavior: "prorate" });
  await shop.changes(id, { seats: 7, proration_behavior: "invoice" });
  await shop.changes(id, { seats: 4, proration_behavior: "next_period" });
  await shop.changes(id, { pending_update: null });
  await shop.changes(id, { seats: 6, proration_behavior: "next_period" });
  await shop.on("2026-02-10");
  await shop.changes(id, { seats: 8, proration_behavior: "reset" });
  const bad = await shop.leaves(customer_id, cards.failing);
  await shop.changes(id, { payment_method_id: bad });
  await shop.on("2026-03-10");
  await shop.changes(id, { payment_method_id: await shop.leaves(customer_id, cards.good) });
  await shop.changes(id, { payment_method_id: bad });
  for (const day of ["04-10", "04-12", "04-17", "04-24", "05-01"]) await shop.on(`2026-${day}`);
  return { shop, id };
}

test("MTR-05: seats, what was put off and forgotten, and what becomes of unpaid orders is in the list, as clients read it", async () => {
  const { shop, id } = await grow();
  const all = await list(shop, "2026-10");
  const of = (name: string) => all.filter((one) => one.name === name).map(({ metadata }) => metadata);
  const subscription_id = id;
  expect(of("subscription.seats_updated")).toEqual([
    { subscription_id, old_seats: 3, new_seats: 5, proration_behavior: "prorate" },
    { subscription_id, old_seats: 5, new_seats: 7, proration_behavior: "invoice" },
    { subscription_id, old_seats: 7, new_seats: 6, proration_behavior: "next_period" },
    { subscription_id, old_seats: 6, new_seats: 8, proration_behavior: "reset" },
  ]);
  // The renewal says itself what it makes of the seats, and that a period is another one.
  expect(of("subscription.updated")).toEqual([
    { subscription_id, seats: 5, proration_behavior: "prorate" },
    { subscription_id, seats: 7, proration_behavior: "invoice" },
    expect.objectContaining({ subscription_id, seats: 8, proration_behavior: "reset" }),
  ]);
  expect(of("subscription.update_cleared")).toEqual([{ subscription_id }]);
  expect(of("subscription.past_due").length).toBe(2);
  expect(of("subscription.reactivated")).toMatchObject([{ subscription_id, amount: 800, currency: "usd" }]);
  const { items } = await shop.seller.client.orders.list({ query: { status: ["void"] } });
  expect(of("order.voided")).toEqual(items.map((one) => ({ order_id: one.id, amount: 800, currency: "usd" })));
  expect(items.length).toBe(1);
  const faults = all.flatMap((one) => {
    const { success, error } = SystemEvent49.safeParse(one);
    return success ? [] : [`${one.name}: ${error}`];
  });
  expect(faults).toEqual([]);
});

test("MTR-05: what is undone is in no list", async () => {
  const shop = await openShop(floe, "2026-01-01");
  const { status } = await shop.send("POST", "/v1/customers/", { email: "ada@example.com" });
  expect(status).toBe(201);
  expect((await shop.send("POST", "/v1/customers/", { email: "ada@example.com" })).status).toBe(422);
  expect((await list(shop, "2026-10")).map(({ name }) => name)).toEqual(["customer.created"]);
});
