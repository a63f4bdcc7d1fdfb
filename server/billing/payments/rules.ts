import { createHash } from "node:crypto";
import type { PaymentMethod } from "../../../shared/api/payment-methods.ts";
import type { Payment } from "../../../shared/api/payments.ts";
import { ApiError } from "../../../shared/errors.ts";
import type { Deps } from "../../platform/context.ts";
import type { ChargeReference, Intent, IntentStatus, SetupOutcome } from "../../platform/processors/processor.ts";
import { allowsTransition } from "../../platform/states.ts";
import { isPayable, type OrderRow } from "../orders/rules.ts";
import { paymentStates } from "./states.ts";
import type { paymentMethods, paymentSetups, payments } from "./tables.ts";

export type PaymentRow = typeof payments.$inferSelect;
export type SetupRow = typeof paymentSetups.$inferSelect;
export type PaymentMethodRow = typeof paymentMethods.$inferSelect;

/** What decides whether a card can be charged or saved, and how. */
export type PaymentDeps = Pick<Deps, "clock" | "config" | "process_id" | "processor" | "sandbox">;

/**
 * Whether payments are taken: by a card processor, or by the test processor for a sandbox or where its cards are allowed. A
 * public server without Stripe's keys would otherwise give everything away (ORG-05).
 */
export const allowsPayments = ({ config, processor, sandbox }: Omit<PaymentDeps, "clock" | "process_id">): boolean =>
  sandbox || processor.test === undefined || config.test_cards;

export function assertPayments(deps: Omit<PaymentDeps, "clock" | "process_id">): void {
  if (!allowsPayments(deps)) throw new ApiError("PaymentNotReady", "This organization cannot take payments now.");
}

const minuteMs = 60_000;
/** An answer that takes longer than this was lost. */
export const reconcileAfterMs = 2 * minuteMs;
/** A challenge that is not answered by then is given up. */
const challengeMsMax = 60 * minuteMs;

/** Whether an attempt still settles its order: the order waits for it, on the terms that it was made for. */
export const isWanted = (
  row: Pick<PaymentRow | SetupRow, "terms">,
  order: Pick<OrderRow, "status" | "terms">,
): boolean => isPayable(order.status) && row.terms === order.terms;

/** Whether an intent is over the amount of a payment. */
export const isSameAmount = (row: Pick<PaymentRow, "amount" | "currency">, intent: Intent): boolean =>
  intent.amount === row.amount && intent.currency.toLowerCase() === row.currency.toLowerCase();

/** A processor keeps idempotency keys for a day; this much is left of it for its own clock and for a queue of renewals. */
const keyKeptMs = 20 * 60 * minuteMs;

/**
 * Whether the charge of a saved card may have been made already, under a key that the processor has forgotten: a renewal that is
 * charged long after its period began, or any later attempt. The processor is asked for it before it charges (RST-01).
 */
export const isLate = (order: Pick<OrderRow, "period_start">, payment: Pick<PaymentRow, "trigger" | "requested_at">) =>
  payment.trigger !== "subscription_cycle" ||
  (order.period_start !== null && payment.requested_at.getTime() - order.period_start.getTime() > keyKeptMs);

/** What the processor keeps with a charge, so that its purpose is known without this database. */
export function describeCharge(
  order: Pick<OrderRow, "id" | "invoice_number" | "checkout_id" | "subscription_id" | "period_start" | "product_id">,
  payment: Pick<PaymentRow, "trigger">,
  request_id: string | undefined,
): ChargeReference {
  const { id: order_id, invoice_number, checkout_id, subscription_id, period_start, product_id } = order;
  return {
    order_id,
    product_id,
    trigger: payment.trigger ?? "purchase",
    ...(invoice_number !== null && { invoice_number }),
    ...(checkout_id !== null && { checkout_id }),
    ...(subscription_id !== null && { subscription_id }),
    ...(period_start !== null && { period_start: period_start.toISOString() }),
    ...(request_id !== undefined && { request_id }),
  };
}

/** Refuse to settle a payment by an intent over another payment, amount or currency: somebody has to look at it. */
export function assertSame(
  row: Pick<PaymentRow, "id" | "organization_id" | "amount" | "currency">,
  intent: Intent,
): void {
  const isSame =
    intent.organization_id === row.organization_id && intent.payment_id === row.id && isSameAmount(row, intent);
  if (!isSame)
    throw new Error(
      `The processor names another payment, amount or currency than ${row.id} was made for: ${intent.processor_id}.`,
    );
}

/** Refuse to settle a set-up by another one. */
export function assertSameSetup(row: Pick<SetupRow, "id" | "organization_id">, outcome: SetupOutcome): void {
  if (outcome.setup_id !== row.id || outcome.organization_id !== row.organization_id)
    throw new Error(`The processor names another set-up than ${row.id}: ${outcome.processor_id}.`);
}

/** What is kept of a card's fingerprint: it tells the same card from others with one seller, and says nothing of it elsewhere. */
export const hashFingerprint = (organization_id: string, fingerprint: string): string =>
  createHash("sha256").update(`${organization_id} ${fingerprint}`).digest("base64url");

type Attempt = Pick<PaymentRow, "organization_id" | "status" | "reconcile_due_at">;
type Outcome = Pick<Intent, "processor_id" | "status" | "decline"> & { fingerprint: string | null };

/** Whether the processor's word is its last, but for a late success. */
export const isFinal = (status: IntentStatus): status is "succeeded" | "failed" =>
  status === "succeeded" || status === "failed";

/** Whether nobody answers a challenge any more. */
export const isOverdue = ({ created_at }: Pick<PaymentRow, "created_at">, status: IntentStatus, now: Date): boolean =>
  status === "requires_action" && now.getTime() - created_at.getTime() > challengeMsMax;

/** What the processor's word makes of an attempt; undefined: nothing new. */
function planAttempt(row: Attempt, outcome: Outcome, now: Date) {
  const { processor_id, status, decline } = outcome;
  const card = outcome.fingerprint && { fingerprint: hashFingerprint(row.organization_id, outcome.fingerprint) };
  const seen = { processor_id, intent_status: status, ...card };
  if (!isFinal(status)) {
    if (row.status !== "pending") return undefined;
    return { ...seen, reconcile_due_at: new Date(now.getTime() + reconcileAfterMs), modified_at: now };
  }
  if (!allowsTransition(paymentStates, row.status, status))
    return row.reconcile_due_at === null ? undefined : { reconcile_due_at: null };
  const said = { decline_reason: decline?.reason ?? null, decline_message: decline?.message ?? null };
  return { ...seen, ...said, status, reconcile_due_at: null, modified_at: now };
}

/** What an intent makes of a payment; undefined: nothing new. */
export function planOutcome(
  row: PaymentRow,
  order: Pick<OrderRow, "status" | "terms">,
  intent: Intent,
  now: Date,
): Partial<PaymentRow> | undefined {
  const patch = planAttempt(row, intent, now);
  if (!patch || !("processor_id" in patch)) return patch;
  const card = intent.card ?? row.card;
  if (!("status" in patch)) return { ...patch, card };
  return { ...patch, card, is_surplus: patch.status === "succeeded" && !isWanted(row, order) };
}

/** What an outcome makes of a set-up; undefined: nothing new. */
export const planSetup = (row: SetupRow, outcome: SetupOutcome, now: Date): Partial<SetupRow> | undefined =>
  planAttempt(row, { ...outcome, fingerprint: outcome.method?.fingerprint ?? null }, now);

/** When a card ceases to be good: with the month that stands on it. */
const getExpiry = ({ exp_year, exp_month }: PaymentMethodRow["card"]): Date =>
  new Date(Date.UTC(exp_year, exp_month, 1));

/** When its owner is to be told that a card expires: as its last month begins; null where that is over. */
export function findExpiryTime(card: PaymentMethodRow["card"], now: Date): Date | null {
  const { exp_year, exp_month } = card;
  return getExpiry(card) <= now ? null : new Date(Date.UTC(exp_year, exp_month - 1, 1));
}

/** A kept card as it is answered. */
export function serializeMethod(
  { id, created_at, modified_at, customer_id, card }: PaymentMethodRow,
  { default_payment_method_id }: { default_payment_method_id: string | null },
): PaymentMethod {
  const { brand, last4, exp_month, exp_year } = card;
  const method_metadata = { brand, last4, exp_month, exp_year };
  const is_default = id === default_payment_method_id;
  return { id, created_at, modified_at, processor: "stripe", customer_id, type: "card", method_metadata, is_default };
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
