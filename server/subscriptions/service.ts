import type { subscriptions } from "../../shared/api/subscriptions.ts";
import type { Interval } from "../../shared/calendar.ts";
import type { Service } from "../../shared/contract.ts";
import { notFound } from "../../shared/errors.ts";
import type { Quote } from "../../shared/pricing.ts";
import { emailKey } from "../customers/rules.ts";
import { type Ctx, type Deps, organizationOf, organizationsOf, type Tx } from "../lib/context.ts";
import { newId } from "../lib/ids.ts";
import { pageOf } from "../lib/page.ts";
import type { PriceRow } from "../products/rules.ts";
import { planStart, type SubscriptionAggregate, type SubscriptionRow } from "./rules.ts";
import { emitSubscription, serializeSubscription } from "./serialize.ts";
import * as store from "./store.ts";

/** What a subscription is begun with. */
export type NewSubscription = Pick<SubscriptionAggregate, "customer" | "product" | "discount"> &
  Pick<SubscriptionRow, "metadata" | "custom_field_data" | "checkout_id" | "trial_end" | "payment_method_id"> & {
    prices: PriceRow[];
    /** What a period costs, as it was quoted. */
    quote: Quote;
    /** The free one that this takes the place of: it goes on under its id (SUB-06). */
    upgrades: SubscriptionRow | null;
  };

/** What each price comes to in a quote; a graduated price has a line for each tier. */
const amountOf = ({ lines }: Quote, { id }: PriceRow): number =>
  lines.reduce((sum, line) => (line.product_price_id === id ? sum + line.amount : sum), 0);

/** Begin a subscription, or have a free one go on as this, and say so (SUB-03 to SUB-06, SUB-60). */
export async function startSubscription(tx: Tx, ctx: Deps | Ctx, wanted: NewSubscription): Promise<SubscriptionRow> {
  const { customer, product, discount, prices, quote, trial_end, upgrades, ...copied } = wanted;
  const now = ctx.clock.now();
  if (product.recurring_interval === null) throw new Error("A product that is bought once begins no subscription.");
  const period: { recurring_interval: Interval; recurring_interval_count: number } = {
    recurring_interval: product.recurring_interval,
    recurring_interval_count: product.recurring_interval_count ?? 1,
  };
  const values = {
    ...copied,
    ...period,
    ...planStart(now, trial_end, period),
    amount: quote.subtotal_amount - quote.discount_amount,
    currency: quote.currency,
    seats: quote.seats,
    customer_id: customer.id,
    product_id: product.id,
    discount_id: discount?.id ?? null,
    trial_email_key: trial_end && customer.email ? emailKey(customer.email) : null,
  };
  const paid = prices.map((price) => ({ ...price, amount: amountOf(quote, price) }));
  const priced = paid.map(({ id, amount }) => ({ product_price_id: id, amount }));
  const parts = { customer, product, discount, prices: paid, retries: [] };
  if (upgrades) {
    const metadata = { ...upgrades.metadata, ...copied.metadata };
    const { started_at: _, ...changed } = { ...values, metadata, pending_update: null };
    const row = await store.updateSubscription(tx, upgrades, { ...changed, modified_at: now });
    await store.replacePrices(tx, row, priced);
    await emitSubscription(tx, ctx, "subscription.updated", { row, ...parts });
    return row;
  }
  const own = { id: newId(now), organization_id: customer.organization_id, created_at: now };
  const row = await store.insertSubscription(tx, { ...values, ...own }, priced);
  for (const type of ["subscription.created", "subscription.active", "subscription.updated"] as const)
    await emitSubscription(tx, ctx, type, { row, ...parts });
  return row;
}

/** The subscriptions of the API. */
export const subscriptionService: Service<typeof subscriptions, Ctx> = {
  async list(ctx, { query }) {
    const { items, total } = await store.listSubscriptions(ctx.db, organizationsOf(ctx), query);
    return pageOf(
      items.map((one) => serializeSubscription(one, ctx.config)),
      total,
      query,
    );
  },
  async get(ctx, { params }) {
    const found = await store.findSubscription(ctx.db, organizationOf(ctx), params.id);
    if (!found) throw notFound();
    return serializeSubscription(found, ctx.config);
  },
};
