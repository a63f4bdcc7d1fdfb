import type { CustomerPaymentMethodCreateResponse, portalCards } from "../../shared/api/portal.ts";
import type { Service } from "../../shared/contract.ts";
import { ApiError, notFound } from "../../shared/errors.ts";
import { deleteMethod, findFreeSetup, findMethod, findSetup } from "../billing/payments/methods.ts";
import { listMethods } from "../billing/payments/methods-store.ts";
import { type PaymentMethodRow, type SetupRow, serializeMethod } from "../billing/payments/rules.ts";
import { customerCardService } from "../billing/payments/service.ts";
import type { SettledPayment } from "../billing/payments/settlement.ts";
import { executeSetup, startFreeSetup, syncSetup } from "../billing/payments/setups.ts";
import { getMetered } from "../billing/subscriptions/metering.ts";
import { getChoice, isCosting } from "../billing/subscriptions/plan.ts";
import { findPending } from "../billing/subscriptions/plan-input.ts";
import { revoked, type SubscriptionAggregate } from "../billing/subscriptions/rules.ts";
import { emitSubscription } from "../billing/subscriptions/serialize.ts";
import { findLiving, lockSubscription, updateSubscription } from "../billing/subscriptions/store.ts";
import { setDefaultMethod } from "../customers/customers/service.ts";
import { lockCustomer } from "../customers/customers/store.ts";
import type { Ctx, Tx } from "../platform/context.ts";
import { transact } from "../platform/db/unit-of-work.ts";
import { findAsker, getAsker } from "./access.ts";

/** What has become of a card that is left: kept, waiting for its owner's bank, or refused. */
async function sendMethods(
  ctx: Ctx,
  setup: SetupRow,
  settled: SettledPayment,
): Promise<CustomerPaymentMethodCreateResponse> {
  const { status, intent, message } = settled;
  if (status === "pending" && intent?.status === "requires_action")
    return { status: "requires_action", client_secret: intent.client_secret };
  if (status !== "succeeded")
    throw new ApiError("PaymentMethodSetupFailed", message ?? "The card could not be kept. Try again, or use another.");
  const kept = await findKept(ctx, setup);
  return { status, payment_method: serializeMethod(kept, await findAsker(ctx)) };
}

async function findKept(ctx: Ctx, { organization_id, id }: SetupRow): Promise<PaymentMethodRow> {
  const setup = await findSetup(ctx.db, { organization_id, id });
  const kept = setup?.payment_method_id && (await findMethod(ctx.db, { organization_id, id: setup.payment_method_id }));
  if (!kept) throw notFound();
  return kept;
}

/** Leave a card of one's own accord: written before the processor is asked, so that nothing is lost (CUP-16). */
async function leaveCard(ctx: Ctx, body: { confirmation_token_id: string; set_default: boolean }) {
  const { confirmation_token_id, set_default: sets_default } = body;
  const setup = await transact(ctx, async (tx) =>
    startFreeSetup(tx, ctx, await findAsker(ctx, tx), { confirmation_token_id, sets_default }),
  );
  return sendMethods(ctx, setup, await executeSetup(ctx, setup));
}

/** Go on once the bank was asked: the processor says what became of it. */
async function continueRun(ctx: Ctx, setup_intent_id: string, set_default: boolean) {
  const { organization_id, customer_id: id } = getAsker(ctx);
  const setup = await findFreeSetup(ctx.db, { organization_id, customer_id: id }, setup_intent_id);
  if (!setup) throw notFound();
  const settled =
    setup.status === "pending"
      ? await syncSetup(ctx, setup)
      : { status: setup.status, intent: null, message: setup.decline_message };
  if (settled.status === "succeeded" && set_default) {
    const kept = await findKept(ctx, setup);
    await transact(ctx, (tx) => setDefaultMethod(tx, ctx, { organization_id, id }, kept.id));
  }
  return sendMethods(ctx, setup, settled);
}

/** Whether a subscription is charged to a card, now or after its pause: its own, else its customer's default one. */
const isCharged = ({ row, customer }: SubscriptionAggregate, id: string): boolean =>
  !revoked.some((status) => status === row.status) &&
  (row.payment_method_id ?? customer.default_payment_method_id) === id;

/**
 * Whether a subscription will still be charged: for its offer or for the one that it changes to. One that ends with its period is
 * charged for metered usage and for the orders that are not paid yet.
 */
async function isChargedLater(tx: Tx, found: SubscriptionAggregate & { waiting: string[] }): Promise<boolean> {
  const { row, prices, discount } = found;
  if (found.waiting.length > 0) return true;
  if (row.cancel_at_period_end) return getMetered(prices).length > 0 && isCosting(getChoice(found), discount);
  const pending = await findPending(tx, found);
  return [getChoice(found), ...(pending ? [pending] : [])].some((offer) => isCosting(offer, discount));
}

/**
 * Remove a card. The subscriptions that it pays for use another one, the default card first. If there is none and one of them is
 * charged later, the card stays (CUP-17).
 */
async function removeCard(tx: Tx, ctx: Ctx, id: string): Promise<void> {
  const { organization_id, customer_id } = getAsker(ctx);
  // Before their subscriptions, as whoever ends all of them locks their customer first.
  const customer = await lockCustomer(tx, organization_id, { id: customer_id });
  const card = await findMethod(tx, { organization_id, id });
  if (!customer || card?.customer_id !== customer_id) throw notFound();
  const others = (await listMethods(tx, customer, { page: 1, limit: cardsMax })).items.filter((one) => one.id !== id);
  const next = others.find((one) => one.id === customer.default_payment_method_id) ?? others[0];
  for (const subscription_id of await findLiving(tx, customer)) {
    const found = await lockSubscription(tx, organization_id, subscription_id);
    if (!found || !isCharged(found, id)) continue;
    if (!next && (await isChargedLater(tx, found)))
      throw new ApiError(
        "PaymentMethodInUseByActiveSubscription",
        "A subscription is charged to this card. Add another card first.",
      );
    const row = await updateSubscription(tx, found.row, {
      payment_method_id: next?.id ?? null,
      modified_at: ctx.clock.now(),
    });
    await emitSubscription(tx, ctx, ["subscription.updated"], { ...found, row });
  }
  await deleteMethod(tx, card, ctx.clock.now());
  if (customer.default_payment_method_id === id) await setDefaultMethod(tx, ctx, customer, next?.id ?? null);
}
const cardsMax = 100;

/** What customers do with their cards. */
export const portalCardService: Service<typeof portalCards, Ctx> = {
  list: (ctx, { query }) =>
    customerCardService.listPaymentMethods(ctx, { params: { id: getAsker(ctx).customer_id }, query }),
  create: (ctx, { body }) => leaveCard(ctx, body),
  confirm: (ctx, { body }) => continueRun(ctx, body.setup_intent_id, body.set_default),
  delete: (ctx, { params }) => transact(ctx, (tx) => removeCard(tx, ctx, params.id)),
};
