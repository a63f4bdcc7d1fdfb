import type { Tx } from "../../platform/context.ts";
import { defineDerivedIds } from "../../platform/db/derived-ids.ts";
import { deriveIdPrefix, getTimeOfId } from "../../platform/ids.ts";
import type { OrderRow } from "../orders/rules.ts";
import { payments } from "./tables.ts";

const findFreeId = defineDerivedIds(payments);

/**
 * The id of the next attempt to pay an order, which is the processor's idempotency key. It is derived from the checkout or the
 * order, and from the number of the attempt: where a backup is restored, the same attempt asks with the same key (RST-01). The
 * caller holds the lock of the order.
 */
export function createPaymentId(
  tx: Tx,
  { organization_id, checkout_id, id }: Pick<OrderRow, "organization_id" | "checkout_id" | "id">,
): Promise<string> {
  const source = checkout_id ?? id;
  return findFreeId(tx, { organization_id, prefix: deriveIdPrefix(new Date(getTimeOfId(source)), "payment", source) });
}
