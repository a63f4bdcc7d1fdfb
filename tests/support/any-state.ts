import { eq, sql } from "drizzle-orm";
import { orders } from "../../server/billing/orders/tables.ts";
import type { Database, Tx } from "../../server/platform/db/transaction.ts";

/** Write rows in a state that no transition leads to, as a restore does. */
export const writeAnyState = (db: Database, write: (tx: Tx) => Promise<unknown>): Promise<void> =>
  db.transaction(async (tx) => {
    await tx.execute(sql`select set_config('floe.restoring', 'on', true)`);
    await write(tx as Tx);
  });

/** Have a sold order be void. */
export const voidOrder = (db: Database, id: string): Promise<void> =>
  writeAnyState(db, (tx) => tx.update(orders).set({ status: "void" }).where(eq(orders.id, id)));
