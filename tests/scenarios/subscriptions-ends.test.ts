import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { type Floe, start } from "../support/floe.ts";
import { cards, openShop } from "../support/story.ts";

/** How subscriptions end, pause, go on, and get another trial, discount, period or card. */

let floe: Floe;
beforeAll(async () => {
  floe = await start();
});
afterAll(() => floe?.close());
afterEach(() => {
  expect(floe.logged.filter((line) => line.startsWith("error"))).toEqual([]);
});

const ended = ["subscription.updated", "subscription.canceled", "subscription.revoked"];
const trial = { trial_interval: "day", trial_interval_count: 7 };
const begin = async (more: object = {}) => {
  const shop = await openShop(floe, "2026-06-01");
  const product = await shop.sells("Pro", 1000, more as never);
  const id = await shop.subscribes(product);
  await shop.told();
  return { shop, id, product };
};

describe("ends", () => {
  test("SUB-28, SUB-12, WHK-36: with its period, and is not charged again", async () => {
    const { shop, id } = await begin();
    await shop.set("2026-06-10");
    const said = { customer_cancellation_reason: "too_expensive", customer_cancellation_comment: "Sorry" };
    expect(await shop.changes(id, { cancel_at_period_end: true, ...said })).toBe("done");
    expect(await shop.told()).toEqual(["subscription.updated", "subscription.canceled"]);
    expect(await shop.get(id)).toMatchObject({
      status: "active",
      canceled_at: new Date("2026-06-10"),
      ends_at: new Date("2026-07-01"),
      ended_at: null,
      ...said,
    });
    expect(await shop.changes(id, { cancel_at_period_end: true })).toBe("403 AlreadyCanceledSubscription");
    for (const body of [{ seats: 2 }, { discount_id: null }, { trial_end: "now" }, { pause_at_period_end: true }])
      expect(await shop.changes(id, body)).toBe("403 AlreadyCanceledSubscription");
    await shop.on("2026-07-01T00:00:05Z");
    expect(await shop.told()).toEqual(ended);
    expect(await shop.get(id)).toMatchObject({ status: "canceled", ended_at: new Date("2026-07-01T00:00:05Z") });
    expect(await shop.orders(id)).toEqual(["2026-06-01 create 1000 paid"]);
    expect(await shop.changes(id, { cancel_at_period_end: false })).toBe("410 ResourceUnavailable");
    await shop.on("2026-09-01");
    expect(await shop.told()).toEqual([]);
  });

  test("SUB-29, WHK-37: or not after all, until the very end of it", async () => {
    const { shop, id } = await begin();
    expect(await shop.changes(id, { cancel_at_period_end: false })).toBe("400 BadRequest");
    expect(await shop.changes(id, { cancel_at_period_end: true })).toBe("done");
    await shop.told();
    await shop.set("2026-06-30T23:59:59Z");
    expect(await shop.changes(id, { cancel_at_period_end: false })).toBe("done");
    expect(await shop.told()).toEqual(["subscription.updated", "subscription.uncanceled"]);
    expect(await shop.get(id)).toMatchObject({ cancel_at_period_end: false, canceled_at: null, ends_at: null });
    await shop.on("2026-07-01");
    expect((await shop.orders(id)).length).toBe(2);
    expect(await shop.changes(id, { cancel_at_period_end: true })).toBe("done");
    // Nobody has looked at it yet, and it is over all the same.
    await shop.set("2026-08-01T00:00:01Z");
    expect(await shop.changes(id, { cancel_at_period_end: false })).toBe("410 ResourceUnavailable");
    expect((await shop.get(id)).status).toBe("canceled");
  });

  test("SUB-30, WHK-38: now, for nothing; twice is refused", async () => {
    const { shop, id } = await begin();
    expect(await shop.changes(id, { cancel_at_period_end: true, customer_cancellation_reason: "unused" })).toBe("done");
    await shop.told();
    await shop.set("2026-06-10");
    expect(await shop.changes(id, { revoke: true })).toBe("done");
    expect(await shop.told()).toEqual(ended);
    const at = new Date("2026-06-10");
    expect(await shop.get(id)).toMatchObject({
      status: "canceled",
      canceled_at: at,
      ends_at: at,
      ended_at: at,
      cancel_at_period_end: true,
      customer_cancellation_reason: "unused",
    });
    expect(await shop.changes(id, { revoke: true })).toBe("403 AlreadyCanceledSubscription");
    expect((await shop.send("DELETE", `/v1/subscriptions/${id}`)).json.error).toBe("AlreadyCanceledSubscription");
    expect((await shop.orders(id)).length).toBe(1);
  });

  test("SUB-12: what was not billed yet is billed last; canceled in a trial, nothing is", async () => {
    const { shop, id } = await begin();
    await shop.set("2026-06-16");
    expect(await shop.changes(id, { product_id: await shop.sells("Big", 3000) })).toBe("done");
    expect(await shop.changes(id, { cancel_at_period_end: true })).toBe("done");
    await shop.on("2026-07-01");
    expect(await shop.orders(id)).toEqual(["2026-06-01 create 1000 paid", "2026-07-01 cycle 1000 paid"]);
    const other = await begin(trial);
    expect(await other.shop.changes(other.id, { cancel_at_period_end: true })).toBe("done");
    await other.shop.on("2026-07-01");
    expect(await other.shop.orders(other.id)).toEqual(["2026-06-01 create 0 paid"]);
    expect((await other.shop.get(other.id)).status).toBe("canceled");
  });
});

describe("a pause", () => {
  test("comes with the end of the period, costs nothing, and is over when it was said or now", async () => {
    const { shop, id } = await begin();
    expect(await shop.changes(id, { pause_at_period_end: false })).toBe("400 BadRequest");
    const early = { pause_at_period_end: true, resumes_at: "2026-06-30T00:00:00Z" };
    expect(await shop.changes(id, early)).toBe("422 PolarRequestValidationError resumes_at");
    expect(await shop.changes(id, { resume: true })).toBe("400 BadRequest");
    expect(await shop.changes(id, { pause_at_period_end: true, resumes_at: "2026-08-15T00:00:00Z" })).toBe("done");
    expect(await shop.told()).toEqual(["subscription.updated"]);
    await shop.on("2026-07-01");
    expect(await shop.told()).toEqual(["subscription.updated", "subscription.paused"]);
    expect(await shop.get(id)).toMatchObject({ status: "paused", paused_at: new Date("2026-07-01") });
    expect(await shop.changes(id, { seats: 2 })).toBe("403 InactiveSubscription");
    await shop.on("2026-08-15");
    expect((await shop.told()).slice(0, 4)).toEqual([
      "subscription.updated",
      "subscription.active",
      "subscription.resumed",
      "order.created pending",
    ]);
    expect(await shop.state(id)).toBe("active 1000 2026-08-15 to 2026-09-15");
    expect(await shop.get(id)).toMatchObject({ paused_at: null, resumes_at: null });
    expect(await shop.orders(id)).toEqual(["2026-06-01 create 1000 paid", "2026-08-15 cycle 1000 paid"]);
    expect(await shop.changes(id, { pause_at_period_end: true })).toBe("done");
    await shop.on("2026-10-01");
    expect(await shop.changes(id, { resume: true })).toBe("done");
    expect((await shop.orders(id)).at(-1)).toBe("2026-10-01 cycle 1000 paid");
    expect(await shop.changes(id, { pause_at_period_end: true })).toBe("done");
    await shop.on("2026-11-01");
    expect(await shop.changes(id, { revoke: true })).toBe("done");
  });
});

describe("a trial (SUB-45)", () => {
  test("ends now, or at another time", async () => {
    const { shop, id } = await begin(trial);
    expect(await shop.changes(id, { trial_end: "2026-05-01T00:00:00Z" })).toMatch("422");
    expect(await shop.changes(id, { trial_end: "2026-06-20T00:00:00Z" })).toBe("done");
    expect(await shop.told()).toEqual(["subscription.updated"]);
    expect(await shop.state(id)).toBe("trialing 1000 2026-06-01 to 2026-06-20");
    await shop.set("2026-06-11");
    expect(await shop.changes(id, { trial_end: "now" })).toBe("done");
    expect(await shop.state(id)).toBe("active 1000 2026-06-11 to 2026-07-11");
    expect(await shop.orders(id)).toEqual(["2026-06-01 create 0 paid", "2026-06-11 cycle 1000 paid"]);
    expect(await shop.changes(id, { trial_end: "now" })).toMatch("422");
    expect(await shop.changes(id, { trial_end: "2026-07-11T00:00:00Z" })).toMatch("422");
    expect(await shop.changes(id, { trial_end: "2026-08-01T00:00:00Z" })).toBe("done");
    expect(await shop.state(id)).toBe("trialing 1000 2026-06-11 to 2026-08-01");
    await shop.on("2026-08-01");
    expect(await shop.state(id)).toBe("active 1000 2026-08-01 to 2026-09-01");
    expect((await shop.orders(id)).at(-1)).toBe("2026-08-01 cycle 1000 paid");
    expect(await shop.changes(id, { revoke: true })).toBe("done");
    expect(await shop.changes(id, { trial_end: "2026-12-01T00:00:00Z" })).toMatch("403 InactiveSubscription");
  });
});

describe("a discount (SUB-44, DSC-14)", () => {
  test("is good from the next period on, counted from there, and taken once", async () => {
    const { shop, id } = await begin();
    const half = { basis_points: 5000, max_redemptions: 1 };
    const discount_id = await shop.gives({ duration: "repeating", duration_in_months: 2, ...half });
    await shop.set("2026-06-10");
    expect(await shop.changes(id, { discount_id })).toBe("done");
    expect(await shop.told()).toEqual(["subscription.updated"]);
    expect((await shop.get(id)).amount).toBe(500);
    expect(await shop.changes(id, { discount_id })).toBe("422 PolarRequestValidationError discount_id");
    const second = await shop.subscribes(await shop.sells("Other", 1000));
    expect(await shop.changes(second, { discount_id })).toBe("422 PolarRequestValidationError discount_id");
    for (const date of ["2026-07-01", "2026-08-01", "2026-09-01"]) await shop.on(date);
    expect((await shop.orders(id)).map((line) => line.split(" ")[2])).toEqual(["1000", "500", "500", "1000"]);
    expect((await shop.seller.client.discounts.get({ params: { id: discount_id } })).redemptions_count).toBe(1);
  });

  test("goes away; and several things change at once", async () => {
    const { shop, id } = await begin();
    const discount_id = await shop.gives({ duration: "forever", amount: 300 });
    const product_id = await shop.sells("Big", 2000);
    const metadata = { plan: "big" };
    expect(await shop.changes(id, { discount_id, product_id, metadata })).toBe("done");
    expect(await shop.told()).toEqual(["subscription.updated"]);
    expect(await shop.get(id)).toMatchObject({ amount: 1700, metadata, product_id, discount_id });
    expect(await shop.changes(id, { discount_id })).toBe("422 PolarRequestValidationError discount_id");
    expect(await shop.changes(id, { metadata })).toBe("done");
    expect(await shop.told()).toEqual([]);
    expect(await shop.changes(id, { discount_id: null })).toBe("done");
    expect(await shop.get(id)).toMatchObject({ amount: 2000, discount: null });
    // What belongs to different changes is not sent together (SUB-27).
    expect(await shop.changes(id, { seats: 2, product_id })).toMatch("422");
    expect(await shop.changes(id, { revoke: false })).toMatch("422");
  });

  test("are one at a time: each alone is understood, and any two of different kinds are refused", async () => {
    const shop = await openShop(floe, "2026-05-01");
    const id = await shop.subscribes(await shop.sells("Pro", 2000));
    const [later, none] = ["2027-01-01T00:00:00Z", "00000000-0000-4000-8000-000000000000"];
    const kinds: Record<string, unknown>[] = [
      { metadata: {}, product_id: none, discount_id: none, trial_end: later },
      { seats: 3 },
      { current_billing_period_end: later },
      { cancel_at_period_end: true },
      { revoke: true },
      { pause_at_period_end: true },
      { resume: true },
      { pending_update: null },
      { payment_method_id: none },
    ];
    const before = await shop.get(id);
    const fields = kinds.flatMap((kind, of) => Object.entries(kind).map(([name, value]) => ({ name, value, of })));
    for (const { name, value, of } of fields)
      for (const other of fields.filter((one) => one.of !== of)) {
        const body = { [name]: value, [other.name]: other.value };
        const { status, json } = await shop.send("PATCH", `/v1/subscriptions/${id}`, body);
        expect([Object.keys(body).join(), status, json.error]).toEqual([
          Object.keys(body).join(),
          422,
          "RequestValidationError",
        ]);
      }
    expect(await shop.get(id)).toEqual(before);
    // One alone is read as what it is, whatever becomes of it.
    for (const { name, value } of fields) {
      const { status, json } = await shop.send("POST", `/v1/subscriptions/${id}/preview`, { [name]: value });
      const isUnread = status === 422 && /extra|not permitted|Unrecognized|union/i.test(JSON.stringify(json.detail));
      expect([name, isUnread, status < 500]).toEqual([name, false, true]);
    }
    expect(await shop.get(id)).toEqual(before);
  });
});

test("the period that runs ends when the seller says", async () => {
  const { shop, id } = await begin();
  expect(await shop.changes(id, { current_billing_period_end: "2026-05-01T00:00:00Z" })).toMatch("422");
  expect(await shop.changes(id, { current_billing_period_end: "2026-07-20T00:00:00Z" })).toBe("done");
  await shop.on("2026-07-20");
  expect(await shop.state(id)).toBe("active 1000 2026-07-20 to 2026-08-20");
});

describe("made by the seller (SUB-08)", () => {
  test("of what is free, for a customer by either id; it says what every beginning says", async () => {
    const shop = await openShop(floe, "2026-06-01");
    const free = await shop.sells("News", [{ amount_type: "free" }]);
    const paid = await shop.sells("Pro", 1000);
    const { id: customer_id } = await shop.accepted("POST", "/v1/customers/", {
      email: "made@example.com",
      external_id: "their-id",
    });
    await shop.told();
    const made = await shop.accepted("POST", "/v1/subscriptions/", {
      product_id: free,
      customer_id,
      metadata: { a: 1 },
    });
    expect(made).toMatchObject({ status: "active", amount: 0, customer_id, metadata: { a: 1 }, checkout_id: null });
    expect(await shop.told()).toEqual(["subscription.created", "subscription.active", "subscription.updated"]);
    await shop.accepted("POST", "/v1/subscriptions/", { product_id: free, external_customer_id: "their-id" });
    for (const body of [
      { product_id: paid, customer_id },
      { product_id: free, external_customer_id: "nobody" },
      { product_id: free },
      { product_id: free, customer_id, external_customer_id: "their-id" },
    ])
      expect((await shop.send("POST", "/v1/subscriptions/", body)).status).toBe(422);
    await shop.on("2026-07-01");
    expect(await shop.orders(String(made.id))).toEqual(["2026-07-01 cycle 0 paid"]);
  });
});

test("a card that is not the customer's is not charged", async () => {
  const { shop, id } = await begin();
  const other = await shop.subscribes(await shop.sells("Other", 1000));
  const theirs = await shop.leaves((await shop.get(other)).customer_id, cards.other);
  expect(await shop.changes(id, { payment_method_id: theirs })).toBe(
    "422 PolarRequestValidationError payment_method_id",
  );
});
