import { sql } from "drizzle-orm";
import type { Sweep } from "../lib/sweeps.ts";
import { dispute_again_ms } from "./rules.ts";
import { followDispute } from "./service.ts";
import { takeDueDispute } from "./store.ts";
import { disputes } from "./tables.ts";

/** Disputes of which the processor has told something, or is to be told something. */
export const disputeFollowing: Sweep = {
  name: "disputes.follow",
  every_ms: 1000,
  due: {
    table: disputes,
    id: disputes.id,
    organization_id: disputes.organization_id,
    at: disputes.due_at,
    where: sql`${disputes.due_at} is not null`,
  },
  parallel: 10,
  share: 4,
  async work(deps, [key]) {
    const now = deps.clock.now();
    const row = await takeDueDispute(deps.db, key, now, new Date(now.getTime() + dispute_again_ms));
    if (row) await followDispute(deps, row);
  },
};
