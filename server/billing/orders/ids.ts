import type { Tx } from "../../platform/context.ts";
import { defineDerivedIds } from "../../platform/db/derived-ids.ts";
import { createId, deriveIdPrefix } from "../../platform/ids.ts";
import type { OrderRow } from "./rules.ts";
import { orders } from "./tables.ts";

/** `isDue`: the order falls due by the calendar, and no request makes it. */
export type PeriodOrder = Pick<OrderRow, "organization_id" | "billing_reason"> &
  Partial<Pick<OrderRow, "subscription_id" | "period_start">> & { isDue?: boolean };

const findFreeId = defineDerivedIds(orders);

/**
 * The id of a new order. One that bills a period of a subscription as it falls due is derived from the period: where a backup is restored, the
 * period is billed again as the same order, and is charged under the same key (RST-01). The caller holds the lock of the
 * subscription.
 */
export async function createOrderId(
  tx: Tx,
  { organization_id, subscription_id, period_start, billing_reason, isDue = false }: PeriodOrder,
  created_at: Date,
): Promise<string> {
  if (!subscription_id || !period_start || !isDue) return createId(created_at);
  const prefix = deriveIdPrefix(period_start, subscription_id, period_start.toISOString(), billing_reason);
  return findFreeId(tx, { organization_id, prefix });
}
