/**
 * Subscriptions that came from another product, which bills them until they are switched (MOV-10). They have the state and the
 * period that they have there, and are never due here. Nothing is emitted or mailed for them, and they give nothing.
 */
import { and, eq, sql } from "drizzle-orm";
import type { Ctx, Deps, Tx } from "../../platform/context.ts";
import { addRows, isAmong, type RowKey, updateRows } from "../../platform/db/rows.ts";
import { sendSignal } from "../../platform/events/signals.ts";
import { orders } from "../orders/tables.ts";
import { findDueTime, findReminderTime, type SubscriptionAggregate, type SubscriptionRow } from "./rules.ts";
import { emitSubscription, scheduleStateEvent, subscriptionEntitlementsChanged } from "./serialize.ts";
import { updateSubscription } from "./store.ts";
import { subscriptionPrices, subscriptions } from "./tables.ts";

export type HeldSubscription = typeof subscriptions.$inferInsert & { billing_held_at: Date };

/** Add held subscriptions, each at one price. */
export async function insertHeld(
  tx: Tx,
  all: readonly { values: HeldSubscription; price: { id: string; amount: number } }[],
): Promise<void> {
  await addRows(
    tx,
    subscriptions,
    all.map(({ values }) => values),
  );
  await addRows(
    tx,
    subscriptionPrices,
    all.map(({ values, price }) => ({
      organization_id: values.organization_id,
      subscription_id: values.id,
      product_price_id: price.id,
      amount: price.amount,
      order: 0,
    })),
  );
}

type HeldPatch = Pick<
  SubscriptionRow,
  | "status"
  | "current_period_start"
  | "current_period_end"
  | "anchor_day"
  | "trial_end"
  | "cancel_at_period_end"
  | "canceled_at"
  | "ends_at"
>;

/** Change held subscriptions to what the product that bills them says now. */
export const updateHeld = (tx: Tx, changes: { key: RowKey; patch: HeldPatch }[]): Promise<unknown> =>
  updateRows(tx, subscriptions, changes, false);

/**
 * Bill a subscription here from its next renewal on, and emit it as one that has begun, once: one that was held again had been emitted
 * before. The caller has locked it.
 */
export async function releaseSubscription(tx: Tx, ctx: Ctx, aggregate: SubscriptionAggregate): Promise<void> {
  const now = ctx.clock.now();
  const released = { ...aggregate.row, billing_held_at: null };
  const row = await updateSubscription(tx, aggregate.row, {
    billing_held_at: null,
    due_at: findDueTime(released, aggregate.retries),
    reminder_due_at: findReminderTime(released, now),
    modified_at: now,
  });
  const begun = ["subscription.created", "subscription.active", "subscription.updated"] as const;
  const isFirst = aggregate.row.modified_at === null;
  await emitSubscription(tx, ctx, isFirst ? begun : ["subscription.updated"], { ...aggregate, row });
  await sendSignal(tx, ctx, subscriptionEntitlementsChanged, row);
  scheduleStateEvent(tx, ctx, aggregate);
}

/** Hold a subscription again that was switched and not charged yet: it gives nothing, and nothing of it is due. */
export async function suspendReleased(tx: Tx, ctx: Ctx | Deps, aggregate: SubscriptionAggregate): Promise<void> {
  const now = ctx.clock.now();
  const row = await updateSubscription(tx, aggregate.row, {
    billing_held_at: now,
    due_at: null,
    reminder_due_at: null,
    card_due_at: null,
    modified_at: now,
  });
  await emitSubscription(tx, ctx, ["subscription.updated"], { ...aggregate, row });
  await sendSignal(tx, ctx, subscriptionEntitlementsChanged, row);
  scheduleStateEvent(tx, ctx, aggregate);
}

/** Whether floe has made an order of a subscription: it may be charged, so it stays. */
export const hasOrders = async (tx: Tx, { organization_id, id }: RowKey): Promise<boolean> =>
  (await tx.$count(orders, and(eq(orders.organization_id, organization_id), eq(orders.subscription_id, id)))) > 0;

/** Delete held subscriptions. The database refuses one that something else refers to. */
export async function deleteHeld(tx: Tx, organization_id: string, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await tx
    .delete(subscriptions)
    .where(and(isAmong(organization_id, subscriptions.id, ids), sql`${subscriptions.billing_held_at} is not null`));
}
