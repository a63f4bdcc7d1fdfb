import { ApiError } from "../../shared/errors.ts";
import { findCustomer } from "../customers/store.ts";
import type { Ctx, Deps, Tx } from "../lib/context.ts";
import { emit } from "../lib/events.ts";
import { transact } from "../lib/unit-of-work.ts";
import { createPaidOrder } from "../orders/service.ts";
import { findOrderOfCheckout } from "../orders/store.ts";
import { challenge_ms_max, type PaymentRow, planOutcome, reconcile_after_ms } from "../payments/rules.ts";
import {
  findAnyPayment,
  hearNotice,
  hurryOthers,
  keepProcessorId,
  movePayment,
  takeDuePayments,
} from "../payments/store.ts";
import { type Intent, type Notice, ProcessorError } from "../processors/processor.ts";
import { type CheckoutRow, computeFlags, moves } from "./rules.ts";
import { checkoutOut } from "./shapes.ts";
import { lockCheckout, updateCheckout, wholeOf } from "./store.ts";

/** Say what has become of a checkout. */
export async function emitCheckout(
  tx: Tx,
  deps: Deps | Ctx,
  type: "checkout.created" | "checkout.updated" | "checkout.expired",
  row: CheckoutRow,
): Promise<void> {
  await emit(tx, deps, row.organization_id, type, checkoutOut(await wholeOf(tx, row), deps));
}

/** Move a checkout to another state, if that is a legal move from where it stands. */
export function move(
  tx: Tx,
  deps: Deps,
  row: CheckoutRow,
  status: CheckoutRow["status"],
  patch: Partial<CheckoutRow> = {},
): Promise<CheckoutRow> {
  if (!moves[row.status].includes(status)) throw new Error(`A checkout does not go from ${row.status} to ${status}.`);
  return updateCheckout(tx, row.id, { ...patch, status, modified_at: deps.clock.now() });
}

/** Make the order of a checkout that is paid, or has nothing to pay. The caller holds the lock. */
export async function succeed(tx: Tx, deps: Deps, row: CheckoutRow, payment: PaymentRow | null): Promise<string> {
  const { product_id, organization_id, customer_id } = row;
  const { price, products } = await wholeOf(tx, row);
  const product = products.find((one) => one.id === product_id);
  if (!product || customer_id === null) throw new Error(`The checkout ${row.id} is not complete.`);
  const customer = await findCustomer(tx, organization_id, { id: customer_id });
  const { tax_amount, discount_amount } = computeFlags(row.amount, price);
  const order = await createPaidOrder(tx, deps, {
    organization_id,
    currency: row.currency,
    subtotal_amount: row.amount,
    discount_amount,
    tax_amount,
    billing_name: customer?.billing_name ?? row.customer_billing_name ?? row.customer_name,
    billing_address: row.customer_billing_address ?? customer?.billing_address ?? null,
    description: product.name,
    customer_id,
    product_id,
    checkout_id: row.id,
    metadata: row.metadata,
    custom_field_data: row.custom_field_data,
    items: [{ label: product.name, amount: row.amount, product_price_id: price.id }],
  });
  if (payment) await movePayment(tx, payment, { order_id: order.id });
  // A payment that arrives after all finds the checkout open again; it is confirmed by having been paid.
  const confirmed = row.status === "open" || row.status === "expired" ? { ...row, status: "confirmed" as const } : row;
  await emitCheckout(
    tx,
    deps,
    "checkout.updated",
    await move(tx, deps, confirmed, "succeeded", { payment_processor_metadata: {} }),
  );
  return order.id;
}

export type Settled = { status: PaymentRow["status"]; intent: Intent["status"]; message: string | null };

/**
 * Write down what the processor says of a payment: the one way in which a payment is finished, used by the confirmation,
 * the return from a challenge, the processor's notices and the sweep, in any order and at the same time. The lock on the
 * checkout makes them take turns; whoever comes second finds it done.
 */
export async function settle(deps: Deps, payment_id: string, intent: Intent): Promise<Settled> {
  return transact(deps, async (tx) => {
    const known = await findAnyPayment(tx, payment_id);
    if (!known?.checkout_id) throw new Error(`There is no payment ${payment_id}.`);
    const checkout = await lockCheckout(tx, known.checkout_id);
    // Read again under the lock: it may have been settled while we waited.
    const payment = await findAnyPayment(tx, payment_id);
    if (!checkout || !payment) throw new Error(`The payment ${payment_id} has lost its checkout.`);
    const said = { status: payment.status, intent: intent.status, message: payment.decline_message };
    const fits =
      intent.payment_id === payment_id &&
      intent.amount === payment.amount &&
      intent.currency.toLowerCase() === payment.currency.toLowerCase();
    if (!fits) {
      deps.log.error(
        { payment_id, processor_id: intent.processor_id },
        "The processor names another payment or amount than was asked for; the payment is left as it is.",
      );
      return said;
    }
    const patch = planOutcome(payment, intent, deps.clock.now());
    if (!patch) return said;
    if (patch.status === "succeeded" && (await findOrderOfCheckout(tx, checkout.organization_id, checkout.id))) {
      deps.log.error(
        { payment_id, checkout_id: checkout.id },
        "A second payment of a checkout that is paid already succeeded; refund it at the processor.",
      );
      return said;
    }
    const moved = await movePayment(tx, payment, patch);
    if (!moved) return said;
    if (moved.status !== payment.status) {
      if (moved.status === "failed") await reopen(tx, deps, checkout);
      else {
        await succeed(tx, deps, checkout, moved);
        await hurryOthers(tx, checkout.id, deps.clock.now());
      }
    } else if (moved.status === "pending" && checkout.status === "confirmed") {
      const metadata = { intent_status: intent.status, intent_client_secret: intent.client_secret };
      const same = checkout.payment_processor_metadata.intent_status === intent.status;
      const told = await updateCheckout(tx, checkout.id, { payment_processor_metadata: metadata });
      if (!same) await emitCheckout(tx, deps, "checkout.updated", told);
    }
    return { status: moved.status, intent: intent.status, message: moved.decline_message };
  });
}

/** A payment that came to nothing leaves the checkout as it was, to be tried again. */
async function reopen(tx: Tx, deps: Deps, row: CheckoutRow): Promise<void> {
  if (row.status !== "confirmed") return;
  await emitCheckout(
    tx,
    deps,
    "checkout.updated",
    await move(tx, deps, row, "open", { payment_processor_metadata: {} }),
  );
}

const never_reached = {
  reason: "processor_unavailable",
  message: "The payment could not be made. You have not been charged; try again.",
};

/** An intent of our own making, for a payment that the processor refused or never heard of. */
const failedIntent = (payment: PaymentRow, decline: NonNullable<Intent["decline"]>): Intent => ({
  payment_id: payment.id,
  processor_id: payment.processor_id ?? "",
  status: "failed",
  amount: payment.amount,
  currency: payment.currency,
  client_secret: "",
  decline,
  card: null,
});

/**
 * Have a written payment charged, and write down the outcome. No transaction is open while the processor is asked. When
 * its answer is lost the payment stays pending, and the sweep asks again.
 */
export async function pay(deps: Deps, payment: PaymentRow, description: string): Promise<Settled> {
  let intent: Intent;
  try {
    intent = await deps.processor.confirm({
      payment_id: payment.id,
      amount: payment.amount,
      currency: payment.currency,
      confirmation_token_id: payment.confirmation_token_id,
      description,
      email: payment.customer_email,
    });
  } catch (error) {
    if (!(error instanceof ProcessorError)) {
      deps.log.error({ err: error, payment_id: payment.id }, "The processor gave no answer; it will be asked again.");
      return { status: "pending", intent: "processing", message: null };
    }
    intent = failedIntent(payment, { reason: "invalid_payment_method", message: error.message });
  }
  try {
    return await settle(deps, payment.id, intent);
  } catch (error) {
    // The card may have been charged, so the buyer must not be told that it failed.
    deps.log.error({ err: error, payment_id: payment.id }, "A payment could not be settled; it will be tried again.");
    return { status: "pending", intent: "processing", message: null };
  }
}

/** The refusal that a buyer reads. */
export const paymentError = (message: string | null): ApiError =>
  new ApiError("PaymentError", message ?? "The payment was declined.");

const batch_size = 20;

/** Ask the processor about payments whose outcome is not known, and finish or undo them. */
export async function sweepPayments(deps: Deps): Promise<number> {
  const now = deps.clock.now();
  const due = await takeDuePayments(deps, now, new Date(now.getTime() + reconcile_after_ms), batch_size);
  for (const payment of due) {
    try {
      await settle(deps, payment.id, await truthOf(deps, payment, now));
    } catch (error) {
      deps.log.error({ err: error, payment_id: payment.id }, "A payment could not be settled; it will be tried again.");
    }
  }
  return due.length;
}

async function truthOf(deps: Deps, payment: PaymentRow, now: Date): Promise<Intent> {
  const attempt = { payment_id: payment.id, processor_id: payment.processor_id, created_at: payment.created_at };
  const found = await deps.processor.retrieve(attempt);
  if (!found) return failedIntent(payment, never_reached);
  if (found.status !== "requires_action" && found.status !== "processing") return found;
  // Nobody answers the challenge any more, or the sale was paid by another attempt. It is given up at the processor first,
  // so that it cannot succeed later.
  const late = found.status === "requires_action" && now.getTime() - payment.created_at.getTime() > challenge_ms_max;
  const needless =
    late ||
    (payment.checkout_id !== null &&
      (await findOrderOfCheckout(deps.db, payment.organization_id, payment.checkout_id)) !== undefined);
  return needless ? ((await deps.processor.cancel(attempt)) ?? failedIntent(payment, never_reached)) : found;
}

/** Write a notice of the processor down; the sweep asks what is true of its payment, and acts. */
export const hear = (deps: Deps, { processor_id, ...notice }: Notice): Promise<void> =>
  transact(deps, async (tx) => {
    await hearNotice(tx, { ...notice, created_at: deps.clock.now() });
    await keepProcessorId(tx, notice.payment_id, processor_id);
  });
