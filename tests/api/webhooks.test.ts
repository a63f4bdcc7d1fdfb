import { and, eq } from "drizzle-orm";
import { Webhook } from "standardwebhooks";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { deliveryWorker, dispatchWorker } from "../../server/messaging/webhooks/jobs.ts";
import { webhookEndpoints, webhookEvents } from "../../server/messaging/webhooks/tables.ts";
import { events } from "../../server/platform/db/tables.ts";
import { transact } from "../../server/platform/db/unit-of-work.ts";
import { runWorkers } from "../../server/platform/jobs/workers.ts";
import type { WebhookEndpoint } from "../../shared/api/webhooks.ts";
import type { CatalogInput } from "../../shared/catalog/document.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { newId } from "../support/ids.ts";
import { mailsTo } from "../support/mails.ts";
import { type Receiver, startReceiver } from "../support/receiver.ts";

const sdk38 = { "user-agent": "speakeasy-sdk/typescript 0.38.1 2.727.9 0.1.0 @polar-sh/sdk" };
const sdk49 = { "user-agent": "speakeasy-sdk/typescript 0.49.0 2.918.3 2026-04 @polar-sh/sdk" };
const sdk1 = { "polar-version": "2026-10" };

const hourMs = 60 * 60 * 1000;

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
  // What setting up a seller has caused is not what is looked at.
  await floe.runJobs();
});
let began: Date;
beforeEach(() => {
  began = floe.clock.now();
});
afterEach(async () => {
  await receiver.close();
  // A test that moves months must not outlive the sessions of the next one's seller.
  if (floe.clock.now().getTime() - began.getTime() > 24 * hourMs) floe.clock.time = began;
});

/** Something happens. */
async function happen(type: string, data: object = { id: newId() }, of = seller): Promise<string> {
  const id = newId();
  await transact(floe.deps, async (tx) => {
    await tx
      .insert(events)
      .values({ id, organization_id: of.organization_id, type, data, created_at: floe.clock.now() });
  });
  return id;
}
const dispatch = () => runWorkers(floe.deps, [dispatchWorker]);
const deliver = (id = "") => deliveryWorker.run(floe.deps, [{ organization_id: seller.organization_id, id }]);
const endpoint = (body: object = {}, headers: Record<string, string> = sdk1, of = seller): Promise<WebhookEndpoint> =>
  floe.client(of.key, headers).webhooks.createEndpoint({
    body: { url: receiver.url, format: "raw", events: ["product.created", "product.updated"], ...body },
  });
const copies = (endpoint_id: string) =>
  floe.deps.db
    .select()
    .from(webhookEvents)
    .where(eq(webhookEvents.endpoint_id, endpoint_id))
    .orderBy(webhookEvents.seq);
const only = <T>(list: T[]): T => {
  expect(list).toHaveLength(1);
  return list[0] as T;
};

describe("an event", () => {
  test("is sent signed, with its headers, and the attempt is recorded (WHK-06..08, WHK-11)", async () => {
    const made = await endpoint();
    await happen("product.created", { id: "p1", name: "Ö – 😀" });
    await floe.runJobs();
    const { headers, body, json } = only(receiver.received);
    expect(headers).toMatchObject({ "content-type": "application/json", "user-agent": "floe webhooks" });
    expect(headers["webhook-timestamp"]).toBe(String(Math.floor(floe.clock.now().getTime() / 1000)));
    expect(
      new Webhook(Buffer.from(made.secret).toString("base64")).verify(body, headers as Record<string, string>),
    ).toEqual(json);
    expect(json).toEqual({
      type: "product.created",
      api_version: "2026-10",
      timestamp: floe.clock.now().toISOString(),
      data: { id: "p1", name: "Ö – 😀" },
    });
    const delivery = only((await seller.client.webhooks.listDeliveries({ query: {} })).items);
    expect(delivery).toMatchObject({
      succeeded: true,
      http_code: 200,
      response: "noted",
      webhook_event: {
        id: headers["webhook-id"],
        type: "product.created",
        succeeded: true,
        last_http_code: 200,
        payload: body,
        skipped: false,
        is_archived: false,
      },
    });
  });

  test("of a real change reaches the endpoint", async () => {
    await endpoint();
    const product = await seller.client.products.create({
      body: { name: "Ebook", prices: [{ amount_type: "fixed", price_amount: 1900, price_currency: "usd" }] },
    });
    await floe.runJobs();
    expect(only(receiver.received).json).toMatchObject({
      type: "product.created",
      data: { id: product.id, name: "Ebook" },
    });
  });

  test("makes one copy for each endpoint that is there, on and listening, however often it is dispatched (WHK-05)", async () => {
    const first = await endpoint();
    const off = await endpoint({ enabled: false });
    const elsewhere = await endpoint({ events: ["order.paid"] });
    const gone = await endpoint();
    await seller.client.webhooks.deleteEndpoint({ params: { id: gone.id } });
    const other = await floe.seller("other");
    const foreign = await endpoint({}, sdk1, other);
    const event_id = await happen("product.created");
    const late = await endpoint();
    await floe.runJobs();
    await floe.deps.db.update(events).set({ dispatched_at: null }).where(eq(events.id, event_id));
    await dispatch();
    await dispatch();
    await floe.runJobs();
    expect(await copies(first.id)).toHaveLength(1);
    for (const { id } of [off, elsewhere, gone, foreign, late]) expect(await copies(id)).toEqual([]);
    expect(receiver.received).toHaveLength(1);
  });

  test("of a thing that a catalogue makes together with the endpoint goes to it", async () => {
    const document: CatalogInput = {
      version: 1,
      catalog: "both",
      products: { book: { name: "Book", prices: ["19.00"] } },
      webhooks: { app: { url: receiver.url, events: ["product.created"] } },
    };
    await seller.client.catalog.apply({ body: { document, prune: false } });
    await floe.runJobs();
    expect(only(receiver.received).json).toMatchObject({ type: "product.created", data: { name: "Book" } });
  });

  test("goes out in the order of emission, whatever order the jobs run in (WHK-13)", async () => {
    const made = await endpoint();
    const ids = [];
    for (const type of ["product.created", "product.updated", "product.updated"])
      ids.push(await happen(type, { id: newId(), number: ids.length }));
    await dispatch();
    const rows = await copies(made.id);
    expect(rows.map(({ event_id }) => event_id)).toEqual(ids);
    await Promise.all([deliver(made.id), deliver(made.id), deliver(made.id)]);
    await floe.runJobs();
    expect(receiver.received.map(({ json }) => json.data.number)).toEqual([0, 1, 2]);
  });

  test("that failed its first attempt blocks none behind it (WHK-13)", async () => {
    receiver.answer((number) => (number === 1 ? 500 : 200));
    const made = await endpoint();
    await happen("product.created", { id: "1" });
    await happen("product.updated", { id: "2" });
    await floe.runJobs();
    expect(receiver.types()).toEqual(["product.created", "product.updated"]);
    expect((await copies(made.id)).map(({ succeeded }) => succeeded)).toEqual([null, true]);
  });

  test("is tried for 72 hours with the same bytes and id, then counted as failed (WHK-06, WHK-10, WHK-11)", async () => {
    receiver.answer(503);
    const made = await endpoint();
    await happen("product.created");
    await floe.runJobs();
    expect(receiver.received).toHaveLength(1);
    floe.clock.advance(1999);
    await floe.runJobs();
    expect(receiver.received).toHaveLength(1);
    for (let attempt = 2; attempt <= 10; attempt += 1) {
      expect(only(await copies(made.id))).toMatchObject({
        succeeded: null,
        attempts: attempt - 1,
        last_http_code: 503,
      });
      floe.clock.advance(20 * 60 * 1000);
      await floe.runJobs();
      expect(receiver.received).toHaveLength(attempt);
    }
    for (let hours = 0; hours < 68; hours += 4) {
      floe.clock.advance(4 * hourMs);
      await floe.runJobs();
    }
    const sent = receiver.received.length;
    expect(sent).toBeGreaterThan(20);
    expect(only(await copies(made.id))).toMatchObject({ succeeded: false, attempts: sent, next_attempt_at: null });
    floe.clock.advance(24 * hourMs);
    await floe.runJobs();
    expect(receiver.received).toHaveLength(sent);
    expect(new Set(receiver.received.map(({ body }) => body)).size).toBe(1);
    expect(new Set(receiver.received.map(({ headers }) => headers["webhook-id"])).size).toBe(1);
    expect(new Set(receiver.received.map(({ headers }) => headers["webhook-timestamp"])).size).toBe(sent);
    const list = await seller.client.webhooks.listDeliveries({ query: { limit: 100 } });
    expect(list.items.map(({ succeeded, http_code }) => [succeeded, http_code])).toEqual(
      Array(sent).fill([false, 503]),
    );
    // One failed event is no reason to give an endpoint up (WHK-14).
    expect((await seller.client.webhooks.getEndpoint({ params: { id: made.id } })).enabled).toBe(true);
  });

  test("keeps its body when the object or the endpoint changes before it is sent, and is signed with the secret of now (WHK-02, WHK-06)", async () => {
    receiver.answer((number) => (number === 1 ? 500 : 200));
    const made = await endpoint();
    await happen("product.created", { id: "1", name: "As it was" });
    await floe.runJobs();
    await seller.client.webhooks.updateEndpoint({ params: { id: made.id }, body: { format: "slack" } });
    const { secret } = await seller.client.webhooks.resetSecret({ params: { id: made.id }, query: {} });
    floe.clock.advance(10_000);
    await floe.runJobs();
    const [first, second] = receiver.received;
    expect(second?.body).toBe(first?.body);
    const headers = second?.headers as Record<string, string>;
    const key = Buffer.from(secret).toString("base64");
    expect(
      new Webhook(key).sign(
        headers["webhook-id"] ?? "",
        new Date(Number(headers["webhook-timestamp"]) * 1000),
        second?.body ?? "",
      ),
    ).toBe(headers["webhook-signature"]);
  });

  test("is sent again under the same id when the process dies between sending and recording (WHK-07)", async () => {
    const made = await endpoint();
    await happen("product.created");
    await dispatch();
    const { id } = only(await copies(made.id));
    const { db } = floe.deps;
    const begin = db.transaction.bind(db);
    const dying = vi.spyOn(db, "transaction").mockImplementationOnce(begin);
    dying.mockImplementationOnce(() => Promise.reject(new Error("The process dies here.")));
    try {
      await expect(deliver(made.id)).rejects.toThrow("dies");
    } finally {
      dying.mockRestore();
    }
    expect(receiver.received).toHaveLength(1);
    // While its sender may still be at work nobody else sends it.
    floe.clock.advance(30_000);
    await floe.runJobs();
    expect(receiver.received).toHaveLength(1);
    floe.clock.advance(31_000);
    await floe.runJobs();
    expect(receiver.received.map(({ headers }) => headers["webhook-id"])).toEqual([id, id]);
    expect(only(await copies(made.id))).toMatchObject({ succeeded: true, attempts: 1 });
    floe.clock.advance(hourMs);
    await floe.runJobs();
    expect(receiver.received).toHaveLength(2);
  });

  test("that succeeded is not sent by a stray job (WHK-12)", async () => {
    const made = await endpoint();
    await happen("product.created");
    await floe.runJobs();
    await deliver(made.id);
    expect(receiver.received).toHaveLength(1);
  });

  test("at a receiver that is not there is a failure without a code (WHK-09)", async () => {
    await endpoint();
    await receiver.close();
    await happen("product.created");
    await floe.runJobs();
    const delivery = only((await seller.client.webhooks.listDeliveries({ query: {} })).items);
    expect(delivery).toMatchObject({
      succeeded: false,
      http_code: null,
      response: expect.stringContaining("ECONNREFUSED"),
      webhook_event: { last_http_code: null },
    });
  });
});

describe("redelivery", () => {
  test("sends again after success, and its failure takes nothing back (WHK-17)", async () => {
    const made = await endpoint();
    await happen("product.created");
    await floe.runJobs();
    const { id } = only(await copies(made.id));
    const answer = await floe.request("POST", `/v1/webhooks/events/${id}/redeliver`, { token: seller.key });
    expect([answer.status, answer.text]).toEqual([202, "null"]);
    await floe.runJobs();
    expect(receiver.received).toHaveLength(2);
    expect(receiver.received[1]?.body).toBe(receiver.received[0]?.body);
    receiver.answer(500);
    await seller.client.webhooks.redeliver({ params: { id } });
    for (let round = 0; round < 20; round += 1) {
      await floe.runJobs();
      floe.clock.advance(4 * hourMs);
    }
    expect(receiver.received.length).toBeGreaterThan(12);
    expect(only(await copies(made.id))).toMatchObject({ succeeded: true, last_http_code: 500 });
  });

  test("to an endpoint that is switched off is refused, and changes nothing (WHK-17)", async () => {
    const made = await endpoint();
    await happen("product.created");
    await floe.runJobs();
    const before = only(await copies(made.id));
    await seller.client.webhooks.updateEndpoint({ params: { id: made.id }, body: { enabled: false } });
    const answer = await floe.request("POST", `/v1/webhooks/events/${before.id}/redeliver`, { token: seller.key });
    expect([answer.status, answer.json]).toMatchObject([
      422,
      { detail: [{ loc: ["path", "id"], msg: expect.stringContaining(`${made.url} is switched off`) }] },
    ]);
    expect(only(await copies(made.id))).toEqual(before);
    await seller.client.webhooks.updateEndpoint({ params: { id: made.id }, body: { enabled: true } });
    await seller.client.webhooks.redeliver({ params: { id: before.id } });
    await floe.runJobs();
    expect(receiver.received).toHaveLength(2);
  });

  test("of unknown, foreign, archived or deleted is 404 (WHK-16, WHK-17)", async () => {
    const made = await endpoint();
    await happen("product.created");
    await floe.runJobs();
    const params = { id: only(await copies(made.id)).id };
    await expect(seller.client.webhooks.redeliver({ params: { id: newId() } })).rejects.toMatchObject({ status: 404 });
    await expect((await floe.seller("other")).client.webhooks.redeliver({ params })).rejects.toMatchObject({
      status: 404,
    });
    await floe.deps.db
      .update(webhookEvents)
      .set({ is_archived: true, payload: null })
      .where(eq(webhookEvents.id, params.id));
    await expect(seller.client.webhooks.redeliver({ params })).rejects.toMatchObject({ status: 404 });
    await floe.deps.db
      .update(webhookEvents)
      .set({ is_archived: false, payload: "{}" })
      .where(eq(webhookEvents.id, params.id));
    await seller.client.webhooks.deleteEndpoint({ params: { id: made.id } });
    await expect(seller.client.webhooks.redeliver({ params })).rejects.toMatchObject({ status: 404 });
    await floe.runJobs();
    expect(receiver.received).toHaveLength(1);
  });
});

describe("an endpoint", () => {
  test("that is off keeps what waits and what happens, and goes on in order when it is on (WHK-15)", async () => {
    receiver.answer((number) => (number === 2 ? 500 : 200));
    const made = await endpoint();
    const switchTo = (enabled: boolean) =>
      seller.client.webhooks.updateEndpoint({ params: { id: made.id }, body: { enabled } });
    await happen("product.created", { id: "p1", number: 1 });
    await floe.runJobs();
    await happen("product.updated", { id: "p2", number: 2 });
    await floe.runJobs();
    await switchTo(false);
    for (const number of [3, 4]) await happen("product.updated", { id: "p2", number });
    floe.clock.advance(29 * 24 * hourMs);
    await floe.runJobs();
    expect(receiver.received).toHaveLength(2);
    expect((await copies(made.id)).map(({ succeeded, skipped }) => [succeeded, skipped])).toEqual([
      [true, false],
      ...Array(3).fill([null, false]),
    ]);
    await switchTo(true);
    await happen("product.updated", { id: "p2", number: 5 });
    await floe.runJobs();
    expect(receiver.received.map(({ json }) => json.data.number)).toEqual([1, 2, 2, 3, 4, 5]);
  });

  test("that is off for more than 30 days loses what waits, and gets nothing of that time (WHK-15)", async () => {
    receiver.answer((number) => (number === 1 ? 500 : 200));
    const made = await endpoint();
    await happen("product.created", { id: "p1" });
    await floe.runJobs();
    await seller.client.webhooks.updateEndpoint({ params: { id: made.id }, body: { enabled: false } });
    await happen("product.updated", { id: "p2" });
    await floe.runJobs();
    floe.clock.advance(30 * 24 * hourMs + 1000);
    await floe.runJobs();
    expect((await copies(made.id)).map(({ skipped, next_attempt_at }) => [skipped, next_attempt_at])).toEqual([
      [true, null],
      [true, null],
    ]);
    await happen("product.updated", { id: "p3" });
    await floe.runJobs();
    expect(await copies(made.id)).toHaveLength(2);
  });

  test("that was made off gets nothing of what happened before it is on (WHK-15)", async () => {
    const made = await endpoint({ enabled: false });
    await happen("product.created", { id: "while off" });
    await seller.client.webhooks.updateEndpoint({ params: { id: made.id }, body: { enabled: true } });
    await happen("product.created", { id: "while on" });
    await floe.runJobs();
    expect(receiver.received.map(({ json }) => json.data.id)).toEqual(["while on"]);
  });

  /** Have all that waits attempted at once, as if the endpoint needed no rest. */
  const attemptAll = async (id: string) => {
    for (let round = 0; round < 4; round += 1) {
      await floe.deps.db
        .update(webhookEndpoints)
        .set({ paused_until: null, failures: 0, due_at: floe.clock.now() })
        .where(and(eq(webhookEndpoints.id, id), eq(webhookEndpoints.enabled, true)));
      await floe.runJobs();
    }
  };

  test("whose ten latest finished events all failed is switched off, what waits is kept (WHK-14)", async () => {
    const made = await endpoint({ url: `${receiver.url}?token=private` });
    await happen("product.created", { id: "good" });
    await floe.runJobs();
    receiver.answer(500);
    for (let number = 0; number < 11; number += 1) await happen("product.updated", { id: `bad ${number}` });
    await attemptAll(made.id);
    // All but the last are at their last attempt.
    const rows = await copies(made.id);
    for (const { id } of rows.slice(1, 11))
      await floe.deps.db
        .update(webhookEvents)
        .set({ attempts: 9, attempted_at: new Date("2020-01-01") })
        .where(eq(webhookEvents.id, id));
    floe.clock.advance(5000);
    await attemptAll(made.id);
    const after = await copies(made.id);
    expect(after.map(({ succeeded }) => succeeded)).toEqual([true, ...Array(10).fill(false), null]);
    expect(after[11]).toMatchObject({ skipped: false, next_attempt_at: expect.any(Date) });
    expect((await seller.client.webhooks.getEndpoint({ params: { id: made.id } })).enabled).toBe(false);
    const sent = await mailsTo(floe, seller.email);
    const mail = only(sent.filter(({ subject }) => subject.includes("webhook")));
    expect(mail.text).toContain(made.id);
    expect(mail.text).toContain(new URL(receiver.url).host);
    expect(`${mail.text}${mail.html}`).not.toMatch(/token=|hook\?/);
  });

  test("with nine failed events and one success stays on (WHK-14)", async () => {
    const made = await endpoint();
    await happen("product.updated");
    await floe.runJobs();
    receiver.answer(500);
    for (let number = 0; number < 9; number += 1) await happen("product.updated");
    await attemptAll(made.id);
    await floe.deps.db
      .update(webhookEvents)
      .set({ attempts: 9, attempted_at: new Date("2020-01-01") })
      .where(eq(webhookEvents.endpoint_id, made.id));
    floe.clock.advance(5000);
    await attemptAll(made.id);
    expect((await copies(made.id)).map(({ succeeded }) => succeeded)).toEqual([true, ...Array(9).fill(false)]);
    expect((await seller.client.webhooks.getEndpoint({ params: { id: made.id } })).enabled).toBe(true);
  });

  test("keeps the words of the client it was made with: 0.38.1 never gets a type or a value that it does not know", async () => {
    const all = { events: ["order.paid", "checkout.expired", "subscription.cycled", "product.created"] };
    const own = await endpoint(all, { "user-agent": "floe-cli/0.1.0" });
    const made = {
      old: await endpoint(all, sdk38),
      open: await endpoint(all, sdk49),
      now: await endpoint(all, sdk1),
      named: await endpoint({ ...all, api_version: "2026-04" }, sdk38),
    };
    await happen("checkout.expired");
    await happen("subscription.cycled");
    await happen("order.paid", { id: "o1", billing_reason: "subscription_meter_cycle" });
    await happen("product.created", { id: "p1", prices: [{ amount_type: "free" }] });
    await floe.runJobs();
    const sent = async ({ id }: { id: string }) =>
      (await copies(id)).map(({ type, payload }) => [type, JSON.parse(payload ?? "null").data] as const);
    expect((await sent(made.old)).map(([type]) => type)).toEqual(["order.paid", "product.created"]);
    expect((await sent(made.open)).map(([type]) => type)).toEqual([
      "checkout.expired",
      "order.paid",
      "product.created",
    ]);
    for (const one of [made.now, made.named, own]) {
      expect((await sent(one)).map(([type]) => type)).toEqual([
        "checkout.expired",
        "subscription.cycled",
        "order.paid",
        "product.created",
      ]);
    }
    const data = new Map(await sent(made.old));
    expect(data.get("order.paid")).toMatchObject({ billing_reason: "subscription_cycle" });
    expect(data.get("product.created")).toMatchObject({ prices: [{ amount_type: "free" }] });
    expect(new Map(await sent(made.open)).get("product.created")).toMatchObject({
      prices: [{ amount_type: "fixed", price_amount: 0 }],
    });
    expect(new Map(await sent(made.now)).get("order.paid")).toMatchObject({
      billing_reason: "subscription_meter_cycle",
    });
    // And it never reads one back that it could not parse.
    const old = floe.client(seller.key, sdk38);
    for (const item of (await old.webhooks.listEndpoints({ query: {} })).items)
      expect(item.events).toEqual(["order.paid", "product.created"]);
    const types = (await old.webhooks.listDeliveries({ query: { limit: 100 } })).items.map(
      ({ webhook_event }) => webhook_event.type,
    );
    expect(new Set(types)).toEqual(new Set(["order.paid", "product.created"]));
  });

  test("of a chat gets messages, and no noise about subscriptions (WHK-21)", async () => {
    const made = await endpoint({ format: "discord", events: ["product.created", "subscription.updated"] });
    await happen("subscription.updated", { id: "s1", status: "active", ends_at: null, ended_at: null });
    await happen("product.created", { id: "p1" });
    await floe.runJobs();
    expect((await copies(made.id)).map(({ type }) => type)).toEqual(["product.created"]);
    expect(only(receiver.received).json).toMatchObject({
      content: expect.stringContaining("product.created in seller"),
    });
  });
});

describe("deliveries", () => {
  test("are listed newest first and filtered (WHK-18)", async () => {
    const one = await endpoint();
    await happen("product.created", { id: "p1", name: "100% wool" });
    await floe.runJobs();
    floe.clock.advance(hourMs);
    const two = await endpoint({ events: ["order.paid"] });
    receiver.answer(404);
    await happen("order.paid", { id: "o1" });
    await floe.runJobs();
    const types = async (query: object): Promise<string[]> =>
      (await seller.client.webhooks.listDeliveries({ query })).items.map(({ webhook_event }) => webhook_event.type);
    expect(await types({})).toEqual(["order.paid", "product.created"]);
    expect(await types({ endpoint_id: [one.id] })).toEqual(["product.created"]);
    expect(await types({ endpoint_id: [one.id, two.id] })).toHaveLength(2);
    expect(await types({ endpoint_id: [newId()] })).toEqual([]);
    expect(await types({ succeeded: false })).toEqual(["order.paid"]);
    expect(await types({ http_code_class: "2xx" })).toEqual(["product.created"]);
    expect(await types({ http_code_class: "4xx" })).toEqual(["order.paid"]);
    expect(await types({ event_type: ["order.paid"] })).toEqual(["order.paid"]);
    expect(await types({ query: "100% WOOL" })).toEqual(["product.created"]);
    expect(await types({ query: "100_ wool" })).toEqual([]);
    const between = new Date(floe.clock.now().getTime() - hourMs / 2).toISOString();
    expect(await types({ start_timestamp: between })).toEqual(["order.paid"]);
    expect(await types({ end_timestamp: between })).toEqual(["product.created"]);
    expect(await types({ page: 2, limit: 1 })).toEqual(["product.created"]);
    const other = await floe.seller("other");
    expect((await other.client.webhooks.listDeliveries({ query: { endpoint_id: [one.id] } })).items).toEqual([]);
  });

  test("of events older than 90 days keep their history without the body; what was still to be sent is dropped (WHK-16)", async () => {
    const made = await endpoint();
    receiver.answer(500);
    await happen("product.created");
    await floe.runJobs();
    const far = new Date(floe.clock.now().getTime() + 91 * 24 * hourMs);
    await floe.deps.db
      .update(webhookEvents)
      .set({ next_attempt_at: far })
      .where(eq(webhookEvents.endpoint_id, made.id));
    floe.clock.advance(90 * 24 * hourMs - 1000);
    await floe.runJobs();
    expect(only(await copies(made.id)).is_archived).toBe(false);
    floe.clock.advance(2000);
    await floe.runJobs();
    expect(only(await copies(made.id))).toMatchObject({ is_archived: true, payload: null, next_attempt_at: null });
    floe.clock.advance(7 * 24 * hourMs);
    await floe.runJobs();
    expect(receiver.received).toHaveLength(1);
    const delivery = only((await seller.client.webhooks.listDeliveries({ query: {} })).items);
    expect(delivery.webhook_event).toMatchObject({ is_archived: true, payload: null });
  });
});

test("secrets never reach the log", async () => {
  const secret = `polar_whs_${newId()}_very_secret`;
  const made = await endpoint({ secret });
  receiver.answer(500);
  await happen("product.created");
  await floe.runJobs();
  await seller.client.webhooks.updateEndpoint({ params: { id: made.id }, body: { enabled: false } });
  await floe.request("POST", "/v1/webhooks/endpoints", { token: seller.key, body: { url: 1, secret } });
  expect(floe.logged.join("\n")).not.toContain(secret);
});
