/** An endpoint that is down rests, and its backlog keeps its attempts (WHK-48). A sender that is gone leaves no queue behind (OPS-02). */
import { eq, sql } from "drizzle-orm";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { countFailures, isDown, planRest } from "../../server/messaging/webhooks/rules.ts";
import { webhookEndpoints, webhookEvents } from "../../server/messaging/webhooks/tables.ts";
import { processesGone } from "../../server/platform/db/processes.ts";
import { transact } from "../../server/platform/db/unit-of-work.ts";
import { sendSignal } from "../../server/platform/events/signals.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { newId } from "../support/ids.ts";
import { type Receiver, startReceiver } from "../support/receiver.ts";

let floe: Floe;
let seller: Seller;
let receiver: Receiver;
beforeEach(async () => {
  floe = await start();
  seller = await floe.seller();
  receiver = await startReceiver();
});
afterEach(async () => {
  await receiver.close();
  await floe.close();
});

const listen = async () =>
  (
    await seller.client.webhooks.createEndpoint({
      body: { url: receiver.url, format: "raw", events: ["product.created", "product.updated"] },
    })
  ).id;
const emit = async (count: number) => {
  for (let n = 0; n < count; n += 1)
    await seller.client.products.create({ body: { name: `Guide ${n}`, prices: [{ amount_type: "free" }] } });
};
const findEndpoint = async (id: string) => {
  const [row] = await floe.deps.db.select().from(webhookEndpoints).where(eq(webhookEndpoints.id, id));
  return row ?? expect.fail();
};
const listAttempts = async () =>
  (await floe.deps.db.select().from(webhookEvents).orderBy(webhookEvents.seq)).map(({ attempts }) => attempts);
/** Let time pass, and do what is due, so many times. */
const pass = async (times: number, ms: number) => {
  for (let n = 0; n < times; n += 1) {
    floe.clock.advance(ms);
    await floe.runJobs();
  }
};

describe("WHK-48", () => {
  test("after five failures in a row single attempts find out whether the receiver is there; then all is sent at once, in order", async () => {
    const id = await listen();
    receiver.answer(500);
    await emit(40);
    await floe.runJobs();
    expect(receiver.received).toHaveLength(5);
    expect(await findEndpoint(id)).toMatchObject({ failures: 5, failing_since: floe.clock.now() });
    await floe.runJobs();
    expect(receiver.received).toHaveLength(5);
    // Half an hour: of 40 events with many attempts each, a few dozen single ones.
    await pass(360, 5000);
    const tried = receiver.received.length;
    expect(tried).toBeGreaterThan(10);
    expect(tried).toBeLessThan(40);
    expect((await listAttempts()).filter((count) => count === 0).length).toBeGreaterThan(10);
    // Half a day: the next attempts of those that were tried are hours away.
    await pass(144, 5 * 60_000);
    receiver.answer(200);
    receiver.received.length = 0;
    await pass(1, 5 * 60_000);
    const { received } = receiver;
    expect(received.length).toBe(40);
    expect(new Set(received.map(({ json }) => json.data.id)).size).toBe(40);
    expect(await findEndpoint(id)).toMatchObject({ failures: 0, failing_since: null, due_at: null });
  });

  test("a receiver that refuses some events only does not rest", async () => {
    const id = await listen();
    receiver.answer((number) => (number % 3 === 0 ? 200 : 500));
    await emit(12);
    await floe.runJobs();
    expect(receiver.received.length).toBe(12);
    expect((await findEndpoint(id)).paused_until).toBeNull();
  });

  test("a new address, or switching it on, ends the rest; so does asking for an event", async () => {
    const id = await listen();
    receiver.answer(500);
    await emit(10);
    await floe.runJobs();
    expect((await findEndpoint(id)).paused_until).not.toBeNull();
    const [event] = await floe.deps.db.select().from(webhookEvents).orderBy(sql`seq desc`).limit(1);
    receiver.received.length = 0;
    await seller.client.webhooks.redeliver({ params: { id: event?.id ?? "" } });
    await floe.runJobs();
    expect(receiver.received.map(({ headers }) => headers["webhook-id"])).toContain(event?.id);
    expect((await findEndpoint(id)).failures).toBeGreaterThan(0);
    receiver.answer(200);
    await seller.client.webhooks.updateEndpoint({ params: { id }, body: { url: `${receiver.url}?new` } });
    await floe.runJobs();
    expect(await findEndpoint(id)).toMatchObject({ failures: 0, paused_until: null });
  });

  test("WHK-14: an endpoint that was down for 72 hours is off, though few of its events have used up their attempts", async () => {
    const id = await listen();
    receiver.answer(503);
    await emit(30);
    await pass(24 * 3 - 1, 60 * 60_000);
    expect((await findEndpoint(id)).enabled).toBe(true);
    await pass(3, 60 * 60_000);
    expect(await findEndpoint(id)).toMatchObject({ enabled: false, due_at: null });
    // Its backlog is kept, and sent once it is on.
    receiver.answer(200);
    receiver.received.length = 0;
    await seller.client.webhooks.updateEndpoint({ params: { id }, body: { enabled: true } });
    await floe.runJobs();
    expect(new Set(receiver.received.map(({ json }) => json.data.id)).size).toBeGreaterThan(20);
  });

  test("the rest doubles from five seconds to five minutes, and begins with the fifth failure", () => {
    expect([4, 5, 6, 7, 11, 12, 500].map(planRest)).toEqual([
      undefined,
      { least_ms: 2500, most_ms: 5000 },
      { least_ms: 5000, most_ms: 10_000 },
      { least_ms: 10_000, most_ms: 20_000 },
      { least_ms: 150_000, most_ms: 300_000 },
      { least_ms: 150_000, most_ms: 300_000 },
      { least_ms: 150_000, most_ms: 300_000 },
    ]);
  });

  test("failures in a row are those after the last success", () => {
    const now = new Date();
    const since = new Date(now.getTime() - 1000);
    const before = { failures: 6, failing_since: since };
    expect(countFailures(before, [false, false], now)).toEqual({
      failures: 8,
      failing_since: since,
      hasRecovered: false,
    });
    expect(countFailures(before, [true], now)).toEqual({ failures: 0, failing_since: null, hasRecovered: true });
    expect(countFailures(before, [true, false], now)).toEqual({ failures: 1, failing_since: now, hasRecovered: true });
    expect(countFailures({ failures: 0, failing_since: null }, [true, true], now).hasRecovered).toBe(false);
    const long = new Date(now.getTime() - 72 * 3_600_000);
    expect([
      isDown({ failures: 10, failing_since: long }, now),
      isDown({ failures: 9, failing_since: long }, now),
    ]).toEqual([true, false]);
    expect(isDown({ failures: 10, failing_since: since }, now)).toBe(false);
  });
});

test("OPS-02: the queue that a process has taken is free as soon as the process is gone, and no other", async () => {
  const [mine, other] = [await listen(), await listen()];
  const { db } = floe.deps;
  const [gone, alive] = [newId(), newId()];
  const due_at = new Date(floe.clock.now().getTime() + 60_000);
  const take = (id: string, process_id: string) =>
    db.update(webhookEndpoints).set({ lease: newId(), process_id, due_at }).where(eq(webhookEndpoints.id, id));
  await emit(1);
  await take(mine, gone);
  await take(other, alive);
  await floe.runJobs();
  expect(receiver.received).toHaveLength(0);
  await transact(floe.deps, (tx) => sendSignal(tx, floe.deps, processesGone, { process_ids: [gone] }));
  await floe.runJobs();
  expect(receiver.received).toHaveLength(1);
  expect(await findEndpoint(mine)).toMatchObject({ lease: null, process_id: null });
  expect(await findEndpoint(other)).toMatchObject({ process_id: alive, due_at });
});
