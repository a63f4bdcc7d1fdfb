import { ApiError, notFound } from "../../../shared/errors.ts";
import { findOrdersOfCard } from "../../billing/payments/methods-store.ts";
import { hasBillable } from "../../billing/subscriptions/store.ts";
import { claimTrial, findFormerTrial } from "../../billing/subscriptions/trials.ts";
import type { TaxedSeller } from "../../billing/tax/rules.ts";
import { type CustomerRow, normalizeEmail } from "../../customers/customers/rules.ts";
import { isInGoodStanding, type OrganizationRow, serializeOrganization } from "../../identity/organizations/rules.ts";
import { withSellerClock } from "../../platform/clock.ts";
import type { Ctx, Tx } from "../../platform/context.ts";
import { hashWithEach } from "../../platform/crypto/secrets.ts";
import type { RowKey } from "../../platform/db/rows.ts";
import { type CheckoutAggregate, getProduct } from "./rules.ts";
import { findBySecret, hasPendingSubscription, loadCheckout, lockBySecret, type WithSeller } from "./store.ts";

/** A checkout as the holder of its client secret gets it, who sells, and the context by the seller's clock. */
export type OpenedCheckout = TaxedSeller & { aggregate: CheckoutAggregate; ctx: Ctx };

/** Refuse a checkout that is not there, whose time is up, or whose seller is blocked (CHK-26). */
function admit(ctx: Ctx, found: WithSeller | undefined): WithSeller & { ctx: Ctx } {
  if (!found) throw notFound();
  const own = withSellerClock(ctx, found.seller);
  if (found.row.expires_at < own.clock.now()) throw new ApiError("ExpiredCheckoutError", "This checkout has expired.");
  if (!isInGoodStanding(found.seller)) throw new ApiError("NotPermitted", "This organization cannot sell.");
  return { ...found, ctx: own };
}

/** The checkout of a client secret. */
export async function findOfBuyer(ctx: Ctx, client_secret: string): Promise<OpenedCheckout> {
  const { row, product, ...opened } = admit(
    ctx,
    await findBySecret(ctx.db, hashWithEach(ctx.config.secrets, client_secret)),
  );
  return { ...opened, aggregate: await loadCheckout(ctx.db, row, product) };
}

/** The same while it is open, kept from changing until the transaction ends. */
export async function lockOfBuyer(tx: Tx, ctx: Ctx, client_secret: string): Promise<OpenedCheckout> {
  const { row, product, ...opened } = admit(
    ctx,
    await lockBySecret(tx, hashWithEach(ctx.config.secrets, client_secret)),
  );
  if (row.status !== "open") throw new ApiError("NotOpenCheckout", "This checkout is no longer open.");
  return { ...opened, aggregate: await loadCheckout(tx, row, product) };
}

/**
 * Refuse a second subscription of one buyer where the seller allows only one (CHK-52). A buyer is known by the customer, or
 * by the address that was typed.
 */
export async function checkSubscribed(tx: Tx, seller: OrganizationRow, aggregate: CheckoutAggregate): Promise<void> {
  const { customer_id, customer_email: email, subscription_id, organization_id } = aggregate.row;
  if (getProduct(aggregate).recurring_interval === null || subscription_id !== null) return;
  if (serializeOrganization(seller).subscription_settings.allow_multiple_subscriptions) return;
  if (customer_id === null && email === null) return;
  if (await hasBillable(tx, organization_id, { customer_id, email }))
    throw new ApiError("AlreadyActiveSubscriptionError", "You already have an active subscription.");
}

/**
 * The same once the customer is known and locked: of several that are confirmed at once, the first is being paid, or has been, when
 * the others look.
 */
export async function checkSubscribing(
  tx: Tx,
  seller: OrganizationRow,
  aggregate: CheckoutAggregate,
  customer_id: string,
) {
  const { row } = aggregate;
  if (getProduct(aggregate).recurring_interval === null || row.subscription_id !== null) return;
  if (serializeOrganization(seller).subscription_settings.allow_multiple_subscriptions) return;
  await checkSubscribed(tx, seller, { ...aggregate, row: { ...row, customer_id } });
  if (await hasPendingSubscription(tx, row, customer_id))
    throw new ApiError("AlreadyActiveSubscriptionError", "Another purchase of yours is being paid right now.");
}

/** Whether it matters which card a buyer pays with: a discount or a trial is for each of them only so often. */
export const requiresCard = (seller: OrganizationRow, { row, discount }: CheckoutAggregate): boolean =>
  Boolean(discount?.max_redemptions_per_customer) ||
  (row.trial_end !== null && serializeOrganization(seller).subscription_settings.prevent_trial_abuse);

/**
 * Refuse a second trial of one buyer where the seller says so; they may buy without it (CHK-53). One who has none yet takes it
 * here: another checkout of theirs that is confirmed at the same time waits, and is refused.
 */
export async function checkTrialled(
  tx: Tx,
  seller: OrganizationRow,
  checkout: RowKey,
  { id: customer_id, organization_id }: CustomerRow,
  { email, card, now }: { email: string; card: string | null; now: Date },
): Promise<void> {
  if (!serializeOrganization(seller).subscription_settings.prevent_trial_abuse) return;
  const email_key = normalizeEmail(email);
  const claims = [`customer:${customer_id}`, `email:${email_key}`, ...(card === null ? [] : [`card:${card}`])];
  const of_card = card === null ? [] : await findOrdersOfCard(tx, organization_id, card);
  const isFirst =
    (await claimTrial(tx, checkout, claims, now)) &&
    !(await findFormerTrial(tx, organization_id, { customer_id, email_key, of_card }));
  if (!isFirst) throw new ApiError("TrialAlreadyRedeemed", "You have had a trial before. You can buy without it.");
}
