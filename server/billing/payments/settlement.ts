import { ApiError } from "../../../shared/errors.ts";
import { adoptDefaultMethod } from "../../customers/customers/service.ts";
import { getServerClock } from "../../platform/clock.ts";
import type { Ctx, Deps, Tx } from "../../platform/context.ts";
import { seal } from "../../platform/crypto/secrets.ts";
import { runWithLoaders } from "../../platform/db/loaders.ts";
import type { RowKey } from "../../platform/db/rows.ts";
import { runAfterCommit, transact, transactAll } from "../../platform/db/unit-of-work.ts";
import { defineSignal, sendSignal } from "../../platform/events/signals.ts";
import { createId } from "../../platform/ids.ts";
import { redactError } from "../../platform/loggable.ts";
import { type Decline, type Intent, isTurnedAway, ProcessorError } from "../../platform/processors/processor.ts";
import { payments } from "../../platform/telemetry/metrics.ts";
import { computeTotals, isPayable, type OrderAggregate, type OrderRow } from "../orders/rules.ts";
import { settleOrder } from "../orders/service.ts";
import { lockOrder } from "../orders/store.ts";
import { createPaymentId } from "./ids.ts";
import { savePaymentMethod } from "./methods.ts";
import { abandonCharge, attemptOf, buildFailedIntent, neverReached, requestCharge, returned } from "./requests.ts";
import {
  assertPayments,
  assertSame,
  isFinal,
  isOverdue,
  isWanted,
  type PaymentDeps,
  type PaymentMethodRow,
  type PaymentRow,
  planOutcome,
  reconcileAfterMs,
} from "./rules.ts";
import * as store from "./store.ts";

/** An attempt came to nothing; its order still waits. */
export const paymentFailed = defineSignal<FailedPayment>("payment.failed");
/**
 * The order of an attempt that came to nothing, why, what had brought it about (null of a card that was to be kept), and the
 * kept card that was to be charged.
 */
export type FailedPayment = {
  order: OrderRow;
  reason: string | null;
  trigger: PaymentRow["trigger"];
  payment_method_id?: string | null;
};
/** An attempt waits for somebody: the bank, or the buyer who is asked to prove who they are. */
export const paymentWaiting = defineSignal<{ order: OrderRow; intent: WaitingPayment }>("payment.waiting");
/** Money was taken that no order waits for. It goes back. */
export const paymentUnapplied = defineSignal<PaymentRow>("payment.surplus");

/** Who pays by what: a card that was just entered, kept for later charges or not, or one that was kept before. */
export type Payer = { email: string } & (
  | { confirmation_token_id: string; keep: boolean; trigger?: NonNullable<PaymentRow["trigger"]> }
  | { method: PaymentMethodRow; trigger: NonNullable<PaymentRow["trigger"]> }
);

/** What every attempt is written down with, before the processor is asked, so that a crash leaves a trace. */
export function planStart(deps: PaymentDeps, order: OrderRow) {
  const { id: order_id, terms, customer_id } = order;
  return { ...planAttempt(deps, order.organization_id), order_id, terms, customer_id };
}

/** The same without an order. */
export function planAttempt(deps: PaymentDeps, organization_id: string) {
  assertPayments(deps);
  const { clock, processor } = deps;
  const now = clock.now();
  return {
    id: createId(now),
    organization_id,
    created_at: now,
    account: processor.account,
    requested_at: getServerClock(clock).now(),
    process_id: deps.process_id,
    reconcile_due_at: new Date(now.getTime() + reconcileAfterMs),
  };
}

/** Write down that an order is going to be paid. Refused with 409 while it is being paid already (ORD-14). */
export async function startPayment(tx: Tx, deps: PaymentDeps, order: OrderRow, payer: Payer): Promise<PaymentRow> {
  const start = { ...planStart(deps, order), id: await createPaymentId(tx, order) };
  const how =
    "method" in payer
      ? { payment_method_id: payer.method.id, card: payer.method.card, trigger: payer.trigger }
      : {
          confirmation_token_id: seal(deps.config.secret, "payment-card", start.id, payer.confirmation_token_id),
          keep: payer.keep,
          ...(payer.trigger && { trigger: payer.trigger }),
        };
  const { due_amount: amount } = computeTotals(order);
  return store.insertPayment(tx, {
    ...start,
    ...how,
    amount,
    currency: order.currency,
    customer_email: payer.email,
  });
}

/** How an attempt stands that somebody has to answer; the secret is the browser's to do so. */
export type WaitingPayment = Pick<Intent, "status" | "client_secret">;
/** What has become of an attempt, and what the processor last said; null where it gave no answer. */
export type SettledPayment = { status: PaymentRow["status"]; intent: WaitingPayment | null; message: string | null };

/**
 * Write down what the processor says of a payment: the one way in which a payment is finished, used by the confirmation,
 * the return from a challenge, the processor's events and the reconciliation, in any order and at the same time. The lock on
 * the order makes them take turns; the one that comes second finds it done. Money that the order does not wait for (any
 * more) is marked as surplus, and goes back.
 */
export const settlePayment = (deps: Deps | Ctx, key: RowKey, intent: Intent): Promise<SettledPayment> =>
  transact(deps, (tx) => settleWithin(tx, deps, key, intent));

async function settleWithin(tx: Tx, deps: Deps | Ctx, key: RowKey, intent: Intent): Promise<SettledPayment> {
  const found = await store.lockPayment(tx, key);
  if (!found) throw new Error(`There is no payment ${key.id}.`);
  const { payment, ...aggregate } = found;
  const { order } = aggregate;
  assertSame(payment, intent);
  const now = deps.clock.now();
  const patch = planOutcome(payment, order, intent, now);
  if (!patch) return { status: payment.status, intent, message: payment.decline_message };
  const isPaid = patch.status === "succeeded" && !patch.is_surplus;
  const kept =
    isPaid && payment.keep && intent.method ? await savePaymentMethod(tx, deps, payment, intent.method) : null;
  const moved = await store.updatePayment(tx, payment, { ...patch, ...(kept ? { payment_method_id: kept.id } : {}) });
  if (moved.status !== payment.status)
    runAfterCommit(tx, () => payments.add({ result: moved.is_surplus ? "surplus" : moved.status }));
  if (moved.status === "pending") await sendSignal(tx, deps, paymentWaiting, { order, intent });
  else if (moved.status !== payment.status) {
    if (moved.status === "failed")
      await sendSignal(tx, deps, paymentFailed, {
        order,
        reason: moved.decline_reason,
        trigger: moved.trigger,
        payment_method_id: moved.payment_method_id,
      });
    else if (moved.is_surplus) await sendSignal(tx, deps, paymentUnapplied, moved);
    else await finishOrder(tx, deps, aggregate, { kept, wasLost: payment.status === "failed", isCharged: true });
  }
  return { status: moved.status, intent, message: moved.decline_message };
}

/** Settle an order whose attempt has succeeded. Whoever answers to that locks the checkout, and then the customer is changed. */
export async function finishOrder(
  tx: Tx,
  deps: Deps | Ctx,
  aggregate: OrderAggregate,
  { kept, wasLost, isCharged }: { kept: PaymentMethodRow | null; wasLost: boolean; isCharged: boolean },
): Promise<void> {
  await settleOrder(tx, deps, aggregate, { isCharged });
  const { organization_id, customer_id: id } = aggregate.order;
  if (kept) await adoptDefaultMethod(tx, deps, { organization_id, id }, kept.id);
  // It had been given up for lost: another attempt may be under way, which is to be stopped.
  if (wasLost) await store.expeditePending(tx, aggregate.order, deps.clock.now());
}

/** How an attempt stands whose outcome nobody knows yet. */
const unsettled: SettledPayment = { status: "pending", intent: null, message: null };

/**
 * Ask the processor for what was written down, and write down what it says. No transaction is open while it is asked. When
 * its answer is lost the attempt stays pending, and is reconciled later; what it refuses to try has failed.
 */
export async function buildAttempt<T>(
  { log }: Pick<Deps, "log">,
  fields: { payment_id: string } | { setup_id: string },
  ask: () => Promise<T>,
  refused: (decline: Decline) => T,
  settle: (outcome: T) => Promise<SettledPayment>,
): Promise<SettledPayment> {
  const outcome = await callProcessor({ log }, fields, ask, refused);
  if (outcome === undefined) return unsettled;
  try {
    return await settle(outcome);
  } catch (error) {
    // The card may have been charged, so the buyer must not be told that it failed.
    log.error(
      { error: redactError(error), ...fields },
      "What the processor said could not be written; it will be tried again.",
    );
    return unsettled;
  }
}

/** What the processor says; undefined where it gives no answer. */
async function callProcessor<T>(
  { log }: Pick<Deps, "log">,
  fields: { payment_id: string } | { setup_id: string },
  ask: () => Promise<T>,
  refused: (decline: Decline) => T,
): Promise<T | undefined> {
  try {
    return await ask();
  } catch (error) {
    // Of a card that nobody asked nothing is known.
    const reason = isTurnedAway(error) ? neverReached.reason : "invalid_payment_method";
    if (error instanceof ProcessorError) return refused({ reason, message: error.message });
    log.error({ err: error, ...fields }, "The processor gave no answer; it will be asked again.");
    return undefined;
  }
}

/** Have a written payment charged, and write down the outcome. */
export const chargePayment = (deps: Deps | Ctx, payment: PaymentRow, description: string): Promise<SettledPayment> =>
  buildAttempt(
    deps,
    { payment_id: payment.id },
    () => requestCharge(deps, payment, description),
    (decline) => buildFailedIntent(payment, decline),
    (intent) => settlePayment(deps, payment, intent),
  );

/** A written payment that is to be charged, by the clock of `deps`. */
export type DueCharge = { deps: Deps | Ctx; payment: PaymentRow; description: string };
/** So many are charged side by side by a processor far away. */
const lanes = 4;

/** Have written payments of one seller and of several customers charged, and write down the outcomes. */
export async function chargePayments(charges: readonly DueCharge[]): Promise<void> {
  const [first, ...others] = charges;
  if (!first) return;
  if (others.length === 0 || !first.deps.processor.test) {
    const rest = charges.values();
    await Promise.all(
      Array.from({ length: lanes }, async () => {
        for (const { deps, payment, description } of rest) await chargePayment(deps, payment, description);
      }),
    );
    return;
  }
  // The test processor is the same database: it is asked for all, and so is what comes of it.
  const answers = await runWithLoaders(
    charges.map(({ deps, payment, description }) => async () => {
      const intent = await callProcessor(
        deps,
        { payment_id: payment.id },
        () => requestCharge(deps, payment, description),
        (decline) => buildFailedIntent(payment, decline),
      );
      return intent && { deps, payment, intent };
    }),
  );
  const answered = answers.filter((answer) => answer !== undefined);
  try {
    await transactAll(first.deps, answered, (tx, { deps, payment, intent }) => settleWithin(tx, deps, payment, intent));
  } catch {
    // One of them holds up no other.
    for (const { deps, payment, intent } of answered)
      await buildAttempt(
        deps,
        { payment_id: payment.id },
        async () => intent,
        () => intent,
        () => settlePayment(deps, payment, intent),
      );
  }
}

/**
 * Charge an order to a card that was kept, while its owner is away. What the card answers is kept on the payment; an order that
 * it does not pay can still be paid by its owner. Not to be called in a transaction.
 */
export async function chargeSavedMethod(
  deps: Deps,
  {
    order: key,
    method,
    trigger,
  }: { order: RowKey; method: PaymentMethodRow; trigger: NonNullable<PaymentRow["trigger"]> },
): Promise<SettledPayment & { payment: PaymentRow }> {
  const { payment, order } = await transact(deps, async (tx) => {
    const found = await lockOrder(tx, key.organization_id, key.id);
    if (!found) throw new Error(`There is no order ${key.id}.`);
    return { order: found.order, payment: await startSavedPayment(tx, deps, found, method, trigger) };
  });
  return { ...(await chargePayment(deps, payment, order.description)), payment };
}

/** Write down that an order is going to be paid by a card that was kept. The caller holds its lock, and has it charged afterwards. */
export function startSavedPayment(
  tx: Tx,
  deps: PaymentDeps,
  { order, customer }: Pick<OrderAggregate, "order" | "customer">,
  method: PaymentMethodRow,
  trigger: NonNullable<PaymentRow["trigger"]>,
): Promise<PaymentRow> {
  if (!isPayable(order.status)) throw new ApiError("PaymentAlreadyInProgress", "This order needs no payment.");
  if (order.customer_id !== method.customer_id)
    throw new Error(`The card ${method.id} is not of the customer of the order ${order.id}.`);
  return startPayment(tx, deps, order, { email: customer.email ?? "", method, trigger });
}

/** Refuse to ask one account of the processor what became of another's attempt: it would say that there is none. */
export function assertAccount(
  { processor }: Pick<Deps, "processor">,
  { id, account }: Pick<PaymentRow, "id" | "account">,
) {
  if (account !== processor.account)
    throw new Error(`The attempt ${id} was made with the account ${account}, and ${processor.account} is in use.`);
}

/** Ask the processor what became of a payment, and finish or undo it. */
export async function reconcilePayment(deps: Deps, payment: PaymentRow): Promise<void> {
  assertAccount(deps, payment);
  await settlePayment(deps, payment, await fetchOutcome(deps, payment));
}

async function fetchOutcome(deps: Deps, payment: PaymentRow): Promise<Intent> {
  const found = await deps.processor.retrieve(attemptOf(payment));
  if (!found) return buildFailedIntent(payment, neverReached);
  if (found.is_returned && payment.status !== "succeeded") return buildFailedIntent(payment, returned);
  if (isFinal(found.status)) return found;
  if (found.status === "requires_action" && payment.confirmation_token_id === null)
    return abandonCharge(deps, payment, found.processor_id);
  // The order may have been settled by another attempt. This one is given up at the processor first, so that it cannot succeed
  // later.
  const order = isOverdue(payment, found.status, deps.clock.now())
    ? undefined
    : await store.findOrderOf(deps.db, payment);
  if (order && isWanted(payment, order)) return found;
  return (await deps.processor.cancel(attemptOf(payment))) ?? buildFailedIntent(payment, neverReached);
}
