import { sql } from "drizzle-orm";
import { transact } from "../../platform/db/unit-of-work.ts";
import type { RowWorker } from "../../platform/jobs/workers.ts";
import { lockUse } from "./balances.ts";
import * as uses from "./balances-store.ts";
import * as store from "./store.ts";
import { customerMeters, meters } from "./tables.ts";

const minuteMs = 60 * 1000;

/**
 * A meter that is new, back in use, or changed counts what came before, from the events themselves: once, while nobody else
 * counts for its organization.
 */
export const recountWorker: RowWorker = {
  name: "meters.recount",
  pollIntervalMs: 1000,
  due: {
    table: meters,
    id: meters.id,
    organization_id: meters.organization_id,
    at: meters.recount_at,
    where: sql`${meters.recount_at} is not null`,
  },
  timeoutMs: 10 * minuteMs,
  run: (deps, [{ organization_id, id }]) =>
    transact(deps, async (tx) => {
      await store.haltCounting(tx, organization_id);
      const [meter] = await store.lockMeters(tx, organization_id, [id]);
      if (!meter || meter.recount_at === null) return;
      const now = deps.clock.now();
      const isCounting = meter.archived_at === null;
      if (isCounting) await store.recountMeter(tx, meter, now);
      const counted = isCounting ? await store.findCounted(tx, organization_id, [meter]) : new Set<string>();
      const first_counted_at = meter.first_counted_at ?? (counted.has(id) ? now : null);
      await store.updateMeters(tx, [{ row: meter, patch: { recount_at: null, recounted_at: now, first_counted_at } }]);
    }),
};

/** Periods that end and lots that expire, at their time: whoever counts or credits then does it first, if they are faster. */
export const usageSettlementWorker: RowWorker = {
  name: "customer_meters.settle",
  pollIntervalMs: 1000,
  due: {
    table: customerMeters,
    id: customerMeters.id,
    organization_id: customerMeters.organization_id,
    at: customerMeters.due_at,
    isIndexedByTime: true,
    where: sql`${customerMeters.due_at} is not null`,
  },
  run: (deps, [key]) =>
    transact(deps, async (tx) => {
      const row = await uses.findUseKey(tx, key);
      if (row) await lockUse(tx, deps, row);
    }),
};
