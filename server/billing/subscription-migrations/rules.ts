import type { SubscriptionMigrationItem } from "../../../shared/api/subscription-migrations.ts";
import { addInterval } from "../../../shared/calendar.ts";
import type { PricedProduct, PriceRow } from "../../catalog/products/rules.ts";
import { computePlanAmount, isCosting, limitSeats, payPrices, type SubscribedOffer } from "../subscriptions/plan.ts";
import { type DiscountLimit, isBillable, isDiscountEnded, type SubscriptionAggregate } from "../subscriptions/rules.ts";
import type { PendingUpdate } from "../subscriptions/tables.ts";
import type { ItemRow } from "./tables.ts";

type Reason = NonNullable<SubscriptionMigrationItem["reason"]>;
/** What subscribers move to. */
export type MigrationTarget = { product: PricedProduct; prices: readonly PriceRow[] };
/** What a subscription would move to, and for how much; or why it stays as it is. */
export type MigrationOffer = { reason: Reason } | { reason: null; offer: SubscribedOffer; new_amount: number };

const dayMs = 24 * 60 * 60 * 1000;
/** So many periods are looked ahead for the renewal of a change. */
const periodsMax = 400;

const listIds = (prices: readonly { id: string }[]): string =>
  prices
    .map(({ id }) => id)
    .sort()
    .join();

/** Whether a subscription has the prices of the target already. */
export const isAtTarget = ({ row, prices }: SubscriptionAggregate, target: MigrationTarget): boolean =>
  row.product_id === target.product.id &&
  listIds(prices) === listIds(target.prices.filter(({ price_currency }) => price_currency === row.currency));

/** Why a subscription is left alone whatever it would cost; null where it is not (SUB-68). */
export function findObstacle({ row, customer }: SubscriptionAggregate, product_id: string): Reason | null {
  if (row.ended_at !== null || row.cancel_at_period_end) return "canceled";
  if (row.billing_held_at !== null) return "other_migration";
  if (!isBillable(row.status)) return "paused";
  if (row.product_id !== product_id || row.pending_update !== null) return "changed";
  if (row.pause_at_period_end) return "paused";
  const canBeTold = customer.email !== null && customer.anonymized_at === null && customer.deleted_at === null;
  return canBeTold ? null : "no_email";
}

/** What a subscription would move to. Only the prices in its own currency count (SUB-68). */
export function findMigrationOffer(
  aggregate: SubscriptionAggregate,
  { product, prices }: MigrationTarget,
  { hasCard, limit }: { hasCard: boolean; limit?: DiscountLimit | undefined },
): MigrationOffer {
  const { row, discount } = aggregate;
  const own = prices.filter(({ price_currency }) => price_currency === row.currency);
  if (own.length === 0) return { reason: "currency" };
  const seats = limitSeats(own, row.seats);
  if (seats !== row.seats) return { reason: "seats" };
  const offer = { product, prices: payPrices(own, { product, seats }), seats };
  const kept = isDiscountEnded({ aggregate, limit }, { product }) ? null : discount;
  if (!hasCard && isCosting(offer, kept)) return { reason: "no_card" };
  return { reason: null, offer, new_amount: computePlanAmount(offer, kept, row.currency) };
}

/** The first moment at which a customer who is told now may be charged the new price. */
export const computeNotBefore = (now: Date, notify_days: number): Date => new Date(now.getTime() + notify_days * dayMs);

/** The first renewal at or after a moment. */
export function findRenewal({ row }: Pick<SubscriptionAggregate, "row">, not_before: Date): Date {
  const { recurring_interval, recurring_interval_count, anchor_day } = row;
  let at = row.current_period_end;
  for (let left = periodsMax; left > 0 && at < not_before; left -= 1)
    at = addInterval(at, recurring_interval, recurring_interval_count, anchor_day);
  return at;
}

/** Whether the subscription still has what it had when it was found. */
export const isUnchanged = ({ row, prices }: SubscriptionAggregate, item: ItemRow, from_product_id: string): boolean =>
  row.product_id === from_product_id && listIds(prices) === [...item.from_price_ids].sort().join();

/** Whether a scheduled change is still the one that an item wrote. */
export const isOwnPending = (
  pending: PendingUpdate | null,
  { pending_id }: Pick<ItemRow, "pending_id">,
  { product, prices }: MigrationTarget,
): pending is PendingUpdate =>
  pending !== null &&
  pending.id === pending_id &&
  pending.product_id === product.id &&
  (pending.price_ids ?? []).every((id) => prices.some((price) => price.id === id));
