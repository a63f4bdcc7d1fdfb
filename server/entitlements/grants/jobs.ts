import { sql } from "drizzle-orm";
import type { Deps } from "../../platform/context.ts";
import type { RowKey } from "../../platform/db/rows.ts";
import { transact } from "../../platform/db/unit-of-work.ts";
import { barrierPauseMs, checkBarrier } from "../../platform/events/barrier.ts";
import { createId } from "../../platform/ids.ts";
import type { RowWorker } from "../../platform/jobs/workers.ts";
import { reconcile } from "./engine.ts";
import { accessWorkerName } from "./kinds/external.ts";
import { settleAccess } from "./provisioning.ts";
import type { GrantSource } from "./rules.ts";
import * as store from "./store.ts";
import { grantAccesses, grantChecks, grantRuns } from "./tables.ts";

/** What is held against what it gives later on, each in a transaction of its own. */
export const grantCheckWorker: RowWorker = {
  name: "grants.check",
  pollIntervalMs: 1000,
  due: {
    table: grantChecks,
    id: grantChecks.id,
    organization_id: grantChecks.organization_id,
    at: grantChecks.due_at,
  },
  concurrency: 4,
  maxPerTenant: 2,
  run: (deps, [key]) =>
    transact(deps, async (tx) => {
      const source = await store.claimCheck(tx, key, deps.clock.now());
      if (source) await reconcile(tx, deps, source);
    }),
};

/** So many are looked up at once. */
const slice = 500;

/** Who has what has changed is looked up, slice after slice: what is broken off goes on where it was. */
export const grantRunWorker: RowWorker = {
  name: "grants.run",
  pollIntervalMs: 1000,
  due: {
    table: grantRuns,
    id: grantRuns.id,
    organization_id: grantRuns.organization_id,
    at: grantRuns.due_at,
    where: sql`${grantRuns.due_at} is not null`,
  },
  async run(deps, [key]) {
    while (await processSlice(deps, key));
  },
};

/** Answers whether there is more to do at once. */
const processSlice = (deps: Deps, key: RowKey): Promise<boolean> =>
  transact(deps, async (tx) => {
    const now = deps.clock.now();
    const run = await store.lockRun(tx, key, now);
    if (!run) return false;
    const { fence, isPassed } = await checkBarrier(tx, run.fence);
    if (run.fence === null) {
      await store.updateRun(tx, key, { fence });
      return true;
    }
    if (!isPassed) {
      await store.updateRun(tx, key, { due_at: new Date(now.getTime() + barrierPauseMs) });
      return false;
    }
    const ids = await store.findConcerned(tx, run, slice);
    const { organization_id, stage } = run;
    for (const one of ids) {
      const source: GrantSource =
        stage === "orders"
          ? { organization_id, subscription_id: null, order_id: one }
          : { organization_id, subscription_id: one, order_id: null };
      await store.scheduleCheck(tx, { ...source, id: createId(now), created_at: now, due_at: now });
    }
    deps.jobs.wake(tx, grantCheckWorker.name);
    const last = ids.at(-1);
    if (last !== undefined && ids.length === slice) {
      await store.updateRun(tx, key, { cursor: last, noted: run.noted + ids.length });
      return true;
    }
    const isOver = stage === "orders";
    await store.updateRun(tx, key, {
      cursor: null,
      stage: "orders",
      noted: run.noted + ids.length,
      due_at: isOver ? null : run.due_at,
    });
    return !isOver;
  });

/** Accounts elsewhere that are to be let in somewhere, or put out. */
export const accessWorker: RowWorker = {
  name: accessWorkerName,
  pollIntervalMs: 1000,
  due: {
    table: grantAccesses,
    id: grantAccesses.id,
    organization_id: grantAccesses.organization_id,
    at: grantAccesses.due_at,
    where: sql`${grantAccesses.due_at} is not null`,
  },
  concurrency: 10,
  maxPerTenant: 4,
  // A service may take its time, for each of several questions.
  timeoutMs: 110_000,
  run: (deps, [key]) => settleAccess(deps, key),
};
