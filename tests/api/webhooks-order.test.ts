import { eq, sql } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { deliveryWorker, dispatchWorker } from "../../server/messaging/webhooks/jobs.ts";
import { webhookEndpoints, webhookEvents } from "../../server/messaging/webhooks/tables.ts";
import { restartQueues } from "../../server/messaging/webhooks/upkeep.ts";
import { events } from "../../server/platform/db/tables.ts";
import { runWorkers } from "../../server/platform/jobs/workers.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { newId } from "../support/ids.ts";
import { type Receiver, startReceiver } from "../support/receiver.ts";

/** The queue of an endpoint: one row represents it, and the events of an object keep their order (WHK-13). */

let floe: Floe;
let seller: Seller;
let receiver: Receiver;
let endpoint_id: string;
beforeAll(async () => {
  floe = await start();
});
afterAll(() => floe.close());
beforeEach(async () => {
  seller = await floe.seller();
  receiver = await startReceiver();
  const body = { url: receiver.url, format: "raw" as const, events: ["product.updated" as const] };
  endpoint_id = (await seller.client.webhooks.createEndpoint({ body })).id;
  await floe.runJobs();
});
afterEach(() => receiver.close());

/** Things happen to objects, as "a1" and "a2" to the object a. */
async function happen(...names: string[]): Promise<void> {
  const { organization_id } = seller;
  const rows = names.map((name) => ({
    ...{ id: newId(), organization_id, type: "product.updated", created_at: floe.clock.now() },
    data: { id: name.replace(/\d+$/, ""), name },
  }));
  await floe.deps.db.insert(events).values(rows);
  await runWorkers(floe.deps, [dispatchWorker]);
}
const deliver = () => runWorkers(floe.deps, [deliveryWorker]);
const names = () => receiver.received.map(({ json }) => String(json.data.name));
const copies = () =>
  floe.deps.db
    .select()
    .from(webhookEvents)
    .where(eq(webhookEvents.endpoint_id, endpoint_id))
    .orderBy(webhookEvents.seq);
const findEndpoint = async () =>
  (await floe.deps.db.select().from(webhookEndpoints).where(eq(webhookEndpoints.id, endpoint_id)))[0];
async function pass(ms: number): Promise<void> {
  floe.clock.advance(ms);
  await deliver();
}
/** Requests for these are refused as often as said. */
function refuse(counts: Record<string, number>): void {
  receiver.answer(() => {
    const name = names().at(-1) ?? "";
    const left = counts[name] ?? 0;
    counts[name] = left - 1;
    return left > 0 ? 500 : 200;
  });
}

test("an event waits while an earlier one of its object is attempted again; those of others do not", async () => {
  refuse({ a1: 2 });
  await happen("a1", "b1", "a2", "c1", "a3");
  await deliver();
  expect(names()).toEqual(["a1", "b1", "c1"]);
  await happen("a4", "d1");
  await deliver();
  expect(names()).toEqual(["a1", "b1", "c1", "d1"]);
  await pass(4000);
  expect(names().slice(4)).toEqual(["a1"]);
  await pass(8000);
  expect(names().slice(5)).toEqual(["a1", "a2", "a3", "a4"]);
  expect((await copies()).every(({ succeeded, waits }) => succeeded && !waits)).toBe(true);
  expect(await findEndpoint()).toMatchObject({ due_at: null, lease: null });
});

test("an object whose event is given up goes on with the next one", async () => {
  refuse({ a1: 100 });
  await happen("a1", "a2");
  await deliver();
  await floe.deps.db
    .update(webhookEvents)
    .set({ attempts: 9, attempted_at: new Date("2020-01-01") })
    .where(sql`attempted_at is not null`);
  await pass(4000);
  expect(names()).toEqual(["a1", "a1", "a2"]);
  expect((await copies()).map(({ succeeded }) => succeeded)).toEqual([false, true]);
});

test("an archived event holds back no other", async () => {
  refuse({ a1: 100 });
  await happen("a1", "a2");
  await deliver();
  const [first] = await copies();
  expect(names()).toEqual(["a1"]);
  await floe.deps.db
    .update(webhookEvents)
    .set({ created_at: new Date("2020-01-01") })
    .where(eq(webhookEvents.id, first?.id ?? ""));
  await floe.runJobs();
  expect(names()).toEqual(["a1", "a2"]);
  expect((await copies())[0]).toMatchObject({ is_archived: true, next_attempt_at: null });
});

test("a redelivery that fails holds back nothing", async () => {
  await happen("a1");
  await deliver();
  const [first] = await copies();
  refuse({ a1: 1 });
  await seller.client.webhooks.redeliver({ params: { id: first?.id ?? "" } });
  await happen("a2");
  await deliver();
  expect(names()).toEqual(["a1", "a1", "a2"]);
});

test("an old queue is sent in runs as a new one, and none of its rows is written while it waits (WHK-13)", async () => {
  const list = Array.from({ length: 60 }, (_, at) => `${String.fromCharCode(97 + (at % 7))}${at}`);
  await happen(...list);
  const before = (await copies()).map(({ modified_at, next_attempt_at, waits }) => [
    modified_at,
    next_attempt_at,
    waits,
  ]);
  const db = floe.deps.db;
  const paused_until = new Date(floe.clock.now().getTime() + 3600_000);
  await db.update(webhookEndpoints).set({ paused_until }).where(eq(webhookEndpoints.id, endpoint_id));
  await pass(1800_000);
  expect(
    (await copies()).map(({ modified_at, next_attempt_at, waits }) => [modified_at, next_attempt_at, waits]),
  ).toEqual(before);
  const transactions = vi.spyOn(db, "transaction");
  floe.clock.advance(1900_000);
  await deliveryWorker.run(floe.deps, [{ organization_id: seller.organization_id, id: endpoint_id }]);
  // One to take the queue, and one for each twenty.
  expect(transactions.mock.calls.length).toBeLessThanOrEqual(5);
  transactions.mockRestore();
  expect(names()).toEqual(list);
});

test("a sender whose lease has ended takes nothing back, and its success counts", async () => {
  await happen("a1", "b1");
  receiver.answer(async (number) => {
    if (number !== 1) return 200;
    // The sender was held up until another has taken the queue.
    floe.clock.advance(61_000);
    await deliver();
    return 500;
  });
  await deliver();
  const rows = await copies();
  expect(rows.map(({ succeeded, attempts, next_attempt_at }) => [succeeded, attempts, next_attempt_at])).toEqual([
    [true, 1, null],
    [true, 1, null],
  ]);
  expect(names().slice(0, 3)).toEqual(["a1", "a1", "b1"]);
});

test("a failure that is recorded after the lease has ended leaves the schedule to the sender that has the queue", async () => {
  await happen("a1");
  receiver.answer(async (number) => {
    if (number !== 1) return 500;
    // The sender was held up until another has taken the queue, whose attempt failed.
    floe.clock.advance(61_000);
    await deliver();
    return 500;
  });
  await deliver();
  expect(names()).toEqual(["a1", "a1"]);
  const [copy] = await copies();
  expect(copy).toMatchObject({ attempts: 1, succeeded: null });
  expect((await findEndpoint())?.due_at).toEqual(copy?.next_attempt_at);
});

test("what a server of the version before has queued is found at the start", async () => {
  await happen("a1", "a2");
  await floe.deps.db.update(webhookEvents).set({ object_id: null, waits: true });
  await floe.deps.db.update(webhookEndpoints).set({ due_at: null });
  await deliver();
  expect(names()).toEqual([]);
  await restartQueues(floe.deps.db);
  await deliver();
  expect(names()).toEqual(["a1", "a2"]);
});
