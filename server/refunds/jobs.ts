import { sql } from "drizzle-orm";
import type { Sweep } from "../lib/sweeps.ts";
import { refund_again_ms } from "./rules.ts";
import { executeRefund } from "./service.ts";
import { takeDueRefund } from "./store.ts";
import { refunds } from "./tables.ts";

/** Money that is to go back: the processor is asked for it, and what became of it. */
export const refundExecution: Sweep = {
  name: "refunds.execute",
  every_ms: 1000,
  due: {
    table: refunds,
    id: refunds.id,
    organization_id: refunds.organization_id,
    at: refunds.due_at,
    where: sql`${refunds.due_at} is not null`,
  },
  parallel: 10,
  share: 4,
  async work(deps, [key]) {
    const now = deps.clock.now();
    const refund = await takeDueRefund(deps.db, key, now, new Date(now.getTime() + refund_again_ms));
    if (refund) await executeRefund(deps, refund);
  },
};
