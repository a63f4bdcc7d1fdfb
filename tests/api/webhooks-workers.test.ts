import { eq, sql } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { dispatchWorker } from "../../server/messaging/webhooks/jobs.ts";
import { webhookDeliveries, webhookEndpoints, webhookEvents } from "../../server/messaging/webhooks/tables.ts";
import { events } from "../../server/platform/db/tables.ts";
import { transact } from "../../server/platform/db/unit-of-work.ts";
import { runWorkers } from "../../server/platform/jobs/workers.ts";
import { type Floe, start } from "../support/floe.ts";
import { newId } from "../support/ids.ts";
import { createPostgresDatabase } from "../support/postgres-database.ts";
import { startReceiver } from "../support/receiver.ts";

const floes: Floe[] = [];
beforeAll(async () => {
  const databaseUrl = await createPostgresDatabase();
  // Two servers on one database, each with its worker; the receiver is on this machine, so they are told to allow that.
  const replace = (deps: Floe["deps"]) => ({ config: { ...deps.config, development: true } });
  floes.push(await start({ databaseUrl, worker: true, replace }));
  floes.push(await start({ databaseUrl, worker: true, replace }));
});
afterAll(async () => {
  for (const floe of floes) await floe.close();
});

test("two servers send each event once, those of one transaction in their order (WHK-05, WHK-13)", async () => {
  const [floe] = floes as [Floe];
  const seller = await floe.seller();
  const receiver = await startReceiver();
  const types = ["order.created", "order.updated", "order.paid"] as const;
  await seller.client.webhooks.createEndpoint({ body: { url: receiver.url, format: "raw", events: [...types] } });
  const sales = Array.from({ length: 12 }, () => newId());
  await Promise.all(
    sales.map((sale, number) => {
      const { deps } = floes[number % 2] as Floe;
      return transact(deps, async (tx) => {
        for (const type of types) {
          await tx.insert(events).values({
            id: newId(),
            organization_id: seller.organization_id,
            type,
            data: { id: sale },
            created_at: new Date(),
          });
          deps.jobs.wake(tx, "events.dispatch");
        }
      });
    }),
  );
  // A lost wake-up would be made good by the sweep only after half a minute.
  await expect.poll(() => receiver.received.length, { timeout: 25_000, interval: 200 }).toBe(36);
  await new Promise((done) => setTimeout(done, 1500));
  expect(receiver.received).toHaveLength(36);
  expect(new Set(receiver.received.map(({ headers }) => headers["webhook-id"])).size).toBe(36);
  for (const sale of sales)
    expect(receiver.received.filter(({ json }) => json.data.id === sale).map(({ json }) => json.type)).toEqual(types);
  expect(await floe.deps.db.select().from(webhookDeliveries)).toHaveLength(36);
  await receiver.close();
});

/** A server without workers, with an endpoint that gets one event that is not dispatched yet. */
async function makeUndispatched() {
  const floe = await start({ databaseUrl: await createPostgresDatabase() });
  const { organization_id, client } = await floe.seller();
  const body = { url: "https://example.com/hooks", format: "raw", events: ["order.paid"] } as const;
  const { id } = await client.webhooks.createEndpoint({ body: { ...body, events: [...body.events] } });
  const { db } = floe.deps;
  await db.update(webhookEndpoints).set({ due_at: null });
  const event = { id: newId(), organization_id, type: "order.paid", data: { id: newId() }, created_at: new Date() };
  await db.insert(events).values(event);
  const isEndpoint = eq(webhookEndpoints.id, id);
  const findEndpoint = async () => (await db.select().from(webhookEndpoints).where(isEndpoint))[0];
  const countLockWaits = async () => {
    const rows = await db.execute(sql`select 1 from pg_stat_activity where wait_event_type = 'Lock'
      and datname = current_database()`);
    return Array.from(rows as Iterable<unknown>).length;
  };
  const dispatch = () => runWorkers(floe.deps, [dispatchWorker]);
  return { floe, db, event, isEndpoint, findEndpoint, countLockWaits, dispatch };
}

test("an event that is dispatched while the sender ends its turn has a turn of its own (WHK-13)", async () => {
  const { floe, db, isEndpoint, findEndpoint, countLockWaits, dispatch } = await makeUndispatched();
  await db.update(webhookEndpoints).set({ lease: newId(), due_at: new Date(Date.now() + 60_000) });
  let dispatched: Promise<unknown> | undefined;
  await transact(floe.deps, async (tx) => {
    await tx.select().from(webhookEndpoints).where(isEndpoint).for("no key update");
    // The sender has looked for more, and found nothing.
    expect(await tx.$count(webhookEvents)).toBe(0);
    dispatched = dispatch();
    await expect.poll(countLockWaits, { timeout: 10_000 }).toBe(1);
    await tx.update(webhookEndpoints).set({ lease: null, due_at: null }).where(isEndpoint);
  });
  await dispatched;
  expect(await db.$count(webhookEvents)).toBe(1);
  expect((await findEndpoint())?.due_at).not.toBeNull();
  await floe.close();
});

test("a sender does not wait for a dispatch that has begun", async () => {
  const { floe, db, isEndpoint, findEndpoint, countLockWaits, dispatch } = await makeUndispatched();
  let dispatched: Promise<unknown> | undefined;
  await transact(floe.deps, async (tx) => {
    // The dispatch waits where it writes its copies, after it has read the endpoints.
    await tx.execute(sql`lock table ${webhookEvents} in share mode`);
    dispatched = dispatch();
    await expect.poll(countLockWaits, { timeout: 10_000 }).toBe(1);
    const held = await tx.select().from(webhookEndpoints).where(isEndpoint).for("no key update", { noWait: true });
    expect(held).toHaveLength(1);
  });
  await dispatched;
  expect(await db.$count(webhookEvents)).toBe(1);
  expect((await findEndpoint())?.due_at).not.toBeNull();
  await floe.close();
});

test("three dispatches at once give an endpoint one copy of each event (WHK-05)", async () => {
  const { floe, db, event, dispatch } = await makeUndispatched();
  const others = Array.from({ length: 250 }, () => ({ ...event, id: newId(), data: { id: newId() } }));
  await db.insert(events).values(others);
  await Promise.all([dispatch(), dispatch(), dispatch()]);
  const copies = await db.select().from(webhookEvents);
  expect([copies.length, new Set(copies.map(({ event_id }) => event_id)).size]).toEqual([251, 251]);
  expect(await db.$count(events, sql`${events.dispatched_at} is null`)).toBe(0);
  await floe.close();
});
