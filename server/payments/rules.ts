import type { Payment } from "../../shared/api/payments.ts";
import { isPayable, type OrderRow } from "../orders/rules.ts";
import type { Intent } from "../processors/processor.ts";
import type { payments } from "./tables.ts";

export type PaymentRow = typeof payments.$inferSelect;

/**
 * Which states may follow which. A failure can still become a success: the processor's word that money was taken counts
 * even after the attempt was given up for lost.
 */
export const moves: Record<Payment["status"], readonly Payment["status"][]> = {
  pending: ["succeeded", "failed"],
  failed: ["succeeded"],
  succeeded: [],
};

const minute_ms = 60_000;
/** An answer that takes longer than this was lost. */
export const reconcile_after_ms = 2 * minute_ms;
/** A challenge that is not answered by then is given up. */
export const challenge_ms_max = 60 * minute_ms;

/** Whether an attempt still pays its order: the order waits for money, on the terms that the attempt was made for. */
export const isWanted = (row: Pick<PaymentRow, "terms">, order: Pick<OrderRow, "status" | "terms">): boolean =>
  isPayable(order.status) && row.terms === order.terms;

/** Refuse to settle a payment by an intent over another payment, amount or currency: somebody has to look at it. */
export function assertSame(row: Pick<PaymentRow, "id" | "amount" | "currency">, intent: Intent): void {
  const isSame =
    intent.payment_id === row.id &&
    intent.amount === row.amount &&
    intent.currency.toLowerCase() === row.currency.toLowerCase();
  if (!isSame)
    throw new Error(
      `The processor names another payment, amount or currency than ${row.id} was made for: ${intent.processor_id}.`,
    );
}

/** What an intent makes of a payment; undefined: nothing new. */
export function planOutcome(
  row: PaymentRow,
  order: Pick<OrderRow, "status" | "terms">,
  intent: Intent,
  now: Date,
): Partial<PaymentRow> | undefined {
  const seen = {
    processor_id: intent.processor_id,
    intent_status: intent.status,
    client_secret: intent.client_secret,
    card: intent.card ?? row.card,
  };
  if (intent.status === "succeeded" || intent.status === "failed") {
    if (!moves[row.status].includes(intent.status))
      return row.reconcile_due_at === null ? undefined : { reconcile_due_at: null };
    const decline = {
      decline_reason: intent.decline?.reason ?? null,
      decline_message: intent.decline?.message ?? null,
    };
    const is_surplus = intent.status === "succeeded" && !isWanted(row, order);
    return { ...seen, ...decline, status: intent.status, is_surplus, reconcile_due_at: null, modified_at: now };
  }
  if (row.status !== "pending") return undefined;
  return { ...seen, reconcile_due_at: new Date(now.getTime() + reconcile_after_ms), modified_at: now };
}

/** A payment with what is answered of its order. */
export type PaymentAggregate = { payment: PaymentRow; order: Pick<OrderRow, "id" | "checkout_id" | "invoice_number"> };

/** A payment as it is answered. It names its order once there is one to be read. */
export function serializePayment({ payment: row, order }: PaymentAggregate): Payment {
  const common = {
    id: row.id,
    created_at: row.created_at,
    modified_at: row.modified_at,
    processor: "stripe" as const,
    status: row.status,
    amount: row.amount,
    currency: row.currency,
    trigger: row.trigger,
    decline_reason: row.decline_reason,
    decline_message: row.decline_message,
    organization_id: row.organization_id,
    checkout_id: order.checkout_id,
    order_id: order.invoice_number === null ? null : order.id,
    processor_metadata: row.processor_id ? { intent_id: row.processor_id } : {},
  };
  if (row.method !== "card" || !row.card) return { ...common, method: row.method };
  return { ...common, method: "card", method_metadata: { brand: row.card.brand, last4: row.card.last4 } };
}
