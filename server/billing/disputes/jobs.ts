import { followRows } from "../../platform/jobs/sweeps.ts";
import { dispute_again_ms } from "./rules.ts";
import { followDispute } from "./service.ts";
import { takeDueDispute } from "./store.ts";
import { disputes } from "./tables.ts";

/** Disputes of which the processor has told something, or is to be told something. */
export const disputeFollowing = followRows(
  "disputes.follow",
  disputes,
  disputes.due_at,
  dispute_again_ms,
  takeDueDispute,
  followDispute,
);
