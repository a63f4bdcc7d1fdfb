import { eq } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { orders } from "../../server/billing/orders/tables.ts";
import { type Floe, start } from "../support/floe.ts";
import { openShop } from "../support/story.ts";

/** What subscriptions come to with discounts and with the customer's balance, by worked examples. */

let floe: Floe;
beforeAll(async () => {
  floe = await start();
});
afterAll(() => floe?.close());
afterEach(() => {
  expect(floe.logged.filter((line) => line.startsWith("error"))).toEqual([]);
});

const paid = ["order.created paid", "order.updated paid", "order.paid paid"];
const renewed = ["subscription.cycled", "subscription.updated", "order.created pending", ...paid.slice(1)];
const week = { trial_interval: "day", trial_interval_count: 7 };

describe("discounts", () => {
  test.each([
    [1999, { basis_points: 2500 }, "1999 - 500 = 1499"],
    [1250, { basis_points: 1000 }, "1250 - 125 = 1125"],
    [999, { basis_points: 5000 }, "999 - 500 = 499"],
    [2000, { amount: 2500 }, "2000 - 2000 = 0"],
  ])("DSC-16: of %i, %j", async (price, off, wanted) => {
    const shop = await openShop(floe, "2027-01-15");
    const discount_id = await shop.gives({ duration: "forever", ...off });
    const id = await shop.subscribes(await shop.sells("Pro", price), { checkout: { discount_id } });
    await shop.on("2027-02-15");
    expect(await shop.amounts(id)).toEqual([wanted, wanted]);
  });

  const both = (fixed: number, seat: number) => [
    { amount_type: "fixed", price_amount: fixed },
    { amount_type: "seat_based", seat_tiers: { tiers: [{ min_seats: 1, max_seats: null, price_per_seat: seat }] } },
  ];
  test.each([
    [100, 100, { basis_points: 3333 }, [33, 33]],
    [100, 200, { amount: 100 }, [33, 67]],
    [1000, 1000, { amount: 1500 }, [750, 750]],
    [1000, 500, { amount: 9999 }, [1000, 500]],
  ])("DSC-18: over %i and %i, %j is %j", async (fixed, seat, off, shares) => {
    const shop = await openShop(floe, "2027-01-15");
    const discount_id = await shop.gives({ duration: "forever", ...off });
    const id = await shop.subscribes(await shop.sells("Crew", both(fixed, seat)), {
      checkout: { discount_id, seats: 1 },
    });
    await shop.on("2027-02-15");
    const rows = await floe.deps.db.select().from(orders).where(eq(orders.subscription_id, id));
    for (const { derivation } of rows)
      expect(derivation?.lines.map(({ discount_amount }) => discount_amount)).toEqual(shares);
    const whole = shares.reduce((a, b) => a + b);
    // What it is said to cost is what it is charged.
    expect((await shop.get(id)).amount).toBe(fixed + seat - whole);
  });

  test("SUB-38, SUB-47: a fixed one counts once, on both sides of a change", async () => {
    const shop = await openShop(floe, "2026-06-01");
    const discount_id = await shop.gives({ duration: "forever", amount: 1000 });
    const [a, b] = [await shop.sells("Old", 10_000), await shop.sells("New", 30_000)];
    const id = await shop.subscribes(a, { checkout: { discount_id } });
    await shop.set("2026-06-16");
    expect(await shop.changes(id, { product_id: b, proration_behavior: "invoice" })).toBe("done");
    expect((await shop.lines(id)).map(([, amount]) => amount)).toEqual([-4500, 14_500]);
    expect((await shop.amounts(id)).at(-1)).toBe("10000 - 0 = 10000");
  });

  test.each([
    ["taken away", null],
    ["replaced", { duration: "forever", amount: 100 }],
  ])(
    "SUB-38: one that was %s in the period still counts for what is given back: no more than was paid",
    async (_, other) => {
      const shop = await openShop(floe, "2026-06-01");
      const half = await shop.gives({ duration: "forever", basis_points: 5000 });
      const [a, b] = [await shop.sells("Old", 10_000), await shop.sells("New", 2000)];
      const id = await shop.subscribes(a, { checkout: { discount_id: half } });
      const discount_id = other && (await shop.gives(other));
      await shop.set("2026-06-16");
      expect(await shop.changes(id, { discount_id })).toBe("done");
      expect(await shop.changes(id, { product_id: b })).toBe("done");
      await shop.on("2026-07-01");
      expect((await shop.lines(id)).map(([, amount]) => amount)).toEqual([2000, -2500, 500]);
      // From then on it is gone.
      await shop.set("2026-07-16T12:00:00Z");
      expect(await shop.changes(id, { product_id: a, proration_behavior: "invoice" })).toBe("done");
      const off = other ? 50 : 0;
      expect((await shop.lines(id)).map(([, amount]) => amount)).toEqual([-1000 + off, 5000 - off]);
    },
  );

  test("DSC-08, DSC-09: who has one keeps it when it is deleted or over", async () => {
    const shop = await openShop(floe, "2027-01-15");
    const gift = { duration: "forever", basis_points: 1000, ends_at: "2027-01-20T00:00:00Z" };
    const discount_id = await shop.gives(gift);
    const product = await shop.sells("Pro", 1000);
    const id = await shop.subscribes(product, { checkout: { discount_id } });
    const free = await shop.subscribes(product);
    await shop.on("2027-02-15");
    await shop.accepted("DELETE", `/v1/discounts/${discount_id}`);
    await shop.on("2027-03-15");
    expect(await shop.amounts(id)).toEqual(["1000 - 100 = 900", "1000 - 100 = 900", "1000 - 100 = 900"]);
    expect(await shop.changes(free, { discount_id })).toBe("422 PolarRequestValidationError discount_id");
  });

  test("DSC-22, DSC-23: the last period that it covers, and the first that it does not, which tells so", async () => {
    const shop = await openShop(floe, "2027-01-31");
    const discount_id = await shop.gives({ duration: "repeating", duration_in_months: 2, amount: 400 });
    const id = await shop.subscribes(await shop.sells("Pro", 1000), { checkout: { discount_id } });
    await shop.on("2027-02-28");
    await shop.told();
    expect((await shop.get(id)).discount_id).toBe(discount_id);
    await shop.on("2027-03-31");
    expect(await shop.told()).toEqual(renewed);
    expect(await shop.get(id)).toMatchObject({ discount_id: null, amount: 1000 });
    expect(await shop.amounts(id)).toEqual(["1000 - 400 = 600", "1000 - 400 = 600", "1000 - 0 = 1000"]);
  });

  test("SUB-05: a trial takes none of its months", async () => {
    const shop = await openShop(floe, "2027-01-01");
    const discount_id = await shop.gives({ duration: "repeating", duration_in_months: 2, basis_points: 5000 });
    const id = await shop.subscribes(await shop.sells("Pro", 1000, week), { checkout: { discount_id } });
    for (const date of ["2027-01-08", "2027-02-08", "2027-03-08"]) await shop.on(date);
    expect((await shop.amounts(id)).map((one) => one.split(" = ")[1])).toEqual(["0", "500", "500", "1000"]);
  });
});

describe("the customer's balance (ORD-02, ORD-03)", () => {
  test.each([
    [10_000, "2027-02-15 cycle 5000 due 0 paid", 5000],
    [-50, "2027-02-15 cycle 5000 due 5050 paid", 0],
  ])("%i before a renewal of 5000", async (before, order, after) => {
    const shop = await openShop(floe, "2027-01-15");
    const id = await shop.subscribes(await shop.sells("Pro", 5000));
    await shop.credits(id, before);
    await shop.told();
    await shop.on("2027-02-15");
    expect([(await shop.orders(id)).at(-1), await shop.balance(id)]).toEqual([order, after]);
    const [cycled, updated, ...rest] = renewed;
    // Paid from the balance alone it is born paid (ORD-16).
    expect(await shop.told()).toEqual(before > 0 ? [cycled, updated, ...paid] : [cycled, updated, ...rest]);
  });

  test.each([
    [10_000, 15_000],
    [-10_000, -5000],
  ])("%i before 5000 are given back", async (before, after) => {
    const shop = await openShop(floe, "2026-06-01");
    const [a, b] = [await shop.sells("Old", 12_000), await shop.sells("New", 2000)];
    const id = await shop.subscribes(a);
    await shop.credits(id, before);
    await shop.set("2026-06-16");
    await shop.told();
    expect(await shop.changes(id, { product_id: b, proration_behavior: "invoice" })).toBe("done");
    expect(await shop.told()).toEqual(["subscription.updated", ...paid]);
    expect([(await shop.orders(id)).at(-1), await shop.balance(id)]).toEqual([
      "2026-06-16 update -5000 due 0 paid",
      after,
    ]);
  });

  test("ORD-04: 30 cents are owed, and asked for with the next order", async () => {
    const shop = await openShop(floe, "2027-01-15");
    const id = await shop.subscribes(await shop.sells("Pro", 1000));
    expect(await shop.changes(id, { discount_id: await shop.gives({ duration: "once", amount: 970 }) })).toBe("done");
    await shop.told();
    await shop.on("2027-02-15");
    expect(await shop.told()).toEqual([...renewed.slice(0, 2), ...paid]);
    expect(await shop.balance(id)).toBe(-30);
    await shop.on("2027-03-15");
    expect([await shop.orders(id), await shop.balance(id)]).toEqual([
      ["2027-01-15 create 1000 paid", "2027-02-15 cycle 30 due 0 paid", "2027-03-15 cycle 1000 due 1030 paid"],
      0,
    ]);
  });

  test("ORD-05: what is bought in a checkout leaves it as it is", async () => {
    const shop = await openShop(floe, "2027-01-15");
    const product = await shop.sells("Pro", 1000);
    const first = await shop.subscribes(product);
    await shop.credits(first, 700);
    const { customer_id } = await shop.get(first);
    const second = await shop.subscribes(product, { checkout: { customer_id } });
    expect([await shop.orders(second), await shop.balance(first)]).toEqual([["2027-01-15 create 1000 paid"], 700]);
  });
});
