import type { Deps } from "../lib/context.ts";
import { addUpTallies } from "./store.ts";

/** Keep the counts of customers short. */
export const sweepTallies = (deps: Deps): Promise<number> => addUpTallies(deps.db);
