import { releaseFromSubscription } from "../../catalog/discounts/redemption.ts";
import { findKeptDiscount } from "../../catalog/discounts/store.ts";
import { findPrices, findProduct } from "../../catalog/products/store.ts";
import type { CustomerRow } from "../../customers/customers/rules.ts";
import { emitState } from "../../customers/customers/service.ts";
import type { Ctx, Deps, Tx } from "../../platform/context.ts";
import { type RowKey, readRow } from "../../platform/db/rows.ts";
import { moveState } from "../../platform/states.ts";
import type { OrderAggregate, OrderRow } from "../orders/rules.ts";
import { withdrawOrder } from "../orders/service.ts";
import { lockOrder } from "../orders/store.ts";
import { findEntered } from "../payments/methods.ts";
import { findMethodOfOrder } from "../payments/methods-store.ts";
import type { PaymentMethodRow } from "../payments/rules.ts";
import type { FailedPayment } from "../payments/settlement.ts";
import { recordPaymentFailure, reduceUnpaid, withdrawAll, writePlan } from "./billing.ts";
import { isUnasked, unaskedPauseMs } from "./dunning.ts";
import { attributeSeatUsage } from "./metering.ts";
import { planEnd, type SubscriptionEvent, type SubscriptionPlan } from "./plan.ts";
import { reduceUnpaidOrders } from "./reductions.ts";
import { findDueTime, isBillable, type SubscriptionAggregate, type SubscriptionRow } from "./rules.ts";
import { startSubscription } from "./service.ts";
import { subscriptionStates } from "./states.ts";
import * as store from "./store.ts";
import { subscriptions } from "./tables.ts";

/** An order is settled: what it begins or changes comes true with it, and who was behind with payments is not any more. */
export async function settleForSubscription(tx: Tx, ctx: Deps | Ctx, settling: OrderAggregate): Promise<void> {
  const { order, subscription } = settling;
  if (order.begins) return beginSubscription(tx, ctx, settling, order.begins);
  const isBehind = subscription?.past_due_at != null && subscription.ended_at === null;
  if (!subscription || (order.changes === null && !isBehind)) return;
  const found = await store.lockSubscription(tx, order.organization_id, subscription.id);
  if (!found) throw new Error(`The subscription ${subscription.id} is gone.`);
  const after = order.changes ? await applyChange(tx, ctx, found, order) : await recover(tx, ctx, found, order);
  settling.subscription = after.row;
}

/** An order that begins a subscription is settled: it begins, and the order is answered with it (CHK-58, WHK-31). */
async function beginSubscription(
  tx: Tx,
  ctx: Deps | Ctx,
  settling: OrderAggregate,
  begins: NonNullable<OrderRow["begins"]>,
): Promise<void> {
  const { order, customer } = settling;
  const { organization_id } = order;
  const product = await findProduct(tx, organization_id, order.product_id);
  if (!product) throw new Error(`The order ${order.id} has lost its product.`);
  const known = new Map((await findPrices(tx, organization_id, begins.price_ids)).map((price) => [price.id, price]));
  // A trial is no sale yet, so its order carries no discount.
  const { discount: terms } = begins.quote;
  const [discount = null] = terms ? await findKeptDiscount(tx, organization_id, [terms.id]) : [];
  const method = await findMethodOfOrder(tx, order);
  const row = await startSubscription(tx, ctx, {
    customer,
    product,
    discount,
    prices: begins.price_ids.flatMap((id) => known.get(id) ?? []),
    quote: begins.quote,
    trial_end: begins.trial_end === null ? null : new Date(begins.trial_end),
    checkout_id: order.checkout_id,
    payment_method_id: method?.id ?? null,
    metadata: order.metadata,
    custom_field_data: order.custom_field_data,
    upgrades: await findUpgraded(tx, organization_id, begins.upgrades),
  });
  order.subscription_id = row.id;
  settling.subscription = row;
}

/** The free subscription that goes on as this one; none where it has ended since, or is paid for by now. */
async function findUpgraded(tx: Tx, organization_id: string, id: string | null): Promise<SubscriptionRow | null> {
  const found = id === null ? undefined : await store.lockSubscription(tx, organization_id, id);
  return found && isBillable(found.row.status) && found.row.amount === 0 ? found.row : null;
}

const none: Pick<SubscriptionPlan, "entries" | "choice"> = { entries: [], choice: null };

/** What was paid for comes true (WHK-39). */
async function applyChange(
  tx: Tx,
  ctx: Deps | Ctx,
  aggregate: SubscriptionAggregate,
  order: OrderRow,
): Promise<SubscriptionAggregate> {
  const { changes } = order;
  if (!changes) throw new Error(`The order ${order.id} changes nothing.`);
  const patch = readRow(subscriptions, changes.patch) as Partial<SubscriptionRow>;
  const product = patch.product_id && (await findProduct(tx, order.organization_id, patch.product_id));
  const amounts = new Map((changes.prices ?? []).map((price) => [price.product_price_id, price.amount]));
  const found = await findPrices(tx, order.organization_id, [...amounts.keys()]);
  const prices = [...amounts].flatMap(([id, amount]) => {
    const price = found.find((one) => one.id === id);
    return price ? [{ ...price, amount }] : [];
  });
  const choice = product ? { product, prices, seats: patch.seats ?? null } : null;
  await store.billEntries(tx, order, changes.entry_ids);
  const given = patch.discount_id ? await findKeptDiscount(tx, order.organization_id, [patch.discount_id]) : [];
  const discount = patch.discount_id === undefined ? {} : { discount: given[0] ?? null };
  const { entries = [], taken = [] } = changes;
  const plan = { ...discount, entries, choice, patch, taken, events: ["subscription.updated" as const] };
  const ground = { aggregate, entries: [], pending: null };
  return reduceUnpaid(tx, ctx, await writePlan(tx, ctx, ground, plan, { change_order_id: null }), plan);
}

/** Nothing is missing any more where no other order is (SUB-52, WHK-34). */
async function recover(
  tx: Tx,
  ctx: Deps | Ctx,
  aggregate: SubscriptionAggregate,
  order: OrderRow,
): Promise<SubscriptionAggregate> {
  const retries = aggregate.retries.filter(({ order_id }) => order_id !== order.id);
  const others = await store.hasFailing(tx, aggregate.row, order.id);
  // A card that its owner entered to pay with is charged from now on, and at once with what else is unpaid.
  const entered = await findEntered(tx, order);
  const left =
    entered === null ? {} : { payment_method_id: entered, ...(others ? { card_due_at: ctx.clock.now() } : {}) };
  if (others) {
    const due_at = findDueTime({ ...aggregate.row, ...left }, retries);
    const row = await store.updateSubscription(tx, aggregate.row, { ...left, due_at });
    return { ...aggregate, row };
  }
  const isPaused = aggregate.row.status === "paused";
  const status = isPaused ? aggregate.row.status : moveState(subscriptionStates, aggregate.row, "active");
  const patch = { ...left, status, past_due_at: null };
  const ground = { aggregate: { ...aggregate, retries }, entries: [], pending: null };
  const events: SubscriptionEvent[] = isPaused
    ? ["subscription.updated"]
    : ["subscription.updated", "subscription.active"];
  return writePlan(tx, ctx, ground, { ...none, patch, events });
}

/** Who has begun a subscription is told of with what they hold now, once all else is said (WHK-31). */
export async function notifyHolder(
  tx: Tx,
  ctx: Deps | Ctx,
  { order, customer, subscription }: OrderAggregate,
): Promise<void> {
  if (subscription && order.begins) await emitState(tx, ctx, customer);
}

/** A payment of an order of a subscription came to nothing: a change is not made, and a renewal is tried again later. */
export async function onPaymentFailed(tx: Tx, ctx: Deps | Ctx, failed: FailedPayment): Promise<void> {
  const { order, reason, trigger, payment_method_id = null } = failed;
  const { organization_id, subscription_id, changes } = order;
  // A notice about one that was paid since changes nothing (SUB-54).
  if (subscription_id === null || order.status !== "pending") return;
  const whole = await lockOrder(tx, organization_id, order.id);
  const found = await store.lockSubscription(tx, organization_id, subscription_id);
  if (!whole || !found) throw new Error(`The subscription ${subscription_id} is gone.`);
  if (changes) {
    await withdrawOrder(tx, ctx, whole);
    const { row, retries } = found;
    const { discount_id } = changes.patch as Partial<SubscriptionRow>;
    if (discount_id) await releaseFromSubscription(tx, row, discount_id);
    if (row.change_order_id === order.id)
      await store.updateSubscription(tx, row, { change_order_id: null, due_at: findDueTime(row, retries) });
    return;
  }
  // A card that was just left was never asked: it is, a little later.
  if (trigger === "retry_payment_method_update" && payment_method_id !== null && isUnasked(reason)) {
    const card_due_at = new Date(ctx.clock.now().getTime() + unaskedPauseMs);
    const row = { ...found.row, card_due_at };
    await store.updateSubscription(tx, row, { card_due_at, due_at: findDueTime(row, found.retries) });
    return;
  }
  // What was given back while it was being paid reduces it now.
  const [reduced] = await reduceUnpaidOrders(tx, ctx, found, order.id);
  if (reduced?.isPaid) return;
  // What the customer tries in between does not count (ORD-28).
  if (trigger !== "subscription_cycle" && trigger !== "retry_dunning") return;
  await recordPaymentFailure(tx, ctx, found, whole, { reason });
}

/**
 * A customer has left a card in place of the one that a subscription was charged to: so it is for whatever else of theirs was
 * charged to that one.
 */
export async function adoptSavedMethod(
  tx: Tx,
  ctx: Deps | Ctx,
  { subscription: key, customer_id, method }: { subscription: RowKey; customer_id: string; method: PaymentMethodRow },
): Promise<void> {
  const { organization_id } = key;
  const getChargedMethod = ({ row, customer }: SubscriptionAggregate) =>
    row.payment_method_id ?? customer.default_payment_method_id;
  const before = await store.findSubscription(tx, organization_id, key.id);
  for (const id of await store.findLiving(tx, { organization_id, id: customer_id })) {
    const found = await store.lockWithOrders(tx, organization_id, id);
    if (!found || (id !== key.id && (!before || getChargedMethod(found) !== getChargedMethod(before)))) continue;
    const ground = { aggregate: found, entries: [], pending: null };
    await writePlan(tx, ctx, ground, {
      ...none,
      patch: { payment_method_id: method.id },
      events: ["subscription.updated"],
    });
  }
}

/** A customer has chosen another card: whatever of theirs is behind is charged to it from now on, and at once (SUB-53). */
export async function adoptDefaultMethod(
  tx: Tx,
  ctx: Deps | Ctx,
  customer: RowKey & { default_payment_method_id: string },
): Promise<void> {
  const { organization_id, default_payment_method_id: payment_method_id } = customer;
  for (const id of await store.findLiving(tx, customer)) {
    const found = await store.lockWithOrders(tx, organization_id, id);
    // Who is leaving is not charged again (SUB-54).
    if (found?.row.status !== "past_due" || found.row.cancel_at_period_end) continue;
    const ground = { aggregate: found, entries: [], pending: null };
    const patch = { payment_method_id, card_due_at: ctx.clock.now() };
    await writePlan(tx, ctx, ground, { ...none, patch, events: ["subscription.updated"] });
  }
}

/** A customer is gone: what they subscribed to ends (SUB-32). */
export async function endOfCustomer(tx: Tx, ctx: Deps | Ctx, customer: CustomerRow): Promise<void> {
  for (const id of await store.findLiving(tx, customer)) {
    const found = await store.lockWithOrders(tx, customer.organization_id, id);
    if (!found) continue;
    const ground = { aggregate: { ...found, retries: [] }, entries: [], pending: null };
    await writePlan(tx, ctx, ground, planEnd(ground, ctx.clock.now()), { change_order_id: null });
    await withdrawAll(tx, ctx, found, found.waiting);
  }
}

/**
 * Somebody else holds a seat of a subscription by now: whose use is on its account follows (SEAT-17). Before anything that came with
 * the seat is taken back, so what they spent of it stays spent.
 */
export async function reassignSeatUsage(
  tx: Tx,
  ctx: Deps | Ctx,
  seat: Pick<SubscriptionRow, "organization_id"> & { subscription_id: string | null },
): Promise<void> {
  if (seat.subscription_id === null) return;
  const found = await store.lockSubscription(tx, seat.organization_id, seat.subscription_id);
  if (found) await attributeSeatUsage(tx, ctx, found);
}
