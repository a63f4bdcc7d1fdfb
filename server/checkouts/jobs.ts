import type { Deps } from "../lib/context.ts";
import { transact } from "../lib/unit-of-work.ts";
import { voidPending } from "../orders/store.ts";
import { emitCheckout } from "./reactions.ts";
import { moveCheckout } from "./rules.ts";
import { loadCheckout, takeExpired, updateCheckout } from "./store.ts";

const batch_size = 50;

/** Close open checkouts whose time is up (CHK-55, CHK-59). */
export const sweepCheckouts = (deps: Deps): Promise<number> =>
  transact(deps, async (tx) => {
    const now = deps.clock.now();
    const expired = await takeExpired(tx, now, batch_size);
    for (const row of expired) {
      if (row.order_id !== null) await voidPending(tx, row.organization_id, row.order_id, now);
      const closed = await updateCheckout(tx, row, { status: moveCheckout(row, "expired"), modified_at: now });
      await emitCheckout(tx, deps, "checkout.expired", await loadCheckout(tx, closed));
    }
    return expired.length;
  });
