import { findLimit } from "../../catalog/discounts/store.ts";
import { findPrices, findProduct } from "../../catalog/products/store.ts";
import type { Database } from "../../platform/context.ts";
import { hasOpenWindows } from "../../usage/meters/attribution.ts";
import { isCredit, resolveEntries } from "./credits.ts";
import { getMetered, loadUsage } from "./metering.ts";
import { type PlanInput, resolvePendingChange, type SubscribedOffer } from "./plan.ts";
import type { SubscriptionAggregate } from "./rules.ts";
import { loadSold } from "./sold-lines.ts";
import * as store from "./store.ts";

/** What a subscription changes to with its next period. */
export async function findPending(db: Database, aggregate: SubscriptionAggregate): Promise<SubscribedOffer | null> {
  const { pending_update: asked, organization_id } = aggregate.row;
  if (!asked) return null;
  if (asked.product_id === null || asked.price_ids === null) return resolvePendingChange(aggregate, { prices: [] });
  const wanted = await findProduct(db, organization_id, asked.product_id);
  if (!wanted) throw new Error(`The product ${asked.product_id} is gone.`);
  const known = new Map((await findPrices(db, organization_id, asked.price_ids)).map((price) => [price.id, price]));
  return resolvePendingChange(aggregate, { wanted, prices: asked.price_ids.flatMap((id) => known.get(id) ?? []) });
}

/** Which products the discount of a subscription is good for. */
async function loadLimit(db: Database, { row, discount }: SubscriptionAggregate): Promise<Pick<PlanInput, "limit">> {
  if (discount === null) return {};
  const product_ids = await findLimit(db, { organization_id: row.organization_id, id: discount.id });
  return { limit: { discount_id: discount.id, product_ids } };
}

/**
 * All that a plan for a subscription is made from. `isChange`: something may be given back of what was sold for its period.
 * `isLocked`: what was sold is kept from changing until the transaction ends.
 */
export async function loadPlanInput(
  db: Database,
  aggregate: SubscriptionAggregate,
  { isChange = false, isLocked = false } = {},
): Promise<PlanInput> {
  const waiting = await store.findEntries(db, aggregate.row);
  const needsSold = isChange || waiting.some(isCredit);
  const sold = needsSold ? await loadSold(db, aggregate, waiting, isLocked) : [];
  const { entries, settled_entry_ids } = resolveEntries(waiting, sold);
  const ids = entries.flatMap(({ line }) => line.product_price_id ?? []);
  // Late usage of a price that is paid no more is billed, too.
  const isMetered = getMetered(aggregate.prices).length > 0 || (await hasOpenWindows(db, aggregate.row));
  const usage = isMetered ? await loadUsage(db, aggregate) : [];
  const known = new Set(aggregate.prices.map(({ id }) => id));
  const others = [...new Set(usage.flatMap(({ price_id }) => (price_id && !known.has(price_id) ? price_id : [])))];
  const usagePrices = await findPrices(db, aggregate.row.organization_id, others);
  return {
    aggregate,
    entries,
    settled_entry_ids,
    sold,
    ...(isMetered ? { usage, usagePrices } : {}),
    entryPrices: ids.length === 0 ? [] : await findPrices(db, aggregate.row.organization_id, [...new Set(ids)]),
    pending: await findPending(db, aggregate),
    ...(isChange || aggregate.row.pending_update?.product_id ? await loadLimit(db, aggregate) : {}),
  };
}
