import type { Worker } from "../../platform/jobs/workers.ts";
import { addUpChanges } from "./store.ts";

/** What changed is added to the sums that metrics are read from. */
export const metricSumWorker: Worker = {
  name: "metric_tallies.add_up",
  pollIntervalMs: 15 * 1000,
  limit: 100,
  runBatch: ({ db }, limit) => addUpChanges(db, limit),
};
