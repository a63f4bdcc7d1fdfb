import { eq } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { organization } from "../../server/identity/organizations/tables.ts";
import { dispatchWorker } from "../../server/messaging/webhooks/jobs.ts";
import { computeRetryAfter, planOutcome } from "../../server/messaging/webhooks/rules.ts";
import { webhookEvents } from "../../server/messaging/webhooks/tables.ts";
import { events } from "../../server/platform/db/tables.ts";
import { runWorkers } from "../../server/platform/jobs/workers.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { newId } from "../support/ids.ts";
import { type Receiver, startReceiver } from "../support/receiver.ts";

/** A receiver that says by `Retry-After` when it wants to be asked again (WHK-44). */

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

describe("what a receiver asks for", () => {
  const now = new Date("2026-06-01T12:00:00Z");
  const compute = (retry_after: string, http_code = 429) => computeRetryAfter({ http_code, retry_after }, now);
  test.each([
    ["120", 120_000],
    ["86400", dayMs],
    ["86401", dayMs],
    ["9999999999", dayMs],
    ["Mon, 01 Jun 2026 12:02:00 GMT", 120_000],
    ["Fri, 31 Dec 9999 23:59:59 GMT", dayMs],
  ])("%s is %d ms, at most a day", (text, ms) => expect([compute(text), compute(text, 503)]).toEqual([ms, ms]));
  test.each([
    ...["", "0", "-1", "+60", "1.5", "1e3", "0x10", "NaN", "Infinity", "60, 120", "99999999999", "60 ", "tomorrow"],
    ...["Mon, 01 Jun 2026 11:58:00 GMT", "2026-06-01T12:02:00Z", "Mon, 99 Jun 2026 99:99:99 GMT", "9".repeat(5000)],
  ])("%s is ignored", (text) => expect(compute(text)).toBe(0));
  test.each([200, 301, 400, 500, 502])("with status %d it is ignored", (code) => expect(compute("120", code)).toBe(0));
  test("makes an attempt later, never earlier", () => {
    const event = { attempts: 0, succeeded: null, attempted_at: null, created_at: now };
    const old = { ...event, attempts: 9, created_at: new Date(now.getTime() - 3 * dayMs) };
    expect(planOutcome(event, 429, now, 1000).retry).toEqual({ least_ms: 2000, most_ms: 4000 });
    expect(planOutcome(event, 429, now, 3000).retry).toEqual({ least_ms: 3000, most_ms: 4000 });
    expect(planOutcome(event, 429, now, hourMs).retry).toEqual({ least_ms: hourMs, most_ms: hourMs });
    expect(planOutcome(old, 429, now, hourMs)).toMatchObject({ succeeded: false, retry: null });
  });
});

describe("an endpoint whose receiver asks for a pause", () => {
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

  async function happen(...numbers: number[]): Promise<void> {
    const { organization_id } = seller;
    const rows = numbers.map((number) => ({
      ...{ id: newId(), organization_id, type: "product.updated", data: { number }, created_at: floe.clock.now() },
    }));
    await floe.deps.db.insert(events).values(rows);
    await runWorkers(floe.deps, [dispatchWorker]);
  }
  const numbers = () => receiver.received.map(({ json }) => json.data.number);
  const copies = () =>
    floe.deps.db
      .select()
      .from(webhookEvents)
      .where(eq(webhookEvents.endpoint_id, endpoint_id))
      .orderBy(webhookEvents.seq);
  async function pass(ms: number): Promise<void> {
    floe.clock.advance(ms);
    await floe.runJobs();
  }
  /** The request of this number is refused. */
  const refuse = (which: number, retry_after = "600", code = 429) =>
    receiver.answer(
      (number) => (number === which ? code : 200),
      (number): Record<string, string> => (number === which ? { "retry-after": retry_after } : {}),
    );

  test.each([429, 503])("with %d is sent nothing until then, and then all in its order", async (code) => {
    refuse(2, "600", code);
    await happen(1, 2, 3, 4);
    await floe.runJobs();
    expect(numbers()).toEqual([1, 2]);
    await happen(5);
    for (let minute = 1; minute < 10; minute += 1) await pass(minuteMs);
    expect(numbers()).toEqual([1, 2]);
    await happen(6);
    await pass(minuteMs);
    expect(numbers()).toEqual([1, 2, 2, 3, 4, 5, 6]);
    const [, second] = await copies();
    expect(second).toMatchObject({ succeeded: true, attempts: 2, next_attempt_at: null });
    expect(new Set(receiver.received.slice(1, 3).map(({ headers }) => headers["webhook-id"])).size).toBe(1);
  });

  test("for longer than a day is asked again after a day", async () => {
    refuse(1, "9999999999");
    await happen(1);
    await floe.runJobs();
    await pass(dayMs - 1000);
    expect(numbers()).toEqual([1]);
    await pass(1000);
    expect(numbers()).toEqual([1, 1]);
    floe.clock.advance(-dayMs);
  });

  test("by a date is asked then by the server's clock, whatever the seller's says", async () => {
    await floe.deps.db
      .update(organization)
      .set({ clock_offset_ms: 30 * dayMs })
      .where(eq(organization.id, seller.organization_id));
    refuse(1, new Date(floe.clock.now().getTime() + 10 * minuteMs).toUTCString());
    await happen(1);
    await floe.runJobs();
    await pass(9 * minuteMs);
    expect(numbers()).toEqual([1]);
    await pass(minuteMs);
    expect(numbers()).toEqual([1, 1]);
  });

  test("in words that say nothing goes on as after any failure", async () => {
    refuse(1, "soon");
    await happen(1, 2);
    await floe.runJobs();
    expect(numbers()).toEqual([1, 2]);
    await pass(4000);
    expect(numbers()).toEqual([1, 2, 1]);
  });

  test("each time has its attempts used up, and the next event its turn after the last pause", async () => {
    receiver.answer(
      (number) => (number <= 10 ? 429 : 200),
      () => ({ "retry-after": "1500" }),
    );
    await happen(1, 2);
    await floe.runJobs();
    await floe.deps.db.update(webhookEvents).set({ created_at: new Date(floe.clock.now().getTime() - 3 * dayMs) });
    for (let attempt = 1; attempt < 10; attempt += 1) await pass(1500_000);
    expect(numbers()).toEqual(Array(10).fill(1));
    expect((await copies()).map(({ succeeded }) => succeeded)).toEqual([false, null]);
    await pass(1500_000 - 1000);
    expect(numbers()).toHaveLength(10);
    await pass(1000);
    expect(numbers().slice(10)).toEqual([2]);
  });

  test("is resumed by a redelivery, and by another address", async () => {
    refuse(1);
    await happen(1, 2);
    await floe.runJobs();
    expect(numbers()).toEqual([1]);
    const [first] = await copies();
    await seller.client.webhooks.redeliver({ params: { id: first?.id ?? "" } });
    await floe.runJobs();
    expect(numbers()).toEqual([1, 1, 2]);
    refuse(4);
    await happen(3, 4);
    await floe.runJobs();
    expect(numbers()).toEqual([1, 1, 2, 3]);
    await seller.client.webhooks.updateEndpoint({ params: { id: endpoint_id }, body: { name: "Shop" } });
    await floe.runJobs();
    expect(numbers()).toHaveLength(4);
    const url = `${receiver.url}/new`;
    await seller.client.webhooks.updateEndpoint({ params: { id: endpoint_id }, body: { url } });
    await floe.runJobs();
    expect(numbers()).toEqual([1, 1, 2, 3, 3, 4]);
  });
});
