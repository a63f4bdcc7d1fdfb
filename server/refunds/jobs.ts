import type { Deps } from "../lib/context.ts";
import { executeRefund, refund_again_ms } from "./service.ts";
import { takeDueRefunds } from "./store.ts";

const batch_size = 20;

/** Have the processor give back what is due. */
export async function sweepRefunds(deps: Deps): Promise<number> {
  const now = deps.clock.now();
  const due = await takeDueRefunds(deps.db, now, new Date(now.getTime() + refund_again_ms), batch_size);
  for (const refund of due) {
    try {
      await executeRefund(deps, refund);
    } catch (error) {
      deps.log.error({ err: error, refund_id: refund.id }, "Money could not be given back; it will be tried again.");
    }
  }
  return due.length;
}
