import { eq } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { webhookDeliveries, webhookEndpoints } from "../../server/messaging/webhooks/tables.ts";
import { events } from "../../server/platform/db/tables.ts";
import { transact } from "../../server/platform/db/unit-of-work.ts";
import type { WebhookEndpoint } from "../../shared/api/webhooks.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { newId } from "../support/ids.ts";
import { type Receiver, startReceiver } from "../support/receiver.ts";

const sdk1 = { "polar-version": "2026-10" };

let floe: Floe;
let seller: Seller;
let receiver: Receiver;
beforeAll(async () => {
  floe = await start();
});
afterAll(() => floe.close());
beforeEach(async () => {
  seller = await floe.seller();
  receiver = await startReceiver();
});
afterEach(() => receiver.close());

const endpoint = (body: object = {}): Promise<WebhookEndpoint> =>
  floe
    .client(seller.key, sdk1)
    .webhooks.createEndpoint({ body: { url: receiver.url, format: "raw", events: ["product.created"], ...body } });

describe("endpoints", () => {
  test("are made with a secret of their own, 201, and listed newest first (WHK-01, WHK-02)", async () => {
    const answer = await floe.request("POST", "/v1/webhooks/endpoints", {
      token: seller.key,
      headers: sdk1,
      body: { url: receiver.url, format: "raw", events: ["order.paid", "order.paid"], name: "Mine" },
    });
    expect(answer.status).toBe(201);
    expect(answer.json).toMatchObject({
      name: "Mine",
      enabled: true,
      events: ["order.paid"],
      organization_id: seller.organization_id,
      api_version: "2026-10",
      modified_at: null,
      uses_standard_webhook_signature: false,
      secret: expect.stringMatching(/^polar_whs_[A-Za-z0-9]{43}$/),
    });
    for (const column of ["since_seq", "deleted_at", "generation", "release"])
      expect(answer.json).not.toHaveProperty(column);
    floe.clock.advance(1000);
    const second = await endpoint();
    const list = await seller.client.webhooks.listEndpoints({ query: {} });
    expect(list.items.map(({ id }) => id)).toEqual([second.id, (answer.json as { id: string }).id]);
    expect(list.pagination).toEqual({ total_count: 2, max_page: 1 });
  });

  test("keep a secret that is long enough and get a new one on request (WHK-02)", async () => {
    const secret = "my own secret of at least thirty-two characters";
    const made = await endpoint({ secret });
    expect(made.secret).toBe(secret);
    const reset = await seller.client.webhooks.resetSecret({ params: { id: made.id }, query: {} });
    expect(reset.secret).toMatch(/^polar_whs_/);
    const again = await seller.client.webhooks.getEndpoint({ params: { id: made.id } });
    expect(again.secret).toBe(reset.secret);
    await expect(endpoint({ secret: "too short" })).rejects.toMatchObject({ status: 422 });
  });

  test("are changed by what is given; null leaves a field as it is (WHK-03)", async () => {
    const made = await endpoint({ name: "Before" });
    const nothing = { url: null, name: null, format: null, events: null, enabled: null, secret: null };
    const same = await floe.request("PATCH", `/v1/webhooks/endpoints/${made.id}`, {
      token: seller.key,
      headers: sdk1,
      body: nothing,
    });
    expect(same.json).toMatchObject({
      url: made.url,
      name: "Before",
      format: "raw",
      events: made.events,
      enabled: true,
      secret: made.secret,
      modified_at: null,
    });
    const changed = await floe
      .client(seller.key, sdk1)
      .webhooks.updateEndpoint({ params: { id: made.id }, body: { enabled: false, events: ["order.paid"] } });
    expect(changed).toMatchObject({
      enabled: false,
      events: ["order.paid"],
      name: "Before",
      url: made.url,
      modified_at: expect.any(Date),
    });
  });

  test("are gone once deleted, and of others never seen (WHK-01, API-22)", async () => {
    const made = await endpoint();
    const other = await floe.seller("other");
    const params = { id: made.id };
    await expect(other.client.webhooks.getEndpoint({ params })).rejects.toMatchObject({ status: 404 });
    await expect(other.client.webhooks.updateEndpoint({ params, body: { name: "x" } })).rejects.toMatchObject({
      status: 404,
    });
    await expect(other.client.webhooks.deleteEndpoint({ params })).rejects.toMatchObject({ status: 404 });
    await expect(other.client.webhooks.resetSecret({ params, query: {} })).rejects.toMatchObject({ status: 404 });
    await seller.client.webhooks.deleteEndpoint({ params });
    await expect(seller.client.webhooks.getEndpoint({ params })).rejects.toMatchObject({ status: 404 });
    await expect(seller.client.webhooks.deleteEndpoint({ params })).rejects.toMatchObject({ status: 404 });
    expect((await seller.client.webhooks.listEndpoints({ query: {} })).items).toEqual([]);
    expect(await floe.deps.db.select().from(webhookEndpoints).where(eq(webhookEndpoints.id, made.id))).toHaveLength(1);
  });

  test("need webhooks:write, to read webhooks:read (WHK-04)", async () => {
    const reader = floe.client(await floe.keyOf(seller, ["webhooks:read"]));
    expect((await reader.webhooks.listEndpoints({ query: {} })).items).toEqual([]);
    const body = { url: receiver.url, format: "raw" as const, events: ["order.paid" as const] };
    await expect(reader.webhooks.createEndpoint({ body })).rejects.toMatchObject({ status: 403 });
    await expect(floe.client().webhooks.createEndpoint({ body })).rejects.toMatchObject({ status: 401 });
    // Who may not change them does not get what signs for them.
    const made = await seller.client.webhooks.createEndpoint({ body });
    expect(made.secret).toMatch(/^polar_whs_\w{43}$/);
    expect((await reader.webhooks.listEndpoints({ query: {} })).items).toEqual([
      { ...made, secret: "polar_whs_********" },
    ]);
    const writer = floe.client(await floe.keyOf(seller, ["webhooks:write"]));
    expect((await writer.webhooks.getEndpoint({ params: { id: made.id } })).secret).toBe(made.secret);
    await seller.client.webhooks.deleteEndpoint({ params: { id: made.id } });
  });

  test.each([
    { url: "no address" },
    { url: "ftp://example.com/" },
    { url: 1 },
    { format: "xml" },
    { events: ["made.up"] },
    { events: "order.paid" },
    { enabled: "perhaps" },
    { url: `https://example.com/${"x".repeat(2083)}` },
    { api_version: "1999-01" },
  ])("refuse %o with 422", async (wrong) => {
    const body = { url: receiver.url, format: "raw", events: ["order.paid"], ...wrong };
    const answer = await floe.request("POST", "/v1/webhooks/endpoints", { token: seller.key, body });
    expect(answer.status).toBe(422);
    expect(answer.json).toMatchObject({ detail: [{ loc: expect.arrayContaining(["body", Object.keys(wrong)[0]]) }] });
  });
});

describe("a server that others can reach", () => {
  let away: Floe;
  let owner: Seller;
  beforeAll(async () => {
    away = await start({ settings: { HOST: "0.0.0.0" } });
    owner = await away.seller();
    await away.runJobs();
  });
  afterAll(() => away.close());
  const make = (url: string) =>
    away.request("POST", "/v1/webhooks/endpoints", {
      token: owner.key,
      body: { url, format: "raw", events: ["product.created"] },
    });

  test.each([
    "http://8.8.8.8/",
    "https://127.0.0.1/",
    "https://localhost/",
    "https://169.254.169.254/latest/meta-data",
    "https://[::ffff:10.0.0.1]/",
    "https://2130706433/",
  ])("refuses %s as a receiver (WHK-01)", async (url) => {
    const answer = await make(url);
    expect(answer.status).toBe(422);
    expect(answer.json).toMatchObject({ error: "PolarRequestValidationError", detail: [{ loc: ["body", "url"] }] });
  });

  test("does not send to a private address that got into the table, and refuses to switch it on (WHK-03)", async () => {
    const { id } = (await make("https://8.8.8.8/hook")).json as { id: string };
    await away.deps.db.update(webhookEndpoints).set({ url: receiver.url }).where(eq(webhookEndpoints.id, id));
    await transact(away.deps, async (tx) => {
      await tx.insert(events).values({
        id: newId(),
        organization_id: owner.organization_id,
        type: "product.created",
        data: {},
        created_at: away.clock.now(),
      });
    });
    await away.runJobs();
    const [delivery] = await away.deps.db.select().from(webhookDeliveries).where(eq(webhookDeliveries.endpoint_id, id));
    expect(delivery).toMatchObject({
      succeeded: false,
      http_code: null,
      response: expect.stringContaining("https://"),
    });
    expect(receiver.received).toEqual([]);
    const patch = (body: object) => away.request("PATCH", `/v1/webhooks/endpoints/${id}`, { token: owner.key, body });
    expect((await patch({ enabled: false })).status).toBe(200);
    const on = await patch({ enabled: true });
    expect(on.status).toBe(422);
    expect(on.json).toMatchObject({ detail: [{ loc: ["body", "enabled"] }] });
    expect((await patch({ url: "https://10.0.0.1/" })).status).toBe(422);
    expect((await patch({ url: "https://8.8.4.4/", enabled: true })).status).toBe(200);
  });

  test("sends to a private receiver that the operator allows, and to no other (WHK-43)", async () => {
    const inside = await start({ settings: { HOST: "0.0.0.0", FLOE_WEBHOOK_ALLOW: "127.0.0.1" } });
    try {
      const { key, client } = await inside.seller();
      const create = (url: string) =>
        inside.request("POST", "/v1/webhooks/endpoints", {
          token: key,
          body: { url, format: "raw", events: ["product.created"] },
        });
      expect((await create("http://127.0.0.2:8080/hook")).status).toBe(422);
      expect((await create(receiver.url)).status).toBe(201);
      await client.products.create({ body: { name: "Guide", prices: [{ amount_type: "free" }] } });
      await inside.runJobs();
      expect(receiver.types()).toEqual(["product.created"]);
    } finally {
      await inside.close();
    }
  });
});
