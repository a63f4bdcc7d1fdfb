import { createSyncWorker } from "../../platform/jobs/workers.ts";
import { refundAgainMs } from "./rules.ts";
import { executeRefund } from "./service.ts";
import { claimDueRefund } from "./store.ts";
import { refunds } from "./tables.ts";

/** Money that is to go back: the processor is asked for it, and what became of it. */
export const refundWorker = createSyncWorker(
  "refunds.execute",
  refunds,
  refunds.due_at,
  refundAgainMs,
  claimDueRefund,
  executeRefund,
  { movesMoney: true },
);
