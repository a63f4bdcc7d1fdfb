/** What the processor is asked for a payment. No transaction is open meanwhile. */
import type { Ctx, Deps } from "../../platform/context.ts";
import { unseal } from "../../platform/crypto/secrets.ts";
import { type Decline, type Intent, ProcessorError } from "../../platform/processors/processor.ts";
import { findMethodOf, findOwner } from "./methods.ts";
import { describeCharge, isLate, isSameAmount, type PaymentRow } from "./rules.ts";
import * as store from "./store.ts";

/** The processor never heard of an attempt. */
export const neverReached = {
  reason: "processor_unavailable",
  message: "The payment could not be made. You have not been charged; try again.",
};

/** An intent of our own making, for a payment that the processor refused or never received. */
export const buildFailedIntent = (payment: PaymentRow, decline: Decline): Intent => ({
  organization_id: payment.organization_id,
  payment_id: payment.id,
  processor_id: payment.processor_id ?? "",
  status: "failed",
  amount: payment.amount,
  currency: payment.currency,
  client_secret: "",
  decline,
  card: null,
  fingerprint: null,
  method: null,
});

export const attemptOf = ({ id, processor_id, requested_at }: PaymentRow) => ({
  payment_id: id,
  processor_id,
  created_at: requested_at,
});

/** Have the processor charge a written payment. */
export async function requestCharge(deps: Deps | Ctx, payment: PaymentRow, description: string): Promise<Intent> {
  const { organization_id, id: payment_id, amount, currency, customer_email: email } = payment;
  // The test processor keeps its books in the same database, so a restored backup never knows less than it.
  const order = deps.processor.test ? undefined : await store.findOrderOf(deps.db, payment);
  const reference = order && describeCharge(order, payment, "request_id" in deps ? deps.request_id : undefined);
  const terms = { organization_id, payment_id, amount, currency, description, email, reference };
  if (payment.confirmation_token_id !== null) {
    const keep = payment.keep ? { customer: await findOwner(deps.db, payment) } : null;
    const confirmation_token_id = unseal(
      deps.config.secrets,
      "payment-card",
      payment_id,
      payment.confirmation_token_id,
    );
    return recordForeign(deps, payment, await deps.processor.confirm({ ...terms, confirmation_token_id, keep }));
  }
  const method = await findMethodOf(deps.db, payment);
  if (!method) throw new ProcessorError("This card was deleted.");
  const { processor_id: method_processor_id, customer_processor_id } = method;
  const may_exist = order !== undefined && isLate(order, payment);
  const saved = { ...terms, method_processor_id, customer_processor_id, may_exist };
  const intent = await recordForeign(deps, payment, await deps.processor.chargeSaved(saved));
  return intent.status === "requires_action" ? abandonCharge(deps, payment, intent.processor_id) : intent;
}

/**
 * Keep the processor's id of an intent on other terms: it was charged before a backup was restored. The payment stays pending and
 * is shown as a failed job, so that nothing is charged a second time until somebody has looked at it.
 */
async function recordForeign({ db }: Pick<Deps, "db">, payment: PaymentRow, intent: Intent): Promise<Intent> {
  if (intent.is_returned) return buildFailedIntent(payment, returned);
  if (intent.status === "succeeded" && !isSameAmount(payment, intent))
    await store.recordProcessorId(db, payment, intent.processor_id);
  return intent;
}

/** It was charged before a backup was restored, and its money went back: it pays nothing. */
export const returned: Decline = {
  reason: "returned",
  message: "This payment was returned. You have not been charged; try again.",
};

const unattended: Decline = {
  reason: "authentication_required",
  message: "The bank asks the owner of the card to approve this payment.",
};

/** Nobody is there to answer a challenge: it is given up at the processor, so that it cannot succeed later. */
export async function abandonCharge(deps: Deps | Ctx, payment: PaymentRow, processor_id: string): Promise<Intent> {
  const intent = await deps.processor.cancel({ ...attemptOf(payment), processor_id });
  if (!intent) return buildFailedIntent(payment, unattended);
  return intent.status === "failed" ? { ...intent, decline: unattended } : intent;
}
