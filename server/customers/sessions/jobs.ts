import { lt } from "drizzle-orm";
import { forgetRows } from "../../platform/jobs/sweeps.ts";
import { customerSessions } from "./tables.ts";

/** Sessions that have ended are forgotten. */
export const customerSessionCleaning = forgetRows("customer_sessions.forget", 10 * 60 * 1000, customerSessions, (now) =>
  lt(customerSessions.expires_at, now),
);
