import type { Order } from "../../../shared/api/orders.ts";
import type { StateMachine } from "../../platform/states.ts";

/** ORD-13. A void order is taken up again when its sale is tried, or paid after all. */
export const orderStates: StateMachine<Order["status"]> = {
  table: "orders",
  name: "order",
  transitions: [
    { from: "draft", to: "pending", event: "finalized" },
    { from: "pending", to: "paid", event: "paid" },
    { from: "pending", to: "void", event: "given up, or its subscription ends unpaid" },
    { from: "void", to: "pending", event: "its checkout is confirmed again" },
    { from: "void", to: "paid", event: "paid after all" },
    { from: "paid", to: "partially_refunded", event: "a part is refunded" },
    { from: "paid", to: "refunded", event: "all is refunded" },
    { from: "partially_refunded", to: "refunded", event: "the rest is refunded" },
    { from: "partially_refunded", to: "paid", event: "the refund failed" },
    { from: "refunded", to: "partially_refunded", event: "a refund failed" },
    { from: "refunded", to: "paid", event: "the refund failed" },
  ],
};
