import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Floe, start } from "../support/floe.ts";
import { openChance } from "../support/simulated-world.ts";
import { openShop } from "../support/story.ts";

/** What a subscription is said to be charged in a year is what it is charged. */

let floe: Floe;
beforeAll(async () => {
  floe = await start();
});
afterAll(() => floe?.close());

type Shop = Awaited<ReturnType<typeof openShop>>;
/** Hold a forecast against what comes, day by day as it said. */
async function live(shop: Shop, id: string) {
  const told = await shop.seller.client.subscriptions.forecast({ params: { id } });
  const before = (await shop.orders(id)).length;
  for (const { at } of told.charges) await shop.on(at.toISOString());
  const { items } = await shop.seller.client.orders.list({
    query: { subscription_id: [id], sorting: ["created_at"], limit: 100 } as never,
  });
  const billed = items.slice(before).map((order) => ({
    at: order.created_at,
    total: order.total_amount,
    due: order.due_amount,
    lines: order.items.map(({ label, amount }) => [label, amount]),
  }));
  const said = told.charges.map(({ at, derivation, due_amount }) => ({
    at,
    total: derivation.total_amount,
    due: due_amount,
    lines: derivation.lines.map(({ label, amount }) => [label, amount]),
  }));
  expect(billed).toEqual(said);
  return told;
}

describe("a year ahead", () => {
  test("with a trial, a discount that ends, tax, and another product from the next period on", async () => {
    const shop = await openShop(floe, "2027-01-24");
    await shop.accepted("POST", "/v1/tax/registrations", { country: "FR" });
    const discount_id = await shop.gives({ duration: "repeating", duration_in_months: 3, basis_points: 3333 });
    const price = { amount_type: "fixed", price_amount: 1999, tax_behavior: "exclusive" };
    const trial = { trial_interval: "day", trial_interval_count: 7 };
    const id = await shop.subscribes(await shop.sells("Pro", [price], trial), { checkout: { discount_id } });
    const big = await shop.sells("Big", [{ ...price, price_amount: 4999 }]);
    expect(await shop.changes(id, { product_id: big, proration_behavior: "next_period" })).toBe("done");
    const { charges, ends_at } = await live(shop, id);
    expect(ends_at).toBeNull();
    expect(charges.map(({ derivation }) => derivation.subtotal_amount)).toEqual(Array(12).fill(4999));
    expect(charges.map(({ derivation }) => derivation.discount_amount).slice(0, 4)).toEqual([1666, 1666, 1666, 0]);
  });

  test("with what was not billed yet, and with a credit that lasts for months", async () => {
    const shop = await openShop(floe, "2027-01-31");
    const [year, month] = [
      await shop.sells("Year", 30_000, { recurring_interval: "year" }),
      await shop.sells("Month", 1000),
    ];
    const id = await shop.subscribes(year);
    await shop.set("2027-03-31");
    expect(await shop.changes(id, { product_id: month })).toBe("done");
    const pro = await shop.sells("Pro", 1500);
    await shop.set("2027-04-15");
    expect(await shop.changes(id, { product_id: pro })).toBe("done");
    const { charges } = await live(shop, id);
    expect(charges.length).toBe(12);
    expect(charges.some(({ due_amount }) => due_amount === 0)).toBe(true);
    expect(charges[0]?.derivation.lines.length).toBe(3);
  });

  test("that ends, says when, and what is left is billed then", async () => {
    const shop = await openShop(floe, "2027-01-31");
    const id = await shop.subscribes(await shop.sells("Pro", 1000));
    await shop.set("2027-02-14");
    expect(await shop.changes(id, { product_id: await shop.sells("Big", 3000) })).toBe("done");
    expect(await shop.changes(id, { cancel_at_period_end: true })).toBe("done");
    const { charges, ends_at } = await live(shop, id);
    expect([charges.length, ends_at]).toEqual([1, new Date("2027-02-28")]);
    const { charges: none } = await shop.seller.client.subscriptions.forecast({ params: { id } });
    expect(none).toEqual([]);
  });

  test("with a pause that is over in time", async () => {
    const shop = await openShop(floe, "2027-01-31");
    const id = await shop.subscribes(await shop.sells("Pro", 1000, { recurring_interval_count: 2 }));
    expect(await shop.changes(id, { pause_at_period_end: true, resumes_at: "2027-06-30T00:00:00Z" })).toBe("done");
    const { charges } = await shop.seller.client.subscriptions.forecast({ params: { id } });
    expect(charges.map(({ at }) => at.toISOString().slice(0, 10))).toEqual([
      ...["2027-06-30", "2027-08-30", "2027-10-30", "2027-12-30"],
    ]);
  });
});

const runs = Number(process.env.FLOE_TEST_RUNS ?? 4);
const first = Number(process.env.FLOE_TEST_SEED ?? 1);

test.each(Array.from({ length: runs }, (_, index) => first + index))(
  "whatever a subscription is, and whatever was changed of it: seed %i",
  async (seed) => {
    const chance = openChance(seed);
    const pick = <T>(...some: T[]): T => chance.pick(some);
    const shop = await openShop(floe, pick("2027-01-31", "2028-02-29", "2027-03-27", "2027-10-30"));
    if (chance.happens(0.5)) await shop.accepted("POST", "/v1/tax/registrations", { country: "FR" });
    const tax_behavior = pick("inclusive", "exclusive");
    const interval = pick(["month", 1], ["month", 2], ["month", 5], ["year", 1], ["week", 7]);
    const sell = (name: string, trial: object = {}) => {
      const price = { amount_type: "fixed", price_amount: 101 + chance.below(9999), tax_behavior };
      const seats = {
        amount_type: "seat_based",
        seat_tiers: { tiers: [{ min_seats: 1, max_seats: null, price_per_seat: 333 }] },
      };
      const [recurring_interval, recurring_interval_count] = interval;
      const prices = hasSeats ? [{ ...seats, tax_behavior }] : [price];
      return shop.sells(name, prices, { recurring_interval, recurring_interval_count, ...trial });
    };
    const hasSeats = chance.happens(0.3);
    const give = () =>
      shop.gives({
        ...pick<object>(
          { duration: "once" },
          { duration: "forever" },
          { duration: "repeating", duration_in_months: 4 },
        ),
        ...pick<object>({ basis_points: 1 + chance.below(9999) }, { amount: 50 + chance.below(4000), currency: "usd" }),
      });
    const trial = chance.happens(0.4)
      ? { trial_interval: pick("day", "month"), trial_interval_count: 1 + chance.below(2) }
      : {};
    const [own, other] = [await sell("Own", trial), await sell("Other")];
    const checkout = {
      ...(chance.happens(0.6) ? { discount_id: await give() } : {}),
      ...(hasSeats ? { seats: 3 } : {}),
    };
    const id = await shop.subscribes(own, { checkout });
    if (chance.happens(0.3)) await shop.credits(id, chance.below(6000) - 1500);
    const proration_behavior = pick("next_period", "prorate", "invoice");
    const changes: Record<string, unknown>[] = [
      { product_id: other, proration_behavior },
      ...(hasSeats ? [{ seats: 1 + chance.below(9), proration_behavior }] : []),
      { discount_id: chance.happens(0.5) ? await give() : null },
      { cancel_at_period_end: true },
    ];
    const asked = changes.filter(() => chance.happens(0.4));
    for (const body of asked) await shop.changes(id, body);
    await live(shop, id).catch((error: unknown) => {
      throw new Error(
        `FLOE_TEST_SEED=${seed} FLOE_TEST_RUNS=1: ${JSON.stringify([interval, trial, checkout, asked])}`,
        {
          cause: error,
        },
      );
    });
  },
);

test("an export has those that are meant, with the columns that are asked for", async () => {
  const shop = await openShop(floe, "2027-01-31");
  const product = await shop.sells("=Pro", 1000);
  const [first, second] = [await shop.subscribes(product), await shop.subscribes(product)];
  await shop.set("2027-02-01");
  expect(await shop.changes(second, { revoke: true })).toBe("done");
  const read = async (query: string) =>
    (await floe.request("GET", `/v1/subscriptions/export${query}`, { token: shop.seller.key })).text;
  const whole = await read("");
  expect(whole.split("\r\n").length).toBe(4);
  expect(whole).toContain(`"'=Pro"`);
  expect(await read("?status=active&columns=id&columns=amount&columns=current_period_end")).toBe(
    `ID,Amount,Current Period End\r\n${first},10.00,2027-02-28T00:00:00+00:00\r\n`,
  );
});
