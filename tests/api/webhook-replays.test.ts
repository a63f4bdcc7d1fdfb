/** The events of an endpoint since a time are sent again, some at a time, in their order, beside fresh ones (WHK-49). */
import { eq, isNotNull, sql } from "drizzle-orm";
import { afterEach, beforeEach, expect, test } from "vitest";
import { deliveryWorker, dispatchWorker } from "../../server/messaging/webhooks/jobs.ts";
import { replayWorker } from "../../server/messaging/webhooks/replays.ts";
import { webhookEvents, webhookReplays } from "../../server/messaging/webhooks/tables.ts";
import { runWorkers } from "../../server/platform/jobs/workers.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { newId } from "../support/ids.ts";
import { atOnce } from "../support/races.ts";
import { type Receiver, startReceiver } from "../support/receiver.ts";

let floe: Floe;
let seller: Seller;
let receiver: Receiver;
let id: string;
beforeEach(async () => {
  floe = await start();
  seller = await floe.seller();
  receiver = await startReceiver();
  const body = {
    url: receiver.url,
    format: "raw" as const,
    events: ["product.created" as const, "product.updated" as const],
  };
  ({ id } = await seller.client.webhooks.createEndpoint({ body }));
});
afterEach(async () => {
  await receiver.close();
  await floe.close();
});

const prices = [{ amount_type: "free" as const }];
const make = async (name: string) => (await seller.client.products.create({ body: { name, prices } })).id;
const rename = (product: string, name: string) =>
  seller.client.products.update({ params: { id: product }, body: { name } });
const seen = () => receiver.received.map(({ json }) => `${json.type} ${json.data.name}`);
const replay = (body: { since: string; events?: ["product.created"]; failed_only?: boolean; preview?: boolean }) =>
  seller.client.webhooks.startReplay({ params: { id }, body });
/** Let time pass until the replay is over. */
const finish = async () => {
  for (let n = 0; n < 10; n += 1) {
    await floe.runJobs();
    floe.clock.advance(1000);
  }
};
const since = () => floe.clock.now().toISOString();

test("WHK-49: what happened since a time is sent again in its order, of the types that are named, and no more", async () => {
  await make("before");
  await floe.runJobs();
  floe.clock.advance(1000);
  const from = since();
  const one = await make("one");
  await make("two");
  await rename(one, "one again");
  await floe.runJobs();
  receiver.received.length = 0;
  expect(await replay({ since: from, preview: true })).toMatchObject({
    id: null,
    status: "preview",
    total: 3,
    requeued: 0,
  });
  await finish();
  expect(seen()).toEqual([]);
  const begun = await replay({ since: from });
  expect(begun).toMatchObject({ status: "running", total: 3, endpoint_id: id });
  await finish();
  expect(seen()).toEqual(["product.created one", "product.created two", "product.updated one again"]);
  const over = await seller.client.webhooks.getReplay({ params: { id: begun.id ?? "" } });
  expect(over).toMatchObject({ status: "finished", requeued: 3, total: 3 });
  receiver.received.length = 0;
  await replay({ since: from, events: ["product.created"] });
  await finish();
  expect(seen()).toEqual(["product.created one", "product.created two"]);
});

test("WHK-49: failed_only leaves out what was delivered", async () => {
  const from = since();
  await make("good");
  await floe.runJobs();
  await make("bad");
  receiver.answer(500);
  await floe.runJobs();
  // As if its attempts were used up.
  await floe.deps.db
    .update(webhookEvents)
    .set({ succeeded: false, next_attempt_at: null })
    .where(isNotNull(webhookEvents.next_attempt_at));
  receiver.answer(200);
  receiver.received.length = 0;
  await replay({ since: from, failed_only: true });
  await finish();
  expect(seen()).toEqual(["product.created bad"]);
});

test("WHK-49: an object keeps its order where one of its events fails again, and a fresh event waits for one slice at most", async () => {
  const from = since();
  const one = await make("one");
  await rename(one, "one again");
  for (let n = 0; n < 3; n += 1) await make(`other ${n}`);
  await floe.runJobs();
  // Many more, as they would be after an outage.
  const [first] = await floe.deps.db.select().from(webhookEvents).orderBy(webhookEvents.seq);
  if (!first) return expect.fail();
  receiver.received.length = 0;
  receiver.answer((number) => (number === 1 ? 500 : 200));
  await replay({ since: from });
  await floe.runJobs();
  const fresh = await make("fresh");
  await finish();
  const order = seen();
  expect(order.indexOf("product.updated one again")).toBeGreaterThan(order.lastIndexOf("product.created one"));
  expect(order.filter((text) => text === "product.created one")).toHaveLength(2);
  expect(receiver.received.some(({ json }) => json.data.id === fresh)).toBe(true);
  const ids = receiver.received.map(({ headers }) => headers["webhook-id"]);
  expect(ids).toContain(first.id);
});

test("WHK-49: the next 200 have their turn only when those before had theirs, so that a fresh event waits for no more", async () => {
  const from = since();
  await make("one");
  await floe.runJobs();
  // As an outage leaves it.
  await floe.deps.db.execute(sql`with made as (
      insert into events (id, organization_id, type, data, created_at, dispatched_at)
      select gen_random_uuid(), ${seller.organization_id}, 'product.updated', jsonb_build_object('id', 'p' || n, 'name', 'n' || n),
        ${from}::timestamptz, ${from}::timestamptz from generate_series(1, 450) n returning *)
    insert into webhook_events (id, organization_id, endpoint_id, event_id, seq, created_at, type, payload, object_id, succeeded)
    select gen_random_uuid(), organization_id, ${id}::uuid, id, seq, created_at, type,
      jsonb_build_object('type', type, 'data', data)::text, data ->> 'id', false from made`);
  const countQueued = () => floe.deps.db.$count(webhookEvents, isNotNull(webhookEvents.next_attempt_at));
  const begun = await replay({ since: from });
  expect(begun.total).toBe(451);
  const step = async () => {
    floe.clock.advance(600);
    await runWorkers(floe.deps, [replayWorker]);
    return countQueued();
  };
  expect([await step(), await step(), await step()]).toEqual([200, 200, 200]);
  receiver.received.length = 0;
  await make("fresh");
  await runWorkers(floe.deps, [dispatchWorker, deliveryWorker]);
  expect(seen().indexOf("product.created fresh")).toBe(200);
  expect([await step(), await step()]).toEqual([200, 200]);
  await finish();
  expect(receiver.received).toHaveLength(452);
});

test("WHK-49: only some are in the queue at a time; stopping leaves the rest; a receiver that is off or rests holds it up", async () => {
  const from = since();
  const { db } = floe.deps;
  await make("one");
  await floe.runJobs();
  const [sample] = await db.select().from(webhookEvents);
  if (!sample) return expect.fail();
  const begun = await replay({ since: from });
  const key = eq(webhookReplays.id, begun.id ?? "");
  await seller.client.webhooks.updateEndpoint({ params: { id }, body: { enabled: false } });
  await finish();
  expect((await db.select().from(webhookReplays).where(key))[0]).toMatchObject({ requeued: 0, finished_at: null });
  const stopped = await seller.client.webhooks.stopReplay({ params: { id: begun.id ?? "" } });
  expect(stopped).toMatchObject({ status: "stopped", requeued: 0 });
  // Another begins once the endpoint is on: until then it would only wait.
  await expect(replay({ since: from })).rejects.toMatchObject({ status: 422 });
  expect(await replay({ since: from, preview: true })).toMatchObject({ status: "preview", total: 1 });
  await seller.client.webhooks.updateEndpoint({ params: { id }, body: { enabled: true } });
  receiver.received.length = 0;
  floe.clock.advance(60_000);
  await finish();
  expect(seen()).toEqual([]);
  // Stopped twice is stopped.
  expect(await seller.client.webhooks.stopReplay({ params: { id: begun.id ?? "" } })).toEqual(stopped);
});

test("WHK-49: one replay of an endpoint at a time, also where five begin at once; a foreign or deleted endpoint is not found", async () => {
  await make("one");
  await floe.runJobs();
  const ask = (token: string, endpoint = id) =>
    floe.request("POST", `/v1/webhooks/endpoints/${endpoint}/replays`, {
      token,
      body: { since: new Date(0).toISOString() },
    });
  const statuses = (await atOnce(5, () => ask(seller.key))).map(({ status }) => status).sort();
  expect(statuses).toEqual([202, 409, 409, 409, 409]);
  const other = await floe.seller("other");
  expect((await ask(other.key)).status).toBe(404);
  expect((await ask(seller.key, newId())).status).toBe(404);
  const [row] = await floe.deps.db.select().from(webhookReplays);
  for (const path of [`/v1/webhooks/replays/${row?.id}`, `/v1/webhooks/replays/${row?.id}/stop`])
    expect((await floe.request(path.endsWith("stop") ? "POST" : "GET", path, { token: other.key })).status).toBe(404);
  const reader = await floe.keyOf(seller, ["webhooks:read"]);
  expect((await ask(reader)).status).toBe(403);
  const support = await floe.keyOf(seller, ["webhook_deliveries:write"]);
  expect((await ask(support)).status).toBe(409);
});
