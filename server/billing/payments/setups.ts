import type { CustomerRow } from "../../customers/customers/rules.ts";
import { adoptDefaultMethod, setDefaultMethod } from "../../customers/customers/service.ts";
import type { Ctx, Deps, Tx } from "../../platform/context.ts";
import { seal, unseal } from "../../platform/crypto/secrets.ts";
import type { RowKey } from "../../platform/db/rows.ts";
import { transact } from "../../platform/db/unit-of-work.ts";
import { defineSignal, sendSignal } from "../../platform/events/signals.ts";
import type { Decline, SetupOutcome } from "../../platform/processors/processor.ts";
import { computeTotals, type OrderRow } from "../orders/rules.ts";
import { findOwner, lockFreeSetup, savePaymentMethod } from "./methods.ts";
import { neverReached } from "./requests.ts";
import {
  assertSameSetup,
  isFinal,
  isOverdue,
  isWanted,
  type PaymentDeps,
  type PaymentMethodRow,
  planSetup,
  type SetupRow,
} from "./rules.ts";
import {
  assertAccount,
  buildAttempt,
  finishOrder,
  paymentFailed,
  paymentWaiting,
  planAttempt,
  planStart,
  type SettledPayment,
} from "./settlement.ts";
import * as store from "./store.ts";

/**
 * Write down that a card is going to be kept for an order of which nothing is due today, as of one that begins with a trial.
 * Refused with 409 while that is under way already (ORD-14).
 */
export function startSetup(
  tx: Tx,
  deps: PaymentDeps,
  order: OrderRow,
  { email, confirmation_token_id }: { email: string; confirmation_token_id: string },
): Promise<SetupRow> {
  const { due_amount } = computeTotals(order);
  if (due_amount > 0) throw new Error(`The order ${order.id} waits for ${due_amount}; to keep a card does not pay it.`);
  const start = planStart(deps, order);
  const sealed = seal(deps.config.secret, "setup-card", start.id, confirmation_token_id);
  return store.insertSetup(tx, { ...start, confirmation_token_id: sealed, customer_email: email });
}

/** A card was left to be charged for a subscription from now on. */
export const paymentMethodSaved = defineSignal<{ subscription: RowKey; customer_id: string; method: PaymentMethodRow }>(
  "payment.card_left",
);

/**
 * Write down that a customer leaves a card of their own accord; for a subscription, to be charged for it from now on. Refused with
 * 409 while one is left for it already.
 */
export function startFreeSetup(
  tx: Tx,
  deps: PaymentDeps,
  { organization_id, id: customer_id, email }: Pick<CustomerRow, "organization_id" | "id" | "email">,
  {
    confirmation_token_id,
    sets_default = false,
    subscription_id = null,
  }: { confirmation_token_id: string; sets_default?: boolean; subscription_id?: string | null },
): Promise<SetupRow> {
  const attempted = planAttempt(deps, organization_id);
  return store.insertSetup(tx, {
    ...attempted,
    order_id: null,
    terms: "",
    customer_id,
    customer_email: email ?? "",
    sets_default,
    subscription_id,
    confirmation_token_id: seal(deps.config.secret, "setup-card", attempted.id, confirmation_token_id),
  });
}

/** Have the processor keep the card of a written set-up, and write down the outcome. Not to be called in a transaction. */
export const executeSetup = (deps: Deps | Ctx, setup: SetupRow): Promise<SettledPayment> =>
  buildAttempt(
    deps,
    { setup_id: setup.id },
    async () => {
      const { organization_id, id: setup_id } = setup;
      const confirmation_token_id = unseal(deps.config.secrets, "setup-card", setup_id, setup.confirmation_token_id);
      const customer = await findOwner(deps.db, setup);
      return deps.processor.saveMethod({ organization_id, setup_id, confirmation_token_id, customer });
    },
    (decline) => buildFailedSetup(setup, decline),
    (outcome) => settleSetup(deps, setup, outcome),
  );

/**
 * Write down what the processor says of a set-up: the one way in which a set-up is finished, with the guarantees of
 * `settlePayment`. A card that was kept settles its order, as nothing is due; one that the order does not wait for any more is
 * not taken over.
 */
export function settleSetup(deps: Deps | Ctx, key: RowKey, outcome: SetupOutcome): Promise<SettledPayment> {
  return transact(deps, async (tx) => {
    const free = await lockFreeSetup(tx, key);
    if (free) return settleFree(tx, deps, free, outcome);
    const found = await store.lockSetup(tx, key);
    if (!found) throw new Error(`There is no set-up ${key.id}.`);
    const { setup, ...aggregate } = found;
    const { order } = aggregate;
    assertSameSetup(setup, outcome);
    const patch = planSetup(setup, outcome, deps.clock.now());
    if (!patch) return { status: setup.status, intent: outcome, message: setup.decline_message };
    const isStarted = patch.status === "succeeded" && isWanted(setup, order);
    if (patch.status === "succeeded" && !outcome.method) throw new Error(`The set-up ${key.id} kept no card.`);
    const kept = isStarted && outcome.method ? await savePaymentMethod(tx, deps, setup, outcome.method) : null;
    const moved = await store.updateSetup(tx, setup, { ...patch, ...(kept ? { payment_method_id: kept.id } : {}) });
    if (moved.status === "pending") await sendSignal(tx, deps, paymentWaiting, { order, intent: outcome });
    else if (moved.status !== setup.status) {
      if (moved.status === "failed")
        await sendSignal(tx, deps, paymentFailed, { order, reason: moved.decline_reason, trigger: null });
      else if (kept)
        await finishOrder(tx, deps, aggregate, { kept, wasLost: setup.status === "failed", isCharged: false });
    }
    return { status: moved.status, intent: outcome, message: moved.decline_message };
  });
}

/** The same where no order waits: the card is kept, and told of with its customer where it is charged from now on. */
async function settleFree(tx: Tx, deps: Deps | Ctx, setup: SetupRow, outcome: SetupOutcome): Promise<SettledPayment> {
  assertSameSetup(setup, outcome);
  const patch = planSetup(setup, outcome, deps.clock.now());
  if (!patch) return { status: setup.status, intent: outcome, message: setup.decline_message };
  if (patch.status === "succeeded" && !outcome.method) throw new Error(`The set-up ${setup.id} kept no card.`);
  const kept =
    patch.status === "succeeded" && outcome.method ? await savePaymentMethod(tx, deps, setup, outcome.method) : null;
  const moved = await store.updateSetup(tx, setup, { ...patch, ...(kept ? { payment_method_id: kept.id } : {}) });
  const customer = { organization_id: setup.organization_id, id: setup.customer_id };
  if (kept && setup.sets_default) await setDefaultMethod(tx, deps, customer, kept.id);
  else if (kept) await adoptDefaultMethod(tx, deps, customer, kept.id);
  const { organization_id, subscription_id, customer_id } = setup;
  if (kept && subscription_id !== null)
    await sendSignal(tx, deps, paymentMethodSaved, {
      subscription: { organization_id, id: subscription_id },
      customer_id,
      method: kept,
    });
  return { status: moved.status, intent: outcome, message: moved.decline_message };
}

/** An outcome of our own making, for a set-up that the processor refused or never received. */
const buildFailedSetup = (setup: SetupRow, decline: Decline): SetupOutcome => ({
  organization_id: setup.organization_id,
  setup_id: setup.id,
  processor_id: setup.processor_id ?? "",
  status: "failed",
  client_secret: "",
  method: null,
  decline,
});

/** Ask the processor what became of a set-up, and finish or undo it. */
export async function reconcileSetup(deps: Deps, setup: SetupRow): Promise<void> {
  await syncSetup(deps, setup);
}

/** The same; answers how it stands. */
export async function syncSetup(deps: Deps | Ctx, setup: SetupRow): Promise<SettledPayment> {
  assertAccount(deps, setup);
  return settleSetup(deps, setup, await fetchOutcome(deps, setup));
}

async function fetchOutcome({ processor, clock, db }: Deps | Ctx, setup: SetupRow): Promise<SetupOutcome> {
  const known = { setup_id: setup.id, processor_id: setup.processor_id, created_at: setup.requested_at };
  const found = await processor.retrieveSetup(known);
  if (!found) return buildFailedSetup(setup, neverReached);
  if (isFinal(found.status)) return found;
  const isLate = isOverdue(setup, found.status, clock.now());
  const order = isLate ? undefined : await store.findOrderOf(db, setup);
  if (!isLate && (setup.order_id === null || (order && isWanted(setup, order)))) return found;
  return (await processor.cancelSetup(known)) ?? buildFailedSetup(setup, neverReached);
}
