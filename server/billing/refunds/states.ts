import type { Refund } from "../../../shared/api/refunds.ts";
import type { StateMachine } from "../../platform/states.ts";

/** RFD-09. A refund that succeeded can still come back. */
export const refundStates: StateMachine<Refund["status"]> = {
  table: "refunds",
  name: "refund",
  transitions: [
    { from: "pending", to: "succeeded", event: "the processor refunded" },
    { from: "pending", to: "failed", event: "the processor refused" },
    { from: "pending", to: "canceled", event: "canceled at the processor" },
    { from: "succeeded", to: "failed", event: "the money came back" },
    { from: "succeeded", to: "canceled", event: "the money came back" },
  ],
};
