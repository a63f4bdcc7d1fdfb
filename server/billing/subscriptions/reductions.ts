import type { Ctx, Deps, Tx } from "../../platform/context.ts";
import { reduceOrder } from "../orders/service.ts";
import { lockOrder } from "../orders/store.ts";
import { findUnderWay } from "../payments/methods.ts";
import { isCredit, resolveEntries } from "./credits.ts";
import type { SubscriptionAggregate } from "./rules.ts";
import { loadSold } from "./sold-lines.ts";
import * as store from "./store.ts";

/**
 * What was given back of orders that wait for their money reduces them (SUB-62). One that is being paid at this moment is left alone:
 * paid, it is given back with the next order, and where that fails, it is reduced then. `order_id`: of this order alone. Answers
 * those that were reduced.
 */
export async function reduceUnpaidOrders(
  tx: Tx,
  ctx: Deps | Ctx,
  aggregate: SubscriptionAggregate,
  order_id?: string,
): Promise<{ id: string; isPaid: boolean }[]> {
  const { row } = aggregate;
  const waiting = await store.findEntries(tx, row);
  if (!waiting.some(isCredit)) return [];
  const { unpaid } = resolveEntries(waiting, await loadSold(tx, aggregate, waiting, false));
  const byOrder = Map.groupBy(unpaid, ({ line }) => line.reverses?.order_id ?? "");
  const reduced: { id: string; isPaid: boolean }[] = [];
  for (const [id, entries] of byOrder) {
    if (order_id !== undefined && id !== order_id) continue;
    const whole = await lockOrder(tx, row.organization_id, id);
    if (whole?.order.status !== "pending" || (await findUnderWay(tx, whole.order))) continue;
    const { document, isPaid } = await reduceOrder(
      tx,
      ctx,
      whole,
      entries.map(({ line }) => line),
    );
    await store.billEntries(
      tx,
      document,
      entries.map((entry) => entry.id),
    );
    reduced.push({ id, isPaid });
  }
  return reduced;
}
