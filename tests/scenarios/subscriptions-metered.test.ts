import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { type Floe, start } from "../support/floe.ts";
import { meterShops } from "../support/metered.ts";
import { countQueries } from "../support/queries.ts";
import { cards, type openShop } from "../support/story.ts";

/** What is used between two renewals is billed with the second of them. */

let floe: Floe;
beforeAll(async () => {
  floe = await start();
});
afterAll(() => floe?.close());
afterEach(() => {
  expect(floe.logged.filter((line) => line.startsWith("error"))).toEqual([]);
});

const metered = meterShops(() => floe);
const { open } = metered;
// Whatever a test has done, what is kept is what the events and credits come to.
afterEach(() => metered.verify());

test("PRD-40, SUB-21: what is used is billed at the cycle to the cent, and counted from nothing after it", async () => {
  const { shop, id, use, meters } = await open();
  await use(1000);
  await use(5);
  expect(await meters()).toEqual([[1005, 0, 302]]);
  await shop.on("2027-02-01");
  expect(await shop.lines(id)).toEqual([
    ["API", 1000],
    ["Tokens — (1005 consumed units) × $0.003", 302],
  ]);
  expect(await meters()).toEqual([[0, 0, 0]]);
  // Nothing used, nothing said of it (SUB-23).
  await shop.on("2027-03-01");
  expect(await shop.lines(id)).toEqual([["API", 1000]]);
});

test("CUS-23, MTR-31: a customer's state says the same, and what was used is told once it was gathered", async () => {
  const { shop, id, use, credit } = await open({ cap_amount: 250 });
  await shop.told();
  await credit(100);
  await use(1005);
  await use(5);
  await shop.on("2027-01-02");
  expect(await shop.told()).toEqual(["subscription.updated"]);
  const { customer_id, meters } = await shop.get(id);
  const state = () => shop.seller.client.customers.getState({ params: { id: customer_id } });
  const [{ active_subscriptions }, queries] = await countQueries(floe, state);
  expect(queries).toBeLessThanOrEqual(3);
  expect(active_subscriptions[0]?.meters).toEqual(meters.map(({ meter: _, ...one }) => one));
  expect(meters).toMatchObject([{ consumed_units: 1010, credited_units: 100, amount: 250 }]);
});

describe("SUB-26: a meter interval", () => {
  const open_weekly = (more = {}) => open({ more: { meter_interval: "week", ...more } });
  const until = async (shop: Awaited<ReturnType<typeof openShop>>, id: string) => {
    const { current_meter_period_start: start, current_meter_period_end: end } = await shop.get(id);
    return [start, end].map((at) => at?.toISOString().slice(0, 10));
  };
  test("is billed by within the period, and with its end, as the forecast says", async () => {
    const { shop, id, use, meters } = await open_weekly();
    expect(await until(shop, id)).toEqual(["2027-01-01", "2027-01-08"]);
    await use(1005);
    const { charges } = await shop.seller.client.subscriptions.forecast({ params: { id } });
    expect(
      charges.slice(0, 2).map((one) => [one.at.toISOString().slice(0, 10), one.billing_reason, one.due_amount]),
    ).toEqual([
      // The client is one that knows no other reason.
      ["2027-01-08", "subscription_cycle", 302],
      ["2027-02-01", "subscription_cycle", 1000],
    ]);
    await shop.on("2027-01-08");
    expect(await shop.lines(id)).toEqual([["Tokens — (1005 consumed units) × $0.003", 302]]);
    expect([await until(shop, id), await meters()]).toEqual([["2027-01-08", "2027-01-15"], [[0, 0, 0]]]);
    // Looked at late, with use on both sides of an end that nobody has seen.
    await shop.set("2027-01-14");
    await use(100);
    await shop.set("2027-01-16");
    await use(200);
    await shop.on("2027-01-16");
    expect(await shop.lines(id)).toEqual([["Tokens — (100 consumed units) × $0.003", 30]]);
    await shop.on("2027-01-30");
    expect(await until(shop, id)).toEqual(["2027-01-29", "2027-02-01"]);
    await use(10);
    await shop.on("2027-02-01");
    expect(await shop.lines(id)).toEqual([
      ["API", 1000],
      ["Tokens — (10 consumed units) × $0.003", 3],
    ]);
    expect(await until(shop, id)).toEqual(["2027-02-01", "2027-02-08"]);
    expect((await shop.orders(id)).map((order) => order.split(" ").slice(0, 3).join(" "))).toEqual([
      "2027-01-01 create 1000",
      "2027-01-08 cycle 302",
      "2027-01-16 cycle 30",
      "2027-01-30 cycle 60",
      "2027-02-01 cycle 1003",
    ]);
  });
  test("ends with each period that nobody has looked at, too", async () => {
    const { shop, id, use } = await open_weekly();
    await shop.set("2027-01-30");
    await use(1000);
    await shop.set("2027-02-02");
    await use(100);
    await shop.on("2027-02-08");
    const all = (await shop.amounts(id)).join();
    expect(all).toBe("1000 - 0 = 1000,1300 - 0 = 1300,30 - 0 = 30");
  });
  test("bills each of several ends at once what was used until it, and nothing twice", async () => {
    const { shop, id, use } = await open();
    await use(100);
    await shop.set("2027-02-10");
    await use(1000);
    await shop.set("2027-03-10");
    await use(10_000);
    await shop.on("2027-03-10");
    await shop.on("2027-04-01");
    expect((await shop.amounts(id)).map((one) => one.split(" = ")[1]).sort()).toEqual(["1000", "1030", "1300", "4000"]);
  });
  test("takes a percentage off, no fixed discount; a refused card makes nobody past due", async () => {
    const fixed = { type: "fixed", amount: 100, currency: "usd", duration: "forever" };
    for (const [discount, amounts] of [
      [{ type: "percentage", basis_points: 1000, duration: "forever" }, "302 - 30 = 272"],
      [fixed, "302 - 0 = 302"],
    ] as const) {
      const { shop, id, use } = await open_weekly();
      const discount_id = await shop.gives(discount);
      expect(await shop.changes(id, { discount_id })).toBe("done");
      const { customer_id } = await shop.get(id);
      await shop.on("2027-02-01");
      await use(1005);
      const refused = await shop.leaves(customer_id, cards.failing);
      expect(await shop.changes(id, { payment_method_id: refused })).toBe("done");
      await shop.on("2027-02-08");
      expect([(await shop.amounts(id)).at(-1), (await shop.get(id)).status]).toEqual([amounts, "active"]);
      expect((await shop.orders(id)).at(-1)).toMatch(/pending$/);
    }
  });
  test("bills nothing in a trial, and begins with its end", async () => {
    const { shop, id, use } = await open_weekly({ trial_interval: "day", trial_interval_count: 10 });
    expect(await until(shop, id)).toEqual([undefined, undefined]);
    await use(500);
    await shop.on("2027-01-11");
    expect(await until(shop, id)).toEqual(["2027-01-11", "2027-01-18"]);
    await use(10);
    await shop.on("2027-01-18");
    expect(await shop.lines(id)).toEqual([["Tokens — (10 consumed units) × $0.003", 3]]);
  });
});

test("PRD-40: is never more than the cap; credit covers it first", async () => {
  const { shop, id, use, credit } = await open({ cap_amount: 250 });
  await use(1005);
  await shop.on("2027-02-01");
  expect(await shop.lines(id)).toContainEqual(["Tokens — (1005 consumed units) × $0.003 — Capped at $2.50", 250]);
  await credit(100);
  await use(150);
  await shop.on("2027-03-01");
  expect(await shop.lines(id)).toContainEqual(["Tokens — (50 consumed units) × $0.003", 15]);
});

test("what comes late, but before its period is billed, is billed with it", async () => {
  const { shop, id, use } = await open();
  await use(100);
  // Looked at late: what came after the period's end is of the next one (SUB-21).
  await shop.set("2027-02-03");
  await use(40);
  await use(10, "2027-01-20T00:00:00Z");
  await shop.on("2027-02-04");
  expect(await shop.lines(id)).toContainEqual(["Tokens — (110 consumed units) × $0.003", 33]);
  await shop.on("2027-03-01");
  expect((await shop.lines(id)).slice(1)).toEqual([["Tokens — (40 consumed units) × $0.003", 12]]);
});

test("each event is told the period with which it is invoiced, also where it comes again", async () => {
  const { shop, event, lands } = await open();
  const [first, other] = [
    { ...event(1), external_id: "first" },
    { ...event(1), name: "other" },
  ];
  expect(await lands(first, other)).toEqual(["counted 2027-01-01 2027-02-01", "no_meter"]);
  await shop.on("2027-02-03");
  const late = { ...event(2, "2027-01-31T00:00:00Z"), external_id: "late" };
  const early = event(3, "2026-12-31T00:00:00Z");
  expect(await lands(event(1), late, early)).toEqual([
    "counted 2027-02-01 2027-03-01",
    "late late 2027-02-01 2027-03-01",
    // Of a time before there was a subscription: it is never billed.
    "late late",
  ]);
  await shop.on("2027-03-01");
  expect(await lands(first, late, { ...late, metadata: { n: 3 } })).toEqual([
    "duplicate 2027-01-01 2027-02-01",
    "duplicate late 2027-02-01 2027-03-01",
    "conflict",
  ]);
});

test("MTR-12: what came before a meter was made is counted, and never billed, whenever it is counted", async () => {
  const { shop, metered, fixed } = await open();
  const plain = await shop.subscribes(await shop.sells("Plain", 700));
  const { customer_id } = await shop.get(plain);
  const use = (n: number) =>
    shop.accepted("POST", "/v1/events/ingest", { events: [{ name: "older", customer_id, metadata: { n } }] });
  await use(1000);
  const meter = await shop.accepted("POST", "/v1/meters/", {
    name: "Older",
    filter: { conjunction: "and", clauses: [{ property: "name", operator: "eq", value: "older" }] },
    aggregation: { func: "sum", property: "n" },
  });
  const product_id = await shop.sells("By use", [fixed(700), { ...metered("1"), meter_id: meter.id }]);
  // Before anything of it was counted.
  expect(await shop.changes(plain, { product_id, proration_behavior: "prorate" })).toBe("done");
  await use(3);
  await shop.on("2027-01-05");
  await use(4);
  const query = { customer_id: [customer_id] };
  const counted = await shop.seller.client.meters.quantities({
    params: { id: String(meter.id) },
    query: {
      start_timestamp: "2027-01-01T00:00:00Z",
      end_timestamp: "2027-01-06T00:00:00Z",
      interval: "day",
      ...query,
    } as never,
  });
  expect(counted.total).toBe(1007);
  expect((await shop.get(plain)).meters.map(({ amount }) => amount)).toEqual([7]);
  await shop.on("2027-02-01");
  expect((await shop.lines(plain)).at(-1)?.[1]).toBe(7);
});

test("BEN-55: what a credit is worth from now on counts from the next period", async () => {
  const { shop, id, event, meters } = await open();
  const {
    customer_id,
    product,
    meters: [mine],
  } = await shop.get(id);
  const properties = { meter_id: mine?.meter_id, units: 100, rollover: false };
  const benefit = await shop.accepted("POST", "/v1/benefits/", {
    type: "meter_credit",
    description: "Free",
    properties,
  });
  await shop.accepted("POST", `/v1/products/${product.id}/benefits`, { benefits: [benefit.id] });
  await shop.on("2027-01-02");
  expect(await meters()).toEqual([[0, 100, 0]]);
  const other = { type: "meter_credit", properties: { ...properties, units: 40, rollover: true } };
  await shop.accepted("PATCH", `/v1/benefits/${benefit.id}`, other);
  await shop.on("2027-01-03");
  expect(await meters()).toEqual([[0, 100, 0]]);
  await shop.accepted("POST", "/v1/events/ingest", { events: [event(30)] });
  // What was credited as not to go on does not; the next does.
  await shop.on("2027-02-01");
  expect(await meters()).toEqual([[0, 40, 0]]);
  await shop.on("2027-03-01");
  expect(await meters()).toEqual([[0, 80, 0]]);
  const { items } = await shop.seller.client.events.list({
    query: { customer_id: [customer_id], name: ["meter.credited"], sorting: ["timestamp"] } as never,
  });
  expect(items.map((one) => (one.metadata as { units?: number }).units)).toEqual([100, 40, 40, 40]);
});

test("MTR-29: what comes in a trial, or is of it and comes before anybody has looked at its end, is on no invoice", async () => {
  const { shop, id, event, lands } = await open({ more: { trial_interval: "day", trial_interval_count: 10 } });
  expect(await lands(event(500))).toEqual(["counted"]);
  await shop.set("2027-01-11");
  expect(await lands(event(7, "2027-01-05T00:00:00Z"), event(100))).toEqual([
    "late late",
    "counted 2027-01-11 2027-02-11",
  ]);
  await shop.on("2027-01-11");
  await shop.on("2027-02-11");
  expect((await shop.lines(id)).slice(1)).toEqual([["Tokens — (100 consumed units) × $0.003", 30]]);
});

test("MTR-29: a trial's use is never billed, whenever it comes", async () => {
  const { shop, id, use, meters } = await open({ more: { trial_interval: "day", trial_interval_count: 10 } });
  await use(500);
  expect(await meters()).toEqual([[500, 0, 0]]);
  await shop.on("2027-01-11");
  expect(await shop.lines(id)).toEqual([["API", 1000]]);
  await use(7, "2027-01-05T00:00:00Z");
  await use(100);
  await shop.on("2027-02-11");
  expect((await shop.lines(id)).slice(1)).toEqual([["Tokens — (100 consumed units) × $0.003", 30]]);
});

test("SUB-12, SUB-30: what was used until the end is billed with a last order, and nothing after it", async () => {
  const { shop, id, use } = await open();
  await use(100);
  await shop.accepted("DELETE", `/v1/subscriptions/${id}`);
  await shop.on("2027-01-02");
  expect(await shop.lines(id)).toEqual([["Tokens — (100 consumed units) × $0.003", 30]]);
  const other = await open();
  await other.use(200);
  await other.shop.accepted("PATCH", `/v1/subscriptions/${other.id}`, { cancel_at_period_end: true });
  await other.shop.on("2027-02-01");
  expect(await other.shop.lines(other.id)).toEqual([["Tokens — (200 consumed units) × $0.003", 60]]);
});

test("several subscriptions of one customer that are renewed at once bill each what its own meter has counted", async () => {
  const { shop, id, use, fixed, metered } = await open();
  const { customer } = await shop.get(id);
  const other = (await shop.accepted("POST", "/v1/meters/", {
    name: "Pictures",
    filter: { conjunction: "and", clauses: [{ property: "name", operator: "eq", value: "picture" }] },
    aggregation: { func: "count" },
  })) as { id: string };
  const product = await shop.sells("Pictures", [fixed(500), { ...metered("10"), meter_id: other.id }]);
  const second = await shop.subscribes(product, { buyer: { customer_email: customer.email } });
  // The same meter on a further one: whoever pays already goes on paying.
  const third = await shop.subscribes(product, { buyer: { customer_email: customer.email } });
  await use(100);
  const picture = { name: "picture", customer_id: customer.id };
  await shop.accepted("POST", "/v1/events/ingest", { events: [picture, picture, picture] });
  await shop.on("2027-02-01");
  expect(await shop.lines(id)).toContainEqual(["Tokens — (100 consumed units) × $0.003", 30]);
  expect(await shop.lines(second)).toContainEqual(["Pictures — (3 consumed units) × $0.10", 30]);
  expect(await shop.lines(third)).toEqual([["Pictures", 500]]);
});

test("what was used until a pause is billed when it begins, and nothing of the pause; a last bill is as it was foretold", async () => {
  const { shop, id, use } = await open();
  await use(100);
  expect(await shop.changes(id, { pause_at_period_end: true })).toBe("done");
  await shop.on("2027-02-01");
  expect(await shop.lines(id)).toEqual([["Tokens — (100 consumed units) × $0.003", 30]]);
  await use(5000);
  await shop.on("2027-02-10");
  expect(await shop.changes(id, { resume: true })).toBe("done");
  expect(await shop.lines(id)).toEqual([["API", 1000]]);
  await use(1000);
  // Orders of one moment have no order.
  await shop.on("2027-02-10T01:00:00Z");
  const { charge } = await shop.previews(id, { revoke: true });
  await shop.accepted("DELETE", `/v1/subscriptions/${id}`);
  expect(await shop.lines(id)).toEqual([["Tokens — (1000 consumed units) × $0.003", 300]]);
  expect(charge?.due_amount).toBe(300);
});

describe("the clock of use", () => {
  const open_weekly = () => open({ more: { meter_interval: "week" } });
  /** Charged to another card from now on; what is missing is charged to it at once. */
  const charges = async (shop: Awaited<ReturnType<typeof openShop>>, id: string, card: string) => {
    const payment_method_id = await shop.leaves((await shop.get(id)).customer_id, card);
    expect(await shop.changes(id, { payment_method_id })).toBe("done");
    await floe.runJobs();
  };
  const orders = async (shop: Awaited<ReturnType<typeof openShop>>, id: string) =>
    (await shop.orders(id)).map((order) => order.replace("2027-", ""));

  test("SUB-26: is frozen while a payment is missing; what was used then is billed when it has come", async () => {
    const { shop, id, use } = await open_weekly();
    await shop.on("2027-01-31");
    await charges(shop, id, cards.failing);
    await shop.on("2027-02-01");
    expect((await shop.get(id)).status).toBe("past_due");
    await shop.set("2027-02-03");
    await use(1000);
    await shop.set("2027-02-09");
    await use(500);
    await shop.on("2027-02-12");
    expect(await orders(shop, id)).toEqual(["01-01 create 1000 paid", "02-01 cycle 1000 pending"]);
    await charges(shop, id, cards.good);
    expect((await shop.get(id)).status).toBe("active");
    expect((await orders(shop, id)).slice(1)).toEqual(["02-01 cycle 1000 paid", "02-12 cycle 300 paid"]);
    await shop.on("2027-02-15");
    expect((await orders(shop, id)).at(-1)).toBe("02-15 cycle 150 paid");
  });

  test("SUB-26: stands still in a pause, and begins anew with its end", async () => {
    const { shop, id, use } = await open_weekly();
    await shop.set("2027-01-30");
    await use(100);
    expect(await shop.changes(id, { pause_at_period_end: true })).toBe("done");
    await shop.on("2027-02-01");
    expect(await shop.get(id)).toMatchObject({ status: "paused", current_meter_period_end: null });
    await shop.set("2027-02-10");
    await use(5000);
    await shop.on("2027-02-20");
    // Too little for a card: it is owed, and asked for with the next order.
    expect(await orders(shop, id)).toEqual(["01-01 create 1000 paid", "02-01 cycle 30 due 0 paid"]);
    expect(await shop.changes(id, { resume: true })).toBe("done");
    await floe.runJobs();
    expect((await orders(shop, id)).slice(2)).toEqual(["02-20 cycle 1000 due 1030 paid"]);
    await use(1000);
    await shop.on("2027-02-27");
    expect((await orders(shop, id)).slice(3)).toEqual(["02-27 cycle 300 paid"]);
  });

  test("SUB-26, SUB-50: its order is charged again after 2, 5, 7 and 7 days, and nobody loses anything by it", async () => {
    const { shop, id, use } = await open_weekly();
    await charges(shop, id, cards.failing);
    await use(1000);
    await shop.on("2027-01-08");
    const [order] = (await shop.seller.client.orders.list({ query: { status: ["pending"] } as never })).items;
    const next = async () =>
      (await shop.seller.client.orders.get({ params: { id: order?.id ?? "" } })).next_payment_attempt_at
        ?.toISOString()
        .slice(5, 10);
    const days: unknown[] = [await next()];
    for (const day of ["2027-01-10", "2027-01-15", "2027-01-22", "2027-01-29"]) {
      await shop.on(day);
      days.push(await next());
    }
    expect(days).toEqual(["01-10", "01-15", "01-22", "01-29", undefined]);
    expect(await shop.get(id)).toMatchObject({ status: "active", past_due_at: null });
    expect((await orders(shop, id)).at(-1)).toBe("01-08 cycle 300 pending");
    await charges(shop, id, cards.good);
    expect((await orders(shop, id)).at(-1)).toBe("01-08 cycle 300 paid");
  });

  test("its order says how each line came about, as any other", async () => {
    const { shop, id, use, credit } = await open({ cap_amount: 250, more: { meter_interval: "week" } });
    await credit(100);
    await use(905);
    await shop.on("2027-01-08");
    const [order] = (await shop.seller.client.orders.list({ query: { subscription_id: [id], limit: 1 } as never }))
      .items;
    const { steps, derivation } = await shop.seller.client.orders.explain({ params: { id: order?.id ?? "" } });
    expect(derivation.lines).toMatchObject([
      {
        amount: 242,
        source: { rule: "metered", consumed_units: "905", credited_units: 100, unit_amount: "0.3", amount: 242 },
      },
    ]);
    expect(steps.filter(({ rule }) => rule === "metered")).toMatchObject([
      {
        amount: 242,
        because: "905 Tokens, 100 included, 805 × $0.003, rounded half away from zero",
      },
    ]);
  });
});

test("an event of the very instant at which a period ends is of the next one, whoever has looked", async () => {
  const { shop, id, use, lands, event } = await open();
  await shop.set("2027-01-31T23:59:59.999Z");
  await use(100);
  await shop.set("2027-02-01");
  // Nobody has renewed anything yet.
  expect(await lands(event(1000))).toEqual(["counted 2027-02-01 2027-03-01"]);
  // What is told to be of the last instant comes after it.
  expect(await lands(event(10, "2027-01-31T23:59:59.999Z"), event(20, "2027-02-01T00:00:00Z"))).toEqual([
    "late late 2027-02-01 2027-03-01",
    "counted 2027-02-01 2027-03-01",
  ]);
  await floe.runJobs();
  expect(await shop.lines(id)).toContainEqual(["Tokens — (110 consumed units) × $0.003", 33]);
  await shop.on("2027-03-01");
  expect((await shop.lines(id)).slice(1)).toEqual([["Tokens — (1020 consumed units) × $0.003", 306]]);
});
