import { sql } from "drizzle-orm";
import { voidPending } from "../../billing/orders/store.ts";
import { transact } from "../../platform/db/unit-of-work.ts";
import type { Worker } from "../../platform/jobs/workers.ts";
import { moveState } from "../../platform/states.ts";
import { emitCheckout } from "./reactions.ts";
import { checkoutStates } from "./states.ts";
import { loadCheckout, lockExpired, updateCheckout } from "./store.ts";
import { checkouts } from "./tables.ts";

/** Open checkouts whose time is up are closed (CHK-55, CHK-59). */
export const checkoutExpiryWorker: Worker = {
  name: "checkouts.expire",
  pollIntervalMs: 1000,
  due: {
    table: checkouts,
    id: checkouts.id,
    organization_id: checkouts.organization_id,
    at: checkouts.expires_at,
    isIndexedByTime: true,
    where: sql`${checkouts.status} = 'open'`,
  },
  concurrency: 4,
  maxPerTenant: 2,
  run: (deps, [key]) =>
    transact(deps, async (tx) => {
      const now = deps.clock.now();
      const row = await lockExpired(tx, key, now);
      if (!row) return;
      // Whoever is at its order may be paying it, or find that it was not paid: then it is to be given up all the same.
      if (row.order_id !== null && !(await voidPending(tx, row.organization_id, row.order_id, now))) return;
      const closed = await updateCheckout(tx, row, {
        status: moveState(checkoutStates, row, "expired"),
        modified_at: now,
      });
      await emitCheckout(tx, deps, "checkout.expired", await loadCheckout(tx, closed));
    }),
};
