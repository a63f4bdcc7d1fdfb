import { transact } from "../../platform/db/unit-of-work.ts";
import type { Worker } from "../../platform/jobs/workers.ts";
import { countRedemptions } from "./store.ts";

/** What was taken of discounts without a limit is counted. */
export const redemptionCountWorker: Worker = {
  name: "discounts.count_redemptions",
  pollIntervalMs: 30_000,
  limit: 1000,
  runBatch: (deps, limit) => transact(deps, (tx) => countRedemptions(tx, limit)),
};
