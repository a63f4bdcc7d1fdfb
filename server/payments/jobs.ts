import type { Deps } from "../lib/context.ts";
import { reconcile_after_ms } from "./rules.ts";
import { reconcilePayment } from "./settlement.ts";
import { takeDuePayments } from "./store.ts";

const batch_size = 20;

/** Ask the processor about payments whose outcome is not known, and finish or undo them. */
export async function sweepPayments(deps: Deps): Promise<number> {
  const now = deps.clock.now();
  const due = await takeDuePayments(deps.db, now, new Date(now.getTime() + reconcile_after_ms), batch_size);
  for (const payment of due) {
    try {
      await reconcilePayment(deps, payment);
    } catch (error) {
      deps.log.error({ err: error, payment_id: payment.id }, "A payment could not be settled; it will be tried again.");
    }
  }
  return due.length;
}
