import { eq } from "drizzle-orm";
import type { Tx } from "../platform/context.ts";
import { orders } from "./orders/tables.ts";
import { payments } from "./payments/tables.ts";

/** Whether an organization keeps books: an order, or an attempt to take money, which may still succeed. */
export async function hasFinancialRecords(tx: Tx, organization_id: string): Promise<boolean> {
  for (const table of [orders, payments]) {
    const [row] = await tx
      .select({ id: table.id })
      .from(table)
      .where(eq(table.organization_id, organization_id))
      .limit(1);
    if (row) return true;
  }
  return false;
}
