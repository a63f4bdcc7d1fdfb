import type { z } from "zod";
import type {
  CustomerSubscription,
  CustomerSubscriptionUpdate,
  portalSubscriptions,
} from "../../shared/api/portal-subscriptions.ts";
import type { Subscription, SubscriptionUpdate } from "../../shared/api/subscriptions.ts";
import type { Service } from "../../shared/contract.ts";
import { ApiError, fault, invalid, notFound } from "../../shared/errors.ts";
import { listSubscriptions } from "../billing/subscriptions/lists.ts";
import { getChoice, isCosting } from "../billing/subscriptions/plan.ts";
import { noAgreement } from "../billing/subscriptions/preview.ts";
import type { SubscriptionAggregate } from "../billing/subscriptions/rules.ts";
import { serializeSubscription } from "../billing/subscriptions/serialize.ts";
import { subscriptionService } from "../billing/subscriptions/service.ts";
import { findCard, findSubscription } from "../billing/subscriptions/store.ts";
import { serializeCheckoutProduct } from "../catalog/products/rules.ts";
import { findProduct, findProducts } from "../catalog/products/store.ts";
import { type OrganizationRow, serializeOrganization } from "../identity/organizations/rules.ts";
import { type Ctx, requireOrganization } from "../platform/context.ts";
import { buildPage } from "../platform/db/page.ts";
import { findSellerOf, getAsker } from "./access.ts";
import { serializePortalOrganization } from "./rules.ts";

type Update = z.output<typeof SubscriptionUpdate>;

/** Subscriptions as their customer sees them. */
export async function showSubscriptions(ctx: Ctx, found: readonly Subscription[]): Promise<CustomerSubscription[]> {
  if (found.length === 0) return [];
  const organization = serializePortalOrganization(await findSellerOf(ctx));
  const goods = await findProducts(ctx.db, organization.id, [...new Set(found.map(({ product_id }) => product_id))]);
  const products = new Map(
    goods.map((product) => [product.id, serializeCheckoutProduct(product, ctx.config.media_url)]),
  );
  return found.map((subscription) => {
    const product = products.get(subscription.product_id);
    if (!product) throw new Error(`The subscription ${subscription.id} has lost its product.`);
    return { ...subscription, product: { ...product, organization }, is_polar_managed: true };
  });
}

async function showOne(ctx: Ctx, subscription: Subscription): Promise<CustomerSubscription> {
  const [shown] = await showSubscriptions(ctx, [subscription]);
  if (!shown) throw notFound();
  return shown;
}

/** One of the asker's own subscriptions. */
async function findOwn(ctx: Ctx, id: string): Promise<SubscriptionAggregate> {
  const found = await findSubscription(ctx.db, requireOrganization(ctx), id);
  if (found?.row.customer_id !== getAsker(ctx).customer_id) throw notFound();
  return found;
}

/** What a customer's change is as a seller's, where the seller lets them make it (CUP-18). Undefined: nothing is changed. */
async function admitChange(
  ctx: Ctx,
  found: SubscriptionAggregate,
  body: CustomerSubscriptionUpdate,
): Promise<Update | undefined> {
  const seller = await findSellerOf(ctx);
  const { subscription: may } = serializeOrganization(seller).customer_portal_settings;
  const { quote, maximum_amount } = body;
  const agreed = { quote, maximum_amount };
  if ("product_id" in body)
    return { ...(await admitProduct(ctx, seller, found.row.product_id, body.product_id)), ...agreed };
  if ("seats" in body) {
    if (!may.update_seats)
      throw new ApiError("UpdateSubscriptionNotAllowed", "This seller changes seats only on request.");
    return { seats: body.seats, proration_behavior: undefined, ...agreed };
  }
  if ("pause_at_period_end" in body || "resume" in body) {
    if (!may.pause) throw new ApiError("PauseResumeNotAllowed", "This seller pauses subscriptions only on request.");
    return body;
  }
  if ("pending_update" in body || "payment_method_id" in body) return body;
  const { cancel_at_period_end, cancellation_reason, cancellation_comment } = body;
  if (cancel_at_period_end === undefined) return undefined;
  if (!cancel_at_period_end && isCosting(getChoice(found), found.discount) && !(await findCard(ctx.db, ctx, found)))
    throw new ApiError("PaymentMethodRequired", "Leave a card first: there is none that could be charged.");
  return {
    cancel_at_period_end,
    customer_cancellation_reason: cancellation_reason,
    customer_cancellation_comment: cancellation_comment,
    ...agreed,
  };
}

/** Customers change to what is on sale for everybody, and as the seller has it charged. */
async function admitProduct(ctx: Ctx, seller: OrganizationRow, current: string, product_id: string) {
  const { customer_portal_settings: portal, subscription_settings } = serializeOrganization(seller);
  if (!portal.subscription.update_plan || !subscription_settings.allow_customer_updates)
    throw new ApiError("UpdateSubscriptionNotAllowed", "This seller changes plans only on request.");
  const group = portal.subscription.plan_groups.find((one) => one.includes(current));
  if (group && !group.includes(product_id))
    throw new ApiError("UpdateSubscriptionNotAllowed", "This seller offers other products for this subscription.");
  const product = await findProduct(ctx.db, seller.id, product_id);
  if (product?.visibility !== "public")
    throw invalid(fault(["product_id"], "Product does not exist.", "value_error", product_id));
  const none = { metadata: undefined, discount_id: undefined, trial_end: undefined, proration_behavior: undefined };
  return { ...none, product_id };
}

/** What customers do with their subscriptions (CUP-18, CUP-19). */
export const portalSubscriptionService: Service<typeof portalSubscriptions, Ctx> = {
  async list(ctx, { query: { query, sorting, ...filter } }) {
    const { organization_id, customer_id } = getAsker(ctx);
    // All are of one seller.
    const order = sorting.filter((key) => key !== "organization" && key !== "-organization");
    const { items, total } = await listSubscriptions(ctx.db, [organization_id], {
      ...filter,
      product_name: query,
      sorting: order.length > 0 ? order : ["-started_at"],
      customer_id: [customer_id],
    });
    const found = items.map((one) => serializeSubscription(one, ctx.config));
    return buildPage(await showSubscriptions(ctx, found), total, filter);
  },
  get: async (ctx, { params }) => showOne(ctx, serializeSubscription(await findOwn(ctx, params.id), ctx.config)),
  async update(ctx, { params, body }) {
    const found = await findOwn(ctx, params.id);
    const change = await admitChange(ctx, found, body);
    if (!change) return showOne(ctx, serializeSubscription(found, ctx.config));
    return showOne(ctx, await subscriptionService.update(ctx, { params, body: change }));
  },
  async cancel(ctx, { params }) {
    await findOwn(ctx, params.id);
    const body = { cancel_at_period_end: true, ...noAgreement };
    return showOne(ctx, await subscriptionService.update(ctx, { params, body }));
  },
  async preview(ctx, { params, body }) {
    const change = await admitChange(ctx, await findOwn(ctx, params.id), body);
    return subscriptionService.preview(ctx, { params, body: change ?? { pending_update: null, ...noAgreement } });
  },
  async forecast(ctx, { params }) {
    await findOwn(ctx, params.id);
    return subscriptionService.forecast(ctx, { params });
  },
};
