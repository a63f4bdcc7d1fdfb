import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Floe, start } from "../support/floe.ts";
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
