import type { CustomerSeat } from "../../../shared/api/seats.ts";
import type { StateMachine } from "../../platform/states.ts";

/** The next holder of a revoked seat has the same row. */
export const seatStates: StateMachine<CustomerSeat["status"]> = {
  table: "customer_seats",
  name: "seat",
  transitions: [
    { from: "pending", to: "claimed", event: "claimed" },
    { from: "pending", to: "revoked", event: "revoked, or the purchase ends" },
    { from: "claimed", to: "revoked", event: "revoked, or the purchase ends" },
    { from: "revoked", to: "pending", event: "assigned again" },
    { from: "revoked", to: "claimed", event: "assigned again, and claimed at once" },
  ],
};
