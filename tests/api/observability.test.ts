/** What operators see: the request log, metrics, and the alerts that rest on them. */
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { findOutbox } from "../../server/messaging/webhooks/backlog.ts";
import { createOutageLog } from "../../server/platform/db/outage-log.ts";
import { ConnectionLostError } from "../../server/platform/db/unreachable.ts";
import { openGauges, recordOutage, registry } from "../../server/platform/telemetry/metrics.ts";
import { parseOpsAddress } from "../../server/platform/telemetry/ops-address.ts";
import { openOpsServer } from "../../server/platform/telemetry/ops-server.ts";
import { createRegistry } from "../../server/platform/telemetry/registry.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";

let floe: Floe;
let seller: Seller;
let ops: Awaited<ReturnType<typeof openOpsServer>>;
let closeGauges: () => void;
const lines: Record<string, unknown>[] = [];
beforeAll(async () => {
  const silent = () => undefined;
  const requestLog = { info: (fields: object) => void lines.push(fields as never), warn: silent, error: silent };
  floe = await start({ requestLog });
  seller = await floe.seller();
  closeGauges = openGauges(floe.deps, "1.2.3", findOutbox);
  ops = await openOpsServer(floe.app, floe.deps.drain, { host: "127.0.0.1", port: 0 });
});
afterAll(async () => {
  await ops.close();
  closeGauges();
  await floe.close();
});

const scrape = async () => (await fetch(`http://127.0.0.1:${ops.port}/metrics`)).text();
const readValue = (text: string, series: string) =>
  Number(
    text
      .split("\n")
      .find((line) => line.startsWith(`${series} `))
      ?.split(" ")
      .at(-1) ?? Number.NaN,
  );
const list = (headers: Record<string, string> = {}) =>
  floe.request("GET", "/v1/products/?query=secret-search", { token: seller.key, headers });

test("each request has one line with its ids, and without secrets", async () => {
  lines.length = 0;
  const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  const answer = await list({ "x-request-id": "shop-7f3a-0001", traceparent });
  expect(answer.headers["x-request-id"]).toBe("shop-7f3a-0001");
  await floe.request("GET", "/healthz");
  await floe.request("GET", "/nowhere/secret-path");
  await floe.request("GET", "/v1/products/", { token: "polar_oat_not_a_key" });
  expect(lines).toEqual([
    {
      method: "GET",
      route: "/v1/products/",
      operation: "products.list",
      status: 200,
      error: undefined,
      ms: expect.any(Number),
      organization_id: seller.organization_id,
      key_id: expect.stringMatching(/./),
      request_id: "shop-7f3a-0001",
      trace_id: "4bf92f3577b34da6a3ce929d0e0e4736",
    },
    expect.objectContaining({ route: null, status: 404, organization_id: null }),
    expect.objectContaining({ route: "/v1/products/", status: 401, error: expect.any(String), organization_id: null }),
  ]);
  const text = JSON.stringify(lines);
  for (const secret of [seller.key, "secret-search", "secret-path", "not_a_key"]) expect(text).not.toContain(secret);
});

test("an id or a trace of another form is replaced", async () => {
  lines.length = 0;
  for (const id of ["short", "x".repeat(65), "two words here", "line\u00e9break-1"]) {
    const answer = await list({ "x-request-id": id, traceparent: `00-${"0".repeat(32)}-00f067aa0ba902b7-01` });
    expect(answer.headers["x-request-id"]).toMatch(/^[0-9a-f-]{36}$/);
  }
  expect(new Set(lines.map(({ trace_id }) => trace_id)).size).toBe(4);
  for (const { trace_id } of lines) expect(trace_id).toMatch(/^(?!0{32})[0-9a-f]{32}$/);
});

test("metrics count requests by operation, and callers cannot add series", async () => {
  const series = 'floe_http_requests_total{operation="products.list",status="200"}';
  const before = readValue(await scrape(), series) || 0;
  await list();
  for (let at = 0; at < 30; at += 1) await floe.request("GET", `/v1/unknown-${at}/`, { token: seller.key });
  const text = await scrape();
  expect(readValue(text, series)).toBe(before + 1);
  expect(text).not.toContain("unknown-");
  expect(text).toContain('floe_http_requests_total{operation="unmatched",status="404"}');
  expect(text).toMatch(/^floe_http_request_duration_seconds_bucket\{operation="products.list",le="\+Inf"\} \d+$/m);
  expect(text).toContain('floe_build_info{version="1.2.3"');
  const ready = await fetch(`http://127.0.0.1:${ops.port}/readyz`);
  expect(((await ready.json()) as { database: boolean }).database).toBe(true);
  expect((await fetch(`http://127.0.0.1:${ops.port}/v1/products/`)).status).toBe(404);
});

test("a metric has a bounded number of series, and the text is escaped", async () => {
  const own = createRegistry();
  const counter = own.createCounter("things_total", "Things.");
  for (let at = 0; at < 5000; at += 1) counter.add({ name: `a "quoted"\n${at}` });
  const text = await own.render();
  expect(text.split("\n").filter((line) => line.startsWith("things_total{")).length).toBe(2001);
  expect(text).toContain('things_total{name="a \\"quoted\\"\\n0"} 1');
  expect(text).toContain('things_total{name="other"} 3000');
  const durations = own.createHistogram("took_seconds", "Took.", [0.1, 1]);
  for (const seconds of [0.05, 0.5, 5]) durations.observe({}, seconds);
  expect(await own.render()).toMatch(
    /took_seconds_bucket\{le="0.1"\} 1\ntook_seconds_bucket\{le="1"\} 2\ntook_seconds_bucket\{le="\+Inf"\} 3\ntook_seconds_sum 5.55\ntook_seconds_count 3/,
  );
});

test("the dashboard and the alerts name only metrics that exist, and the document explains each alert", async () => {
  const text = await registry.render();
  const known = new Set(
    [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].flatMap(([, name = "", type]) =>
      type === "histogram" ? ["_bucket", "_sum", "_count"].map((suffix) => name + suffix) : [name],
    ),
  );
  const alerts = readFileSync("deploy/alerts.yml", "utf8");
  const dashboard = readFileSync("deploy/grafana-dashboard.json", "utf8");
  const named = [...`${alerts}\n${dashboard}`.matchAll(/\b(?:floe|process)_[a-z_]+/g)].map(([name]) => name);
  expect(named.length).toBeGreaterThan(30);
  expect([...new Set(named)].filter((name) => !known.has(name))).toEqual([]);
  const document = readFileSync("docs/monitoring.md", "utf8");
  const names = [...alerts.matchAll(/- alert: (\w+)/g)].map(([, name = ""]) => name);
  expect(names.filter((name) => !document.includes(`\`${name}\``))).toEqual([]);
});

test("an outage of the database is visible in the metrics that its alerts read", async () => {
  const { recordOutcome } = createOutageLog({ info: () => {}, warn: () => {}, error: () => {} });
  // A server of another test in this process may have ended during an outage.
  recordOutage(false);
  const before = readValue(await scrape(), "floe_database_outages_total") || 0;
  expect(readValue(await scrape(), "floe_database_up")).toBe(1);
  recordOutcome(new ConnectionLostError("gone"));
  recordOutcome(new ConnectionLostError("gone"));
  expect(readValue(await scrape(), "floe_database_up")).toBe(0);
  expect(readValue(await scrape(), "floe_database_outages_total")).toBe(before + 1);
  const { now } = performance;
  performance.now = () => now.call(performance) + 3_000;
  recordOutcome();
  performance.now = now;
  expect(readValue(await scrape(), "floe_database_up")).toBe(1);
});

test("a sale, its mail and a job are counted, and a job that fails", async () => {
  const product = await seller.client.products.create({
    body: { name: "Book", prices: [{ amount_type: "fixed", price_amount: 900 }] },
  });
  const before = await scrape();
  await seller.client.checkouts.create({ body: { products: [product.id] } });
  floe.clock.advance(3 * 24 * 3_600_000);
  await floe.runJobs();
  const after = await scrape();
  const expiry = 'floe_jobs_total{worker="checkouts.expire",outcome="done"}';
  const worker = [...after.matchAll(/^floe_jobs_total\{worker="([^"]+)",outcome="done"\}/gm)].map(([, name]) => name);
  expect(worker.length, expiry).toBeGreaterThan(0);
  expect(after).not.toBe(before);
  expect(after).toMatch(/^floe_job_oldest_due_seconds\{worker="[^"]+"\} \d/m);
});

test.each([
  ["9464", { host: "127.0.0.1", port: 9464 }],
  ["10.0.0.5:9464", { host: "10.0.0.5", port: 9464 }],
  ["[::1]:9464", { host: "::1", port: 9464 }],
  ["70000", undefined],
  ["a:b:1", undefined],
])("an operator's address: %s", (text, address) => {
  expect(parseOpsAddress(text)).toEqual(address);
});
