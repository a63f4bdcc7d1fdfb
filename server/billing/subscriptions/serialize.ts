import type { Subscription } from "../../../shared/api/subscriptions.ts";
import type { Quote } from "../../../shared/pricing.ts";
import type { SystemEvent } from "../../../shared/system-events.ts";
import { countUnits } from "../../../shared/usage.ts";
import { serializeDiscountBase } from "../../catalog/discounts/rules.ts";
import { serializePrice, serializeProduct } from "../../catalog/products/rules.ts";
import { serializeCustomer } from "../../customers/customers/rules.ts";
import { emitState } from "../../customers/customers/service.ts";
import type { Ctx, Deps, Tx } from "../../platform/context.ts";
import { runAtEnd } from "../../platform/db/unit-of-work.ts";
import { emitEach, recordListedEvent } from "../../platform/events/events.ts";
import { defineSignal } from "../../platform/events/signals.ts";
import { createId } from "../../platform/ids.ts";
import { serializeMeter } from "../../usage/meters/rules.ts";
import { serializeOrderSubscription } from "../orders/rules.ts";
import type { NewOrder } from "../orders/service.ts";
import { computeDeadline } from "./dunning.ts";
import { getMeters } from "./metering.ts";
import type { OrderDraft, PlanInput, SubscriptionEvent, SubscriptionPlan } from "./plan.ts";
import type { SubscriptionAggregate, SubscriptionRow } from "./rules.ts";
import { insertLetter } from "./store.ts";
import type { LetterKind } from "./tables.ts";

/** A subscription as it is answered. */
export function serializeSubscription(
  aggregate: SubscriptionAggregate,
  { media_url }: { media_url: string },
): Subscription {
  const { row, customer, product, discount, prices, retries } = aggregate;
  const { past_due_at } = row;
  return {
    ...serializeOrderSubscription(row),
    custom_field_data: row.custom_field_data,
    user_id: row.customer_id,
    customer: serializeCustomer(customer),
    product: serializeProduct(product, media_url),
    discount: discount && serializeDiscountBase(discount),
    prices: prices.map((price) => serializePrice(price, product)),
    meters: getMeters(aggregate).map(({ use, meter, amount }) => ({
      ...{ id: use.id, created_at: use.created_at, modified_at: use.modified_at, meter_id: use.meter_id, amount },
      ...{
        consumed_units: countUnits(use.consumed_units),
        credited_units: use.credited_units,
        meter: serializeMeter(meter),
      },
    })),
    pending_update: serializePending(row),
    payment_retries:
      row.status === "past_due" && past_due_at
        ? { deadline_at: computeDeadline(past_due_at), orders: retries.map((retry) => ({ ...retry })) }
        : null,
  };
}

function serializePending({
  pending_update: asked,
  current_period_end,
}: SubscriptionRow): Subscription["pending_update"] {
  if (!asked) return null;
  const { id, created_at, modified_at, product_id, seats } = asked;
  return {
    id,
    created_at: new Date(created_at),
    modified_at: modified_at === null ? null : new Date(modified_at),
    applies_at: current_period_end,
    product_id,
    seats,
    units: null,
  };
}

/** What makes a new period anyhow. */
const periodical: readonly SubscriptionEvent[] = [
  "subscription.created",
  "subscription.cycled",
  "subscription.resumed",
];

/** How what another product or other seats cost is paid: with the bill of a new period, or of one that begins now, at once, or with the next. */
function getProration(before: SubscriptionRow, row: SubscriptionRow, { types, isPutOff }: Moved): string {
  if (types.includes("subscription.cycled")) return "next_period";
  if (+before.current_period_start !== +row.current_period_start) return "reset";
  return isPutOff || row.status === "trialing" ? "prorate" : "invoice";
}

/** What was told of a change, and whether what it costs waits for the next bill. */
type Moved = { types: readonly SubscriptionEvent[]; isPutOff: boolean };

/** What of a subscription is another by now, as the list of events has it. */
function* describeMoves(before: SubscriptionRow, row: SubscriptionRow, moved: Moved): Generator<SystemEvent> {
  const { id: subscription_id, customer_id, product_id, seats, current_period_end } = row;
  const buildEvent = (name: string, more: SystemEvent["metadata"] = {}) => ({
    ...{ name, customer_id },
    metadata: { subscription_id, ...more },
  });
  const isPeriodical = moved.types.some((type) => periodical.includes(type));
  const isMoved = +before.current_period_end !== +current_period_end && !isPeriodical;
  const proration_behavior = getProration(before, row, moved);
  if (before.product_id !== product_id)
    yield buildEvent("subscription.product_updated", {
      old_product_id: before.product_id,
      new_product_id: product_id,
    });
  if (before.seats !== null && seats !== null && before.seats !== seats)
    yield buildEvent("subscription.seats_updated", { old_seats: before.seats, new_seats: seats, proration_behavior });
  if (isMoved)
    yield buildEvent("subscription.billing_period_updated", {
      old_period_end: before.current_period_end.toISOString(),
      new_period_end: current_period_end.toISOString(),
    });
  const asked = before.pending_update;
  const isDone = (asked?.product_id ?? product_id) === product_id && (asked?.seats ?? seats) === seats;
  if (asked && row.pending_update === null && !isDone) yield buildEvent("subscription.update_cleared");
  if (before.status === "past_due" && row.status === "active") {
    const { amount, currency, recurring_interval, recurring_interval_count } = row;
    yield buildEvent("subscription.reactivated", {
      product_id,
      amount,
      currency,
      recurring_interval,
      recurring_interval_count,
    });
  }
  const changed = {
    ...(before.product_id !== product_id && { product_id, proration_behavior }),
    ...(before.discount_id !== row.discount_id && { discount_id: row.discount_id }),
    ...(+(before.trial_end ?? 0) !== +(row.trial_end ?? 0) &&
      row.trial_end && { trial_end: row.trial_end.toISOString() }),
    ...(before.seats !== seats && seats !== null && { seats, proration_behavior }),
    ...(isMoved && { billing_period_end: current_period_end.toISOString() }),
  };
  if (moved.types.includes("subscription.updated") && !isPeriodical && Object.keys(changed).length > 0)
    yield buildEvent("subscription.updated", changed);
}

/** Say what has become of a subscription, by all of these events. */
export async function emitSubscription(
  tx: Tx,
  ctx: Deps | Ctx,
  types: readonly SubscriptionEvent[],
  aggregate: SubscriptionAggregate,
  { before = aggregate.row, isPutOff = false }: { before?: SubscriptionRow; isPutOff?: boolean } = {},
): Promise<void> {
  const { organization_id } = aggregate.row;
  await emitEach(tx, ctx, organization_id, types, () => serializeSubscription(aggregate, ctx.config));
  for (const event of describeMoves(before, aggregate.row, { types, isPutOff }))
    recordListedEvent(tx, ctx, organization_id, event);
}

/** A subscription gives something else from now on: it is of another product, or in another state. */
export const subscriptionEntitlementsChanged = defineSignal<SubscriptionRow>("subscription.gives_otherwise");

/** Have the customer told by mail, when this is committed. */
export async function enqueueCustomerEmail(
  tx: Tx,
  ctx: Deps | Ctx,
  { row }: Pick<SubscriptionAggregate, "row">,
  kind: LetterKind | null,
  order_id: string | null = null,
): Promise<void> {
  if (kind === null) return;
  const now = ctx.clock.now();
  const { organization_id, id: subscription_id } = row;
  const values = { id: createId(now), organization_id, created_at: now, subscription_id, kind, order_id, due_at: now };
  await insertLetter(tx, values);
  ctx.jobs.wake(tx, subscriptionEmailWorkerName);
}

/** The sweep that writes what customers are told. */
export const subscriptionEmailWorkerName = "subscriptions.tell";

/** Tell what the customer holds, once all else is said (SUB-59). */
export function scheduleStateEvent(
  tx: Tx,
  ctx: Deps | Ctx,
  { customer }: Pick<SubscriptionAggregate, "customer">,
): void {
  if (customer.deleted_at === null) runAtEnd(tx, () => emitState(tx, ctx, customer));
}

/**
 * What the customer is told of a plan by mail of its own, as it is carried out; null where there is nothing to tell, or where
 * the mail of its order tells it.
 */
export function getLetter({ patch, choice, events }: SubscriptionPlan, isTold: boolean): LetterKind | null {
  const hasEvent = (event: SubscriptionEvent) => events.includes(event);
  if (hasEvent("subscription.revoked")) return "ended";
  if (hasEvent("subscription.paused")) return "paused";
  if (hasEvent("subscription.uncanceled")) return "uncanceled";
  if (hasEvent("subscription.canceled")) return "canceled";
  if (isTold) return null;
  if (hasEvent("subscription.resumed")) return "resumed";
  if (hasEvent("subscription.cycled")) return null;
  if (patch.pending_update) return "change_planned";
  return choice ? "changed" : null;
}

/** The order of a bill. What it says of the customer is as it stands now (ORD-10). */
export function planOrder(
  { aggregate, isDue = false }: PlanInput,
  plan: SubscriptionPlan,
  bill: OrderDraft,
  quote: Quote,
): Omit<NewOrder, "applied_balance_amount"> {
  const { row, customer } = aggregate;
  const { product } = plan.choice ?? aggregate;
  return {
    organization_id: row.organization_id,
    billing_reason: bill.billing_reason,
    billing_name: customer.billing_name ?? customer.name,
    billing_address: customer.billing_address,
    customer_tax_id: customer.tax_id,
    description: product.name,
    customer_id: customer.id,
    product_id: product.id,
    checkout_id: null,
    subscription_id: row.id,
    period_start: bill.period_start,
    occasion: bill.occasion,
    metadata: row.metadata,
    custom_field_data: row.custom_field_data,
    begins: null,
    isDue,
    quote,
  };
}
