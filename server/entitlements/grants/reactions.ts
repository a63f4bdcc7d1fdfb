import type { Platform } from "../../../shared/api/portal-accounts.ts";
import type { OrderAggregate, OrderRow } from "../../billing/orders/rules.ts";
import type { SubscriptionRow } from "../../billing/subscriptions/rules.ts";
import type { CustomerRow } from "../../customers/customers/rules.ts";
import { type AccountOwner, findAccount } from "../../customers/linked-accounts/store.ts";
import type { Ctx, Deps, Tx } from "../../platform/context.ts";
import type { RowKey } from "../../platform/db/rows.ts";
import { runAtEnd } from "../../platform/db/unit-of-work.ts";
import { createId } from "../../platform/ids.ts";
import type { KeyRow } from "../license-keys/rules.ts";
import type { SeatRow } from "../seats/rules.ts";
import { findGrantsOn } from "./accesses.ts";
import { reconcile, regrantBenefit, suspendGrant, syncStatus, updateProperties } from "./engine.ts";
import { grantRunWorker } from "./jobs.ts";
import { describeMissingAccount } from "./kinds/external.ts";
import { getExternalProvider } from "./kinds/index.ts";
import { describeKey } from "./kinds/license-keys.ts";
import { type GrantSource, getSource } from "./rules.ts";
import { findSources, insertRuns, lockHolders } from "./store.ts";

/** Once all else is said and written: what is given and taken follows from it. */
const reconcileLater = (tx: Tx, ctx: Deps | Ctx, source: GrantSource): void =>
  runAtEnd(tx, () => reconcile(tx, ctx, source));

/** An order is paid: what was bought is there at once, and with a new period what it brings (BEN-13, ORD-18). */
export async function grantPurchase(tx: Tx, ctx: Deps | Ctx, { order }: OrderAggregate): Promise<void> {
  // The last bill before an end or a pause begins no period.
  const isLast = order.occasion === "ended" || order.occasion === "paused";
  const cycles = order.billing_reason === "subscription_cycle" && !isLast;
  // What a change brings is seen to with the subscription.
  if (order.subscription_id !== null && order.begins === null && !cycles) return;
  const paid_period = cycles ? (order.period_start ?? order.created_at) : null;
  await reconcile(tx, ctx, getSource(order), { paid_period, isSettling: true });
}

/** A subscription has begun to give something else, or nothing (SUB-43, SUB-49, SUB-52). */
export async function onSubscriptionChanged(tx: Tx, ctx: Deps | Ctx, { organization_id, id }: SubscriptionRow) {
  reconcileLater(tx, ctx, { organization_id, subscription_id: id, order_id: null });
}

/** Somebody else has a seat of what was bought by now (SEAT-10, SEAT-12). */
export async function onSeatsChanged(tx: Tx, ctx: Deps | Ctx, seat: SeatRow): Promise<void> {
  const { organization_id, subscription_id, order_id } = seat;
  if (subscription_id !== null) reconcileLater(tx, ctx, { organization_id, subscription_id, order_id: null });
  else if (order_id !== null) reconcileLater(tx, ctx, { organization_id, subscription_id, order_id });
}

/** Whether the buyer keeps what an order gave has changed: money goes back with it, or is disputed (RFD-12). */
export async function onOrderAccessChanged(tx: Tx, ctx: Deps | Ctx, order: OrderRow): Promise<void> {
  reconcileLater(tx, ctx, getSource(order));
}

/** A customer is gone, and has nothing any more (CUS-17). */
export async function revokeFromCustomer(tx: Tx, ctx: Deps | Ctx, customer: CustomerRow): Promise<void> {
  for (const source of await findSources(tx, customer)) reconcileLater(tx, ctx, source);
}

/** A seller has taken a key back, or has given it again: the grant goes with it (BEN-34). */
export async function onKeyStatusSet(tx: Tx, ctx: Deps | Ctx, key: KeyRow): Promise<void> {
  await syncStatus(tx, ctx, { organization_id: key.organization_id, id: key.grant_id }, key.status);
}

/** A key has another text: whoever looks at it hears of that by its grant (BEN-34, CUP-25). */
export async function onKeyReplaced(tx: Tx, ctx: Deps | Ctx, key: KeyRow): Promise<void> {
  await updateProperties(tx, ctx, { organization_id: key.organization_id, id: key.grant_id }, describeKey(key));
}

type Concern = { product_id: string | null; benefit_id: string | null };

async function startRuns(tx: Tx, ctx: Deps | Ctx, keys: readonly RowKey[], concern: (id: string) => Concern) {
  const now = ctx.clock.now();
  const runs = keys.map(({ organization_id, id }) => ({
    ...{ id: createId(now), organization_id, created_at: now, due_at: now },
    ...concern(id),
  }));
  await insertRuns(tx, runs);
  ctx.jobs.wake(tx, grantRunWorker.name);
}

/** Products give something else: so do those who have bought them (PRD-33). */
export const onProductsChanged = (tx: Tx, ctx: Deps | Ctx, products: readonly RowKey[]): Promise<void> =>
  startRuns(tx, ctx, products, (id) => ({ product_id: id, benefit_id: null }));

/** Benefits have changed, or are given to nobody any more (BEN-02, BEN-12). */
export const onBenefitsChanged = (tx: Tx, ctx: Deps | Ctx, benefits: readonly RowKey[]): Promise<void> =>
  startRuns(tx, ctx, benefits, (id) => ({ product_id: null, benefit_id: id }));

/**
 * Somebody has another account at a platform, or none any more: what waits for it is given, what was given to another goes along,
 * and without one it is taken (BEN-80).
 */
export async function onAccountChanged(
  tx: Tx,
  ctx: Deps | Ctx,
  { platform, ...owner }: AccountOwner & { platform: Platform },
): Promise<void> {
  await lockHolders(tx, owner.organization_id, [owner.customer_id]);
  const grants = await findGrantsOn(tx, owner, [getExternalProvider[platform].type]);
  const accounts = new Map<string | null, Awaited<ReturnType<typeof findAccount>>>();
  for (const grant of grants) {
    const { error, properties, access_id, member_id } = grant.row;
    // What a team has as such, its owner may have shown the account for, and the other way round.
    if (!accounts.has(member_id)) accounts.set(member_id, await findAccount(tx, { ...owner, member_id }, platform));
    const account = accounts.get(member_id);
    if (!account && access_id !== null) await suspendGrant(tx, ctx, grant, describeMissingAccount(platform));
    else if (account && (error !== null || properties.account_id !== account.account_number))
      await regrantBenefit(tx, ctx, grant);
  }
}
