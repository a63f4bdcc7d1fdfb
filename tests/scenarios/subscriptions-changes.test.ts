import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { type Floe, start } from "../support/floe.ts";
import { cards, openShop } from "../support/story.ts";

/** What becomes of a subscription that is changed in the middle of a period, to the cent. */

let floe: Floe;
beforeAll(async () => {
  floe = await start();
});
afterAll(() => floe?.close());
afterEach(() => {
  expect(floe.logged.filter((line) => line.startsWith("error"))).toEqual([]);
});

const yearly = { recurring_interval: "year" };
const ordered = ["order.created paid", "order.updated paid", "order.paid paid"];

describe("another product (SUB-36, SUB-37)", () => {
  test.each([
    ["2026-06-01", 10_000, {}, 30_000, {}, "2026-06-16", 5000, 15_000],
    ["2026-06-01", 10_000, {}, 30_000, {}, "2026-06-11", 6667, 20_000],
    ["2024-02-18", 10_000, {}, 30_000, {}, "2024-02-25", 7586, 22_759],
    ["2024-08-01", 100_000, yearly, 300_000, yearly, "2024-10-01", 83_288, 249_863],
    ["2026-06-01", 10_000, {}, 100_000, yearly, "2026-06-16", 5000, 100_000],
    ["2025-06-01", 100_000, yearly, 10_000, {}, "2025-08-13", 80_000, 10_000],
  ])(
    "from %s, %i %j to %i %j on %s: %i back, %i asked for",
    async (from, old, every, fresh, then, on, credit, debit) => {
      const shop = await openShop(floe, from);
      const [a, b] = [await shop.sells("Old", old, every), await shop.sells("New", fresh, then)];
      const id = await shop.subscribes(a);
      await shop.set(on);
      const shown = await shop.previews(id, { product_id: b, proration_behavior: "invoice" });
      expect(await shop.changes(id, { product_id: b, proration_behavior: "invoice", quote: shown.quote })).toBe("done");
      const lines = await shop.lines(id);
      expect(lines.map(([, amount]) => amount)).toEqual([-credit, debit]);
      expect(lines.map(([label]) => label.split(" — ")[0])).toEqual(["Remaining time on Old", "New"]);
      expect(shown.charge?.derivation.lines.map(({ amount }) => amount)).toEqual([-credit, debit]);
      const due = debit > credit ? "" : " due 0";
      expect((await shop.orders(id)).at(-1)).toBe(`${on} update ${debit - credit}${due} paid`);
      const { product, amount } = await shop.get(id);
      expect([product.name, amount]).toEqual(["New", fresh]);
    },
  );

  test("WHK-39: with invoice it is charged at once; the period goes on", async () => {
    const shop = await openShop(floe, "2026-06-01");
    const [a, b] = [await shop.sells("Old", 10_000), await shop.sells("New", 30_000)];
    const id = await shop.subscribes(a);
    await shop.set("2026-06-16");
    await shop.told();
    expect(await shop.changes(id, { product_id: b, proration_behavior: "invoice" })).toBe("done");
    expect(await shop.told()).toEqual(["subscription.updated", ...ordered]);
    expect(await shop.state(id)).toBe("active 30000 2026-06-01 to 2026-07-01");
    await shop.on("2026-07-01");
    expect(await shop.orders(id)).toEqual([
      "2026-06-01 create 10000 paid",
      "2026-06-16 update 10000 paid",
      "2026-07-01 cycle 30000 paid",
    ]);
  });

  test("SUB-40, SUB-41: with prorate it is billed with the next order, however often it was changed", async () => {
    const shop = await openShop(floe, "2026-06-01");
    const [a, b] = [await shop.sells("Old", 10_000), await shop.sells("New", 30_000)];
    const id = await shop.subscribes(a);
    await shop.set("2026-06-11");
    await shop.told();
    expect((await shop.previews(id, { product_id: b })).later.map(({ amount }) => amount)).toEqual([-6667, 20_000]);
    expect(await shop.changes(id, { product_id: b })).toBe("done");
    expect(await shop.told()).toEqual(["subscription.updated"]);
    await shop.set("2026-06-16");
    expect(await shop.changes(id, { product_id: a })).toBe("done");
    await shop.on("2026-07-01");
    expect((await shop.lines(id)).map(([, amount]) => amount)).toEqual([10_000, -6667, 20_000, -15_000, 5000]);
    expect(await shop.orders(id)).toEqual(["2026-06-01 create 10000 paid", "2026-07-01 cycle 13333 paid"]);
    // Once.
    await shop.on("2026-08-01");
    expect((await shop.orders(id)).at(-1)).toBe("2026-08-01 cycle 10000 paid");
  });

  test("SUB-39, ORD-02: what is given back is the customer's, and is used up by the next orders", async () => {
    const shop = await openShop(floe, "2026-06-01");
    const [a, b] = [await shop.sells("Old", 10_000), await shop.sells("New", 3000)];
    const id = await shop.subscribes(a);
    await shop.set("2026-06-16");
    expect(await shop.changes(id, { product_id: b, proration_behavior: "invoice" })).toBe("done");
    for (const date of ["2026-07-01", "2026-08-01"]) await shop.on(date);
    expect(await shop.orders(id)).toEqual([
      "2026-06-01 create 10000 paid",
      "2026-06-16 update -3500 due 0 paid",
      "2026-07-01 cycle 3000 due 0 paid",
      "2026-08-01 cycle 3000 due 2500 paid",
    ]);
  });

  test("ORD-04: what is too little to charge is owed, and asked for with the next order", async () => {
    const shop = await openShop(floe, "2026-06-01");
    const [a, b] = [await shop.sells("Old", 10_000), await shop.sells("New", 10_060)];
    const id = await shop.subscribes(a);
    await shop.set("2026-06-16");
    expect(await shop.changes(id, { product_id: b, proration_behavior: "invoice" })).toBe("done");
    await shop.on("2026-07-01");
    expect(await shop.orders(id)).toEqual([
      "2026-06-01 create 10000 paid",
      "2026-06-16 update 30 due 0 paid",
      "2026-07-01 cycle 10060 due 10090 paid",
    ]);
  });

  test("from what is free to what is not and back; free, chosen and used prices are never part of it", async () => {
    const shop = await openShop(floe, "2026-06-01");
    const [free, paid] = [await shop.sells("Free", [{ amount_type: "free" }]), await shop.sells("Paid", 10_000)];
    const id = await shop.subscribes(free, { card: null });
    await shop.set("2026-06-16");
    const up = { product_id: paid, proration_behavior: "invoice" };
    // There is no card that could be charged.
    expect(await shop.changes(id, up)).toBe("402 MissingPaymentMethod");
    expect(await shop.state(id)).toBe("active 0 2026-06-01 to 2026-07-01");
    const other = await shop.subscribes(paid);
    expect(await shop.changes(other, { product_id: free, proration_behavior: "invoice" })).toBe("done");
    expect((await shop.lines(other)).map(([, amount]) => amount)).toEqual([-10_000]);
    expect(await shop.state(other)).toBe("active 0 2026-06-16 to 2026-07-16");
  });

  test("SUB-38, ORD-09: the discount of the period counts on both sides, and not once more", async () => {
    const shop = await openShop(floe, "2026-06-01");
    const discount_id = await shop.gives({ duration: "forever", basis_points: 2000 });
    const [a, b] = [await shop.sells("Old", 10_000), await shop.sells("New", 30_000)];
    const id = await shop.subscribes(a, { checkout: { discount_id } });
    await shop.set("2026-06-16");
    expect(await shop.changes(id, { product_id: b, proration_behavior: "invoice" })).toBe("done");
    expect((await shop.orders(id)).at(-1)).toBe("2026-06-16 update 8000 paid");
    expect((await shop.lines(id)).map(([, amount]) => amount)).toEqual([-4000, 12_000]);
  });

  test.each([
    ["invoice", [-4000, 15_000], "2026-06-16 update 11000 paid", "2026-07-01 cycle 30000 paid"],
    ["prorate", [30_000, -4000, 15_000], "2026-07-01 cycle 41000 paid", "2026-08-01 cycle 30000 paid"],
    ["reset", [-4000, 30_000], "2026-06-16 update 26000 paid", "2026-07-16 cycle 30000 paid"],
    ["next_period", [30_000], "2026-07-01 cycle 30000 paid", "2026-08-01 cycle 30000 paid"],
  ])(
    "SUB-64: a discount that is limited to the old product ends with the change: %s",
    async (how, amounts, ...made) => {
      const shop = await openShop(floe, "2026-06-01");
      const [a, b] = [await shop.sells("Old", 10_000), await shop.sells("New", 30_000)];
      const discount_id = await shop.gives({ duration: "forever", basis_points: 2000, products: [a] });
      const id = await shop.subscribes(a, { checkout: { discount_id } });
      await shop.set("2026-06-16");
      const body = { product_id: b, proration_behavior: how };
      const { after } = await shop.previews(id, body);
      expect(await shop.changes(id, body)).toBe("done");
      const kept = how === "next_period";
      expect([after.discount_id, after.amount]).toEqual(kept ? [discount_id, 8000] : [null, 30_000]);
      expect((await shop.get(id)).discount?.id ?? null).toBe(after.discount_id);
      const forecast = await shop.accepted("GET", `/v1/subscriptions/${id}/forecast`);
      const next = (forecast.charges as { due_amount: number }[])[0]?.due_amount;
      const isNow = how === "invoice" || how === "reset";
      if (!isNow) await shop.on("2026-07-01");
      expect((await shop.lines(id)).map(([, amount]) => amount)).toEqual(amounts);
      for (const date of how === "reset" ? ["2026-07-16"] : ["2026-07-01", "2026-08-01"]) await shop.on(date);
      const orders = await shop.orders(id);
      for (const order of made) expect(orders).toContain(order);
      expect(next).toBe(Number(/ (\d+) paid/.exec(orders.find((order) => order.includes(" cycle ")) ?? "")?.[1]));
      expect(await shop.get(id)).toMatchObject({ discount: null, amount: 30_000 });
    },
  );

  test("SUB-64: what is good for both goes on; what is sent with a change has to be good for the new product", async () => {
    const shop = await openShop(floe, "2026-06-01");
    const [a, b] = [await shop.sells("Old", 10_000), await shop.sells("New", 30_000)];
    const both = await shop.gives({ duration: "forever", basis_points: 1000, products: [a, b] });
    const old = await shop.gives({ duration: "forever", basis_points: 2000, products: [a] });
    const fresh = await shop.gives({ duration: "forever", basis_points: 3000, products: [b] });
    const id = await shop.subscribes(a, { checkout: { discount_id: both } });
    await shop.set("2026-06-16");
    const now = { product_id: b, proration_behavior: "invoice" };
    expect(await shop.changes(id, { ...now, discount_id: old })).toMatch(/^422/);
    expect(await shop.changes(id, now)).toBe("done");
    expect((await shop.get(id)).discount?.id).toBe(both);
    const other = await shop.subscribes(a, { checkout: { discount_id: old } });
    expect(await shop.changes(other, { ...now, discount_id: fresh })).toBe("done");
    expect(await shop.get(other)).toMatchObject({ amount: 21_000, discount: { id: fresh } });
  });

  test("SUB-34: with next_period it comes with the next period, at the prices of then and now; the last word counts", async () => {
    const shop = await openShop(floe, "2026-06-01");
    const [a, b, c] = [await shop.sells("Old", 1000), await shop.sells("New", 3000), await shop.sells("Third", 500)];
    const id = await shop.subscribes(a);
    expect(await shop.changes(id, { product_id: c, proration_behavior: "next_period" })).toBe("done");
    expect(await shop.changes(id, { product_id: b, proration_behavior: "next_period" })).toBe("done");
    expect((await shop.get(id)).pending_update).toMatchObject({
      product_id: b,
      seats: null,
      applies_at: new Date("2026-07-01T00:00:00Z"),
    });
    // The same once more changes nothing, so nothing is said (WHK-40).
    const waiting = (await shop.get(id)).pending_update;
    await shop.told();
    expect(await shop.changes(id, { product_id: b, proration_behavior: "next_period" })).toBe("done");
    expect([await shop.told(), (await shop.get(id)).pending_update]).toEqual([[], waiting]);
    // Its prices are others by the time it comes: what was agreed to holds.
    await shop.accepted("PATCH", `/v1/products/${b}`, { prices: [{ amount_type: "fixed", price_amount: 9900 }] });
    await shop.on("2026-07-01");
    expect((await shop.orders(id)).at(-1)).toBe("2026-07-01 cycle 3000 paid");
    expect(await shop.get(id)).toMatchObject({ product_id: b, pending_update: null });
    expect(await shop.changes(id, { product_id: a, proration_behavior: "next_period" })).toBe("done");
    expect(await shop.changes(id, { pending_update: null })).toBe("done");
    await shop.on("2026-08-01");
    expect((await shop.orders(id)).at(-1)).toBe("2026-08-01 cycle 3000 paid");
  });

  test("reset: a new period begins now", async () => {
    const shop = await openShop(floe, "2026-06-01");
    const [a, b] = [await shop.sells("Old", 10_000), await shop.sells("New", 30_000)];
    const id = await shop.subscribes(a);
    await shop.set("2026-06-16");
    expect(await shop.changes(id, { product_id: b, proration_behavior: "reset" })).toBe("done");
    expect((await shop.lines(id)).map(([, amount]) => amount)).toEqual([-5000, 30_000]);
    expect(await shop.state(id)).toBe("active 30000 2026-06-16 to 2026-07-16");
  });

  test("SUB-42: in a trial costs nothing; the trial is the new product's", async () => {
    const shop = await openShop(floe, "2026-06-01");
    const trial = (days: number) => ({ trial_interval: "day", trial_interval_count: days });
    const week = await shop.sells("Week", 1000, trial(7));
    const month = await shop.sells("Month", 2000, trial(30));
    const none = await shop.sells("None", 3000);
    const id = await shop.subscribes(week);
    expect(await shop.changes(id, { product_id: month, proration_behavior: "invoice" })).toBe("done");
    expect(await shop.state(id)).toBe("trialing 2000 2026-06-01 to 2026-07-01");
    await shop.set("2026-06-05");
    expect(await shop.changes(id, { product_id: none })).toBe("done");
    expect(await shop.state(id)).toBe("active 3000 2026-06-05 to 2026-07-05");
    expect(await shop.orders(id)).toEqual(["2026-06-01 create 0 paid", "2026-06-05 cycle 3000 paid"]);
  });

  test("SUB-39: refused by the card, nothing has changed, and nobody is told", async () => {
    const shop = await openShop(floe, "2026-06-01");
    const trial = { trial_interval: "day", trial_interval_count: 7 };
    const [a, b] = [await shop.sells("Old", 10_000, trial), await shop.sells("New", 30_000)];
    const id = await shop.subscribes(a);
    await shop.on("2026-06-08");
    const { customer_id } = await shop.get(id);
    const failing = await shop.leaves(customer_id, cards.failing);
    expect(await shop.changes(id, { payment_method_id: failing })).toBe("done");
    await shop.set("2026-06-16");
    const before = await shop.get(id);
    await shop.told();
    expect(await shop.changes(id, { product_id: b, proration_behavior: "invoice" })).toBe("402 PaymentFailed");
    expect([await shop.told(), await shop.get(id), (await shop.orders(id)).length]).toEqual([[], before, 2]);
    expect(await shop.changes(id, { product_id: b })).toBe("done");
  });

  test("SUB-33, WHK-40: is refused where there is none to be had; the same at the same price is no change", async () => {
    const shop = await openShop(floe, "2026-06-01");
    const a = await shop.sells("Old", 10_000);
    const id = await shop.subscribes(a);
    const gone = await shop.sells("Gone", 100);
    await shop.accepted("PATCH", `/v1/products/${gone}`, { is_archived: true });
    const once = await shop.sells("Once", 100, { recurring_interval: null });
    const open = await shop.sells("Open", [{ amount_type: "custom" }]);
    const stranger = await (await openShop(floe, "2026-06-01")).sells("Theirs", 100);
    for (const product_id of [gone, once, open, stranger, "018f3b5e-0000-7000-8000-000000000000"])
      expect(await shop.changes(id, { product_id })).toMatch(/^422 \w+ product_id$/);
    await shop.told();
    expect(await shop.changes(id, { product_id: a })).toBe("done");
    expect(await shop.told()).toEqual([]);
    // New prices of the same product are a change.
    await shop.accepted("PATCH", `/v1/products/${a}`, { prices: [{ amount_type: "fixed", price_amount: 12_000 }] });
    expect(await shop.changes(id, { product_id: a })).toBe("done");
    expect((await shop.get(id)).amount).toBe(12_000);
  });
});

const tiers = {
  seat_tier_type: "volume",
  tiers: [
    { min_seats: 1, max_seats: 9, price_per_seat: 1000 },
    { min_seats: 10, max_seats: 100, price_per_seat: 800 },
  ],
};
const bySeat = [{ amount_type: "seat_based", seat_tiers: tiers }];

describe("seats (SUB-46 to SUB-48)", () => {
  test.each([
    ["no discount", null],
    ["a fixed discount", { duration: "forever", amount: 1000 }],
  ])("SUB-47: 5 to 12 at half of the period, with %s, is 2300", async (_, discount) => {
    const shop = await openShop(floe, "2026-06-01");
    const more = discount ? { discount_id: await shop.gives(discount) } : {};
    const id = await shop.subscribes(await shop.sells("Team", bySeat), { checkout: { seats: 5, ...more } });
    await shop.set("2026-06-16");
    expect(await shop.changes(id, { seats: 12, proration_behavior: "invoice" })).toBe("done");
    expect(await shop.lines(id)).toEqual([["Team (5 → 12 seats)", 2300]]);
    expect(await shop.get(id)).toMatchObject({ seats: 12, amount: discount ? 8600 : 9600 });
  });

  test("SUB-47: what more or fewer seats come to is cut, not rounded, in both directions", async () => {
    const shop = await openShop(floe, "2026-06-01");
    const id = await shop.subscribes(await shop.sells("Team", bySeat), { checkout: { seats: 5 } });
    await shop.set("2026-06-11");
    // Two thirds of the period are left.
    for (const [seats, amount] of [
      [6, 666],
      [5, -666],
    ] as const) {
      expect(await shop.changes(id, { seats, proration_behavior: "invoice" })).toBe("done");
      expect((await shop.lines(id)).map((line) => line[1])).toEqual([amount]);
    }
  });

  test("fewer are given back for, and what is refused is refused", async () => {
    const shop = await openShop(floe, "2026-06-01");
    const id = await shop.subscribes(await shop.sells("Team", bySeat), { checkout: { seats: 5 } });
    await shop.set("2026-06-16");
    await shop.told();
    expect(await shop.changes(id, { seats: 5 })).toBe("done");
    expect(await shop.told()).toEqual([]);
    for (const seats of [0, -1, 101]) expect(await shop.changes(id, { seats })).toBe("400 BadRequest");
    expect(await shop.changes(id, { seats: 3 })).toBe("done");
    expect(await shop.changes(id, { seats: 4, proration_behavior: "next_period" })).toBe("done");
    expect((await shop.get(id)).pending_update).toMatchObject({ seats: 4, product_id: null });
    await shop.on("2026-07-01");
    expect((await shop.lines(id)).map(([, amount]) => amount)).toEqual([4000, -1000]);
    const plain = await shop.subscribes(await shop.sells("Pro", 100));
    expect(await shop.changes(plain, { seats: 2 })).toBe("400 NotASeatBasedSubscription");
  });

  test("a change of seats and one of the product that are put off come together", async () => {
    const shop = await openShop(floe, "2026-06-01");
    const id = await shop.subscribes(await shop.sells("Team", bySeat), { checkout: { seats: 5 } });
    const big = await shop.sells("Big", [
      { amount_type: "seat_based", seat_tiers: { tiers: [{ min_seats: 1, max_seats: null, price_per_seat: 2000 }] } },
    ]);
    expect(await shop.changes(id, { seats: 7, proration_behavior: "next_period" })).toBe("done");
    expect(await shop.changes(id, { product_id: big, proration_behavior: "next_period" })).toBe("done");
    expect((await shop.get(id)).pending_update).toMatchObject({ seats: 7, product_id: big });
    await shop.on("2026-07-01");
    expect((await shop.orders(id)).at(-1)).toBe("2026-07-01 cycle 14000 paid");
  });
});

describe("previews", () => {
  test("change nothing; a quote is charged exactly, a quarter of an hour long, and for the change that it is of", async () => {
    const shop = await openShop(floe, "2026-06-01");
    const [a, b] = [await shop.sells("Old", 10_000), await shop.sells("New", 30_000)];
    const id = await shop.subscribes(a);
    await shop.set("2026-06-16T12:00:00Z");
    await shop.told();
    const before = await shop.get(id);
    const change = { product_id: b, proration_behavior: "invoice" };
    const { quote, charge } = await shop.previews(id, change);
    expect([await shop.told(), await shop.get(id)]).toEqual([[], before]);
    await shop.set("2026-06-16T12:16:00Z");
    expect(await shop.changes(id, { ...change, quote })).toBe("409 QuoteChanged");
    await shop.set("2026-06-16T12:10:00Z");
    expect(await shop.changes(id, { ...change, proration_behavior: "reset", quote })).toBe("409 QuoteChanged");
    expect(await shop.changes(id, { ...change, quote: `${quote}x` })).toBe("409 QuoteChanged");
    expect(await shop.changes(id, { ...change, quote: "nonsense" })).toBe("409 QuoteChanged");
    expect(await shop.changes(id, { ...change, quote })).toBe("done");
    expect((await shop.orders(id)).at(-1)).toBe(`2026-06-16T12:10 update ${charge?.due_amount} paid`);
    // It cannot be sent twice.
    expect(await shop.changes(id, { ...change, quote })).toBe("409 QuoteChanged");
  });

  test("are no longer good for what became another since: a price, a discount, the balance, the subscription", async () => {
    const shop = await openShop(floe, "2026-06-01");
    const [a, b] = [await shop.sells("Old", 10_000), await shop.sells("New", 30_000)];
    const discount_id = await shop.gives({ duration: "forever", basis_points: 1000 });
    const change = { product_id: b, proration_behavior: "invoice" };
    const others: Record<string, (id: string) => Promise<unknown>> = {
      price: () =>
        shop.accepted("PATCH", `/v1/products/${b}`, { prices: [{ amount_type: "fixed", price_amount: 31_000 }] }),
      balance: (id) => shop.credits(id, 500),
      "discount of the subscription": (id) => shop.changes(id, { discount_id: null }),
      "end of the period": (id) => shop.changes(id, { current_billing_period_end: "2026-07-20T00:00:00Z" }),
    };
    for (const [what, changeOther] of Object.entries(others)) {
      await shop.set("2026-06-01");
      const id = await shop.subscribes(a, { checkout: { discount_id } });
      await shop.set("2026-06-16T12:00:00Z");
      const { quote } = await shop.previews(id, change);
      await changeOther(id);
      const before = [await shop.get(id), await shop.orders(id)];
      expect([what, await shop.changes(id, { ...change, quote })]).toEqual([what, "409 QuoteChanged"]);
      expect([await shop.get(id), await shop.orders(id)]).toEqual(before);
      // What is shown then is what is charged.
      const { quote: fresh, charge } = await shop.previews(id, change);
      expect(await shop.changes(id, { ...change, quote: fresh })).toBe("done");
      expect((await shop.orders(id)).at(-1)).toContain(`${charge?.due_amount} paid`);
    }
  });
});
