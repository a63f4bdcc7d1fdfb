import { ApiError, fault, invalid } from "../../../shared/errors.ts";
import { normalizeEmail } from "../../customers/customers/rules.ts";
import type { Ctx, Tx } from "../../platform/context.ts";
import type { RowKey } from "../../platform/db/rows.ts";
import { createId } from "../../platform/ids.ts";
import type { LimitedDiscount } from "./rules.ts";
import { isLimited, isRedeemable } from "./rules.ts";
import { countTaken, deleteRedemption, insertRedemption, lockDiscount } from "./store.ts";

/** Who takes it. `card`: what tells the card that they pay with from others, where anybody knows. */
type Taker = { customer_id: string; email: string; card: string | null } & (
  | { checkout_id: string; order_id: string }
  | { subscription_id: string }
);

const buildRedeemFault = (id: string) =>
  invalid(fault(["discount_id"], "Discount is no longer redeemable.", "value_error", id));

/** Refuse a discount that nobody can take now (DSC-09). */
export function checkRedeemable(found: LimitedDiscount, now: Date): void {
  if (!isRedeemable(found, now)) throw buildRedeemFault(found.id);
}

/**
 * Take a discount for a checkout that is confirmed, or for a subscription that is given it, or refuse (DSC-11, DSC-12, DSC-15). One with a limit is locked first and
 * looked at again: of many who want the last one, one gets it. One without a limit is taken without a lock.
 */
export async function redeemDiscount(tx: Tx, ctx: Ctx, found: LimitedDiscount, taker: Taker): Promise<void> {
  const now = ctx.clock.now();
  const limited = isLimited(found);
  const row = limited ? await lockDiscount(tx, found.organization_id, found.id) : found;
  if (!row || !isRedeemable(row, now)) throw buildRedeemFault(found.id);
  const { email, ...ids } = taker;
  const email_key = normalizeEmail(email);
  if (row.max_redemptions_per_customer !== null) {
    const taken = await countTaken(tx, row, { ...ids, email_key });
    if (taken >= row.max_redemptions_per_customer)
      throw new ApiError("DiscountRedemptionLimitReached", "You have used this discount as often as you can.");
  }
  const { organization_id, id: discount_id } = row;
  const values = { ...ids, organization_id, discount_id, email_key, id: createId(now), created_at: now };
  await insertRedemption(tx, { ...values, is_counted: limited });
}

/** Give back the discount that a checkout took, because nothing came of it (DSC-13). */
export const releaseDiscount = (tx: Tx, { organization_id, id }: RowKey): Promise<void> =>
  deleteRedemption(tx, organization_id, { checkout_id: id });

/** Give back the discount that a subscription was to be given, because the change was not made. */
export const releaseFromSubscription = (tx: Tx, { organization_id, id }: RowKey, discount_id: string): Promise<void> =>
  deleteRedemption(tx, organization_id, { subscription_id: id, discount_id });
