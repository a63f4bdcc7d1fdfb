import { followRows } from "../../platform/jobs/sweeps.ts";
import { refund_again_ms } from "./rules.ts";
import { executeRefund } from "./service.ts";
import { takeDueRefund } from "./store.ts";
import { refunds } from "./tables.ts";

/** Money that is to go back: the processor is asked for it, and what became of it. */
export const refundExecution = followRows(
  "refunds.execute",
  refunds,
  refunds.due_at,
  refund_again_ms,
  takeDueRefund,
  executeRefund,
);
