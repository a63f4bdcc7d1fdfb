import { setImmediate, setTimeout as sleep } from "node:timers/promises";
import { eq, inArray, sql } from "drizzle-orm";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { dueWorkers } from "../../server/app/worker.ts";
import { checkoutExpiryWorker } from "../../server/checkout/checkouts/jobs.ts";
import { checkouts } from "../../server/checkout/checkouts/tables.ts";
import { deliveryWorker, dispatchWorker } from "../../server/messaging/webhooks/jobs.ts";
import { planRetry, requeueDeadLetters } from "../../server/platform/db/due.ts";
import { failedWork } from "../../server/platform/db/tables.ts";
import { getDeadline } from "../../server/platform/jobs/deadline.ts";
import { createJobs } from "../../server/platform/jobs/jobs.ts";
import { createThrottle } from "../../server/platform/jobs/throttle.ts";
import { type RowWorker, runWorkers, startWorkerLoop } from "../../server/platform/jobs/workers.ts";
import { eventually } from "../support/eventually.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { startReceiver } from "../support/receiver.ts";

const hourMs = 60 * 60 * 1000;

let floe: Floe;
let seller: Seller;
let other: Seller;
beforeEach(async () => {
  floe = await start();
  seller = await floe.seller();
  other = await floe.seller("other");
});
afterEach(() => floe?.close());

async function open({ client }: Seller) {
  const { id } = await client.products.create({ body: { name: "Guide", prices: [{ amount_type: "free" }] } });
  return client.checkouts.create({ body: { products: [id] } });
}
const statusOf = async (id: string) =>
  (await floe.deps.db.select({ status: checkouts.status }).from(checkouts).where(eq(checkouts.id, id)))[0]?.status;
const spoil = (id: string) =>
  floe.deps.db
    .update(checkouts)
    .set({ custom_field_data: { x: 1.5 } as never })
    .where(eq(checkouts.id, id));
const deadLetters = async () => ((await floe.request("GET", "/readyz")).json as { dead_letters: number }).dead_letters;
const loggedAs = (words: string) => floe.logged.filter((line) => line.includes(words)).length;

describe("one row that cannot be handled", () => {
  test("holds up no other, of its seller or another's, and no other work", async () => {
    const receiver = await startReceiver();
    await seller.client.webhooks.createEndpoint({
      body: { url: receiver.url, format: "raw", events: ["checkout.expired"], api_version: "2026-10" },
    });
    const [bad, good, theirs] = [await open(seller), await open(seller), await open(other)];
    await spoil(bad.id);
    floe.clock.advance(25 * hourMs);
    await floe.runJobs();
    expect(await Promise.all([bad, good, theirs].map(({ id }) => statusOf(id)))).toEqual([
      "open",
      "expired",
      "expired",
    ]);
    expect(receiver.received.map(({ json }) => json.data.id)).toEqual([good.id]);
    expect(await floe.deps.db.select().from(failedWork)).toMatchObject([
      { kind: "checkouts.expire", row_id: bad.id, organization_id: seller.organization_id, attempts: 1 },
    ]);
    await receiver.close();
  });

  test("is put off for longer and longer, is a dead letter after a day, and is tried once more when revived", async () => {
    const { id } = await open(seller);
    await spoil(id);
    floe.clock.advance(25 * hourMs);
    await floe.runJobs();
    await floe.runJobs();
    const row = async () => (await floe.deps.db.select().from(failedWork))[0];
    expect((await row())?.attempts).toBe(1);
    for (let hours = 0; hours <= 26; hours += 1) {
      await floe.runJobs();
      floe.clock.advance(hourMs);
    }
    const given_up = await row();
    expect([given_up?.retry_at, await deadLetters(), loggedAs("is a dead letter")]).toEqual([null, 1, 1]);
    floe.clock.advance(100 * hourMs);
    await floe.runJobs();
    expect((await row())?.attempts).toBe(given_up?.attempts);
    // Tried again while its cause stands, it is one again at once.
    await requeueDeadLetters(floe.deps);
    await floe.runJobs();
    expect([(await row())?.attempts, await deadLetters()]).toEqual([(given_up?.attempts ?? 0) + 1, 1]);
    await floe.deps.db.update(checkouts).set({ custom_field_data: {} }).where(eq(checkouts.id, id));
    await requeueDeadLetters(floe.deps);
    await floe.runJobs();
    expect([await statusOf(id), await row(), await deadLetters()]).toEqual(["expired", undefined, 0]);
  });

  test("is tried after five seconds, a quarter of the time it fails, an hour at most, and for a day", () => {
    expect([0, 10_000, 40_000, 2 * hourMs, 10 * hourMs].map(planRetry)).toEqual([
      5000,
      5000,
      10_000,
      hourMs / 2,
      hourMs,
    ]);
    expect([planRetry(24 * hourMs - 1), planRetry(24 * hourMs)]).toEqual([hourMs, null]);
  });
});

describe("one kind of work that cannot be looked for", () => {
  test("holds up no other, and goes on by itself once it can", async () => {
    const receiver = await startReceiver();
    await seller.client.webhooks.createEndpoint({
      body: { url: receiver.url, format: "raw", events: ["checkout.expired"], api_version: "2026-10" },
    });
    const { id } = await open(seller);
    await floe.deps.db.execute(sql`alter table payments rename to payments_away`);
    floe.clock.advance(25 * hourMs);
    const loops = dueWorkers.map((sweep) => startWorkerLoop(floe.deps, sweep));
    try {
      await expect.poll(() => receiver.received.length).toBe(1);
      expect(await statusOf(id)).toBe("expired");
      expect(loggedAs('"work":"payments.reconcile"')).toBeGreaterThan(0);
      await floe.deps.db.execute(sql`alter table payments_away rename to payments`);
      expect(loggedAs('"work":"checkouts.expire"')).toBe(0);
    } finally {
      await Promise.all(loops.map((loop) => loop.stop()));
      await receiver.close();
    }
  });
});

describe("work that gives way to requests", () => {
  const many = 24;
  /** Have a worker expire checkouts; answers the rows of each piece of the crowded seller, how many ran at once, and who was first. */
  async function expireAll(whileIt: () => void, pause_ms = 0) {
    const crowded = await Promise.all(Array.from({ length: many }, () => open(seller)));
    const single = await open(other);
    floe.clock.advance(25 * hourMs);
    await sleep(pause_ms);
    const pieces: number[] = [];
    const order: string[] = [];
    let running = 0;
    // By how many pieces were done.
    const most: number[] = [];
    const loop = startWorkerLoop(floe.deps, {
      ...(checkoutExpiryWorker as RowWorker),
      pollIntervalMs: 10,
      batchSize: 8,
      concurrency: 4,
      maxPerTenant: 2,
      yieldBatchSize: 2,
      async run({ db }, rows) {
        const isCrowded = rows[0].organization_id === seller.organization_id;
        running += Number(isCrowded);
        if (isCrowded) most[pieces.length] = running;
        await sleep(10);
        const ids = rows.map(({ id }) => id);
        await db.update(checkouts).set({ status: "expired" }).where(inArray(checkouts.id, ids));
        if (isCrowded) pieces.push(rows.length);
        order.push(...ids);
        running -= Number(isCrowded);
      },
    });
    const asking = setInterval(whileIt, 20);
    try {
      await vi.waitFor(() => expect(order.length).toBe(many + 1), { timeout: 20_000 });
    } finally {
      clearInterval(asking);
      await loop.stop();
    }
    expect(new Set(order)).toEqual(new Set([...crowded, single].map(({ id }) => id)));
    return { pieces, most, before: order.indexOf(single.id) };
  }

  test("is done a few rows at a time, one after the other, of who has much due; of others at once", async () => {
    const { throttle: pace } = floe.deps.jobs;
    pace.recordRequest();
    const { pieces, most, before } = await expireAll(() => pace.recordRequest());
    // What is left of it is less than a share, and is done like anybody's.
    expect(pieces.slice(0, 4)).toEqual([2, 2, 2, 2]);
    expect(most.slice(0, 4)).toEqual([1, 1, 1, 1]);
    expect(before).toBeLessThan(8);
  });

  test("is done side by side where nobody asks", async () => {
    const { pieces, most } = await expireAll(() => {}, 400);
    expect(pieces).toEqual([8, 8, 8]);
    expect(most[0]).toBe(2);
  });

  test("takes turns, each followed by a pause, and none waits for one that hangs", async () => {
    const pace = createThrottle(() => true);
    const others = await Promise.all([pace.acquireSlot(), pace.acquireSlot()]);
    for (const end of others) end();
    pace.recordRequest();
    const asking = setInterval(() => pace.recordRequest(), 50);
    const began = performance.now();
    const end = await pace.acquireSlot();
    const second = pace.acquireSlot();
    await sleep(100);
    end();
    await second;
    expect(performance.now() - began).toBeGreaterThan(290);
    const hung = performance.now();
    (await pace.acquireSlot())();
    clearInterval(asking);
    const waited = performance.now() - hung;
    expect(waited).toBeGreaterThan(900);
    expect(waited).toBeLessThan(5000);
  });

  test("takes turns without a pause while the process has time", async () => {
    let isBusy = false;
    const pace = createThrottle(() => isBusy);
    const asking = setInterval(() => pace.recordRequest(), 50);
    pace.recordRequest();
    const took = async () => {
      const end = await pace.acquireSlot();
      const next = pace.acquireSlot();
      await sleep(100);
      const began = performance.now();
      end();
      (await next)();
      return performance.now() - began;
    };
    expect(await took()).toBeLessThan(100);
    isBusy = true;
    expect(await took()).toBeGreaterThan(190);
    clearInterval(asking);
  });

  test("hears of each request, but of no health check", async () => {
    await sleep(400);
    await floe.request("GET", "/healthz");
    await floe.request("GET", "/readyz");
    expect(floe.deps.jobs.throttle.hasRecentRequests()).toBe(false);
    await floe.request("GET", "/v1/products/", { token: seller.key });
    expect(floe.deps.jobs.throttle.hasRecentRequests()).toBe(true);
  });
});

describe("a server at rest", () => {
  test("looks for work each five seconds, and as often as before once somebody writes or something falls due", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    try {
      const own = createJobs();
      const heard = new Set<() => void>();
      const jobs = {
        ...own,
        onStir(look: () => void) {
          heard.add(look);
          const off = own.onActivity(look);
          return () => void (heard.delete(look) && off());
        },
      };
      let looks = 0;
      const looksWithin = async (ms: number) => {
        looks = 0;
        await vi.advanceTimersByTimeAsync(ms);
        return looks;
      };
      const sweep = { name: "tests.look", pollIntervalMs: 1000, limit: 1, runBatch: async () => Number(++looks < 0) };
      const loop = startWorkerLoop({ ...floe.deps, jobs }, sweep);
      expect(await looksWithin(10_000)).toBe(10);
      // The eleventh look is the first after which it rests.
      expect(await looksWithin(1000 + 20_000)).toBe(5);
      jobs.notifyActivity();
      expect(await looksWithin(999)).toBe(0);
      expect(await looksWithin(1)).toBe(1);
      expect(await looksWithin(5000)).toBe(5);
      await looksWithin(30_000);
      jobs.begin("", Promise.resolve());
      expect(await looksWithin(3000)).toBe(3);
      await looksWithin(30_000);
      const unit = { afterCommit: [] as (() => void)[] };
      jobs.wake({ unit } as never, "tests.look");
      for (const act of unit.afterCommit) act();
      expect(await looksWithin(0)).toBe(1);
      expect(await looksWithin(3000)).toBe(3);
      await looksWithin(30_000);
      void loop.stop();
      expect(await looksWithin(30_000)).toBe(0);
      expect(heard.size).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });

  test.each([
    ["POST", "/v1/products/", true],
    ["POST", "/api/auth/sign-out", true],
    ["GET", "/v1/products/", false],
  ] as const)("%s %s: somebody has written: %s", async (method, path, is) => {
    const before = floe.deps.jobs.lastActivityAt();
    await floe.request(method, path, {});
    await setImmediate();
    expect(floe.deps.jobs.lastActivityAt() > before).toBe(is);
  });
});

describe("work that hangs", () => {
  const due =
    typeof checkoutExpiryWorker === "object" && "due" in checkoutExpiryWorker ? checkoutExpiryWorker.due : undefined;
  const named = { name: "tests.hang", pollIntervalMs: 20, due: due as never };

  test("is given up for now after its time, and takes of one seller no more than its share", async () => {
    const mine = [await open(seller), await open(seller), await open(seller)];
    const theirs = await open(other);
    floe.clock.advance(25 * hourMs);
    const seen: string[] = [];
    const [began, never] = [Promise.withResolvers<void>(), new Promise<void>(() => undefined)];
    const loop = startWorkerLoop(floe.deps, {
      ...named,
      concurrency: 3,
      maxPerTenant: 2,
      timeoutMs: 60_000,
      async run(_, [{ id, organization_id }]) {
        seen.push(organization_id);
        if (id === theirs.id) began.resolve();
        if (organization_id === seller.organization_id) await never;
      },
    });
    await began.promise;
    expect(seen.filter((id) => id === seller.organization_id)).toHaveLength(2);
    const stopping = performance.now();
    await loop.stop();
    // What hangs does not keep the server from stopping: it would go on for a minute.
    expect(performance.now() - stopping).toBeLessThan(40_000);
    await runWorkers(floe.deps, [{ ...named, concurrency: 3, timeoutMs: 50, graceMs: 50, run: () => never }]);
    const failed = await floe.deps.db.select().from(failedWork).where(eq(failedWork.kind, "tests.hang"));
    expect(failed.map(({ row_id }) => row_id).sort()).toEqual([...mine, theirs].map(({ id }) => id).sort());
  });

  test("is aborted at its limit, and is not begun again before it has ended", async () => {
    await open(seller);
    floe.clock.advance(25 * hourMs);
    let [begun, running, most] = [0, 0, 0];
    const loop = startWorkerLoop(floe.deps, {
      ...named,
      timeoutMs: 50,
      graceMs: 10_000,
      async run() {
        begun += 1;
        running += 1;
        most = Math.max(most, running);
        const signal = getDeadline()?.signal;
        await new Promise((resolve) => signal?.addEventListener("abort", resolve));
        // Its retry falls due while it still ends.
        floe.clock.advance(25 * hourMs);
        await new Promise((resolve) => setTimeout(resolve, 400));
        running -= 1;
      },
    });
    await eventually(async () => (begun >= 2 ? true : undefined), "a second run");
    await loop.stop();
    expect(most).toBe(1);
  });

  test("is waited for by a stop, when it ends in time", async () => {
    await open(seller);
    floe.clock.advance(25 * hourMs);
    const began = Promise.withResolvers<void>();
    let done = false;
    const loop = startWorkerLoop(floe.deps, {
      ...named,
      async run() {
        began.resolve();
        await new Promise((resolve) => setTimeout(resolve, 300));
        done = true;
      },
    });
    await began.promise;
    await loop.stop();
    expect(done).toBe(true);
  });

  test("of several rows together fails for those alone that cannot be handled", async () => {
    const rows = [await open(seller), await open(seller), await open(seller)];
    floe.clock.advance(25 * hourMs);
    const [, bad] = rows;
    const done: string[] = [];
    await runWorkers(floe.deps, [
      {
        ...named,
        batchSize: 10,
        async run({ db }, some) {
          if (some.some(({ id }) => id === bad?.id)) throw new Error("It does not fit.");
          for (const { id } of some) {
            done.push(id);
            await db.update(checkouts).set({ status: "expired" }).where(eq(checkouts.id, id));
          }
        },
      },
    ]);
    expect(done.sort()).toEqual(
      rows
        .filter((row) => row !== bad)
        .map(({ id }) => id)
        .sort(),
    );
    expect(await floe.deps.db.select().from(failedWork)).toMatchObject([{ row_id: bad?.id }]);
  });
});

test("what is committed wakes its sweep, so that an event leaves without a pause", async () => {
  const receiver = await startReceiver();
  await seller.client.webhooks.createEndpoint({
    body: { url: receiver.url, format: "raw", events: ["product.created"] },
  });
  await floe.runJobs();
  const slow = [dispatchWorker, deliveryWorker].map((sweep) =>
    startWorkerLoop(floe.deps, { ...sweep, pollIntervalMs: 600_000 }),
  );
  try {
    await seller.client.products.create({ body: { name: "Guide", prices: [{ amount_type: "free" }] } });
    await expect.poll(() => receiver.received.length).toBe(1);
  } finally {
    await Promise.all(slow.map((loop) => loop.stop()));
    await receiver.close();
  }
});
