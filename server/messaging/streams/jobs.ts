import { lt } from "drizzle-orm";
import { createCleanupWorker } from "../../platform/jobs/workers.ts";
import { eventStreamTokens } from "./tables.ts";

/** Deletes tokens that were not used in time. */
export const streamTokenCleanup = createCleanupWorker(
  "event_stream_tokens.forget",
  10 * 60 * 1000,
  eventStreamTokens,
  (now) => lt(eventStreamTokens.expires_at, now),
);
