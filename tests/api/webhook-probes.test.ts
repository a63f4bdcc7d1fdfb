import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createLimiter } from "../../server/platform/limits/attempts.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { newId } from "../support/ids.ts";
import { type Receiver, startReceiver } from "../support/receiver.ts";

let floe: Floe;
let seller: Seller;
let receiver: Receiver;
beforeAll(async () => {
  floe = await start();
  seller = await floe.seller();
  receiver = await startReceiver();
});
afterAll(async () => {
  await floe?.close();
  await receiver?.close();
});

const probe = (body: object, { key } = seller) => floe.request("POST", "/v1/webhooks/probes", { token: key, body });
const isSigned = (secret: string): boolean => {
  const { body, headers } = receiver.received.at(-1) ?? { body: "", headers: {} };
  try {
    new Webhook(Buffer.from(secret).toString("base64")).verify(body, headers as Record<string, string>);
    return true;
  } catch {
    return false;
  }
};

test("an endpoint of the seller is sent its own organization, signed with its own secret", async () => {
  const endpoint = await seller.client.webhooks.createEndpoint({ body: { url: receiver.url, events: ["order.paid"] } });
  const { status, json } = await probe({ url: receiver.url });
  expect([status, json]).toMatchObject([200, { http_code: 200, response: "noted", error: null }]);
  expect(receiver.received.at(-1)?.json).toMatchObject({
    type: "organization.updated",
    data: { id: seller.organization_id },
  });
  expect(isSigned(endpoint.secret)).toBe(true);
  for (const signature of ["wrong", "missing"]) {
    await probe({ url: receiver.url, signature });
    expect(isSigned(endpoint.secret)).toBe(false);
  }
  const id = newId();
  await probe({ url: receiver.url, id });
  expect(receiver.received.at(-1)?.headers["webhook-id"]).toBe(id);
  await seller.client.webhooks.deleteEndpoint({ params: { id: endpoint.id } });
});

test("to another address, and for another seller, the secret of an endpoint is not used", async () => {
  const endpoint = await seller.client.webhooks.createEndpoint({ body: { url: receiver.url, events: ["order.paid"] } });
  const bob = await floe.seller("bob");
  await probe({ url: receiver.url }, bob);
  expect(isSigned(endpoint.secret)).toBe(false);
  expect(receiver.received.at(-1)?.json.data.id).toBe(bob.organization_id);
});

test("what a receiver answers, or does not, is an answer and no error", async () => {
  receiver.answer(503);
  expect((await probe({ url: receiver.url })).json).toMatchObject({ http_code: 503 });
  receiver.answer(200);
  const { status, json } = await probe({ url: "http://127.0.0.1:9/x" });
  expect([status, json]).toMatchObject([200, { http_code: null, response: null, error: expect.any(String) }]);
});

test("a delivery tells its address and how long it took", async () => {
  await seller.client.products.create({ body: { name: "Map", prices: [{ amount_type: "free" }] } });
  await seller.client.webhooks.createEndpoint({ body: { url: receiver.url, events: ["product.created"] } });
  await seller.client.products.create({ body: { name: "Map 2", prices: [{ amount_type: "free" }] } });
  await floe.runJobs();
  const [delivery] = (await seller.client.webhooks.listDeliveries({ query: {} })).items;
  expect(delivery).toMatchObject({ url: receiver.url, duration_ms: expect.any(Number), http_code: 200 });
});

test("a public server sends test events to public addresses alone, and a key needs its scope", async () => {
  const open = await start({ settings: { FLOE_URL: "https://pay.example.com" } });
  try {
    const { key } = await open.seller();
    for (const url of [
      "http://example.com/h",
      "https://127.0.0.1/h",
      "https://10.0.0.1/h",
      "https://169.254.169.254/",
      "https://localhost/h",
      "https://example.com:6379/",
    ]) {
      const { status, json } = await open.request("POST", "/v1/webhooks/probes", { token: key, body: { url } });
      expect([url, status, (json as { detail: { loc: unknown[] }[] }).detail[0]?.loc]).toEqual([
        url,
        422,
        ["body", "url"],
      ]);
    }
  } finally {
    await open.close();
  }
  const reader = await floe.keyOf(seller, ["webhooks:read"]);
  expect(
    (await floe.request("POST", "/v1/webhooks/probes", { token: reader, body: { url: receiver.url } })).status,
  ).toBe(403);
});

test("two hundred test events in ten minutes are enough", async () => {
  const carol = await floe.seller("carol");
  expect((await probe({ url: receiver.url }, carol)).status).toBe(200);
  const { hit } = createLimiter(floe.deps);
  const limit = { max: 200, window_seconds: 600 };
  for (let number = 2; number <= 200; number += 1) await hit(`webhook-probe:${carol.organization_id}`, limit);
  expect((await probe({ url: receiver.url }, carol)).status).toBe(429);
});
