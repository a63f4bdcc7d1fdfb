/** What is sent to a receiver of OpenTelemetry: the spans of a request, of its statements and calls, of jobs, and the metrics. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { getPoolUse } from "../../server/platform/db/pool.ts";
import { openGauges, registry } from "../../server/platform/telemetry/metrics.ts";
import { openOtlp } from "../../server/platform/telemetry/otlp.ts";
import { eventually } from "../support/eventually.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { readAttributes, startOtlpReceiver } from "../support/otlp-receiver.ts";

const trace = "4bf92f3577b34da6a3ce929d0e0e4736";
let floe: Floe;
let seller: Seller;
let receiver: Awaited<ReturnType<typeof startOtlpReceiver>>;
const open: (() => unknown)[] = [];
beforeEach(async () => {
  receiver = await startOtlpReceiver();
  floe = await start({ listen: true });
  open.push(
    () => receiver.close(),
    () => floe.close(),
  );
  seller = await floe.seller();
});
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

function send({ share = 1, log = floe.deps.log, url = receiver.url, exportEveryMs = 30_000 } = {}) {
  const otlp = openOtlp({ url, share, exportEveryMs, version: "1.2.3", instance: "host 7", role: "all", log });
  let closing: Promise<void> | undefined;
  const close = () => (closing ??= otlp.close());
  open.push(close);
  return close;
}
const list = (headers: Record<string, string> = {}) =>
  floe.request("GET", "/v1/products/?query=a-secret-search", { token: seller.key, headers });

test("a request goes on with its caller's trace, and its statements and calls are below it", async () => {
  const product = await seller.client.products.create({
    body: { name: "Book", prices: [{ amount_type: "fixed", price_amount: 900 }] },
  });
  const close = send();
  const headers = { traceparent: `00-${trace}-00f067aa0ba902b7-01`, "x-request-id": "shop-7f3a-0001" };
  await list(headers);
  const checkout = await seller.client.checkouts.create({ body: { products: [product.id] } });
  await floe.request("GET", "/healthz");
  await close();
  expect(receiver.resources[0]).toMatchObject({ "service.name": "floe", "service.version": "1.2.3" });
  const listed = receiver.spans.filter(({ traceId }) => traceId === trace);
  const request = listed.find(({ kind }) => kind === 2);
  expect(request).toMatchObject({ parentSpanId: "00f067aa0ba902b7", name: "GET" });
  expect(readAttributes(request?.attributes ?? [])).toMatchObject({
    "http.route": "/v1/products/",
    "http.response.status_code": 200,
    "floe.operation": "products.list",
    "floe.request_id": "shop-7f3a-0001",
    "floe.organization_id": seller.organization_id,
  });
  const statements = listed.filter(({ name }) => name === "select" || name === "with");
  // The embedded database is no other service.
  if (getPoolUse(floe.deps.db)) expect(statements.length).toBeGreaterThan(0);
  for (const { parentSpanId } of statements) expect(parentSpanId).toBe(request?.spanId);
  expect(checkout.id).toMatch(/./);
  const requests = receiver.spans.filter(({ kind }) => kind === 2);
  expect(requests).toHaveLength(2);
  const text = JSON.stringify(receiver.spans);
  for (const secret of [seller.key, "a-secret-search", seller.email]) expect(text).not.toContain(secret);
});

test("a job has a trace of its own, and so has a sale with the calls of the card processor", async () => {
  const close = send();
  const product = await seller.client.products.create({
    body: { name: "Book", prices: [{ amount_type: "fixed", price_amount: 900 }] },
  });
  await seller.client.checkouts.create({ body: { products: [product.id] } });
  const sold = await seller.client.checkouts.create({ body: { products: [product.id] } });
  const body = {
    customer_email: "buyer@example.com",
    customer_billing_address: { country: "US", state: "CA", line1: "1 Way", city: "Town", postal_code: "90001" },
    confirmation_token_id: "pm_card_visa",
  };
  const answer = await floe.request("POST", `/v1/checkouts/client/${sold.client_secret}/confirm`, { body });
  expect(answer.status).toBe(200);
  floe.clock.advance(3 * 24 * 3_600_000);
  await floe.runJobs();
  await close();
  const jobs = receiver.spans.filter(({ kind }) => kind === 5);
  expect(jobs.map(({ name }) => name)).toContain("job checkouts.expire");
  for (const { parentSpanId } of jobs) expect(parentSpanId).toBeUndefined();
  const calls = receiver.spans.filter(({ name }) => name.startsWith("processor "));
  const parents = new Set(receiver.spans.map(({ spanId }) => spanId));
  expect(calls.length).toBeGreaterThan(0);
  for (const { parentSpanId } of calls) expect(parents).toContain(parentSpanId);
});

test("the metrics are those that Prometheus reads", async () => {
  open.push(openGauges(floe.deps, "1.2.3", async () => ({ undispatched_at: null, undelivered_at: null })));
  const close = send();
  await list();
  await list();
  const text = await registry.render();
  await close();
  const metrics = new Map(receiver.metrics().map((metric) => [metric.name, metric]));
  const named = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name = ""]) => name);
  const written = named.filter((name) => new RegExp(`^${name}(?:_count)?[{ ]`, "m").test(text));
  expect(written.filter((name) => !metrics.has(name))).toEqual([]);
  const duration = metrics.get("floe_http_request_duration_seconds");
  expect(duration?.unit).toBe("s");
  const points = duration?.histogram?.dataPoints ?? [];
  const point = points.find(({ attributes }) => readAttributes(attributes).operation === "products.list");
  // Each bucket counts alone, so that they add up to all.
  expect(point?.bucketCounts?.reduce((sum, count) => sum + Number(count), 0)).toBe(Number(point?.count));
  expect(Number(point?.count)).toBeGreaterThanOrEqual(2);
  expect(metrics.get("floe_http_requests_total")?.sum?.isMonotonic).toBe(true);
  expect(metrics.get("floe_database_up")?.gauge?.dataPoints).toHaveLength(1);
});

test("a share of the traces is sent, and a caller's decision counts", async () => {
  const close = send({ share: 0 });
  const own = await list();
  expect(own.status).toBe(200);
  await list({ traceparent: `00-${trace}-00f067aa0ba902b7-01` });
  await close();
  expect(new Set(receiver.spans.map(({ traceId }) => traceId))).toEqual(new Set([trace]));
});

test("a receiver that is away stops nothing, and is said once", async () => {
  const warned: unknown[] = [];
  const log = { ...floe.deps.log, warn: (...said: unknown[]) => void warned.push(said) };
  receiver.answer(400);
  const close = send({ log, exportEveryMs: 50 });
  const before = receiver.headers.length;
  for (let at = 0; at < 3; at += 1) expect((await list()).status).toBe(200);
  // It is asked again and again.
  await eventually(async () => (receiver.headers.length > before + 3 ? true : undefined), "several refusals");
  const began = performance.now();
  await close();
  expect(performance.now() - began).toBeLessThan(5_000);
  expect(warned).toHaveLength(1);
  expect(JSON.stringify(warned)).toContain("FLOE_OTLP_URL");
});
