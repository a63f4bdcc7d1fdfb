import { and, eq } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { orders } from "../../server/billing/orders/tables.ts";
import { subscriptions } from "../../server/billing/subscriptions/tables.ts";
import { checkouts } from "../../server/checkout/checkouts/tables.ts";
import { addUpChanges } from "../../server/operations/metrics/store.ts";
import { metricLimits } from "../../shared/api/metrics.ts";
import { cancellationReasons } from "../../shared/api/subscriptions.ts";
import { metricIntervals } from "../../shared/calendar.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { newId } from "../support/ids.ts";
import { type Asked, recount } from "../support/metrics.ts";

/**
 * Random histories of a shop, written row by row as they come about, with what is done to rows later and the sums added up now
 * and then: every metric of every interval, in zones of all kinds, is what a plain count of the rows comes to.
 */

const seed = Number(process.env.FLOE_TEST_SEED ?? 4455);
const runs = Number(process.env.FLOE_TEST_RUNS ?? 2);

const zones = [
  "UTC",
  "Europe/Berlin",
  "America/New_York",
  "Asia/Kolkata",
  "Asia/Kathmandu",
  "Australia/Adelaide",
  "America/St_Johns",
  // Clocks are moved at midnight: there is a day without one, and one with two.
  "Africa/Cairo",
  "America/Havana",
];

/** Numbers that follow from a seed. */
function randomOf(from: number) {
  let state = from;
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  const int = (least: number, most: number) => least + Math.floor(next() * (most - least + 1));
  const pick = <T>(some: readonly T[]): T => some[int(0, some.length - 1)] as T;
  return { int, pick, chance: (of: number) => next() < of };
}
type Random = ReturnType<typeof randomOf>;

let floe: Floe;
let seller: Seller;
const sold: { id: string; price_id: string; recurring: boolean }[] = [];
const customerIds: string[] = [];
beforeAll(async () => {
  floe = await start();
  seller = await floe.seller();
  for (const recurring of [false, true, true]) {
    const { id, prices } = await seller.client.products.create({
      body: {
        name: "Thing",
        prices: [{ amount_type: "fixed", price_amount: 1900 }],
        ...(recurring ? { recurring_interval: "month" } : {}),
      },
    });
    sold.push({ id, price_id: prices[0]?.id ?? "", recurring });
  }
  for (let count = 0; count < 6; count += 1) {
    const { id } = await seller.client.customers.create({ body: { email: `buyer-${count}@example.com` } });
    customerIds.push(id);
  }
});
afterAll(() => floe?.close());

const [minute_ms, day_ms] = [60_000, 86_400_000];
const firstDay = Date.parse("2024-09-01");
const historyDays = 500;

/** A moment of the history, now and then the very first of a day or an hour. */
const momentOf = (random: Random): Date => {
  const at = firstDay + random.int(0, historyDays) * day_ms + random.int(0, day_ms);
  const round = random.pick([1, 1, 1, minute_ms, 15 * minute_ms, 60 * minute_ms, day_ms]);
  return new Date(at - (at % round));
};
const later = (random: Random, at: Date, days_most: number): Date =>
  new Date(at.getTime() + random.pick([0, 1, random.int(0, day_ms), random.int(0, days_most * day_ms)]));

const bare = { client_secret: "", quote: {} as never, terms: "", derivation: {} as never };

async function writeHistory(random: Random): Promise<void> {
  const { db } = floe.deps;
  const { organization_id } = seller;
  for (const table of [checkouts, orders, subscriptions])
    await db.delete(table).where(eq(table.organization_id, organization_id));
  const begun = Array.from({ length: 14 }, () => {
    const started_at = momentOf(random);
    const product = random.pick(sold.filter(({ recurring }) => recurring));
    const stop = random.chance(0.5) ? later(random, started_at, 300) : null;
    return {
      ...{ id: newId(), organization_id, created_at: started_at, started_at, product_id: product.id },
      customer_id: random.pick(customerIds),
      ...{ status: "active" as const, amount: random.int(0, 9999), currency: "usd", anchor_day: 1 },
      recurring_interval: random.pick(["day", "week", "month", "year"] as const),
      recurring_interval_count: random.int(1, 3),
      ...{ current_period_start: started_at, current_period_end: started_at },
      trial_end: random.chance(0.4) ? later(random, started_at, 60) : null,
      seats: random.chance(0.4) ? random.int(1, 9) : null,
      ends_at: stop && (random.chance(0.5) ? stop : null),
      ended_at: stop,
      canceled_at: stop && later(random, started_at, 200),
      customer_cancellation_reason: stop && random.chance(0.8) ? random.pick(cancellationReasons) : null,
    };
  });
  // One ends within its trial, another just as that is over.
  for (const [nth, trial_days] of [40, 20].entries()) {
    const one = begun[nth];
    if (!one) continue;
    const [ended_at, trial_end] = [20, trial_days].map((days) => new Date(one.started_at.getTime() + days * day_ms));
    Object.assign(one, { trial_end, ends_at: null, ended_at, canceled_at: ended_at });
  }
  // Those that are to end some day.
  for (const one of begun) if (one.ends_at && random.chance(0.5)) one.ended_at = null;
  await db.insert(subscriptions).values(begun);
  const paid = [...begun, ...Array.from({ length: 8 }, () => null)].flatMap((one) => {
    const amount = random.int(-500, 5000);
    const base = {
      organization_id,
      currency: "usd",
      ...{ subtotal_amount: amount, discount_amount: random.int(0, 100), tax_amount: random.int(0, 300) },
      tax_behavior: random.pick(["inclusive", "exclusive"] as const),
      platform_fee_amount: random.int(0, 90),
      ...{ billing_reason: "purchase" as const, description: "Thing", derivation: bare.derivation, terms: "" },
      customer_id: one?.customer_id ?? random.pick(customerIds),
      product_id: one && random.chance(0.9) ? one.product_id : random.pick(sold).id,
      subscription_id: one?.id ?? null,
    };
    // The first with the start, and others soon after, or much later.
    const times = one
      ? [one.started_at, ...Array.from({ length: random.int(0, 5) }, () => later(random, one.started_at, 200))]
      : [momentOf(random)];
    // And two renewals in one month.
    if (one && one === begun[2])
      for (const days of [70, 70.25]) times.push(new Date(one.started_at.getTime() + days * day_ms));
    return times.map((paid_at) => ({ ...base, paid_at, created_at: paid_at, id: newId() }));
  });
  for (const order of paid.sort((a, b) => a.paid_at.getTime() - b.paid_at.getTime())) {
    const isWaiting = random.chance(0.5);
    const status = random.chance(0.1) ? ("void" as const) : ("paid" as const);
    await db.insert(orders).values({ ...order, ...(isWaiting ? { status: "pending", paid_at: null } : { status }) });
    const matched = and(eq(orders.organization_id, organization_id), eq(orders.id, order.id));
    if (isWaiting) await db.update(orders).set({ status, paid_at: order.paid_at }).where(matched);
    if (random.chance(0.2)) {
      // What is void is paid after all before it is refunded.
      if (status === "void") await db.update(orders).set({ status: "paid" }).where(matched);
      const refunded_amount = random.int(1, 90);
      await db.update(orders).set({ status: "partially_refunded", refunded_amount }).where(matched);
    }
    if (random.chance(0.05)) await db.delete(orders).where(matched);
    if (random.chance(0.1)) await addUpChanges(db, 10);
  }
  for (let count = 0; count < 15; count += 1) {
    const created_at = momentOf(random);
    const { id: product_id, price_id } = random.pick(sold);
    const id = newId();
    await db.insert(checkouts).values({
      ...{ id, organization_id, created_at, expires_at: created_at, client_secret: id, quote: bare.quote },
      ...{ product_ids: [product_id], product_id, product_price_id: price_id },
      customer_id: random.chance(0.5) ? random.pick(customerIds) : null,
    });
    if (random.chance(0.5)) await db.update(checkouts).set({ status: "succeeded" }).where(eq(checkouts.id, id));
  }
  for (const { id, started_at } of begun.filter(() => random.chance(0.4)))
    await db
      .update(subscriptions)
      .set(
        random.pick([
          { amount: random.int(0, 5000), recurring_interval: "week" as const },
          { ended_at: later(random, started_at, 300) },
          { ended_at: null, ends_at: null, canceled_at: null },
          { seats: random.int(1, 20) },
          { product_id: random.pick(sold).id },
        ]),
      )
      .where(eq(subscriptions.id, id));
  if (random.chance(0.5)) await addUpChanges(db, 10);
}

const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

/** Something to ask: a range of any length, in any zone, of everything or of a part. */
function askedOf(random: Random, interval: Asked["interval"]): Asked {
  const days = random.int(0, Math.min(metricLimits[interval].max_days, interval === "day" ? 90 : historyDays));
  const from = firstDay + random.int(-40, historyDays - Math.min(days, 400)) * day_ms;
  const isProduct = random.chance(0.3);
  return {
    ...{ start_date: dayOf(from), end_date: dayOf(from + days * day_ms), interval, timezone: random.pick(zones) },
    ...(isProduct
      ? { product_id: random.chance(0.5) ? [random.pick(sold).id] : sold.slice(1).map(({ id }) => id) }
      : {}),
    ...(random.chance(0.2) ? { billing_type: [random.pick(["one_time", "recurring"] as const)] } : {}),
    ...(random.chance(0.3) ? { customer_id: [random.pick(customerIds), random.pick(customerIds)] } : {}),
  };
}

async function check(asked: Asked): Promise<void> {
  const answer = await seller.client.metrics.get({ query: asked });
  const counted = await recount(floe, seller.organization_id, asked, floe.clock.now());
  expect(answer.periods.map(({ timestamp, ...values }) => ({ timestamp: timestamp.toISOString(), ...values }))).toEqual(
    counted.periods,
  );
  expect(answer.totals).toEqual(counted.totals);
}

test.each(Array.from({ length: runs }, (_, run) => seed + run))(
  "MET-05: history %i is measured as it was",
  async (from) => {
    const random = randomOf(from);
    await writeHistory(random);
    // Some of it is still to come.
    floe.clock.time = momentOf(random);
    for (const interval of metricIntervals)
      for (let count = 0; count < 2; count += 1) {
        const asked = askedOf(random, interval);
        await check(asked).catch((error) => {
          throw Object.assign(error, { message: `${JSON.stringify(asked)}\n${error.message}` });
        });
      }
    // All of it, so that whatever there is in it is seen.
    const [start_date, end_date] = [dayOf(firstDay), dayOf(firstDay + 2 * historyDays * day_ms)];
    await check({ start_date, end_date, interval: "month" });
  },
);

test.each([
  ["Europe/Berlin", "2025-03-30", "2025-10-26"],
  ["America/Havana", "2025-03-09", "2025-11-02"],
  ["Africa/Cairo", "2025-04-25", "2025-10-31"],
])("MET-05: %s on the days on which clocks are moved", async (timezone, ...days) => {
  await writeHistory(randomOf(seed));
  for (const day of days) {
    const week = { start_date: dayOf(Date.parse(day) - 3 * day_ms), end_date: dayOf(Date.parse(day) + 3 * day_ms) };
    for (const interval of ["hour", "day"] as const) await check({ ...week, interval, timezone });
  }
});
