import { lt } from "drizzle-orm";
import { createCleanupWorker } from "../../platform/jobs/workers.ts";
import { customerAccountRequests } from "./tables.ts";

/** Who was sent to show an account and has not come back is not waited for. */
export const accountRequestCleanup = createCleanupWorker(
  "customer_accounts.forget_requests",
  10 * 60 * 1000,
  customerAccountRequests,
  (now) => lt(customerAccountRequests.expires_at, now),
);
