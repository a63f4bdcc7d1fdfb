/** Servers of one database know which of them are gone (OPS-02), and whether their clocks are right (OPS-03). */
import { eq, sql } from "drizzle-orm";
import postgres from "postgres";
import { afterEach, beforeEach, expect, test } from "vitest";
import { startWorker } from "../../server/app/worker.ts";
import { paymentSetups, payments } from "../../server/billing/payments/tables.ts";
import type { Deps } from "../../server/platform/context.ts";
import { compareClocks, getSessionName, watchProcesses } from "../../server/platform/db/processes.ts";
import { serverProcesses } from "../../server/platform/db/tables.ts";
import { createId } from "../../server/platform/ids.ts";
import { createJobs } from "../../server/platform/jobs/jobs.ts";
import { testIntents } from "../../server/platform/processors/tables.ts";
import { type Floe, start } from "../support/floe.ts";
import { createPostgresDatabase } from "../support/postgres-database.ts";

let floe: Floe;
let others: { leave(): Promise<void> }[];
beforeEach(async () => {
  others = [];
  floe = await start({ databaseUrl: await createPostgresDatabase(), realTime: true });
});
afterEach(async () => {
  for (const one of others) await one.leave();
  await floe.close();
});

/** Another process of the same database, with a clock that is so far ahead. */
const openOther = (aheadMs = 0): Deps => ({
  ...floe.deps,
  process_id: createId(new Date()),
  jobs: createJobs(),
  clock: { now: () => new Date(Date.now() + aheadMs) },
});
async function watch(deps: Deps, intervalMs?: number) {
  const watching = await watchProcesses(deps, intervalMs);
  others.push(watching);
  return watching;
}
const listProcesses = async () => (await floe.deps.db.select().from(serverProcesses)).map(({ id }) => id);
const silence = ({ process_id }: Deps, seconds: number) =>
  floe.deps.db
    .update(serverProcesses)
    .set({ seen_at: sql`clock_timestamp() - ${seconds} * interval '1 second'` })
    .where(eq(serverProcesses.id, process_id));

/** A sale of a process that ends while the card processor is asked, and one of a set-up. */
async function leaveSales(deps: Deps) {
  const seller = await floe.seller();
  const body = { name: "Guide", prices: [{ amount_type: "fixed" as const, price_amount: 1900 }] };
  const { id } = await seller.client.products.create({ body });
  const never = new Promise<never>(() => undefined);
  const checkout = await seller.client.checkouts.create({ body: { products: [id] } });
  const original = { process_id: floe.deps.process_id, processor: floe.deps.processor };
  // Charged, but the answer does not arrive before the process ends.
  const processor = {
    ...original.processor,
    confirm: (charge: never) => original.processor.confirm(charge).then(() => never),
  };
  Object.assign(floe.deps, { process_id: deps.process_id, processor });
  floe.deps.processors.own = processor as never;
  void floe.request("POST", `/v1/checkouts/client/${checkout.client_secret}/confirm`, {
    body: {
      customer_billing_address: { country: "FR" },
      confirmation_token_id: "pm_card_visa",
      customer_email: "buyer@example.com",
    },
  });
  const { db } = floe.deps;
  await expect.poll(() => db.$count(testIntents), { timeout: 10_000 }).toBe(1);
  Object.assign(floe.deps, original);
  floe.deps.processors.own = original.processor;
  const find = async () => (await db.select().from(payments))[0];
  return { find, seller };
}

test("OPS-02: a payment of a process that is gone is due at once, and settled by another", async () => {
  const gone = openOther();
  await watchProcesses(gone, 3_600_000);
  const { find } = await leaveSales(gone);
  const before = await find();
  expect([before?.status, before?.process_id]).toEqual(["pending", gone.process_id]);
  await watch(floe.deps, 50);
  await expect.poll(listProcesses).toHaveLength(2);
  // Two beats missed: it may still be there.
  await silence(gone, 12);
  await new Promise((resolve) => setTimeout(resolve, 400));
  expect((await find())?.reconcile_due_at).toEqual(before?.reconcile_due_at);
  await silence(gone, 16);
  await expect.poll(listProcesses).toEqual([floe.deps.process_id]);
  expect((await find())?.reconcile_due_at).toEqual(before?.created_at);
  await floe.runJobs();
  const after = await find();
  expect([after?.status, after?.reconcile_due_at]).toEqual(["succeeded", null]);
});

test("OPS-02: a process that stops hands on what it has not completed; others' payments are left alone", async () => {
  const stopping = openOther();
  const watching = await watchProcesses(stopping);
  const { find } = await leaveSales(stopping);
  const before = await find();
  await (await watchProcesses(openOther())).leave();
  expect((await find())?.reconcile_due_at).toEqual(before?.reconcile_due_at);
  await watching.leave();
  expect((await find())?.reconcile_due_at).toEqual(before?.created_at);
  expect(await listProcesses()).toEqual([]);
});

test("OPS-02: a set-up of a process that is gone is due, too; what is finished is not", async () => {
  const gone = openOther();
  const watching = await watchProcesses(gone);
  const { find } = await leaveSales(gone);
  const payment = await find();
  await floe.deps.db.update(payments).set({ status: "failed", reconcile_due_at: null });
  const { organization_id, customer_id, created_at } = payment ?? expect.fail();
  await floe.deps.db.insert(paymentSetups).values({
    ...{ organization_id, customer_id, created_at, id: createId(new Date()), process_id: gone.process_id },
    ...{ terms: "", customer_email: "", account: "test", requested_at: created_at, confirmation_token_id: "" },
    reconcile_due_at: new Date(Date.now() + 120_000),
  });
  await watching.leave();
  const [setup] = await floe.deps.db.select().from(paymentSetups);
  expect(setup?.reconcile_due_at).toEqual(created_at);
  expect((await find())?.reconcile_due_at).toBeNull();
  await floe.deps.db.delete(paymentSetups);
});

test("OPS-02: a process that was only paused is there again, and two that notice it at once do no harm", async () => {
  const paused = openOther();
  await watch(paused, 200);
  await silence(paused, 60);
  await Promise.all([watch(openOther()), watch(openOther()), watch(floe.deps)]);
  await expect.poll(listProcesses).toHaveLength(4);
});

test("OPS-03: a clock that is off is said once and in /readyz; with one that is wrong, nothing that is due runs", async () => {
  const lines = () => floe.logged.filter((line) => line.includes("clock of this machine"));
  const ready = async () => {
    const { status, json } = await floe.request("GET", "/readyz");
    const { clock, warnings } = json as { clock: boolean; warnings: string[] };
    return { status, clock, warnings: warnings.filter((text) => text.includes("clock")) };
  };
  let aheadMs = 0;
  const deps: Deps = { ...floe.deps, clock: { now: () => new Date(Date.now() + aheadMs) } };
  await watch(deps, 50);
  expect([await ready(), lines()]).toEqual([{ status: 503, clock: true, warnings: [] }, []]);
  const worker = await startWorker(deps);
  expect(await ready()).toEqual({ status: 200, clock: true, warnings: [] });
  aheadMs = -7000;
  await expect
    .poll(async () => (await ready()).warnings)
    .toEqual([expect.stringMatching(/is [67] s behind the database/)]);
  expect((await ready()).status).toBe(200);
  aheadMs = 7_200_000;
  await expect.poll(ready).toEqual({
    status: 503,
    clock: false,
    warnings: [expect.stringMatching(/is 7\d{3} s ahead of the database's\. Nothing that is due runs here/)],
  });
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(lines()).toHaveLength(2);
  // A payment that is due in two minutes: by the wrong clock it is due.
  const { find } = await leaveSales(openOther());
  deps.jobs.notifyActivity();
  await new Promise((resolve) => setTimeout(resolve, 3000));
  expect((await find())?.status).toBe("pending");
  aheadMs = 0;
  await expect.poll(ready).toEqual({ status: 200, clock: true, warnings: [] });
  expect(lines()).toHaveLength(3);
  await worker.stop();
});

test("OPS-03: a clock is off only as far as the answer's way cannot explain it", () => {
  expect(compareClocks(1000, 1500, 2000)).toBe(0);
  expect(compareClocks(9000, 1500, 9100)).toBe(7500);
  expect(compareClocks(1000, 9500, 1100)).toBe(-8400);
});

test("OPS-02: a process whose session is gone is gone, long before it has been silent for long; without one it is waited for", async () => {
  const [killed, without] = [openOther(), openOther()];
  const session = postgres(String(floe.deps.config.DATABASE_URL), {
    max: 1,
    connection: { application_name: getSessionName(killed.process_id) },
  });
  await session`select 1`;
  await watchProcesses(killed, 3_600_000);
  await watchProcesses(without, 3_600_000);
  // A second beat sees the session of the first.
  await watchProcesses(killed, 3_600_000);
  const rows = await floe.deps.db.select().from(serverProcesses);
  expect(rows.map(({ has_session }) => has_session).sort()).toEqual([false, true]);
  // It beats no more, as one that is killed, and its session is still there.
  await watch(floe.deps, 50);
  await new Promise((resolve) => setTimeout(resolve, 1500));
  expect(await listProcesses()).toHaveLength(3);
  const began = performance.now();
  await session.end();
  await expect.poll(async () => (await listProcesses()).includes(killed.process_id)).toBe(false);
  expect(performance.now() - began).toBeLessThan(4000);
  expect(await listProcesses()).toContain(without.process_id);
});

test("OPS-02: a process that missed four beats is waited for, and one that is silent for over fifteen seconds is gone", async () => {
  const slow = openOther();
  await watchProcesses(slow, 3_600_000);
  await silence(slow, 12);
  await watch(openOther(), 3_600_000);
  expect(await listProcesses()).toContain(slow.process_id);
  await silence(slow, 16);
  await watch(openOther(), 3_600_000);
  expect(await listProcesses()).not.toContain(slow.process_id);
});
