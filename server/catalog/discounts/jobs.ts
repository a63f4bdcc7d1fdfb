import { transact } from "../../platform/db/unit-of-work.ts";
import type { Sweep } from "../../platform/jobs/sweeps.ts";
import { countRedemptions } from "./store.ts";

/** What was taken of discounts without a limit is counted. */
export const redemptionCount: Sweep = {
  name: "discounts.count_redemptions",
  every_ms: 30_000,
  limit: 1000,
  sweep: (deps, limit) => transact(deps, (tx) => countRedemptions(tx, limit)),
};
