import type { Checkout } from "../../../shared/api/checkouts.ts";
import type { StateMachine } from "../../platform/states.ts";

/**
 * CHK-55. Money that arrives after its attempt was given up completes the checkout in whatever state it is by then: open again, or
 * expired.
 */
export const checkoutStates: StateMachine<Checkout["status"]> = {
  table: "checkouts",
  name: "checkout",
  transitions: [
    { from: "open", to: "confirmed", event: "confirmed" },
    { from: "open", to: "expired", event: "its time is over" },
    { from: "open", to: "succeeded", event: "paid late" },
    { from: "confirmed", to: "succeeded", event: "paid, or nothing is due" },
    { from: "confirmed", to: "open", event: "the payment failed" },
    { from: "expired", to: "succeeded", event: "paid late" },
  ],
};
