/** Streams of events learn of a commit at once: in its own process, and by a notification in the others. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { events } from "../../server/platform/db/tables.ts";
import { transact } from "../../server/platform/db/unit-of-work.ts";
import { openTail } from "../../server/platform/events/tail.ts";
import { openWakeUp } from "../../server/platform/events/wake-up.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { newId } from "../support/ids.ts";
import { startOnPostgres } from "../support/races.ts";

let floe: Floe;
let seller: Seller;
beforeAll(async () => {
  floe = await startOnPostgres({ settings: { FLOE_STREAM_NOTIFY: "on" } });
  seller = await floe.seller();
});
afterAll(() => floe?.close());

/** Commit a transaction that has emitted. */
const commit = (at: Floe = floe) => transact(at.deps, async (tx) => at.deps.jobs.wake(tx, "events.dispatch"));
const countWakes = () => {
  const tail = {
    count: 0,
    wake: () => {
      tail.count += 1;
    },
  };
  return tail;
};

test("STR-12: a follower that is woken reads at once, and not at the next poll", async () => {
  const tail = openTail(floe.deps);
  const stop = new AbortController();
  const follower = tail.follow(seller.organization_id, await tail.now(), stop.signal);
  const delays: number[] = [];
  for (let count = 0; count < 9; count += 1) {
    const next = follower.next();
    // Just after a poll, so that the next one is far.
    await new Promise((resolve) => setTimeout(resolve, count === 0 ? 600 : 30));
    const [id, { organization_id }] = [newId(), seller];
    const row = { id, organization_id, type: "product.created", data: { id }, created_at: new Date() };
    await floe.deps.db.insert(events).values(row);
    const committed = performance.now();
    tail.wake();
    expect((await next).value?.id).toBe(id);
    delays.push(performance.now() - committed);
  }
  expect(delays.sort((a, b) => a - b)[4]).toBeLessThan(150);
  stop.abort();
  tail.close();
});

test("STR-12: a commit wakes its own process and the others, with few notifications for many commits", async () => {
  const other = await start({
    databaseUrl: String(floe.deps.config.DATABASE_URL),
    settings: { FLOE_STREAM_NOTIFY: "on" },
  });
  const [own, far] = [countWakes(), countWakes()];
  const ends = [openWakeUp(floe.deps, own), openWakeUp(other.deps, far)];
  try {
    // Until the other one listens.
    await expect
      .poll(async () => {
        await commit();
        return far.count;
      })
      .toBeGreaterThan(0);
    await new Promise((resolve) => setTimeout(resolve, 300));
    const before = { own: own.count, far: far.count };
    const begun = performance.now();
    for (let count = 0; count < 60; count += 1) await commit();
    const tookMs = performance.now() - begun;
    await new Promise((resolve) => setTimeout(resolve, 300));
    const woken = { own: own.count - before.own, far: far.count - before.far };
    // The process hears its own notifications, too. Its server sends some of its own, which are as few.
    const most = 2 * (tookMs / 50 + 2);
    expect(woken.far).toBeGreaterThan(0);
    expect(woken.far).toBeLessThanOrEqual(most);
    expect(woken.own).toBeGreaterThanOrEqual(60);
  } finally {
    for (const end of ends) await end();
    await other.close();
  }
});

test("STR-12: without the setting, and with the embedded database, nothing is sent and the own process is still woken", async () => {
  const embedded = await start({ embedded: true, settings: { FLOE_STREAM_NOTIFY: "on" } });
  const own = countWakes();
  const end = openWakeUp(embedded.deps, own);
  await commit(embedded);
  expect(own.count).toBe(1);
  await end();
  await commit(embedded);
  expect(own.count).toBe(1);
  await embedded.close();
});
