import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { answerWith, type HostedPair, startHosted } from "../support/hosted.ts";

/** Polar away, slow, or wrong: how often it is asked, how long anybody waits, and what becomes of a write. */

let pair: HostedPair;
beforeAll(async () => {
  pair = await startHosted({
    breaker: { failuresMax: 5, requestsMin: 20, windowMs: 30_000, openMs: 700, openMsMax: 1400 },
  });
});
afterAll(() => pair.close());
beforeEach(() => {
  pair.proxy.setFault(undefined);
  pair.proxy.recorded.length = 0;
});

const read = () => pair.floe.request("GET", "/v1/products/", { token: pair.seller.key });
const json = { "content-type": "application/json" };
const recover = async () => {
  pair.proxy.setFault(undefined);
  await expect.poll(async () => (await read()).status, { timeout: 5000 }).toBe(200);
};

test("a read is repeated twice, a write never; then nothing is asked for a while, and one try ends it", async () => {
  pair.proxy.setFault(answerWith(503, "{}", json));
  expect((await read()).status).toBe(503);
  expect(pair.proxy.recorded).toHaveLength(3);
  const write = () => pair.floe.request("POST", "/v1/products/", { token: pair.seller.key, body: { name: "x" } });
  const written = [await write(), await write()];
  expect(written.map(({ status, headers }) => [status, headers["floe-outcome"]])).toEqual([
    [503, "unknown"],
    [503, "unknown"],
  ]);
  expect(pair.proxy.recorded).toHaveLength(5);
  // Five failures in a row: from now on nobody waits.
  const times: number[] = [];
  for (let count = 0; count < 20; count++) {
    const since = performance.now();
    const { status, headers } = await (count % 2 ? read() : write());
    times.push(performance.now() - since);
    expect([status, headers["retry-after"]]).toEqual([503, expect.stringMatching(/^[12]$/)]);
  }
  // A slow machine reaches the time of a try.
  expect(pair.proxy.recorded.length).toBeLessThan(5 + 4);
  expect(times.sort((a, b) => a - b)[Math.floor(times.length / 2)]).toBeLessThan(20);
  expect((await pair.floe.request("GET", "/readyz")).json).toMatchObject({ polar: "away" });
  expect(pair.floe.logged.filter((line) => line.includes("does not answer as it should")).length).toBeLessThan(10);
  await recover();
  expect((await pair.floe.request("GET", "/readyz")).json).toMatchObject({ polar: "ok" });
});

test("the longer Polar fails, the rarer it is tried", async () => {
  pair.proxy.setFault(answerWith(500, "{}", json));
  for (let count = 0; count < 8; count++) await read();
  pair.proxy.recorded.length = 0;
  const since = performance.now();
  while (performance.now() - since < 2500) {
    await read();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  // After 700 and 1400 ms.
  expect(pair.proxy.recorded.length).toBeGreaterThanOrEqual(1);
  expect(pair.proxy.recorded.length).toBeLessThanOrEqual(3);
  await recover();
});

test("a short Retry-After of a read is waited for, a long one is the caller's", async () => {
  let limited = 1;
  pair.proxy.setFault((_request, response) => {
    if (limited-- <= 0) return undefined;
    response.writeHead(429, { ...json, "retry-after": "1" }).end("{}");
    return true;
  });
  expect((await read()).status).toBe(200);
  pair.proxy.setFault(answerWith(429, "{}", { ...json, "retry-after": "30" }));
  pair.proxy.recorded.length = 0;
  expect((await read()).headers["retry-after"]).toBe("30");
  expect(pair.proxy.recorded).toHaveLength(1);
});

test("requests that hang delay nobody else, and all of them end", async () => {
  pair.proxy.setFault(() => true);
  const hanging = Array.from({ length: 130 }, read);
  const others = await Promise.all(
    Array.from({ length: 20 }, async () => {
      const since = performance.now();
      const { status } = await pair.floe.request("GET", "/healthz");
      // A hanging request ends after 1.5 s: nobody waited for one.
      return [status, performance.now() - since < 1_200];
    }),
  );
  expect(others.every(([status, isSoon]) => status === 200 && isSoon)).toBe(true);
  for (const { status } of await Promise.all(hanging)) expect(status).toBe(503);
  // Twenty at once, and no read that got no answer in time is repeated.
  expect(pair.proxy.recorded.length).toBeLessThanOrEqual(130);
  await recover();
}, 30_000);

test("a write whose answer is lost is at Polar once, whatever is repeated with its key", async () => {
  const body = { name: "Once", prices: [{ amount_type: "fixed", price_amount: 1500 }] };
  const create = () =>
    pair.floe.request("POST", "/v1/products/", {
      token: pair.seller.key,
      body,
      headers: { "idempotency-key": "once" },
    });
  const { hostname, port } = new URL(pair.polar.url);
  const { request } = await import("node:http");
  pair.proxy.setFault(({ method, url, headers, body: sent }, response) => {
    if (method !== "POST") return undefined;
    const forwarded = request({ hostname, port, method, path: url, headers }, (answer) => {
      answer.resume().once("end", () => response.destroy());
    });
    forwarded.end(sent);
    return true;
  });
  const first = await create();
  expect([first.status, first.headers["floe-outcome"]]).toEqual([503, "unknown"]);
  const again = await Promise.all(Array.from({ length: 100 }, create));
  expect(new Set(again.map(({ status }) => status))).toEqual(new Set([409]));
  pair.floe.clock.advance(23 * 3_600_000);
  pair.proxy.setFault(undefined);
  expect((await create()).status).toBe(409);
  const made = await pair.polarSeller.client.products.list({ query: { query: "Once" } });
  expect(made.items).toHaveLength(1);
  const sent = pair.proxy.recorded.filter(({ method }) => method === "POST");
  expect(sent.map(({ headers }) => headers["idempotency-key"])).toEqual([`${pair.seller.organization_id}:once`]);
});

test("with a key, what was answered is answered again, and a refusal before anything was sent leaves the key free", async () => {
  const create = (key: string) =>
    pair.floe.request("POST", "/v1/products/", {
      token: pair.seller.key,
      body: { name: key, prices: [{ amount_type: "fixed", price_amount: 1500 }] },
      headers: { "idempotency-key": key },
    });
  pair.proxy.setFault(answerWith(429, "{}", { ...json, "retry-after": "9" }));
  expect((await create("limited")).status).toBe(429);
  pair.proxy.setFault(undefined);
  const made = await Promise.all([create("limited"), create("limited"), create("limited")]);
  expect(made.map(({ status }) => status).filter((status) => status === 201)).toHaveLength(1);
  const replayed = await create("limited");
  expect([replayed.status, replayed.headers["idempotency-replayed"]]).toEqual([201, "true"]);
  expect((await pair.polarSeller.client.products.list({ query: { query: "limited" } })).items).toHaveLength(1);
});

test("an answer of the wrong shape is refused with its place, and no value of it is in the log", async () => {
  const products = await pair.polarSeller.client.products.list({ query: {} });
  const [product] = JSON.parse(JSON.stringify(products.items)) as Record<string, unknown>[];
  const page = (change: object) => ({
    items: [{ ...product, ...change }],
    pagination: { total_count: 1, max_page: 1 },
  });
  const cases: [object, string][] = [
    [{ is_archived: "secret-value" }, "<root>.items.0.is_archived"],
    [{ id: undefined }, "<root>.items.0.id"],
    [{ created_at: "2026-01-01" }, "<root>.items.0.created_at"],
    [{ recurring_interval: "sleeping" }, "<root>.items.0.recurring_interval"],
  ];
  for (const [change, place] of cases) {
    pair.proxy.setFault(answerWith(200, JSON.stringify(page(change))));
    const { status, json } = await read();
    expect([status, json]).toMatchObject([
      502,
      { error: "SDKValidationError", detail: expect.stringContaining(place) },
    ]);
    expect((json as { detail: string }).detail).toContain("Response validation failed\n");
  }
  expect(pair.floe.logged.join("\n")).not.toContain("secret-value");
  pair.proxy.setFault(answerWith(200, JSON.stringify(page({ of_later: [1] }))));
  expect((await read()).json).toMatchObject({ items: [{ of_later: [1] }] });
});

test("a file comes as it is sent, and one that is cut is no whole file", async () => {
  pair.proxy.setFault((_request, response) => {
    response.writeHead(200, { "content-type": "text/csv", "content-disposition": 'attachment; filename="theirs.csv"' });
    response.end("id,name\r\n1,é\r\n");
    return true;
  });
  const whole = await pair.floe.request("GET", "/v1/orders/export", { token: pair.seller.key });
  expect([whole.status, whole.text, whole.headers["content-disposition"]]).toEqual([
    200,
    "id,name\r\n1,é\r\n",
    'attachment; filename="theirs.csv"',
  ]);
  pair.proxy.setFault((_request, response) => {
    response.writeHead(200, { "content-type": "text/csv" });
    response.write("id,name\r\n1,");
    setTimeout(() => response.destroy(), 20);
    return true;
  });
  const cut = pair.floe.request("GET", "/v1/orders/export", { token: pair.seller.key });
  await expect(cut).rejects.toThrow();
});
