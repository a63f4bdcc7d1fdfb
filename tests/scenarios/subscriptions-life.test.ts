import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { type Floe, start } from "../support/floe.ts";
import { cards, openShop } from "../support/story.ts";

/** Subscriptions from their first day to their last, by the calendar. */

let floe: Floe;
beforeAll(async () => {
  floe = await start();
});
afterAll(() => floe?.close());
afterEach(() => {
  expect(floe.logged.filter((line) => line.startsWith("error"))).toEqual([]);
});

const renewed = [
  "subscription.cycled",
  "subscription.updated",
  "order.created pending",
  "order.updated paid",
  "order.paid paid",
];

describe("renewals", () => {
  test("SUB-13, SUB-14, WHK-33: begin where the period before ended, on the day of the first, and are charged once", async () => {
    const shop = await openShop(floe, "2027-01-31");
    const id = await shop.subscribes(await shop.sells("Pro", 1000));
    await shop.told();
    await shop.on("2027-02-27T23:59:59Z");
    expect([await shop.told(), await shop.state(id)]).toEqual([[], "active 1000 2027-01-31 to 2027-02-28"]);
    await shop.on("2027-02-28");
    expect([await shop.told(), await shop.state(id)]).toEqual([renewed, "active 1000 2027-02-28 to 2027-03-31"]);
    expect(await shop.lines(id)).toEqual([["Pro", 1000]]);
    // Looked at late: the calendar does not move. Several periods are billed one after the other (SUB-16).
    await shop.on("2027-05-30T12:00:00Z");
    expect(await shop.state(id)).toBe("active 1000 2027-04-30 to 2027-05-31");
    expect(await shop.told()).toEqual([...renewed, ...renewed]);
    expect(await shop.orders(id)).toEqual([
      "2027-01-31 create 1000 paid",
      "2027-02-28 cycle 1000 paid",
      "2027-05-30T12:00 cycle 1000 paid",
      "2027-05-30T12:00 cycle 1000 paid",
    ]);
    await floe.runJobs();
    expect(await shop.told()).toEqual([]);
  });

  test.each([
    ["month", 1, "2028-01-30", ["2028-02-29", "2028-03-30", "2028-04-30"]],
    ["month", 1, "2027-08-29", ["2027-09-29", "2027-10-29", "2027-11-29", "2027-12-29", "2028-01-29", "2028-02-29"]],
    ["month", 3, "2027-11-30", ["2028-02-29", "2028-05-30", "2028-08-30"]],
    ["year", 1, "2028-02-29", ["2029-02-28", "2030-02-28", "2031-02-28", "2032-02-29"]],
    ["week", 2, "2027-12-24", ["2028-01-07", "2028-01-21"]],
    ["day", 10, "2028-02-25", ["2028-03-06", "2028-03-16"]],
  ])("POL-05: every %s × %i from %s", async (recurring_interval, recurring_interval_count, from, ends) => {
    const shop = await openShop(floe, from);
    const product = await shop.sells("Pro", 1000, { recurring_interval, recurring_interval_count });
    const id = await shop.subscribes(product);
    for (const end of ends) {
      expect((await shop.get(id)).current_period_end.toISOString().slice(0, 10)).toBe(end);
      await shop.on(end);
    }
    expect((await shop.orders(id)).length).toBe(ends.length + 1);
  });

  test("SUB-18, ORD-16: what costs nothing is renewed too, for nothing, and said to be paid once", async () => {
    const shop = await openShop(floe, "2027-03-01");
    const id = await shop.subscribes(await shop.sells("News", [{ amount_type: "free" }]), { card: null });
    await shop.told();
    await shop.on("2027-04-01");
    expect(await shop.orders(id)).toEqual(["2027-03-01 create 0 paid", "2027-04-01 cycle 0 paid"]);
    const paid = ["order.created paid", "order.updated paid", "order.paid paid"];
    expect(await shop.told()).toEqual(["subscription.cycled", "subscription.updated", ...paid]);
  });

  test("SUB-18: of use alone, without any, there is no order; and what a buyer chose to pay they go on paying", async () => {
    const shop = await openShop(floe, "2027-03-01");
    const meter = await shop.accepted("POST", "/v1/meters/", {
      name: "Calls",
      filter: { conjunction: "and", clauses: [] },
      aggregation: { func: "count" },
    });
    const use = { amount_type: "metered_unit", meter_id: meter.id, unit_amount: "0.5" };
    const used = await shop.subscribes(await shop.sells("API", [use]));
    const open = { amount_type: "custom", minimum_amount: 500 };
    const chosen = await shop.subscribes(await shop.sells("Tips", [open]), { checkout: { amount: 1234 } });
    await shop.on("2027-04-01");
    expect(await shop.orders(used)).toEqual(["2027-03-01 create 0 paid"]);
    expect(await shop.state(used)).toBe("active 0 2027-04-01 to 2027-05-01");
    expect(await shop.orders(chosen)).toEqual(["2027-03-01 create 1234 paid", "2027-04-01 cycle 1234 paid"]);
  });

  test("PRD-22: who has subscribed keeps the price, archived or not", async () => {
    const shop = await openShop(floe, "2027-03-01");
    const product = await shop.sells("Pro", 1000);
    const id = await shop.subscribes(product);
    const prices = [{ amount_type: "fixed", price_amount: 2500 }];
    await shop.accepted("PATCH", `/v1/products/${product}`, { prices });
    await shop.accepted("PATCH", `/v1/products/${product}`, { is_archived: true });
    await shop.on("2027-04-01");
    expect(await shop.orders(id)).toEqual(["2027-03-01 create 1000 paid", "2027-04-01 cycle 1000 paid"]);
  });

  test("tax is that of where the customer is when it is billed, and an address is copied as it stands (ORD-10)", async () => {
    const shop = await openShop(floe, "2027-03-01");
    await shop.accepted("POST", "/v1/tax/registrations", { country: "FR" });
    const id = await shop.subscribes(
      await shop.sells("Pro", [{ amount_type: "fixed", price_amount: 1000, tax_behavior: "exclusive" }]),
    );
    const { customer_id } = await shop.get(id);
    await shop.accepted("PATCH", `/v1/customers/${customer_id}`, { billing_address: { country: "US", state: "NY" } });
    await shop.on("2027-04-01");
    expect(await shop.orders(id)).toEqual(["2027-03-01 create 1200 paid", "2027-04-01 cycle 1000 paid"]);
  });
});

describe("discounts (DSC-21 to DSC-23)", () => {
  const shopWith = async (discount: object, more: object = {}) => {
    const shop = await openShop(floe, "2027-01-15");
    const discount_id = await shop.gives(discount as never);
    const id = await shop.subscribes(await shop.sells("Pro", 1000, more as never), { checkout: { discount_id } });
    return { shop, id };
  };
  const amounts = async (shop: Awaited<ReturnType<typeof openShop>>, id: string) =>
    (await shop.orders(id)).map((line) => Number(line.split(" ")[2]));

  test("DSC-22: three months repeating are the first three", async () => {
    const { shop, id } = await shopWith({ duration: "repeating", duration_in_months: 3, basis_points: 2500 });
    for (const date of ["2027-02-15", "2027-03-15"]) await shop.on(date);
    expect((await shop.get(id)).discount).not.toBeNull();
    await shop.on("2027-04-15");
    expect(await amounts(shop, id)).toEqual([750, 750, 750, 1000]);
    expect(await shop.get(id)).toMatchObject({ discount: null, discount_id: null, amount: 1000 });
  });

  test("DSC-22: twelve months of a yearly plan are its first year", async () => {
    const { shop, id } = await shopWith(
      { duration: "repeating", duration_in_months: 12, amount: 300 },
      { recurring_interval: "year" },
    );
    await shop.on("2028-01-15");
    expect(await amounts(shop, id)).toEqual([700, 1000]);
  });

  test("once is once, forever is always", async () => {
    const once = await shopWith({ duration: "once", basis_points: 5000 });
    const forever = await shopWith({ duration: "forever", basis_points: 5000 });
    for (const { shop } of [once, forever]) await shop.on("2027-03-15");
    expect(await amounts(once.shop, once.id)).toEqual([500, 1000, 1000]);
    expect(await amounts(forever.shop, forever.id)).toEqual([500, 500, 500]);
  });

  test.each(["interval", "reset", "pause"])("DSC-22: once is over, however the next period begins: %s", async (how) => {
    const { shop, id } = await shopWith({ duration: "once", basis_points: 9000 });
    const yearly = await shop.sells("Yearly", 10_000, { recurring_interval: "year" } as never);
    const dearer = await shop.sells("Dearer", 2000);
    await shop.on("2027-02-14");
    const path = `/v1/subscriptions/${id}`;
    if (how === "interval") await shop.accepted("PATCH", path, { product_id: yearly });
    if (how === "reset") await shop.accepted("PATCH", path, { product_id: dearer, proration_behavior: "reset" });
    if (how === "pause") {
      await shop.accepted("PATCH", path, { pause_at_period_end: true });
      await shop.on("2027-02-16");
      await shop.accepted("PATCH", path, { resume: true });
    }
    // One of 31 days is left, of which 10 % had been paid.
    const charged = { interval: 10_000 - 3, reset: 2000 - 3, pause: 1000 }[how];
    expect(await amounts(shop, id)).toEqual([100, charged]);
    expect(await shop.get(id)).toMatchObject({ discount: null, discount_id: null });
    // To and fro gives it no second time.
    if (how !== "interval") return;
    await shop.accepted("PATCH", path, { product_id: dearer });
    expect((await shop.orders(id)).at(-1)).toMatch(/ -?\d+ paid$/);
    expect(await shop.get(id)).toMatchObject({ amount: 2000, discount: null });
  });

  test("DSC-21: three months repeating are three, also where the interval changes, and begin with the first that it reduces", async () => {
    const { shop, id } = await shopWith({ duration: "repeating", duration_in_months: 3, basis_points: 5000 });
    const quarter = { recurring_interval_count: 3 };
    const dearer = await shop.sells("Quarter", 3000, quarter as never);
    await shop.on("2027-02-15");
    await shop.accepted("PATCH", `/v1/subscriptions/${id}`, { product_id: dearer });
    // It is within its time still, the next time it is not.
    expect((await shop.get(id)).discount).not.toBeNull();
    await shop.accepted("PATCH", `/v1/subscriptions/${id}`, { product_id: await shop.sells("Month", 1000) });
    await shop.on("2027-05-15");
    expect((await amounts(shop, id)).at(-1)).toBe(1000);
    expect((await shop.get(id)).discount).toBeNull();
  });

  test("SUB-05: once, with a trial, is for the first period that is paid", async () => {
    const trial = { trial_interval: "day", trial_interval_count: 7 };
    const { shop, id } = await shopWith({ duration: "once", basis_points: 5000 }, trial);
    await shop.on("2027-02-22");
    expect(await amounts(shop, id)).toEqual([0, 500, 1000]);
  });
});

describe("trials", () => {
  test("SUB-15, SUB-61: end with the first charge, on whose day periods begin from then on", async () => {
    const shop = await openShop(floe, "2027-01-24");
    const product = await shop.sells("Pro", 1000, { trial_interval: "day", trial_interval_count: 7 });
    const id = await shop.subscribes(product);
    expect(await shop.state(id)).toBe("trialing 1000 2027-01-24 to 2027-01-31");
    await shop.told();
    await shop.on("2027-01-31");
    expect([await shop.told(), await shop.state(id)]).toEqual([renewed, "active 1000 2027-01-31 to 2027-02-28"]);
    await shop.on("2027-02-28");
    expect(await shop.state(id)).toBe("active 1000 2027-02-28 to 2027-03-31");
    expect(await shop.orders(id)).toEqual([
      "2027-01-24 create 0 paid",
      "2027-01-31 cycle 1000 paid",
      "2027-02-28 cycle 1000 paid",
    ]);
  });
});

test("SUB-32: what a customer who is deleted had subscribed to ends, and is not billed any more", async () => {
  const shop = await openShop(floe, "2027-01-31");
  const id = await shop.subscribes(await shop.sells("Pro", 1000), { card: cards.good });
  const { customer_id } = await shop.get(id);
  await shop.told();
  await shop.accepted("DELETE", `/v1/customers/${customer_id}`);
  expect(await shop.told()).toEqual(["subscription.updated", "subscription.canceled", "subscription.revoked"]);
  await shop.on("2027-03-31");
  expect(await shop.orders(id)).toEqual(["2027-01-31 create 1000 paid"]);
  expect((await shop.get(id)).status).toBe("canceled");
});

describe("CUP-29: a customer without a card", () => {
  test.each(["invoice", "prorate", "next_period"])(
    "changes to nothing that costs something, with %s; with a card it is charged",
    async (proration_behavior) => {
      const shop = await openShop(floe, "2027-01-15", { proration_behavior });
      const free = await shop.sells("Free", [{ amount_type: "free" }]);
      const meter = await shop.accepted("POST", "/v1/meters/", {
        ...{ name: "Calls", filter: { conjunction: "and", clauses: [] }, aggregation: { func: "count" } },
      });
      const metered = { amount_type: "metered_unit", unit_amount: "1", meter_id: meter.id };
      const trial = { trial_interval: "day", trial_interval_count: 7 };
      const id = await shop.subscribes(free, { card: null });
      const { customer_id } = await shop.get(id);
      const { token } = await shop.seller.client.customerSessions.create({ body: { customer_id } });
      const change = async (product_id: string) => {
        const path = `/v1/customer-portal/subscriptions/${id}`;
        const { status, json } = await floe.request("PATCH", path, { token, body: { product_id } });
        return `${status} ${(json as { error?: string }).error ?? ""}`;
      };
      const paid = await shop.sells("Paid", 100_000);
      const before = await shop.get(id);
      for (const product_id of [paid, await shop.sells("Metered", [metered]), await shop.sells("Tried", 500, trial)])
        expect(await change(product_id)).toBe("402 MissingPaymentMethod");
      expect(await shop.get(id)).toEqual(before);
      expect(await change(await shop.sells("Gratis", [{ amount_type: "free" }]))).toBe("200 ");
      const body = { confirmation_token_id: cards.good, set_default: true };
      await floe.client(token).portalCards.create({ body });
      expect(await change(paid)).toBe("200 ");
      const { product_id, pending_update } = await shop.get(id);
      expect([product_id, pending_update?.product_id]).toContain(paid);
    },
  );

  test("is moved by a seller to nothing that costs something either, whenever it is charged; with a card they are", async () => {
    const shop = await openShop(floe, "2027-01-15");
    const free = await shop.sells("Free", [{ amount_type: "free" }]);
    const paid = await shop.sells("Paid", 31_000);
    const id = await shop.subscribes(free, { card: null });
    const before = await shop.get(id);
    const moves = ["invoice", "reset", "prorate", "next_period"].map((proration_behavior) => ({
      ...{ product_id: paid, proration_behavior },
    }));
    await shop.told();
    for (const move of moves) expect(await shop.changes(id, move)).toBe("402 MissingPaymentMethod");
    expect([await shop.get(id), await shop.told()]).toEqual([before, []]);
    const other = await shop.sells("Gratis", [{ amount_type: "free" }]);
    expect(await shop.changes(id, { product_id: other })).toBe("done");
    const payment_method_id = await shop.leaves(before.customer_id, cards.good);
    expect(await shop.changes(id, { payment_method_id })).toBe("done");
    expect(await shop.changes(id, moves[0] ?? {})).toBe("done");
    expect((await shop.orders(id)).at(-1)).toBe("2027-01-15 update 31000 paid");
  });

  test("keeps what makes a plan free for them: a seller does not take it away, and may give it", async () => {
    const shop = await openShop(floe, "2027-01-15");
    const gift = await shop.gives({ duration: "forever", basis_points: 10_000 });
    const paid = await shop.sells("Paid", 31_000);
    const id = await shop.subscribes(paid, { card: null, checkout: { discount_id: gift } });
    const less = await shop.gives({ duration: "forever", basis_points: 5000 });
    for (const discount_id of [null, less])
      expect(await shop.changes(id, { discount_id })).toBe("402 MissingPaymentMethod");
    expect(await shop.changes(id, { metadata: { tier: "gift" } })).toBe("done");
    await shop.on("2027-02-15");
    expect((await shop.orders(id)).at(-1)).toBe("2027-02-15 cycle 0 paid");
    expect((await shop.get(id)).status).toBe("active");
  });

  test("CUP-17: keeps the last card of a subscription that is still charged, and removes it from any other", async () => {
    const shop = await openShop(floe, "2027-01-15");
    const meter = await shop.accepted("POST", "/v1/meters/", {
      ...{ name: "Calls", filter: { conjunction: "and", clauses: [] }, aggregation: { func: "count" } },
    });
    const free = await shop.sells("Free", [{ amount_type: "free" }]);
    const paid = await shop.sells("Paid", 31_000);
    const metered = await shop.sells("Metered", [
      { amount_type: "metered_unit", unit_amount: "1", meter_id: meter.id },
    ]);
    const gift = await shop.gives({ duration: "forever", basis_points: 10_000 });
    const cases: [string, string, Record<string, unknown>[], number, Record<string, unknown>?][] = [
      ["a planned change to a paid offer", free, [{ product_id: paid, proration_behavior: "next_period" }], 400],
      ["usage alone is charged", metered, [], 400],
      ["its last usage is charged", metered, [{ cancel_at_period_end: true }], 400],
      ["it pauses and is charged afterwards", paid, [{ pause_at_period_end: true }], 400],
      ["a free offer", free, [], 204],
      ["it ends, and nothing is left to charge", paid, [{ cancel_at_period_end: true }], 204],
      ["a gift of usage", metered, [], 204, { discount_id: gift }],
    ];
    for (const [name, product_id, changes, status, checkout = {}] of cases) {
      const isFree = product_id === free || "discount_id" in checkout;
      const id = await shop.subscribes(product_id, { ...(isFree ? { card: null } : {}), checkout });
      const { customer_id } = await shop.get(id);
      const { token } = await shop.seller.client.customerSessions.create({ body: { customer_id } });
      const portal = floe.client(token).portalCards;
      if (isFree) await portal.create({ body: { confirmation_token_id: cards.good, set_default: true } });
      const card = (await portal.list({ query: {} })).items[0];
      for (const change of changes) expect([name, await shop.changes(id, change)]).toEqual([name, "done"]);
      const path = `/v1/customer-portal/customers/me/payment-methods/${card?.id}`;
      expect([name, (await floe.request("DELETE", path, { token })).status]).toEqual([name, status]);
      expect([name, (await portal.list({ query: {} })).items.length]).toEqual([name, status === 204 ? 0 : 1]);
    }
  });

  test("is charged at once for a dearer plan where the seller has said nothing (SUB-34)", async () => {
    const fresh = await floe.seller("fresh");
    const organization = await fresh.client.organizations.get({ params: { id: fresh.organization_id } });
    expect(organization.subscription_settings.proration_behavior).toBe("invoice");
  });
});
