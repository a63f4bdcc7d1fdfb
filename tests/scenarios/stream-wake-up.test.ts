/** Streams of events learn of a commit at once: in its own process, and by a notification in the others. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { events } from "../../server/platform/db/tables.ts";
import { transact } from "../../server/platform/db/unit-of-work.ts";
import { openTail } from "../../server/platform/events/tail.ts";
import { openWakeUp } from "../../server/platform/events/wake-up.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { newId } from "../support/ids.ts";
import { startOnPostgres } from "../support/races.ts";
import { openStallingProxy } from "../support/stalling-proxy.ts";

let floe: Floe;
let seller: Seller;
beforeAll(async () => {
  floe = await startOnPostgres({ settings: { FLOE_NOTIFY: "on" } });
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
    isNotified: false,
    setNotified: (is: boolean) => {
      tail.isNotified = is;
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
    settings: { FLOE_NOTIFY: "on" },
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
    expect(far.isNotified).toBe(true);
  } finally {
    for (const one of ends) await one.end();
    await other.close();
  }
});

test("STR-12: with the embedded database nothing is sent, and the own process is still woken", async () => {
  const embedded = await start({ embedded: true, settings: { FLOE_NOTIFY: "on" } });
  const own = countWakes();
  const wakeUp = openWakeUp(embedded.deps, own);
  await commit(embedded);
  expect(own.count).toBe(1);
  await wakeUp.end();
  await commit(embedded);
  expect(own.count).toBe(1);
  await embedded.close();
});

test("STR-12: a commit wakes the named workers of other processes; who is alone sends nothing", async () => {
  const other = await start({ databaseUrl: String(floe.deps.config.DATABASE_URL) });
  const ends = [openWakeUp(floe.deps, countWakes()), openWakeUp(other.deps, countWakes())];
  const heard: string[] = [];
  other.deps.jobs.onWake("orders.confirm", () => heard.push("orders.confirm"));
  other.deps.jobs.onWake("grants.run", () => heard.push("grants.run"));
  const wake = () => transact(floe.deps, async (tx) => floe.deps.jobs.wake(tx, "orders.confirm"));
  try {
    await expect
      .poll(async () => {
        await wake();
        return heard.length;
      })
      .toBeGreaterThan(0);
    expect(new Set(heard)).toEqual(new Set(["orders.confirm"]));
    await new Promise((resolve) => setTimeout(resolve, 200));
    heard.length = 0;
    floe.deps.jobs.setAlone(true);
    await wake();
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(heard).toEqual([]);
  } finally {
    floe.deps.jobs.setAlone(false);
    for (const one of ends) await one.end();
    await other.close();
  }
});

test("STR-12: a connection for notifications that was lost without a word is opened again", async () => {
  const databaseUrl = String(floe.deps.config.DATABASE_URL);
  const proxy = await openStallingProxy(databaseUrl);
  const other = await start({ databaseUrl, settings: { FLOE_NOTIFY: "off" } });
  const far = countWakes();
  const deps = { ...other.deps, config: { ...other.deps.config, DATABASE_URL: proxy.url, FLOE_NOTIFY: true } };
  const wakeUp = openWakeUp(deps, far, 300);
  try {
    await expect.poll(() => far.isNotified).toBe(true);
    proxy.silence();
    await expect.poll(() => far.isNotified).toBe(false);
    await expect.poll(() => far.isNotified).toBe(true);
    far.count = 0;
    await commit();
    await expect.poll(() => far.count).toBeGreaterThan(0);
  } finally {
    await wakeUp.end();
    await other.close();
    await proxy.close();
  }
});
