import { createSyncWorker } from "../../platform/jobs/workers.ts";
import { disputeAgainMs } from "./rules.ts";
import { syncDispute } from "./service.ts";
import { claimDueDispute } from "./store.ts";
import { disputes } from "./tables.ts";

/** Disputes of which the processor has told something, or is to be told something. */
export const disputeSyncWorker = createSyncWorker(
  "disputes.follow",
  disputes,
  disputes.due_at,
  disputeAgainMs,
  claimDueDispute,
  syncDispute,
);
