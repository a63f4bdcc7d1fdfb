import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { eq } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { deliveryWorker, dispatchWorker } from "../../server/messaging/webhooks/jobs.ts";
import { webhookDeliveries, webhookEvents } from "../../server/messaging/webhooks/tables.ts";
import { events } from "../../server/platform/db/tables.ts";
import { runWorkers, startWorkerLoop } from "../../server/platform/jobs/workers.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { newId } from "../support/ids.ts";
import { type Receiver, startReceiver } from "../support/receiver.ts";

/** An endpoint's waiting events are sent one after another, and written down together. */

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
  await floe.runJobs();
});
afterEach(() => receiver.close());

const listen = (url = receiver.url) =>
  seller.client.webhooks.createEndpoint({ body: { url, format: "raw", events: ["product.updated"] } });
/** So many things happen, numbered from one. */
async function happen(count: number, from = 1): Promise<void> {
  const { organization_id } = seller;
  const rows = Array.from({ length: count }, (_, at) => ({
    ...{ id: newId(), organization_id, type: "product.updated" },
    ...{ data: { id: newId(), number: from + at }, created_at: floe.clock.now() },
  }));
  await floe.deps.db.insert(events).values(rows);
  await runWorkers(floe.deps, [dispatchWorker]);
}
const deliver = () => runWorkers(floe.deps, [deliveryWorker]);
const numbers = (of = receiver) => of.received.map(({ json }) => json.data.number);
const upTo = (last: number, from = 1) => Array.from({ length: last - from + 1 }, (_, at) => from + at);
const copies = (endpoint_id: string) =>
  floe.deps.db
    .select()
    .from(webhookEvents)
    .where(eq(webhookEvents.endpoint_id, endpoint_id))
    .orderBy(webhookEvents.seq);
const attempts = (endpoint_id: string) =>
  floe.deps.db.select().from(webhookDeliveries).where(eq(webhookDeliveries.endpoint_id, endpoint_id));

test("all that waits is sent in its order over one connection, in few transactions, each attempt recorded (WHK-11, WHK-13)", async () => {
  const { id } = await listen();
  await happen(45);
  const transactions = vi.spyOn(floe.deps.db, "transaction");
  await deliver();
  expect(transactions.mock.calls.length).toBeLessThan(6);
  transactions.mockRestore();
  expect(numbers()).toEqual(upTo(45));
  expect(new Set(receiver.received.map(({ port }) => port)).size).toBe(1);
  const sent = receiver.received.map(({ headers }) => headers["webhook-id"]);
  expect((await copies(id)).map((row) => row.id)).toEqual(sent);
  for (const row of await copies(id))
    expect(row).toMatchObject({
      succeeded: true,
      attempts: 1,
      next_attempt_at: null,
      last_http_code: 200,
      waits: false,
    });
  expect((await attempts(id)).map(({ webhook_event_id }) => webhook_event_id).sort()).toEqual([...sent].sort());
});

test("one that fails is tried again later, and those after it are sent at once (WHK-10, WHK-13)", async () => {
  receiver.answer((number) => (number === 3 ? 500 : 200));
  const { id } = await listen();
  await happen(6);
  await deliver();
  expect(numbers()).toEqual(upTo(6));
  const rows = await copies(id);
  expect(rows.map(({ succeeded }) => succeeded)).toEqual([true, true, null, true, true, true]);
  expect(rows[2]).toMatchObject({ attempts: 1, last_http_code: 500, waits: false });
  expect(rows[2]?.next_attempt_at?.getTime()).toBeGreaterThan(floe.clock.now().getTime());
  floe.clock.advance(10_000);
  await deliver();
  expect(numbers()).toEqual([...upTo(6), 3]);
  expect((await copies(id))[2]).toMatchObject({ succeeded: true, attempts: 2 });
  expect(await attempts(id)).toHaveLength(7);
});

test.each([
  ["before anything is sent", 1, []],
  ["between sending and recording", 0, upTo(4)],
])(
  "what a process that dies %s has taken is sent by another, in its order and under the same ids (WHK-07)",
  async (_when, lost, heard) => {
    const { id } = await listen();
    await happen(4);
    const { db } = floe.deps;
    const begin = db.transaction.bind(db);
    const dying = vi.spyOn(db, "transaction");
    const die = () => Promise.reject(new Error("The process dies here."));
    // What it has taken is committed; then it ends, before or after it has sent.
    dying.mockImplementationOnce(async (work, ...rest) => {
      const taken = await begin(work, ...rest);
      return lost ? die() : taken;
    });
    dying.mockImplementationOnce(die);
    await expect(deliveryWorker.run(floe.deps, [{ organization_id: seller.organization_id, id }])).rejects.toThrow(
      "dies",
    );
    dying.mockRestore();
    expect(numbers()).toEqual(heard);
    floe.clock.advance(30_000);
    await deliver();
    expect(numbers()).toEqual(heard);
    floe.clock.advance(31_000);
    await deliver();
    expect(numbers()).toEqual([...heard, ...upTo(4)]);
    const ids = receiver.received.map(({ headers }) => headers["webhook-id"]);
    expect(new Set(ids).size).toBe(4);
    for (const row of await copies(id))
      expect(row).toMatchObject({ succeeded: true, attempts: 1, next_attempt_at: null });
  },
);

test("an event that is asked for again while those before it are sent is sent once more, and written down once for each (WHK-17)", async () => {
  const sent: unknown[] = [];
  const answering = createServer(async (request, response) => {
    sent.push(request.headers["webhook-id"]);
    request.resume();
    if (sent.length === 1) await seller.client.webhooks.redeliver({ params: { id: ids[2] ?? "" } });
    response.end();
  });
  await new Promise<void>((done) => answering.listen(0, "127.0.0.1", done));
  const { id } = await listen(`http://127.0.0.1:${(answering.address() as AddressInfo).port}/hook`);
  await happen(3);
  const ids = (await copies(id)).map((row) => row.id);
  await deliver();
  await deliver();
  expect(sent).toEqual([...ids, ids[2]]);
  expect(await attempts(id)).toHaveLength(4);
  for (const row of await copies(id))
    expect(row).toMatchObject({ succeeded: true, attempts: 1, next_attempt_at: null });
  answering.closeAllConnections();
  answering.close();
});

test("what was not taken yet when the address changed goes to the new one", async () => {
  const { id } = await listen();
  const next = await startReceiver();
  await happen(25);
  receiver.answer(async (number) => {
    // The first run has twenty: it ends with the old address, and the next begins with the new one.
    if (number === 1) await seller.client.webhooks.updateEndpoint({ params: { id }, body: { url: next.url } });
    return 200;
  });
  await deliver();
  expect(numbers()).toEqual(upTo(20));
  await deliver();
  expect(numbers(next)).toEqual(upTo(25, 21));
  await next.close();
});

test("an endpoint that does not answer holds up none of its seller's others, however much waits to be sent to it again", async () => {
  let isDead = false;
  const hanging = new Set<unknown>();
  const dead = createServer((request, response) => {
    request.resume().on("end", () => {
      if (!isDead) response.writeHead(500).end();
      else hanging.add(request);
    });
  });
  await new Promise<void>((done) => dead.listen(0, "127.0.0.1", done));
  await listen(`http://127.0.0.1:${(dead.address() as AddressInfo).port}/hook`);
  await happen(15);
  await deliver();
  // All of them are due again, before what happens then.
  isDead = true;
  floe.clock.advance(10_000);
  await listen();
  const sweep = startWorkerLoop(floe.deps, deliveryWorker);
  await expect.poll(() => hanging.size, { timeout: 5000 }).toBe(1);
  await happen(5, 16);
  await expect.poll(numbers, { timeout: 5000 }).toEqual(upTo(20, 16));
  expect(hanging.size).toBe(1);
  dead.closeAllConnections();
  dead.close();
  await sweep.stop();
});
