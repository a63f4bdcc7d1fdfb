import { createPolar as createPolar04 } from "@polar-sh/sdk/2026-04";
import { createPolar as createPolar10 } from "@polar-sh/sdk/2026-10";
import { createPolar as createPolar27 } from "@polar-sh/sdk/2027-01";
import { Polar as Polar38 } from "polar-sdk-0.38";
import { RFCDate as Date38 } from "polar-sdk-0.38/types/rfcdate.js";
import { Polar as Polar49 } from "polar-sdk-0.49";
import { RFCDate as Date49 } from "polar-sdk-0.49/types/rfcdate.js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Floe, start } from "../support/floe.ts";
import type { Wire } from "../support/sdks.ts";
import { openShop } from "../support/story.ts";

/** Metrics and subscriptions as the official SDKs read them: what they do not understand, they refuse. */

let floe: Floe;
beforeAll(async () => {
  floe = await start({ listen: true });
});
afterAll(() => floe.close());

type Calls = {
  metrics(start: string, end: string): Promise<Wire>;
  csv(start: string, end: string): Promise<Wire>;
  limits(): Promise<Wire>;
  list(): Promise<Wire>;
  get(id: string): Promise<Wire>;
  update(id: string, product_id: string): Promise<Wire>;
  cancel(id: string): Promise<Wire>;
  revoke(id: string): Promise<Wire>;
};

const speakeasy = (sdk: Wire, day: new (date: string) => unknown): Calls => {
  const range = (start: string, end: string) => ({
    startDate: new day(start),
    endDate: new day(end),
    interval: "day",
    timezone: "UTC",
  });
  return {
    metrics: (start, end) => sdk.metrics.get(range(start, end)),
    // The older one has none.
    csv: async (start, end) => sdk.metrics.export?.(range(start, end)) ?? "timestamp",
    limits: () => sdk.metrics.limits(),
    list: async () => (await sdk.subscriptions.list({})).result,
    get: (id) => sdk.subscriptions.get({ id }),
    update: (id, productId) => sdk.subscriptions.update({ id, subscriptionUpdate: { productId } }),
    cancel: (id) => sdk.subscriptions.update({ id, subscriptionUpdate: { cancelAtPeriodEnd: true } }),
    revoke: (id) => sdk.subscriptions.revoke({ id }),
  };
};
const versioned = (sdk: Wire): Calls => {
  const range = (start_date: string, end_date: string) => ({ start_date, end_date, interval: "day", timezone: "UTC" });
  return {
    metrics: (start, end) => sdk.metrics.get(range(start, end)),
    csv: (start, end) => sdk.metrics.export(range(start, end)),
    limits: () => sdk.metrics.limits(),
    list: () => sdk.subscriptions.list({}),
    get: (id) => sdk.subscriptions.get(id),
    update: (id, product_id) => sdk.subscriptions.update(id, { product_id }),
    cancel: (id) => sdk.subscriptions.update(id, { cancel_at_period_end: true }),
    revoke: (id) => sdk.subscriptions.revoke(id),
  };
};
const opened: [string, (url: string, token: string) => Calls][] = [
  ["0.38.1", (serverURL, accessToken) => speakeasy(new Polar38({ serverURL, accessToken }), Date38)],
  ["0.49.0", (serverURL, accessToken) => speakeasy(new Polar49({ serverURL, accessToken }), Date49)],
  ...[
    ["2026-04", createPolar04] as const,
    ["2026-10", createPolar10] as const,
    ["2027-01", createPolar27] as const,
  ].map(([version, create]): [string, (url: string, token: string) => Calls] => [
    `1.0.1 (${version})`,
    (baseUrl, accessToken) => versioned(create({ baseUrl, accessToken, timeout: 30 } as never)),
  ]),
];
/** A field by either of its names. */
const field = (of: Wire, snake: string): Wire =>
  of[snake] ?? of[snake.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())];

describe.each(opened)("official SDK %s", (_, open) => {
  test("reads metrics, their limits and their export, and lives through a subscription", async () => {
    const shop = await openShop(floe, "2027-01-10T12:00:00Z");
    const [pro, team] = [await shop.sells("Pro", 1900), await shop.sells("Team", 4900)];
    const id = await shop.subscribes(pro);
    const calls = open(floe.url, shop.seller.key);
    const told = await calls.metrics("2027-01-09", "2027-01-10");
    expect(told.periods).toHaveLength(2);
    expect(told.periods.map((period: Wire) => [period.revenue, field(period, "new_subscriptions")])).toEqual([
      [0, 0],
      [1900, 1],
    ]);
    expect(field(told.totals, "monthly_recurring_revenue")).toBe(1900);
    expect(field(told.metrics.revenue, "display_name")).toBe("Revenue");
    const limits = await calls.limits();
    expect(String(field(limits, "min_date"))).toContain("2023-01-01");
    expect(field(limits.intervals.day, "max_days")).toBe(366);
    expect(String(await calls.csv("2027-01-09", "2027-01-10"))).toContain("timestamp");

    const { items } = await calls.list();
    expect(items.map((one: Wire) => one.id)).toEqual([id]);
    expect(new Date(field(await calls.get(id), "current_period_end"))).toEqual(new Date("2027-02-10T12:00:00Z"));
    expect(field(await calls.update(id, team), "product_id")).toBe(team);
    expect(field(await calls.cancel(id), "cancel_at_period_end")).toBe(true);
    expect((await calls.revoke(id)).status).toBe("canceled");
  });
});
