import { sql } from "drizzle-orm";
import { transact } from "../../platform/db/unit-of-work.ts";
import type { Worker } from "../../platform/jobs/workers.ts";
import { isPayable } from "./rules.ts";
import { freeSettlementWorkerName, settleOrder } from "./service.ts";
import { lockOrder, updateOrder } from "./store.ts";
import { orders } from "./tables.ts";

/** Orders for which nothing is to be paid are settled by themselves (CHK-51). */
export const freeSettlementWorker: Worker = {
  name: freeSettlementWorkerName,
  pollIntervalMs: 1000,
  due: {
    table: orders,
    id: orders.id,
    organization_id: orders.organization_id,
    at: orders.settle_due_at,
    movesMoney: true,
    where: sql`${orders.settle_due_at} is not null`,
  },
  concurrency: 4,
  maxPerTenant: 2,
  run: (deps, [{ organization_id, id }]) =>
    transact(deps, async (tx) => {
      const found = await lockOrder(tx, organization_id, id);
      if (!found || found.order.settle_due_at === null) return;
      if (isPayable(found.order.status)) await settleOrder(tx, deps, found, { isCharged: false });
      else await updateOrder(tx, found.order, { settle_due_at: null });
    }),
};
