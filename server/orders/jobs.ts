import { sql } from "drizzle-orm";
import type { Deps } from "../lib/context.ts";
import type { Sweep } from "../lib/sweeps.ts";
import { transact } from "../lib/unit-of-work.ts";
import { isPayable } from "./rules.ts";
import { free_settlement, settleOrder } from "./service.ts";
import { lockOrder, updateOrder } from "./store.ts";
import { orders } from "./tables.ts";

/** Finish an order for which nothing is to be paid. */
export const settleFreeOrder = (
  deps: Deps,
  { organization_id, order_id }: { organization_id: string; order_id: string },
) =>
  transact(deps, async (tx) => {
    const found = await lockOrder(tx, organization_id, order_id);
    if (!found || found.order.settle_due_at === null) return;
    if (isPayable(found.order.status)) await settleOrder(tx, deps, found);
    else await updateOrder(tx, found.order, { settle_due_at: null });
  });

/** Orders for which nothing is to be paid are settled by themselves (CHK-51). */
export const freeSettlement: Sweep = {
  name: free_settlement,
  every_ms: 1000,
  due: {
    table: orders,
    id: orders.id,
    organization_id: orders.organization_id,
    at: orders.settle_due_at,
    where: sql`${orders.settle_due_at} is not null`,
  },
  parallel: 4,
  share: 2,
  work: (deps, [{ organization_id, id }]) => settleFreeOrder(deps, { organization_id, order_id: id }),
};
