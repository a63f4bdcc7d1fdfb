import type { Payment } from "../../../shared/api/payments.ts";
import type { StateMachine, Transition } from "../../platform/states.ts";

const transitions: readonly Transition<Payment["status"]>[] = [
  { from: "pending", to: "succeeded", event: "the processor succeeded" },
  { from: "pending", to: "failed", event: "the processor declined, or gave no answer" },
  // The processor's answer that money was taken counts even after the attempt was given up.
  { from: "failed", to: "succeeded", event: "the processor succeeded late" },
];

export const paymentStates: StateMachine<Payment["status"]> = { table: "payments", name: "payment", transitions };
/** Set-ups of cards: payments of nothing. */
export const setupStates: StateMachine<Payment["status"]> = {
  table: "payment_setups",
  name: "set-up of a card",
  transitions,
};
