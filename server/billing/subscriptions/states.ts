import type { Subscription } from "../../../shared/api/subscriptions.ts";
import type { StateMachine } from "../../platform/states.ts";

/** A canceled subscription has ended; while it only will end, it has the state in which it goes on until then (SUB-28). */
export const subscriptionStates: StateMachine<Subscription["status"]> = {
  table: "subscriptions",
  name: "subscription",
  transitions: [
    { from: "trialing", to: "active", event: "the trial ends" },
    { from: "trialing", to: "past_due", event: "the first payment failed" },
    { from: "trialing", to: "paused", event: "a pause begins" },
    { from: "trialing", to: "canceled", event: "ends" },
    { from: "active", to: "trialing", event: "gets a trial" },
    { from: "active", to: "past_due", event: "a payment failed" },
    { from: "active", to: "paused", event: "a pause begins" },
    { from: "active", to: "canceled", event: "ends" },
    { from: "past_due", to: "active", event: "all is paid" },
    { from: "past_due", to: "paused", event: "a pause begins" },
    { from: "past_due", to: "canceled", event: "ends, or is not paid in time" },
    { from: "paused", to: "active", event: "resumed" },
    { from: "paused", to: "past_due", event: "resumed with unpaid orders" },
    { from: "paused", to: "canceled", event: "ends" },
  ],
};
