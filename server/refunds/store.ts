import { and, eq, lte } from "drizzle-orm";
import type { Database, Tx } from "../lib/context.ts";
import { matchKey, type RowKey } from "../lib/rows.ts";
import { payments } from "../payments/tables.ts";
import { refunds } from "./tables.ts";

export type RefundRow = typeof refunds.$inferSelect;

/** Add a refund; nothing happens where the same surplus is being given back already. */
export async function insertRefund(tx: Tx, values: typeof refunds.$inferInsert): Promise<void> {
  await tx.insert(refunds).values(values).onConflictDoNothing();
}

/** The processor's own id of the charge that a refund is of. */
export async function findChargeOf(db: Database, { organization_id, payment_id }: RefundRow): Promise<string | null> {
  const [row] = await db
    .select({ processor_id: payments.processor_id })
    .from(payments)
    .where(matchKey(payments, { organization_id, id: payment_id }));
  return row?.processor_id ?? null;
}

/** Change a refund that is still to be done; false when another process was faster. */
export async function updateOpenRefund(tx: Tx, row: RefundRow, patch: Partial<RefundRow>): Promise<boolean> {
  const changed = await tx
    .update(refunds)
    .set(patch)
    .where(and(matchKey(refunds, row), eq(refunds.status, "pending")))
    .returning({ id: refunds.id });
  return changed.length > 0;
}

/** Take a refund, if it is due. It is put off first, so that no other server works on it at the same time. */
export async function takeDueRefund(db: Database, key: RowKey, now: Date, again: Date): Promise<RefundRow | undefined> {
  const [row] = await db
    .update(refunds)
    .set({ due_at: again })
    .where(and(matchKey(refunds, key), lte(refunds.due_at, now)))
    .returning();
  return row;
}
