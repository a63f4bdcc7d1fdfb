import type { Sweep } from "../lib/sweeps.ts";
import { addUpTallies } from "./store.ts";

/** The counts of customers are kept short. */
export const tallySweep: Sweep = {
  name: "customer_tallies.add_up",
  every_ms: 10 * 60 * 1000,
  limit: 100,
  sweep: ({ db }, limit) => addUpTallies(db, limit),
};
