import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { type Floe, start } from "../support/floe.ts";
import { meterShops } from "../support/metered.ts";

/** Usage that comes late belongs to the period in which it happened: the terms of that period say what it costs. */

let floe: Floe;
beforeAll(async () => {
  floe = await start();
});
afterAll(() => floe?.close());
const metered = meterShops(() => floe);
const { open } = metered;
afterEach(async () => {
  expect(floe.logged.filter((line) => line.startsWith("error"))).toEqual([]);
  await metered.verify();
});

type Shop = Awaited<ReturnType<typeof open>>["shop"];
/** What each order has asked for usage. */
const billed = async (shop: Shop, id: string): Promise<number[]> => {
  const { items } = await shop.seller.client.orders.list({
    query: { subscription_id: [id], sorting: ["created_at"], limit: 100 } as never,
  });
  return items.map((order) =>
    order.items.filter(({ label }) => label.startsWith("Tokens")).reduce((sum, { amount }) => sum + amount, 0),
  );
};

test.each([
  ["at its cap costs nothing more", { cap_amount: 500 }, 0, [9], [4], [], [500, 0]],
  ["below its cap fills that, and not the next one's", { cap_amount: 500 }, 0, [2], [2], [9], [200, 700]],
  ["reaches its cap", { cap_amount: 500 }, 0, [2], [9], [], [200, 300]],
  ["is covered by its own credit", {}, 10, [], [8], [10], [0, 1000]],
  ["is beyond its own credit", {}, 10, [7], [8], [1], [0, 600]],
  ["is the greatest value of it", { func: "max" }, 0, [9], [20], [5], [900, 1600]],
  ["is no greater value", { func: "max" }, 0, [9], [7], [5], [900, 500]],
  ["is a lesser value, which takes nothing back", { func: "min" }, 0, [9], [5], [6], [900, 600]],
  ["raises the average", { func: "avg" }, 0, [4], [8], [1], [400, 300]],
  ["is a value that was seen in it, and one that was not", { func: "unique" }, 0, [1, 2], [2, 3], [3], [200, 200]],
  ["counts", { func: "count" }, 0, [1], [1, 1], [1], [100, 300]],
])("SUB-21: late usage of a period that %s", async (_, terms, units, january, late, february, expected) => {
  const { shop, id, use, credit } = await open({ unit_amount: "100", ...terms });
  if (units > 0) await credit(units);
  for (const n of january) await use(n);
  await shop.on("2027-02-01");
  for (const n of late) await use(n, "2027-01-20T00:00:00Z");
  for (const n of february) await use(n);
  const { charges } = await shop.seller.client.subscriptions.forecast({ params: { id } });
  await shop.on("2027-03-01");
  expect((await billed(shop, id)).slice(1)).toEqual(expected);
  expect(charges[0]?.due_amount).toBe(1000 + (expected[1] ?? 0));
  await shop.on("2027-04-01");
  expect((await billed(shop, id)).slice(3)).toEqual([0]);
});

test("SUB-21: late usage comes in parts, and its line says which period it is of", async () => {
  const { shop, id, use, lands, event, meters } = await open({ unit_amount: "100", cap_amount: 500 });
  await use(1);
  await shop.on("2027-02-01");
  expect(await lands(event(2, "2027-01-20T00:00:00Z"))).toEqual(["late late 2027-02-01 2027-03-01"]);
  // The balance of the period that runs is its own.
  expect(await meters()).toEqual([[0, 0, 0]]);
  await shop.on("2027-03-01");
  expect(await shop.lines(id)).toEqual([
    ["API", 1000],
    ["Tokens — (2 consumed units) × $1.00 — late, used 2027-01-20", 200],
  ]);
  await use(9, "2027-01-21T00:00:00Z");
  await shop.on("2027-04-01");
  expect((await shop.lines(id)).at(-1)).toEqual([
    "Tokens — (9 consumed units) × $1.00 — Capped at $5.00 — late, used 2027-01-21",
    200,
  ]);
});

test("SUB-22: late usage of a stretch before a change of plan is billed at the price of that stretch", async () => {
  const { shop, id, use, fixed, metered: by } = await open({ unit_amount: "100" });
  await use(3);
  await shop.on("2027-01-10");
  const dearer = await shop.sells("Dearer", [fixed(1000), by("200")]);
  const plain = await shop.sells("Plain", [fixed(1000)]);
  expect(await shop.changes(id, { product_id: dearer, proration_behavior: "invoice" })).toBe("done");
  await use(5, "2027-01-05T00:00:00Z");
  await shop.on("2027-01-20");
  expect(await shop.changes(id, { product_id: plain, proration_behavior: "prorate" })).toBe("done");
  await shop.on("2027-02-01");
  expect((await billed(shop, id)).reduce((sum, one) => sum + one, 0)).toBe(800);
  // Nobody pays for the meter any more, and what was used before that is billed nevertheless.
  await use(2, "2027-01-15T00:00:00Z");
  await use(100);
  await shop.on("2027-03-01");
  expect((await billed(shop, id)).at(-1)).toBe(400);
});

test("MTR-29: late usage of a time before the subscription is billed in no way", async () => {
  const { shop, id, use } = await open({ func: "max", unit_amount: "100" });
  await use(50, "2026-12-31T00:00:00Z");
  await use(3);
  await shop.on("2027-02-01");
  expect((await billed(shop, id)).at(-1)).toBe(300);
});

test("SUB-22: late usage that comes in a pause is billed when it goes on", async () => {
  const { shop, id, use } = await open({ unit_amount: "100" });
  await use(3);
  expect(await shop.changes(id, { pause_at_period_end: true })).toBe("done");
  await shop.on("2027-02-10");
  await use(2, "2027-01-20T00:00:00Z");
  await use(100);
  expect(await shop.changes(id, { resume: true })).toBe("done");
  expect((await billed(shop, id)).slice(1)).toEqual([300, 200]);
});

test("BEN-53: credit that has gone on covers late usage of the period that it was given in, once", async () => {
  const { shop, id, use, event, meters } = await open({ unit_amount: "100" });
  const { product, meters: own } = await shop.get(id);
  const properties = { meter_id: own[0]?.meter_id, units: 10, rollover: true };
  const benefit = await shop.accepted("POST", "/v1/benefits/", {
    type: "meter_credit",
    description: "Free",
    properties,
  });
  await shop.accepted("POST", `/v1/products/${product.id}/benefits`, { benefits: [benefit.id] });
  await shop.on("2027-01-02");
  await shop.on("2027-02-01");
  expect(await meters()).toEqual([[0, 20, 0]]);
  await shop.accepted("POST", "/v1/events/ingest", { events: [event(8, "2027-01-20T00:00:00Z")] });
  expect(await meters()).toEqual([[0, 12, 0]]);
  await use(15);
  await shop.on("2027-03-01");
  expect((await billed(shop, id)).at(-1)).toBe(300);
});
