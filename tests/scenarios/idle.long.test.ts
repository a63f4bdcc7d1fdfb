/** A server at rest asks the database at most once a second (OPS-07), and still sees what falls due. */
import { sql } from "drizzle-orm";
import { afterEach, expect, test } from "vitest";
import { dueWorkers, startWorker } from "../../server/app/worker.ts";
import { checkouts } from "../../server/checkout/checkouts/tables.ts";
import { watchProcesses } from "../../server/platform/db/processes.ts";
import { openIdleSearch } from "../../server/platform/jobs/idle-search.ts";
import { startWorkerLoop } from "../../server/platform/jobs/workers.ts";
import { type Floe, start } from "../support/floe.ts";
import { createPostgresDatabase } from "../support/postgres-database.ts";

let floe: Floe | undefined;
let stops: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const stop of stops.reverse()) await stop();
  stops = [];
  await floe?.close();
  floe = undefined;
});

async function openResting() {
  floe = await start({ databaseUrl: await createPostgresDatabase(), realTime: true });
  const own = floe;
  // As if nothing had happened for long.
  own.deps.jobs.isQuiet = () => true;
  const counted = { count: 0 };
  const client = (own.deps.db as unknown as { $client: { unsafe: (...query: unknown[]) => unknown } }).$client;
  const { unsafe } = client;
  client.unsafe = (...query) => {
    counted.count += 1;
    return unsafe.call(client, ...query);
  };
  return { floe: own, counted };
}

test("OPS-07: with workers, heartbeat and a follower of events, at most one statement a second", async () => {
  const { floe, counted } = await openResting();
  const watch = await watchProcesses(floe.deps);
  const worker = await startWorker(floe.deps);
  stops = [() => watch.leave(), () => worker.stop(1000)];
  // The first polls of all workers.
  await new Promise((resolve) => setTimeout(resolve, 8000));
  const before = counted.count;
  const seconds = 24;
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  expect(counted.count - before).toBeGreaterThan(seconds / 4);
  expect((counted.count - before) / seconds).toBeLessThanOrEqual(1);
}, 120_000);

test("OPS-07: what falls due at rest is found by the common search and done; a table that cannot be read holds up no other", async () => {
  const { floe } = await openResting();
  const seller = await floe.seller();
  const { id } = await seller.client.products.create({ body: { name: "Guide", prices: [{ amount_type: "free" }] } });
  const open = () => seller.client.checkouts.create({ body: { products: [id] } });
  await open();
  const { db, jobs } = floe.deps;
  const loops = dueWorkers.map((worker) => startWorkerLoop(floe.deps, worker));
  const search = openIdleSearch(floe.deps, dueWorkers, 50);
  stops = [() => Promise.all(loops.map((loop) => loop.stop())), () => search.stop()];
  await expect.poll(() => jobs.isSearched("checkouts.expire")).toBe(true);
  // Every worker has looked once and waits for a minute, or to be woken.
  await new Promise((resolve) => setTimeout(resolve, 7000));
  const countOpen = () => db.$count(checkouts, sql`status = 'open'`);
  await db.update(checkouts).set({ expires_at: new Date(Date.now() - 1000) });
  const began = performance.now();
  await expect.poll(countOpen).toBe(0);
  expect(performance.now() - began).toBeLessThan(5000);
  await db.execute(sql`alter table refunds rename to refunds_away`);
  await expect.poll(() => jobs.isSearched("checkouts.expire")).toBe(false);
  await open();
  await db.update(checkouts).set({ expires_at: new Date(Date.now() - 1000) });
  await expect.poll(countOpen).toBe(0);
  await db.execute(sql`alter table refunds_away rename to refunds`);
  await expect.poll(() => jobs.isSearched("checkouts.expire")).toBe(true);
}, 120_000);
