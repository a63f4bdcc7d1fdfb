import type { Sweep } from "../../platform/jobs/sweeps.ts";
import { addUpChanges } from "./store.ts";

/** What changed is added to the sums that metrics are read from. */
export const metricSums: Sweep = {
  name: "metric_tallies.add_up",
  every_ms: 15 * 1000,
  limit: 100,
  sweep: ({ db }, limit) => addUpChanges(db, limit),
};
