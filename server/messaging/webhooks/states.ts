import type { StateMachine } from "../../platform/states.ts";

export type DeliveryState = "pending" | "succeeded" | "failed" | "skipped" | "canceled";

/** WHK-11, WHK-16. What is final changes by a redelivery alone, which makes it pending again. */
export const deliveryStates: StateMachine<DeliveryState> = {
  table: "webhook_events",
  name: "delivery",
  renderState: (row) =>
    `CASE WHEN ${row}."next_attempt_at" IS NOT NULL THEN 'pending' WHEN ${row}."succeeded" THEN 'succeeded' WHEN NOT ${row}."succeeded" THEN 'failed' WHEN ${row}."skipped" THEN 'skipped' ELSE 'canceled' END`,
  transitions: [
    { from: "pending", to: "succeeded", event: "an attempt succeeded" },
    { from: "pending", to: "failed", event: "the attempts are used up" },
    { from: "pending", to: "skipped", event: "the endpoint was off for too long" },
    { from: "pending", to: "canceled", event: "archived" },
    { from: "succeeded", to: "pending", event: "redelivered" },
    { from: "failed", to: "pending", event: "redelivered" },
    { from: "skipped", to: "pending", event: "redelivered" },
    { from: "canceled", to: "pending", event: "redelivered" },
  ],
};
