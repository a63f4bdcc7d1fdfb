import { emitState } from "../customers/service.ts";
import { findKept } from "../discounts/store.ts";
import type { Ctx, Deps, Tx } from "../lib/context.ts";
import type { OrderAggregate } from "../orders/rules.ts";
import { findPrices, findProduct } from "../products/store.ts";
import { isBillable, type SubscriptionRow } from "./rules.ts";
import { startSubscription } from "./service.ts";
import { lockSubscription } from "./store.ts";

/** An order that begins a subscription is settled: it begins, and the order is answered with it (CHK-58, WHK-31). */
export async function beginSubscription(tx: Tx, ctx: Deps | Ctx, settling: OrderAggregate): Promise<void> {
  const { order, customer } = settling;
  const { begins, organization_id } = order;
  if (begins === null) return;
  const product = await findProduct(tx, organization_id, order.product_id);
  if (!product) throw new Error(`The order ${order.id} has lost its product.`);
  const known = new Map((await findPrices(tx, organization_id, begins.price_ids)).map((price) => [price.id, price]));
  // A trial is no sale yet, so its order carries no discount.
  const { discount: terms } = begins.quote;
  const [discount = null] = terms ? await findKept(tx, organization_id, [terms.id]) : [];
  const row = await startSubscription(tx, ctx, {
    customer,
    product,
    discount,
    prices: begins.price_ids.flatMap((id) => known.get(id) ?? []),
    quote: begins.quote,
    trial_end: begins.trial_end === null ? null : new Date(begins.trial_end),
    checkout_id: order.checkout_id,
    metadata: order.metadata,
    custom_field_data: order.custom_field_data,
    upgrades: await findUpgraded(tx, organization_id, begins.upgrades),
  });
  order.subscription_id = row.id;
  settling.subscription = row;
}

/** The free subscription that goes on as this one; none where it has ended since, or is paid for by now. */
async function findUpgraded(tx: Tx, organization_id: string, id: string | null): Promise<SubscriptionRow | null> {
  const found = id === null ? undefined : await lockSubscription(tx, organization_id, id);
  return found && isBillable(found.row.status) && found.row.amount === 0 ? found.row : null;
}

/** Who has begun a subscription is told of with what they hold now, once all else is said (WHK-31). */
export async function tellHolder(tx: Tx, ctx: Deps | Ctx, { customer, subscription }: OrderAggregate): Promise<void> {
  if (subscription) await emitState(tx, ctx, customer);
}
