import { beforeEach, describe, expect, test } from "vitest";
import { drawMetrics, drawSparkline, formatMetric } from "../../cli/ui/metrics.ts";
import { createPaint } from "../../cli/ui/theme.ts";
import { metricKinds } from "../../shared/api/metrics.ts";
import { floe, standIn } from "./support.ts";

const answer = {
  periods: [500, 0, -300, 120_000].map((revenue, day) => ({
    ...{ timestamp: `2026-11-0${day + 1}T00:00:00.000Z`, revenue, orders: day, churn_rate: 0.125, costs: 0.25 },
  })),
  totals: { revenue: 120_200, orders: 6, churn_rate: 0.125, costs: 1 },
  metrics: Object.fromEntries(
    (["revenue", "orders", "churn_rate", "costs"] as const).map((slug) => {
      const [display_name, type] = metricKinds[slug];
      return [slug, { slug, display_name, type }];
    }),
  ),
};
const about = { json: { now: "2031-03-01T23:30:00.000Z", currency: "eur" } };
let store: { status?: number; json: unknown } = about;
const server = await standIn(({ path, query }) => {
  if (path === "/v1/metrics/") return { json: answer };
  if (path === "/v1/metrics/links")
    return { status: 201, json: { url: "https://floe.example/metrics#token=floe_mtr_1", expires_at: "2026-11-23" } };
  if (path === "/v1/metrics/about") return store;
  if (path === "/v1/products/")
    return {
      json: {
        items: [{ id: "6f1c1b1e-8d57-4e0d-9d5c-0b1a51c1a001", name: query.get("query") }],
        pagination: { max_page: 1 },
      },
    };
  return { json: { items: [{ id: "o", slug: "o", default_presentment_currency: "eur" }] } };
});
const env = { FLOE_SERVER: server.url, FLOE_API_KEY: "floe_key", TZ: "UTC" };
const asked = () => server.received.find(({ path }) => path === "/v1/metrics/")?.query;
beforeEach(() => {
  server.received.length = 0;
  store = about;
});

describe("floe metrics", () => {
  test("in a pipe it is the answer as JSON, of thirty days by the day, with every metric", async () => {
    const { code, out } = await floe(["metrics", "--to", "2026-11-30", "--timezone", "UTC"], { env });
    expect([code, JSON.parse(out)]).toEqual([0, answer]);
    expect(Object.fromEntries(asked() ?? [])).toEqual({
      ...{ start_date: "2026-11-01", end_date: "2026-11-30", interval: "day", timezone: "UTC" },
    });
  });

  test("where no last day is named it is today by the store's clock, which a sandbox may have moved", async () => {
    const ends = async (zone: string) => {
      server.received.length = 0;
      expect((await floe(["metrics", "--timezone", zone], { env })).code).toBe(0);
      return [asked()?.get("start_date"), asked()?.get("end_date")];
    };
    expect(await ends("UTC")).toEqual(["2031-01-31", "2031-03-01"]);
    expect(await ends("Asia/Tokyo")).toEqual(["2031-02-01", "2031-03-02"]);
    // Of several stores, and of hosted Polar, there is no such day: it is today here.
    const today = () => new Date().toISOString().slice(0, 10);
    for (const status of [422, 404]) {
      store = { status, json: { error: "RequestValidationError", detail: [] } };
      const before = today();
      const [, end] = await ends("UTC");
      expect([before, today()]).toContain(end);
    }
    store = { status: 403, json: { error: "NotPermitted", detail: "No." } };
    expect((await floe(["metrics"], { env })).code).toBe(5);
  });

  test("fields of it, and what is asked for by name", async () => {
    const flags = ["--from", "2026-01-01", "--to", "2026-11-30", "--interval", "month", "--product", "Pro"];
    const { code, out } = await floe(
      ["metrics", ...flags, "--metrics", "revenue,orders", "--billing-type", "recurring", "--json", "totals.revenue"],
      { env },
    );
    expect([code, JSON.parse(out)]).toEqual([0, { totals: { revenue: 120_200 } }]);
    expect(asked()?.getAll("metrics")).toEqual(["revenue", "orders"]);
    expect(asked()?.get("product_id")).toBe("6f1c1b1e-8d57-4e0d-9d5c-0b1a51c1a001");
    expect(asked()?.get("billing_type")).toBe("recurring");
  });

  test("on a terminal it is drawn in the store's currency, within its columns", async () => {
    const { code, out } = await floe(
      [
        "metrics",
        "--from",
        "2026-11-01",
        "--to",
        "2026-11-04",
        "--timezone",
        "UTC",
        "--metrics",
        "revenue,orders,churn_rate",
      ],
      { env: { ...env, FLOE_PROMPT_DISABLED: "1" }, tty: true, columns: 60 },
    );
    expect(code).toBe(0);
    expect(out).toContain("€1,202.00");
    expect(out).toContain("12.5 %");
    // biome-ignore lint/suspicious/noControlCharactersInRegex: colors are control characters
    const bare = out.replace(/\u001b\[[\d;]*m/g, "").split("\n");
    expect(Math.max(...bare.map((line) => [...line].length))).toBeLessThanOrEqual(60);
  });

  test.each([
    ["--interval", "minute"],
    ["--from", "yesterday"],
    ["--to", "2026-02-30"],
    ["--timezone", "Mars/Base"],
    ["--watch", "0"],
  ])("%s %s is refused, and nothing is asked", async (...flags) => {
    const { code } = await floe(["metrics", ...flags], { env });
    expect([code, server.received]).toEqual([64, []]);
  });

  test("--open shows a page: in the browser from a terminal, else its address, with what was asked behind its #", async () => {
    const url = "https://floe.example/metrics#token=floe_mtr_1";
    const here = await floe(["metrics", "--open"], { env, tty: true });
    expect([here.code, here.out.trim(), here.opened]).toEqual([0, url, [url]]);
    const flags = ["--interval", "month", "--from", "2026-01-01", "--timezone", "Asia/Tokyo", "--product", "Pro"];
    const piped = await floe(["metrics", "--open", ...flags], { env });
    const asked =
      "interval=month&start_date=2026-01-01&timezone=Asia%2FTokyo&product_id=6f1c1b1e-8d57-4e0d-9d5c-0b1a51c1a001";
    expect([JSON.parse(piped.out).url, piped.opened]).toEqual([`${url}&${asked}`, []]);
    // The browser would be on a screen that nobody sits at.
    const far = await floe(["metrics", "--open"], { env: { ...env, SSH_CONNECTION: "10.0.0.1 22" }, tty: true });
    expect([far.code, far.out.trim(), far.opened]).toEqual([0, url, []]);
    const blind = await floe(["metrics", "--open"], {
      ...{ env, tty: true, openBrowser: () => Promise.reject(new Error("There is none.")) },
    });
    expect([blind.code, blind.out.trim()]).toEqual([0, url]);
    expect(blind.err).toContain("open the address yourself");
    server.received.length = 0;
    for (const flag of ["--watch", "--metrics=orders", "--billing-type=recurring", "--customer=a@example.com"])
      expect((await floe(["metrics", "--open", flag], { env })).code).toBe(64);
    expect(server.received.map(({ path }) => path)).not.toContain("/v1/metrics/links");
  });

  test("--watch asks again and again, a line of JSON each, until it is ended", async () => {
    const ending = new AbortController();
    const running = floe(["metrics", "--watch", "1"], { env, signal: ending.signal });
    while (server.received.length < 2) await new Promise((resolve) => setTimeout(resolve, 20));
    ending.abort();
    const { out, code } = await running;
    const lines = out.trim().split("\n");
    expect(lines.length).toBeGreaterThanOrEqual(1);
    expect([JSON.parse(lines[0] ?? ""), code]).toEqual([answer, expect.any(Number)]);
  });
});

test("a line of blocks has the shape of its values, and the width that there is", () => {
  expect(drawSparkline([0, 1, 2, 3, 4, 5, 6, 7], 8)).toBe("▁▂▃▄▅▆▇█");
  expect(drawSparkline([-7, 0, 7], 3)).toBe("▁▅█");
  expect(drawSparkline([0, 0], 4)).toBe("▁▁▁▁");
  expect(
    [
      ...drawSparkline(
        Array.from({ length: 366 }, (_, day) => day),
        40,
      ),
    ].length,
  ).toBeLessThanOrEqual(40);
  expect(drawSparkline([], 10)).toBe("");
});

test("numbers are written as what they are", () => {
  expect(formatMetric(120_050, "currency", "usd")).toBe("$1,200.50");
  expect(formatMetric(1500.6, "currency", "jpy")).toBe("¥1,501");
  expect(formatMetric(0.25, "currency_sub_cent", "usd")).toBe("$0.0025");
  expect(formatMetric(120_050, "currency", undefined)).toBe("1200.50");
  expect(formatMetric(0.5, "percentage", "usd")).toBe("50.0 %");
});

test("what the server names cannot steer the terminal", () => {
  const metrics = { revenue: { slug: "revenue", display_name: "Rev\u001b[2J", type: "currency" } };
  const drawing = {
    answer: { ...answer, metrics },
    slugs: ["revenue"],
    currency: "usd",
    interval: "day",
    timezone: "UTC",
  };
  expect(drawMetrics(drawing, 80, createPaint({}, "never", {})).join("\n")).not.toContain("\u001b");
});
