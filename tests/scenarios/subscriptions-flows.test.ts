import { eq } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { organization } from "../../server/identity/organizations/tables.ts";
import { type Floe, start } from "../support/floe.ts";
import { cards, openShop } from "../support/story.ts";

/** Flows and worked examples, date by date: what is told, in which order, and what it comes to. */

let floe: Floe;
beforeAll(async () => {
  floe = await start();
});
afterAll(() => floe?.close());
afterEach(() => {
  expect(floe.logged.filter((line) => line.startsWith("error"))).toEqual([]);
});

const started = ["subscription.created", "subscription.active", "subscription.updated"];
const paid = ["order.created paid", "order.updated paid", "order.paid paid"];
const ended = ["subscription.updated", "subscription.canceled", "subscription.revoked"];
const week = { trial_interval: "day", trial_interval_count: 7 };

describe("starts", () => {
  test("WHK-31, SUB-03, SUB-60: bought, it is told of before its order", async () => {
    const shop = await openShop(floe, "2027-01-15T10:00:00Z");
    const product = await shop.sells("Pro", 1000);
    await shop.told();
    const id = await shop.subscribes(product);
    expect(await shop.told()).toEqual([...started, ...paid]);
    expect(await shop.get(id)).toMatchObject({
      status: "active",
      started_at: new Date("2027-01-15T10:00:00Z"),
      current_period_start: new Date("2027-01-15T10:00:00Z"),
      current_period_end: new Date("2027-02-15T10:00:00Z"),
      trial_start: null,
      canceled_at: null,
    });
  });

  test("WHK-32, ORD-07, ORD-21: with a trial the same is told; its order is of nothing, paid, and has a number", async () => {
    const shop = await openShop(floe, "2027-01-15");
    const discount_id = await shop.gives({ duration: "once", basis_points: 5000 });
    const product = await shop.sells("Pro", 1000, week);
    await shop.told();
    const id = await shop.subscribes(product, { checkout: { discount_id } });
    expect(await shop.told()).toEqual([...started, ...paid]);
    expect(await shop.state(id)).toBe("trialing 500 2027-01-15 to 2027-01-22");
    const [order] = (await shop.seller.client.orders.list({ query: {} as never })).items;
    expect(order).toMatchObject({ billing_reason: "subscription_create", total_amount: 0, discount: null });
    expect(order?.items).toMatchObject([{ amount: 0, product_price_id: null }]);
    expect(order?.items[0]?.label).toMatch(/^Trial period for Pro/);
    expect(order?.invoice_number).toMatch(/-0*1$/);
  });

  test("SUB-04: what it costs is the sum of its prices without the discount's part; use costs nothing yet", async () => {
    const shop = await openShop(floe, "2027-01-15");
    const meter = await shop.accepted("POST", "/v1/meters/", {
      name: "Calls",
      filter: { conjunction: "and", clauses: [] },
      aggregation: { func: "count" },
    });
    const use = { amount_type: "metered_unit", meter_id: meter.id, unit_amount: "0.5" };
    const product = await shop.sells("Pro", [{ amount_type: "fixed", price_amount: 3000 }, use]);
    const discount_id = await shop.gives({ duration: "forever", basis_points: 2000 });
    const id = await shop.subscribes(product, { checkout: { discount_id } });
    await shop.on("2027-02-15");
    expect([(await shop.get(id)).amount, await shop.amounts(id)]).toEqual([
      2400,
      ["3000 - 600 = 2400", "3000 - 600 = 2400"],
    ]);
  });
});

describe("the calendar", () => {
  test("POL-05, POL-06: begun on the 31st it never sticks at a shorter month; a month's trial from it ends on its last day", async () => {
    const shop = await openShop(floe, "2028-01-31T23:30:00Z");
    const id = await shop.subscribes(await shop.sells("Pro", 1000));
    const month = { trial_interval: "month", trial_interval_count: 1 };
    const tried = await shop.subscribes(await shop.sells("Tried", 1000, month));
    const ends: string[] = [];
    for (let left = 6; left > 0; left -= 1) {
      const { current_period_end } = await shop.get(id);
      ends.push(current_period_end.toISOString().slice(5, 16));
      await shop.on(current_period_end.toISOString());
    }
    expect(ends).toEqual(["02-29T23:30", "03-31T23:30", "04-30T23:30", "05-31T23:30", "06-30T23:30", "07-31T23:30"]);
    expect((await shop.orders(tried)).slice(0, 3)).toEqual([
      "2028-01-31T23:30 create 0 paid",
      "2028-02-29T23:30 cycle 1000 paid",
      "2028-03-31T23:30 cycle 1000 paid",
    ]);
    // Its day is that of the trial's end (SUB-15): the period that began on 29 March was billed when it was looked at.
    expect((await shop.get(tried)).current_period_start).toEqual(new Date("2028-07-29T23:30:00Z"));
  });

  test("neither the server's time zone nor its daylight saving moves a period", async () => {
    const zone = process.env.TZ;
    process.env.TZ = "America/New_York";
    try {
      // There, 02:30 of 14 March 2027 does not exist, and 01:30 of 7 November comes twice.
      const shop = await openShop(floe, "2027-02-14T07:30:00Z");
      const monthly = await shop.subscribes(await shop.sells("Monthly", 1000));
      const daily = await shop.subscribes(await shop.sells("Daily", 1000, { recurring_interval: "day" }));
      await shop.on("2027-03-14T07:30:00Z");
      expect(await shop.state(monthly)).toBe("active 1000 2027-03-14T07:30 to 2027-04-14T07:30");
      await shop.on("2027-03-15T07:30:00Z");
      expect(await shop.state(daily)).toBe("active 1000 2027-03-15T07:30 to 2027-03-16T07:30");
      expect((await shop.orders(daily)).length).toBe(30);
      const late = await openShop(floe, "2027-11-07T05:30:00Z");
      const weekly = await late.subscribes(await late.sells("Weekly", 1000, { recurring_interval: "week" }));
      await late.on("2027-11-14T05:29:59Z");
      expect((await late.orders(weekly)).length).toBe(1);
      await late.on("2027-11-14T05:30:00Z");
      expect(await late.state(weekly)).toBe("active 1000 2027-11-14T05:30 to 2027-11-21T05:30");
    } finally {
      if (zone === undefined) delete process.env.TZ;
      else process.env.TZ = zone;
    }
  });

  test("SUB-13: a pause whose end is noticed late goes on when it was to", async () => {
    const shop = await openShop(floe, "2027-06-01");
    const id = await shop.subscribes(await shop.sells("Pro", 1000));
    expect(await shop.changes(id, { pause_at_period_end: true, resumes_at: "2027-08-15T06:00:00Z" })).toBe("done");
    await shop.on("2027-07-01");
    await shop.on("2027-08-20T12:00:00Z");
    expect(await shop.state(id)).toBe("active 1000 2027-08-15T06:00 to 2027-09-15T06:00");
  });

  test("SUB-45: a trial that is given later begins when it is given", async () => {
    const shop = await openShop(floe, "2027-06-01");
    const id = await shop.subscribes(await shop.sells("Pro", 1000, week));
    await shop.on("2027-07-20");
    expect(await shop.changes(id, { trial_end: "2027-08-20T00:00:00Z" })).toBe("done");
    expect(await shop.get(id)).toMatchObject({
      status: "trialing",
      trial_start: new Date("2027-07-20"),
      trial_end: new Date("2027-08-20"),
    });
    // Another product's trial counts from there (SUB-42).
    const month = { trial_interval: "month", trial_interval_count: 2 };
    expect(await shop.changes(id, { product_id: await shop.sells("Long", 2000, month) })).toBe("done");
    expect(await shop.state(id)).toBe("trialing 2000 2027-07-08 to 2027-09-20");
  });
});

describe("changes", () => {
  const graduated = (...tiers: [number, number | null, number][]) => [
    {
      amount_type: "seat_based",
      seat_tiers: {
        seat_tier_type: "graduated",
        tiers: tiers.map(([min_seats, max_seats, price_per_seat]) => ({ min_seats, max_seats, price_per_seat })),
      },
    },
  ];
  test.each([
    ["2026-06-01", -10_000, 30_000],
    ["2026-06-30T23:59:59Z", 0, 0],
    ["2026-06-16", -5000, 15_000],
  ])("SUB-35: at %s of June, %i and %i", async (on, credit, debit) => {
    const shop = await openShop(floe, "2026-06-01");
    const [a, b] = [await shop.sells("Old", 10_000), await shop.sells("New", 30_000)];
    const id = await shop.subscribes(a);
    await shop.set(on);
    await shop.told();
    const { charge } = await shop.previews(id, { product_id: b, proration_behavior: "invoice" });
    expect(charge?.derivation.lines.map(({ amount }) => amount) ?? []).toEqual([credit, debit].filter(Boolean));
    expect(await shop.changes(id, { product_id: b, proration_behavior: "invoice" })).toBe("done");
    // Where nothing is left of the period there is nothing to bill (SUB-36).
    expect(await shop.told()).toEqual(["subscription.updated", ...(debit ? paid : [])]);
  });

  test("SUB-37: another interval is charged at once, also with prorate; a card that fails leaves all as it was", async () => {
    const shop = await openShop(floe, "2026-06-01");
    const [a, b] = [
      await shop.sells("Month", 10_000),
      await shop.sells("Year", 100_000, { recurring_interval: "year" }),
    ];
    const id = await shop.subscribes(a);
    const { customer_id } = await shop.get(id);
    const good = await shop.leaves(customer_id, cards.other);
    const bad = await shop.leaves(customer_id, cards.failing);
    expect(await shop.changes(id, { payment_method_id: bad })).toBe("done");
    await shop.set("2026-06-16");
    const change = { product_id: b, proration_behavior: "prorate" };
    const { quote } = await shop.previews(id, change);
    const before = await shop.state(id);
    await shop.told();
    expect(await shop.changes(id, { ...change, quote })).toBe("402 PaymentFailed");
    expect([await shop.told(), await shop.state(id)]).toEqual([[], before]);
    // With another card it is made, on the same quote.
    expect(await shop.changes(id, { payment_method_id: good })).toBe("done");
    await shop.told();
    expect(await shop.changes(id, { ...change, quote })).toBe("done");
    expect(await shop.told()).toEqual(["subscription.updated", ...paid]);
    expect(await shop.orders(id)).toEqual(["2026-06-01 create 10000 paid", "2026-06-16 update 95000 paid"]);
    expect(await shop.state(id)).toBe("active 100000 2026-06-16 to 2027-06-16");
  });

  test("from free to paid with a card at hand, and from paid to free", async () => {
    const shop = await openShop(floe, "2026-06-01");
    const [free, pro] = [await shop.sells("Free", [{ amount_type: "free" }]), await shop.sells("Pro", 10_000)];
    const id = await shop.subscribes(free, { card: null });
    const card = await shop.leaves((await shop.get(id)).customer_id, cards.good);
    expect(await shop.changes(id, { payment_method_id: card })).toBe("done");
    await shop.set("2026-06-16");
    expect(await shop.changes(id, { product_id: pro, proration_behavior: "invoice" })).toBe("done");
    expect(await shop.lines(id)).toEqual([["Pro — From Jun 16, 2026 to Jul 1, 2026", 5000]]);
    await shop.set("2026-06-21");
    expect(await shop.changes(id, { product_id: free, proration_behavior: "invoice" })).toBe("done");
    expect(await shop.lines(id)).toEqual([["Remaining time on Pro — From Jun 21, 2026 to Jul 1, 2026", -3333]]);
    expect(await shop.balance(id)).toBe(3333);
  });

  test.each([
    ["invoice", "2026-06-16 update -6000 due 0 paid"],
    ["prorate", "2026-07-01 cycle -6000 due 0 paid"],
  ])("what is given back has the tax that was paid for it, also where what follows is free: %s", async (as, order) => {
    const shop = await openShop(floe, "2026-06-01");
    await shop.accepted("POST", "/v1/tax/registrations", { country: "FR" });
    const price = { amount_type: "fixed", price_amount: 10_000, tax_behavior: "exclusive" };
    const [pro, free] = [await shop.sells("Pro", [price]), await shop.sells("Free", [{ amount_type: "free" }])];
    const id = await shop.subscribes(pro);
    await shop.set("2026-06-16");
    expect(await shop.changes(id, { product_id: free, proration_behavior: as })).toBe("done");
    await shop.on("2026-07-01");
    expect(await shop.orders(id)).toContain(order);
    expect(await shop.balance(id)).toBe(6000);
  });

  test("SUB-34: put off, a product with seats comes with as many as can be bought of it", async () => {
    const shop = await openShop(floe, "2026-06-01");
    const id = await shop.subscribes(await shop.sells("Pro", 1000));
    const team = await shop.sells("Team", graduated([3, 10, 1000]));
    expect(await shop.changes(id, { product_id: team, proration_behavior: "next_period" })).toBe("done");
    // Other changes can be made meanwhile.
    expect(await shop.changes(id, { cancel_at_period_end: true })).toBe("done");
    expect(await shop.changes(id, { cancel_at_period_end: false })).toBe("done");
    await shop.on("2026-07-01");
    expect([await shop.orders(id), (await shop.get(id)).seats]).toEqual([
      ["2026-06-01 create 1000 paid", "2026-07-01 cycle 3000 paid"],
      3,
    ]);
    const big = await shop.sells("Big", graduated([1, 5, 2000]));
    expect(await shop.changes(id, { product_id: big, proration_behavior: "next_period" })).toBe("done");
    expect(await shop.changes(id, { seats: 8, proration_behavior: "next_period" })).toBe("done");
    await shop.on("2026-08-01");
    expect([(await shop.orders(id)).at(-1), (await shop.get(id)).seats]).toEqual(["2026-08-01 cycle 10000 paid", 5]);
  });

  test("SUB-30, SUB-12: ended now, what was not billed yet is billed last, and nothing of what was paid comes back", async () => {
    const shop = await openShop(floe, "2026-06-01");
    const id = await shop.subscribes(await shop.sells("Old", 10_000));
    await shop.set("2026-06-16");
    expect(await shop.changes(id, { product_id: await shop.sells("New", 30_000) })).toBe("done");
    await shop.told();
    expect(await shop.changes(id, { revoke: true })).toBe("done");
    expect(await shop.told()).toEqual([...ended, "order.created pending", ...paid.slice(1)]);
    expect(await shop.orders(id)).toEqual(["2026-06-01 create 10000 paid", "2026-06-16 cycle 10000 paid"]);
    expect(await shop.balance(id)).toBe(0);
  });

  test("SEAT-01: each range at its own price, at its borders and over the last, renewed and changed", async () => {
    const shop = await openShop(floe, "2026-06-01");
    const prices = graduated([1, 5, 1000], [6, 10, 800], [11, null, 500]);
    const id = await shop.subscribes(await shop.sells("Team", prices), { checkout: { seats: 5 } });
    await shop.set("2026-06-16");
    expect(await shop.changes(id, { seats: 6, proration_behavior: "invoice" })).toBe("done");
    expect(await shop.lines(id)).toEqual([["Team (5 → 6 seats)", 400]]);
    expect(await shop.changes(id, { seats: 11, proration_behavior: "invoice" })).toBe("done");
    expect((await shop.lines(id)).map(([, amount]) => amount)).toEqual([1850]);
    await shop.on("2026-07-01");
    expect((await shop.get(id)).amount).toBe(9500);
    expect((await shop.amounts(id)).at(-1)).toBe("9500 - 0 = 9500");
  });

  test("SUB-46, SUB-48: the seats that it has forget those that were to come; in a trial others cost nothing", async () => {
    const shop = await openShop(floe, "2026-06-01");
    const bySeat = graduated([2, null, 1000]);
    const id = await shop.subscribes(await shop.sells("Team", bySeat), { checkout: { seats: 3 } });
    expect(await shop.changes(id, { seats: 9, proration_behavior: "next_period" })).toBe("done");
    expect(await shop.changes(id, { seats: 3 })).toBe("done");
    expect((await shop.get(id)).pending_update).toBeNull();
    expect(await shop.changes(id, { seats: 1 })).toBe("400 BadRequest");
    const tried = await shop.subscribes(await shop.sells("Tried", bySeat, week), { checkout: { seats: 3 } });
    await shop.told();
    expect(await shop.changes(tried, { seats: 6, proration_behavior: "invoice" })).toBe("done");
    expect(await shop.told()).toEqual(["subscription.updated"]);
    await shop.on("2026-06-08");
    expect(await shop.orders(tried)).toEqual(["2026-06-01 create 0 paid", "2026-06-08 cycle 6000 paid"]);
  });
});

describe("who is behind with payments", () => {
  const behind = async () => {
    const shop = await openShop(floe, "2026-06-24");
    const id = await shop.subscribes(await shop.sells("Pro", 1000, week), { card: cards.failing });
    await shop.on("2026-07-01");
    const good = await shop.leaves((await shop.get(id)).customer_id, cards.good);
    return { shop, id, good };
  };

  test("SUB-54: and is leaving, is not charged by leaving another card", async () => {
    const { shop, id, good } = await behind();
    expect(await shop.changes(id, { cancel_at_period_end: true })).toBe("done");
    await shop.told();
    expect(await shop.changes(id, { payment_method_id: good })).toBe("done");
    expect(await shop.told()).toEqual(["subscription.updated"]);
    expect((await shop.orders(id)).at(-1)).toBe("2026-07-01 cycle 1000 pending");
    // Who stays after all is charged, by that card.
    expect(await shop.changes(id, { cancel_at_period_end: false })).toBe("done");
    await floe.runJobs();
    expect(await shop.told()).toEqual([
      ...["subscription.updated", "subscription.uncanceled"],
      ...["subscription.updated", "subscription.active", "order.updated paid", "order.paid paid"],
    ]);
  });

  /** Behind since 10 June, and paused from the 17th. */
  const pausedBehind = async () => {
    const shop = await openShop(floe, "2026-06-01");
    const id = await shop.subscribes(await shop.sells("Pro", 1000, { recurring_interval: "week" }));
    const bad = await shop.leaves((await shop.get(id)).customer_id, cards.failing);
    expect(await shop.changes(id, { pause_at_period_end: true })).toBe("done");
    expect(await shop.changes(id, { trial_end: "2026-06-20T00:00:00Z" })).toBe("done");
    expect(await shop.changes(id, { payment_method_id: bad })).toBe("done");
    await shop.set("2026-06-10");
    expect(await shop.changes(id, { trial_end: "now" })).toBe("done");
    expect((await shop.get(id)).status).toBe("past_due");
    await shop.on("2026-06-17");
    expect((await shop.get(id)).status).toBe("paused");
    await shop.told();
    return { shop, id };
  };
  test("and pauses, is charged again meanwhile; paid, nothing is missing when it goes on", async () => {
    const { shop, id } = await pausedBehind();
    const good = await shop.leaves((await shop.get(id)).customer_id, cards.good);
    await shop.told();
    expect(await shop.changes(id, { payment_method_id: good })).toBe("done");
    expect(await shop.told()).toEqual([
      "subscription.updated",
      "subscription.updated",
      "order.updated paid",
      "order.paid paid",
    ]);
    expect(await shop.get(id)).toMatchObject({ status: "paused", past_due_at: null });
    await shop.set("2026-06-20");
    expect(await shop.changes(id, { resume: true })).toBe("done");
    expect(await shop.state(id)).toBe("active 1000 2026-06-20 to 2026-06-27");
  });
  test("and goes on, is behind still, and ends where nothing is paid", async () => {
    const { shop, id } = await pausedBehind();
    await shop.set("2026-06-20");
    expect(await shop.changes(id, { resume: true })).toBe("done");
    expect(await shop.told()).toEqual(["subscription.updated", "subscription.resumed", "order.created pending"]);
    expect(await shop.state(id)).toBe("past_due 1000 2026-06-20 to 2026-06-27");
    for (const date of ["2026-06-24", "2026-07-01T00:01:00Z"]) await shop.on(date);
    expect((await shop.get(id)).status).toBe("canceled");
    expect((await shop.orders(id)).filter((line) => line.endsWith("pending"))).toEqual([]);
  });

  test("SUB-54: a last order that is refused brings nothing back to life, and is not charged again", async () => {
    const shop = await openShop(floe, "2026-06-01");
    const id = await shop.subscribes(await shop.sells("Old", 10_000));
    const bad = await shop.leaves((await shop.get(id)).customer_id, cards.failing);
    expect(await shop.changes(id, { payment_method_id: bad })).toBe("done");
    await shop.set("2026-06-16");
    expect(await shop.changes(id, { product_id: await shop.sells("New", 30_000) })).toBe("done");
    expect(await shop.changes(id, { cancel_at_period_end: true })).toBe("done");
    await shop.told();
    await shop.on("2026-07-01");
    expect(await shop.told()).toEqual([...ended, "order.created pending"]);
    await shop.on("2026-09-01");
    expect(await shop.told()).toEqual([]);
    expect(await shop.get(id)).toMatchObject({ status: "canceled", payment_retries: null });
  });
});

test("WHK-41, RFD-12: what goes back of a renewal is told of with its order, and the subscription goes on", async () => {
  const shop = await openShop(floe, "2027-01-15");
  const id = await shop.subscribes(await shop.sells("Pro", 1000));
  await shop.on("2027-02-15");
  const [order] = (await shop.seller.client.orders.list({ query: { subscription_id: [id], limit: 1 } as never })).items;
  const refund = (amount: number) =>
    shop.send("POST", "/v1/refunds/", { order_id: order?.id, amount, reason: "other", revoke_benefits: false });
  await shop.told();
  expect((await refund(400)).status).toBe(201);
  await floe.runJobs();
  expect(await shop.told()).toEqual([
    "refund.created",
    "order.updated partially_refunded",
    "order.refunded partially_refunded",
  ]);
  expect((await refund(600)).status).toBe(201);
  await floe.runJobs();
  expect(await shop.told()).toEqual(["refund.created", "order.updated refunded", "order.refunded refunded"]);
  expect((await refund(1)).json.error).toBe("RefundedAlready");
  const revoking = { order_id: order?.id, amount: 1, reason: "other", revoke_benefits: true };
  expect((await shop.send("POST", "/v1/refunds/", revoking)).status).toBeGreaterThanOrEqual(400);
  await shop.on("2027-03-15");
  expect((await shop.orders(id)).map((line) => line.split(" ").slice(-1)[0])).toEqual(["paid", "refunded", "paid"]);
});

test("SUB-11: a seller who is blocked renews nothing, and all of it is caught up afterwards", async () => {
  const shop = await openShop(floe, "2027-01-15");
  const id = await shop.subscribes(await shop.sells("Pro", 1000));
  const { organization_id } = shop.seller;
  const block = (blocked_at: Date | null) =>
    floe.deps.db.update(organization).set({ blocked_at }).where(eq(organization.id, organization_id));
  await block(new Date());
  await shop.on("2027-02-20");
  await block(null);
  expect((await shop.orders(id)).length).toBe(1);
  await shop.on("2027-02-20T01:00:00Z");
  expect(await shop.state(id)).toBe("active 1000 2027-02-15 to 2027-03-15");
});

test("SUB-09: lists have the active, or those that have ended; who is behind is in neither", async () => {
  const shop = await openShop(floe, "2026-06-24");
  const product = await shop.sells("Pro", 1000, week);
  const trialing = await shop.subscribes(await shop.sells("Long", 1000, { ...week, trial_interval_count: 40 }));
  const behind = await shop.subscribes(product, { card: cards.failing });
  const gone = await shop.subscribes(product);
  expect(await shop.changes(gone, { revoke: true })).toBe("done");
  await shop.on("2026-07-01");
  const listed = async (query: object) =>
    (await shop.seller.client.subscriptions.list({ query: query as never })).items.map(({ id }) => id);
  expect(await listed({ active: true })).toEqual([trialing]);
  expect(await listed({ active: false })).toEqual([gone]);
  expect(await listed({ status: ["past_due"] })).toEqual([behind]);
});

test("ORD-10: a renewal has what is known of subscription and customer by then", async () => {
  const shop = await openShop(floe, "2027-01-15");
  const id = await shop.subscribes(await shop.sells("Pro", 1000), { checkout: { metadata: { plan: "first" } } });
  expect(await shop.changes(id, { metadata: { plan: "second" } })).toBe("done");
  const { customer_id } = await shop.get(id);
  await shop.accepted("PATCH", `/v1/customers/${customer_id}`, { name: "Ada Lovelace" });
  await shop.on("2027-02-15");
  const { items } = await shop.seller.client.orders.list({ query: { subscription_id: [id] } as never });
  expect(items[0]).toMatchObject({ metadata: { plan: "second" }, billing_name: "Ada Lovelace" });
  expect(items[1]).toMatchObject({ metadata: { plan: "first" }, billing_name: "Buyer" });
});
