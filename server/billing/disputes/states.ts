import type { DisputeStatus } from "../../../shared/api/disputes.ts";
import type { StateMachine, Transition } from "../../platform/states.ts";

const open = ["early_warning", "needs_response", "under_review"] as const;
const final = ["prevented", "won", "lost"] as const;
const events: Record<DisputeStatus, string> = {
  early_warning: "the bank asks",
  needs_response: "the bank disputes",
  under_review: "evidence was submitted",
  prevented: "refunded in time",
  won: "the bank decided",
  lost: "the bank decided, or it was accepted",
};
const listTransitions = (from: DisputeStatus | "none", some: readonly DisputeStatus[]): Transition<DisputeStatus>[] =>
  some.filter((to) => to !== from).map((to) => ({ from, to, event: events[to] }));

/**
 * A dispute never returns to an earlier stage, and can skip one, as the processor's notices come in any order. A bank may change
 * its decision. `none`: the processor has not said anything yet.
 */
export const disputeStates: StateMachine<DisputeStatus> = {
  table: "disputes",
  name: "dispute",
  transitions: [
    ...listTransitions("none", [...open, ...final]),
    ...open.flatMap((from, stage) => listTransitions(from, [...open.slice(stage), ...final])),
    ...final.flatMap((from) => listTransitions(from, final)),
  ],
};
