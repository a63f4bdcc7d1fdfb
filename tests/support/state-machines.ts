import { disputeStates } from "../../server/billing/disputes/states.ts";
import { orderStates } from "../../server/billing/orders/states.ts";
import { paymentStates, setupStates } from "../../server/billing/payments/states.ts";
import { refundStates } from "../../server/billing/refunds/states.ts";
import { subscriptionStates } from "../../server/billing/subscriptions/states.ts";
import { checkoutStates } from "../../server/checkout/checkouts/states.ts";
import { seatStates } from "../../server/entitlements/seats/states.ts";
import { deliveryStates } from "../../server/messaging/webhooks/states.ts";
import { importStates, recordStates } from "../../server/operations/imports/states.ts";
import type { StateMachine } from "../../server/platform/states.ts";

/** Every table of states. */
export const machines = [
  checkoutStates,
  orderStates,
  paymentStates,
  setupStates,
  refundStates,
  disputeStates,
  subscriptionStates,
  seatStates,
  deliveryStates,
  importStates,
  recordStates,
] as unknown as StateMachine<string>[];
