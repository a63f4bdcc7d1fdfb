import { and, eq, inArray, isNull } from "drizzle-orm";
import { checkouts } from "./checkouts/tables.ts";
import { emitCustomer } from "./customers/service.ts";
import { findCustomer, updateCustomer } from "./customers/store.ts";
import { customers } from "./customers/tables.ts";
import type { Deps, Tx } from "./lib/context.ts";

/**
 * Move what a user bought, and is buying, to another user: customers and checkouts name theirs by `external_id`. Where
 * the other is a customer of the same seller already, both customers stay as they are in that seller's books; what is
 * still being bought goes to the other's.
 */
export async function movePurchases(tx: Tx, deps: Deps, from: string, to: string): Promise<void> {
  // Checkouts first, as finishing one does: whoever is finishing one is waited for, and their customer seen.
  await tx
    .update(checkouts)
    .set({ external_customer_id: to, modified_at: deps.clock.now() })
    .where(and(eq(checkouts.external_customer_id, from), inArray(checkouts.status, ["open", "confirmed"])));
  const theirs = await tx
    .select()
    .from(customers)
    .where(and(eq(customers.external_id, from), isNull(customers.deleted_at)))
    .for("update");
  for (const row of theirs) {
    if (await findCustomer(tx, row.organization_id, { external_id: to })) continue;
    const moved = await updateCustomer(tx, row, { external_id: to, modified_at: deps.clock.now() });
    await emitCustomer(tx, deps, "customer.updated", moved);
  }
}
