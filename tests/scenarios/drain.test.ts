/** A server that stops completes what it has begun, and says so before (OPS-01). */
import { once } from "node:events";
import { request as sendRequest } from "node:http";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { eq } from "drizzle-orm";
import { afterEach, expect, test } from "vitest";
import { orders } from "../../server/billing/orders/tables.ts";
import type { Deps } from "../../server/platform/context.ts";
import { type Floe, start } from "../support/floe.ts";
import { openStream } from "../support/sse.ts";

let floe: Floe | undefined;
afterEach(async () => {
  await floe?.close();
  floe = undefined;
});

/** A shop whose card processor takes its time. */
async function openSlowShop(processorMs: number, settings: Record<string, string> = {}) {
  const slowly =
    <A extends unknown[], R>(call: (...given: A) => Promise<R>) =>
    async (...given: A): Promise<R> => {
      await sleep(processorMs);
      return call(...given);
    };
  const replace = ({ processor }: Deps): Partial<Deps> => ({
    processor: { ...processor, confirm: slowly(processor.confirm) },
  });
  floe = await start({ listen: true, realTime: true, settings, replace });
  const seller = await floe.seller();
  const prices = [{ amount_type: "fixed" as const, price_amount: 1900 }];
  const { id } = await seller.client.products.create({ body: { name: "Guide", prices } });
  const checkout = await seller.client.checkouts.create({ body: { products: [id] } });
  const buy = (signal?: AbortSignal) =>
    fetch(`${floe?.url}/v1/checkouts/client/${checkout.client_secret}/confirm`, {
      method: "POST",
      ...(signal && { signal }),
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        customer_billing_address: { country: "FR" },
        confirmation_token_id: "pm_card_visa",
        customer_email: "buyer@example.com",
      }),
    });
  const { db } = floe.deps;
  const readOrders = async () => {
    const own = eq(orders.organization_id, seller.organization_id);
    return (await db.select({ status: orders.status }).from(orders).where(own)).map(({ status }) => status);
  };
  return { floe, seller, buy, readOrders };
}

test("OPS-01: /readyz fails first, while new requests are served over connections that end with their answer", async () => {
  // Without workers, which a server that is ready otherwise needs.
  const { floe, seller } = await openSlowShop(0, { FLOE_PROCESS: "api" });
  const before = await fetch(`${floe.url}/readyz`);
  expect([before.status, before.headers.get("connection")]).toEqual([200, "keep-alive"]);
  floe.deps.drain.begin();
  const ready = await fetch(`${floe.url}/readyz`);
  expect([ready.status, ready.headers.get("connection")]).toEqual([503, "close"]);
  expect(await ready.json()).toMatchObject({ status: "stopping", database: true });
  expect((await fetch(`${floe.url}/healthz`)).status).toBe(200);
  const list = await fetch(`${floe.url}/v1/products/`, { headers: { authorization: `Bearer ${seller.key}` } });
  expect([list.status, list.headers.get("connection")]).toEqual([200, "close"]);
});

test("OPS-01: a sale that waits for the card processor is completed, and no connection is accepted meanwhile", async () => {
  const { floe, buy, readOrders } = await openSlowShop(2000, { FLOE_DRAIN_SECONDS: "30" });
  const answer = buy();
  await expect.poll(() => floe.deps.drain.countRequests()).toBeGreaterThan(0);
  const closed = floe.app.close();
  await sleep(200);
  await expect(fetch(`${floe.url}/healthz`)).rejects.toThrow();
  expect((await answer).status).toBe(200);
  await closed;
  expect(await readOrders()).toEqual(["paid"]);
  expect(floe.logged.filter((line) => line.includes("cut off"))).toEqual([]);
});

test("OPS-01: a sale whose buyer has left is completed, too", async () => {
  const { floe, readOrders, buy } = await openSlowShop(1500, { FLOE_DRAIN_SECONDS: "30" });
  const leaving = new AbortController();
  const answer = buy(leaving.signal).catch(() => undefined);
  await expect.poll(() => floe.deps.drain.countRequests()).toBeGreaterThan(0);
  await sleep(300);
  leaving.abort();
  await answer;
  await floe.app.close();
  expect(await readOrders()).toEqual(["pending"]);
  await floe.deps.drain.awaitRequests();
  expect(floe.deps.drain.countRequests()).toBe(0);
  expect(await readOrders()).toEqual(["paid"]);
});

test("OPS-01: what takes longer than FLOE_DRAIN_SECONDS is cut off, and said", async () => {
  const { floe, buy } = await openSlowShop(4000, { FLOE_DRAIN_SECONDS: "1" });
  const answer = buy().then(
    ({ status }) => status,
    () => "cut off",
  );
  await expect.poll(() => floe.deps.drain.countRequests()).toBeGreaterThan(0);
  const began = performance.now();
  await floe.app.close();
  expect(await answer).toBe("cut off");
  expect(performance.now() - began).toBeLessThan(3000);
  expect(floe.logged.filter((line) => line.includes("cut off"))).toHaveLength(1);
  // The sale itself goes on in this process; the next test begins without it.
  await expect.poll(() => floe.deps.drain.countRequests(), { timeout: 10_000 }).toBe(0);
});

test("OPS-01: a body that is still arriving is a request in progress; a spare connection is none", async () => {
  const { floe, seller } = await openSlowShop(0, { FLOE_DRAIN_SECONDS: "30" });
  const body = JSON.stringify({ name: "Late", prices: [{ amount_type: "free" }] });
  const request = sendRequest(`${floe.url}/v1/products/`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${seller.key}`,
      "content-type": "application/json",
      "content-length": body.length,
    },
  });
  request.write(body.slice(0, 10));
  const spare = sendRequest(floe.url).on("error", () => undefined);
  spare.on("socket", (socket) => socket.on("connect", () => socket.removeAllListeners("connect")));
  await expect.poll(() => floe.deps.drain.countRequests()).toBeGreaterThan(0);
  const closed = floe.app.close();
  await sleep(1500);
  const answered = once(request, "response");
  request.end(body.slice(10));
  const [response] = (await answered) as [{ statusCode: number }];
  expect(response.statusCode).toBe(201);
  const began = performance.now();
  await closed;
  expect(performance.now() - began).toBeLessThan(5000);
  spare.destroy();
});

test("OPS-01: a request whose headers were still arriving at the end of the notice is answered", async () => {
  const { floe, seller, buy } = await openSlowShop(2000, { FLOE_DRAIN_SECONDS: "30" });
  const socket = connect(Number(new URL(floe.url).port), "127.0.0.1");
  await once(socket, "connect");
  socket.write(`GET /v1/products/ HTTP/1.1\r\nhost: floe\r\n`);
  const sale = buy();
  await expect.poll(() => floe.deps.drain.countRequests()).toBeGreaterThan(0);
  const closed = floe.app.close();
  // By then the server accepts no connection any more.
  await expect.poll(() => fetch(`${floe.url}/healthz`).then(String, () => "refused")).toBe("refused");
  socket.write(`authorization: Bearer ${seller.key}\r\n\r\n`);
  const [answer] = (await once(socket, "data")) as [Buffer];
  expect(String(answer).split("\r\n")[0]).toBe("HTTP/1.1 200 OK");
  expect((await sale).status).toBe(200);
  await closed;
});

test("OPS-01: streams end with a message that tells their clients to connect again", async () => {
  const { floe, seller } = await openSlowShop(0);
  const stream = await openStream(`${floe.url}/v1/webhooks/listen`, { authorization: `Bearer ${seller.key}` });
  expect((await stream.next()).event).toBe("hello");
  const closed = floe.app.close();
  expect(await stream.next()).toEqual({ event: "reconnect", data: {} });
  await stream.ended;
  await closed;
});
