import { describe, expect, test } from "vitest";
import { findCover, planRange } from "../../server/operations/metrics/periods.ts";
import { computeMetrics, listMeasures } from "../../server/operations/metrics/rules.ts";
import type { MetricSlug } from "../../shared/api/metrics.ts";
import type { metricIntervals } from "../../shared/calendar.ts";
import { buildSystemEvent, describeRefunded, describeUpdated, describeVoided } from "../../shared/system-events.ts";

const now = new Date("2026-11-15T12:00:00Z");
const range = (start_date: string, end_date: string, interval: (typeof metricIntervals)[number], timezone = "UTC") =>
  planRange({ start_date, end_date, interval, timezone }, now);
const times = (all: readonly number[]) => all.map((at) => new Date(at).toISOString().replace(/:00\.000Z$/, ""));

describe("a range is cut into stretches (MET-05)", () => {
  test.each([
    ["day", "2026-11-01", "2026-11-02", "UTC", ["2026-11-01T00:00", "2026-11-02T00:00", "2026-11-03T00:00"]],
    ["week", "2026-11-04", "2026-11-09", "UTC", ["2026-11-02T00:00", "2026-11-09T00:00", "2026-11-16T00:00"]],
    ["month", "2026-01-31", "2026-02-01", "UTC", ["2026-01-01T00:00", "2026-02-01T00:00", "2026-03-01T00:00"]],
    ["year", "2026-06-01", "2026-06-01", "UTC", ["2026-01-01T00:00", "2027-01-01T00:00"]],
    ["day", "2026-10-24", "2026-10-25", "Europe/Berlin", ["2026-10-23T22:00", "2026-10-24T22:00", "2026-10-25T23:00"]],
  ] as const)("by the %s from %s to %s in %s", (interval, start, end, zone, wholes) => {
    expect(times(range(start, end, interval, zone).wholes)).toEqual(wholes);
  });
  test("of the first and the last only what was asked for counts", () => {
    const { edges } = range("2026-01-31", "2026-02-01", "month");
    expect(times(edges)).toEqual(["2026-01-31T00:00", "2026-02-01T00:00", "2026-02-02T00:00"]);
  });
  test("an hour that clocks show twice is two, and one that they skip is none", () => {
    expect(range("2026-10-25", "2026-10-25", "hour", "Europe/Berlin").stretches).toHaveLength(25);
    expect(range("2026-03-29", "2026-03-29", "hour", "Europe/Berlin").stretches).toHaveLength(23);
  });
  test("churn is looked for in the thirty days before, and in all of a year (MET-11)", () => {
    const [day] = range("2026-11-01", "2026-11-01", "day").stretches;
    const [year] = range("2026-06-01", "2026-06-01", "year").stretches;
    expect(times([day?.churn_from ?? 0, day?.churn_to ?? 0])).toEqual(["2026-10-02T00:00", "2026-11-01T00:00"]);
    expect(times([year?.churn_from ?? 0, year?.churn_to ?? 0])).toEqual(["2026-01-01T00:00", "2027-01-01T00:00"]);
  });
  test.each([
    ["2026-11-02", "2026-11-01", "day", "ends before it begins"],
    ["2000-01-01", "2026-11-01", "hour", "days at most"],
  ] as const)("from %s to %s by the %s is refused: it %s (MET-02)", (start, end, interval, why) => {
    expect(() => range(start, end, interval)).toThrow(why);
  });
  test.each([
    ["UTC", 86_400],
    ["Europe/Berlin", 3600],
    ["Asia/Kolkata", 900],
  ])("in %s sums of %i s have all its moments between them", (zone, seconds) => {
    expect(range("2026-11-01", "2026-11-03", "day", zone).seconds).toBe(seconds);
  });
  test("a long range in a zone is read by days, but for those in which a stretch begins", () => {
    const { moments, seconds } = range("2026-01-01", "2026-12-31", "month", "Europe/Berlin");
    const { parts, divided, ...cover } = findCover({ moments, seconds });
    expect(cover).toEqual({ seconds: 86_400, part_seconds: 3600 });
    expect(parts).toHaveLength(24 * divided.length);
    expect(divided.every((at) => moments.some((moment) => moment > at && moment < at + 86_400_000))).toBe(true);
    expect(findCover({ moments: [0, 3_600_000, 7_200_000], seconds: 3600 })).toEqual({
      ...{ seconds: 3600, part_seconds: 3600, divided: [], parts: [] },
    });
  });
});

describe("metrics (MET-04)", () => {
  const { moments, ...rest } = range("2026-11-01", "2026-11-02", "day");
  const [first = 0, second = 0, last = 0] = rest.edges.map((at) => moments.indexOf(at));
  const compute = (slug: MetricSlug, of: [number, Record<string, number>][]) => {
    const { periods, totals } = computeMetrics({ moments, ...rest }, new Map(of), [slug]);
    return [...periods.map((period) => period[slug]), totals[slug]];
  };
  test.each<[MetricSlug, [number, Record<string, number>][], number[]]>([
    [
      "revenue",
      [
        [first, { revenue: 5 }],
        [second, { revenue: 10 }],
        [last, { revenue: 3 }],
      ],
      [10, 3, 13],
    ],
    [
      "cumulative_revenue",
      [
        [first, { revenue: 5 }],
        [second, { revenue: 10 }],
        [last, { revenue: 3 }],
      ],
      [15, 18, 18],
    ],
    [
      "average_order_value",
      [
        [second, { revenue: 10, orders: 4 }],
        [last, { revenue: 0, orders: 0 }],
      ],
      [3, 0, 2.5],
    ],
    [
      "checkouts_conversion",
      [
        [second, { checkouts: 4, succeeded: 1 }],
        [last, { checkouts: 4, succeeded: 3 }],
      ],
      [0.25, 0.75, 0.5],
    ],
    [
      "active_subscriptions",
      [
        [second, { started: 5, churned: 1 }],
        [last, { churned: 2 }],
      ],
      [4, 2, 2],
    ],
    ["annual_recurring_revenue", [[second, { mrr: 100 }]], [1200, 1200, 1200]],
    [
      "average_revenue_per_user",
      [
        [second, { mrr: 100, started: 3 }],
        [last, { churned: 3 }],
      ],
      [33, 0, 0],
    ],
    ["gross_margin_percentage", [[second, { revenue: 100, costs: 25 }]], [0.75, 0.75, 0.75]],
    ["cost_per_user", [[second, { costs: 10, users: 4, started: 5 }]], [2.5, 0, 2]],
    ["seat_utilization_rate", [[second, { seats: 4, seats_claimed: 3 }]], [0.75, 0.75, 0.75]],
  ])("%s", (slug, of, values) => {
    expect(compute(slug, of)).toEqual(values);
  });
  test("need nothing but what they are computed from", () => {
    expect([...listMeasures(["average_order_value"])].sort()).toEqual(["orders", "revenue"]);
    expect([...listMeasures(["checkouts"])]).toEqual(["checkouts"]);
    expect([...listMeasures([])]).toEqual([]);
  });
});

describe("what floe itself puts into the list of events (MTR-05)", () => {
  const customer = {
    id: "c",
    email: "a@b.c",
    name: "Ada",
    external_id: null,
    billing_address: null,
    tax_id: null,
    metadata: {},
  };
  test.each([
    ["nothing", customer, undefined],
    ["the name", { ...customer, name: "Eve" }, { name: "Eve" }],
    ["the number alone, not its kind", { ...customer, tax_id: ["FR1", "eu_vat"] as never }, { tax_id: "FR1" }],
    ["metadata", { ...customer, metadata: { a: 1 } }, { metadata: { a: 1 } }],
    ["what is not told", { ...customer, external_id: "x" }, undefined],
  ])("a customer is updated by another value of %s", (_, after, fields) => {
    expect(describeUpdated(customer, after)?.metadata.updated_fields).toEqual(fields);
  });
  test("orders that are refunded or given up say by how much", () => {
    const order = { id: "o", customer_id: "c", currency: "usd" };
    expect([describeRefunded(order, 5), describeVoided(order, 7)]).toEqual([
      { name: "order.refunded", customer_id: "c", metadata: { order_id: "o", refunded_amount: 5, currency: "usd" } },
      { name: "order.voided", customer_id: "c", metadata: { order_id: "o", amount: 7, currency: "usd" } },
    ]);
  });
  test("what is told in another way is not there, and nothing is said of what is not known", () => {
    expect(buildSystemEvent("product.created", {} as never)).toBeUndefined();
    const sent = { id: "s", customer_id: "c", product_id: "p", amount: 0, started_at: null, created_at: "2026-11-01" };
    expect(buildSystemEvent("subscription.created", sent as never)).toEqual({
      name: "subscription.created",
      customer_id: "c",
      metadata: { subscription_id: "s", product_id: "p", amount: 0, started_at: "2026-11-01" },
    });
    const grant = { id: "g", customer_id: "c", member_id: null, benefit_id: "b", benefit: { type: "custom" } };
    expect(buildSystemEvent("benefit_grant.revoked", grant as never)).toMatchObject({
      name: "benefit.revoked",
      metadata: { benefit_id: "b", benefit_grant_id: "g", benefit_type: "custom" },
    });
  });
});
