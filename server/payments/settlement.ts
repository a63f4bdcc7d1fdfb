import { serverClock } from "../lib/clock.ts";
import type { Ctx, Deps, Tx } from "../lib/context.ts";
import { newId } from "../lib/ids.ts";
import { loggable } from "../lib/loggable.ts";
import { defineSignal, signal } from "../lib/reactions.ts";
import type { RowKey } from "../lib/rows.ts";
import { transact } from "../lib/unit-of-work.ts";
import { computeTotals, type OrderRow } from "../orders/rules.ts";
import { settleOrder } from "../orders/service.ts";
import { type Intent, ProcessorError, type ProcessorEvent } from "../processors/processor.ts";
import { assertSame, challenge_ms_max, isWanted, type PaymentRow, planOutcome, reconcile_after_ms } from "./rules.ts";
import * as store from "./store.ts";

/** An attempt came to nothing; its order still waits for its money. */
export const paymentFailed = defineSignal<OrderRow>("payment.failed");
/** An attempt waits for somebody: the bank, or the buyer who is asked to prove who they are. */
export const paymentWaiting = defineSignal<{ order: OrderRow; intent: Intent }>("payment.waiting");
/** Money was taken that no order waits for. It goes back. */
export const paymentSurplus = defineSignal<PaymentRow>("payment.surplus");

type Payer = { email: string; confirmation_token_id: string };

/** Write down that an order is going to be paid: before the processor is asked, so that a crash leaves a trace. */
export function startPayment(
  tx: Tx,
  { clock }: Pick<Deps, "clock">,
  order: OrderRow,
  payer: Payer,
): Promise<PaymentRow> {
  const now = clock.now();
  return store.insertPayment(tx, {
    id: newId(now),
    organization_id: order.organization_id,
    created_at: now,
    amount: computeTotals(order).due_amount,
    currency: order.currency,
    order_id: order.id,
    terms: order.terms,
    customer_id: order.customer_id,
    customer_email: payer.email,
    confirmation_token_id: payer.confirmation_token_id,
    requested_at: serverClock(clock).now(),
    reconcile_due_at: new Date(now.getTime() + reconcile_after_ms),
  });
}

/** What has become of a payment, and what the processor last said; null where it gave no answer. */
export type Settled = { status: PaymentRow["status"]; intent: Intent | null; message: string | null };

/**
 * Write down what the processor says of a payment: the one way in which a payment is finished, used by the confirmation,
 * the return from a challenge, the processor's events and the reconciliation, in any order and at the same time. The lock on
 * the order makes them take turns; the one that comes second finds it done. Money that the order does not wait for (any
 * more) is marked as surplus, and goes back.
 */
export function settlePayment(deps: Deps | Ctx, key: RowKey, intent: Intent): Promise<Settled> {
  return transact(deps, async (tx) => {
    const found = await store.lockPayment(tx, key);
    if (!found) throw new Error(`There is no payment ${key.id}.`);
    const { payment, ...aggregate } = found;
    const { order } = aggregate;
    assertSame(payment, intent);
    const now = deps.clock.now();
    const patch = planOutcome(payment, order, intent, now);
    if (!patch) return { status: payment.status, intent, message: payment.decline_message };
    const moved = await store.updatePayment(tx, payment, patch);
    if (moved.status === "pending") await signal(tx, deps, paymentWaiting, { order, intent });
    else if (moved.status !== payment.status) {
      if (moved.status === "failed") await signal(tx, deps, paymentFailed, order);
      else if (moved.is_surplus) await signal(tx, deps, paymentSurplus, moved);
      else {
        await settleOrder(tx, deps, aggregate);
        // It had been given up for lost: another attempt may be under way, which is to be stopped.
        if (payment.status === "failed") await store.hastenPending(tx, order, now);
      }
    }
    return { status: moved.status, intent, message: moved.decline_message };
  });
}

const never_reached = {
  reason: "processor_unavailable",
  message: "The payment could not be made. You have not been charged; try again.",
};

/** An intent of our own making, for a payment that the processor refused or never received. */
const failedIntent = (payment: PaymentRow, decline: NonNullable<Intent["decline"]>): Intent => ({
  organization_id: payment.organization_id,
  payment_id: payment.id,
  processor_id: payment.processor_id ?? "",
  status: "failed",
  amount: payment.amount,
  currency: payment.currency,
  client_secret: "",
  decline,
  card: null,
});

/** How a payment stands whose outcome nobody knows yet. */
const unsettled: Settled = { status: "pending", intent: null, message: null };

/**
 * Have a written payment charged, and write down the outcome. No transaction is open while the processor is asked. When
 * its answer is lost the payment stays pending, and is reconciled later.
 */
export async function chargePayment(deps: Deps | Ctx, payment: PaymentRow, description: string): Promise<Settled> {
  let intent: Intent;
  try {
    intent = await deps.processor.confirm({
      organization_id: payment.organization_id,
      payment_id: payment.id,
      amount: payment.amount,
      currency: payment.currency,
      confirmation_token_id: payment.confirmation_token_id ?? "",
      description,
      email: payment.customer_email,
    });
  } catch (error) {
    if (!(error instanceof ProcessorError)) {
      deps.log.error({ err: error, payment_id: payment.id }, "The processor gave no answer; it will be asked again.");
      return unsettled;
    }
    intent = failedIntent(payment, { reason: "invalid_payment_method", message: error.message });
  }
  try {
    return await settlePayment(deps, payment, intent);
  } catch (error) {
    // The card may have been charged, so the buyer must not be told that it failed.
    const fields = { error: loggable(error), payment_id: payment.id };
    deps.log.error(fields, "A payment could not be settled; it will be tried again.");
    return unsettled;
  }
}

/** Ask the processor what became of a payment, and finish or undo it. */
export async function reconcilePayment(deps: Deps, payment: PaymentRow): Promise<void> {
  await settlePayment(deps, payment, await fetchOutcome(deps, payment));
}

async function fetchOutcome(deps: Deps, payment: PaymentRow): Promise<Intent> {
  const attempt = { payment_id: payment.id, processor_id: payment.processor_id, created_at: payment.requested_at };
  const found = await deps.processor.retrieve(attempt);
  if (!found) return failedIntent(payment, never_reached);
  if (found.status !== "requires_action" && found.status !== "processing") return found;
  // Nobody answers the challenge any more, or the order was paid by another attempt. It is given up at the processor first,
  // so that it cannot succeed later.
  const isLate =
    found.status === "requires_action" && deps.clock.now().getTime() - payment.created_at.getTime() > challenge_ms_max;
  const order = isLate ? undefined : await store.findOrderOf(deps.db, payment);
  if (order && isWanted(payment, order)) return found;
  return (await deps.processor.cancel(attempt)) ?? failedIntent(payment, never_reached);
}

/** A time that has come by every seller's clock. */
const at_once = new Date(0);

/** Write an event of the processor down; the reconciliation asks what is true of its payment, and acts. */
export const recordProcessorEvent = (deps: Deps, { processor_id, ...event }: ProcessorEvent): Promise<void> =>
  transact(deps, async (tx) => {
    const isNew = await store.insertProcessorEvent(tx, { ...event, created_at: deps.clock.now() });
    await store.noteProcessorEvent(tx, event, processor_id, isNew ? at_once : undefined);
  });
