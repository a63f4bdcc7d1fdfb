import { lt } from "drizzle-orm";
import { createCleanupWorker } from "../../platform/jobs/workers.ts";
import { customerSessions } from "./tables.ts";

/** Sessions that have ended are forgotten. */
export const customerSessionCleanup = createCleanupWorker(
  "customer_sessions.forget",
  10 * 60 * 1000,
  customerSessions,
  (now) => lt(customerSessions.expires_at, now),
);
