import { sql } from "drizzle-orm";
import type { Deps } from "../../platform/context.ts";
import type { RowKey } from "../../platform/db/rows.ts";
import { transact } from "../../platform/db/unit-of-work.ts";
import { checkFence, fence_pause_ms } from "../../platform/events/fence.ts";
import { createId } from "../../platform/ids.ts";
import type { RowSweep } from "../../platform/jobs/sweeps.ts";
import { reconcile } from "./engine.ts";
import { access_settling } from "./kinds/outside.ts";
import { settleAccess } from "./outside.ts";
import type { Source } from "./rules.ts";
import * as store from "./store.ts";
import { grantAccesses, grantChecks, grantRuns } from "./tables.ts";

/** What is held against what it gives later on, each in a transaction of its own. */
export const grantChecking: RowSweep = {
  name: "grants.check",
  every_ms: 1000,
  due: {
    table: grantChecks,
    id: grantChecks.id,
    organization_id: grantChecks.organization_id,
    at: grantChecks.due_at,
  },
  parallel: 4,
  share: 2,
  work: (deps, [key]) =>
    transact(deps, async (tx) => {
      const source = await store.takeCheck(tx, key, deps.clock.now());
      if (source) await reconcile(tx, deps, source);
    }),
};

/** So many are looked up at once. */
const slice = 500;

/** Who has what has changed is looked up, slice after slice: what is broken off goes on where it was. */
export const grantRunning: RowSweep = {
  name: "grants.run",
  every_ms: 1000,
  due: {
    table: grantRuns,
    id: grantRuns.id,
    organization_id: grantRuns.organization_id,
    at: grantRuns.due_at,
    where: sql`${grantRuns.due_at} is not null`,
  },
  async work(deps, [key]) {
    while (await takeSlice(deps, key));
  },
};

/** Answers whether there is more to do at once. */
const takeSlice = (deps: Deps, key: RowKey): Promise<boolean> =>
  transact(deps, async (tx) => {
    const now = deps.clock.now();
    const run = await store.lockRun(tx, key, now);
    if (!run) return false;
    const { fence, isPassed } = await checkFence(tx, run.fence);
    if (run.fence === null) {
      await store.updateRun(tx, key, { fence });
      return true;
    }
    if (!isPassed) {
      await store.updateRun(tx, key, { due_at: new Date(now.getTime() + fence_pause_ms) });
      return false;
    }
    const ids = await store.findConcerned(tx, run, slice);
    const { organization_id, stage } = run;
    for (const one of ids) {
      const source: Source =
        stage === "orders"
          ? { organization_id, subscription_id: null, order_id: one }
          : { organization_id, subscription_id: one, order_id: null };
      await store.noteCheck(tx, { ...source, id: createId(now), created_at: now, due_at: now });
    }
    deps.jobs.wake(tx, grantChecking.name);
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
export const accessSettling: RowSweep = {
  name: access_settling,
  every_ms: 1000,
  due: {
    table: grantAccesses,
    id: grantAccesses.id,
    organization_id: grantAccesses.organization_id,
    at: grantAccesses.due_at,
    where: sql`${grantAccesses.due_at} is not null`,
  },
  parallel: 10,
  share: 4,
  // A service may take its time, for each of several questions.
  limit_ms: 110_000,
  work: (deps, [key]) => settleAccess(deps, key),
};
