import { and, eq, sql } from "drizzle-orm";
import type { Database, Tx } from "../lib/context.ts";
import type { OrderRow } from "./rules.ts";
import { customerBalances } from "./tables.ts";

type Account = Pick<OrderRow, "organization_id" | "customer_id" | "currency">;
const balanceOf = ({ organization_id, customer_id, currency }: Account) =>
  and(
    eq(customerBalances.organization_id, organization_id),
    eq(customerBalances.customer_id, customer_id),
    eq(customerBalances.currency, currency),
  );

/** The balance of a customer as it stands. */
export async function findBalance(db: Database, account: Account): Promise<number> {
  const [row] = await db.select().from(customerBalances).where(balanceOf(account));
  return row?.amount ?? 0;
}

/** The balance of an order's customer, kept from changing until the transaction ends; nothing where there never was one. */
export async function lockBalance(tx: Tx, account: Account): Promise<number> {
  const [row] = await tx.select().from(customerBalances).where(balanceOf(account)).for("no key update");
  return row?.amount ?? 0;
}

/** Add to the balance of an order's customer, or take from it. */
export async function addToBalance(tx: Tx, order: OrderRow, change: number, now: Date): Promise<void> {
  const { organization_id, customer_id, currency } = order;
  await tx
    .insert(customerBalances)
    .values({ organization_id, customer_id, currency, amount: change, modified_at: now })
    .onConflictDoUpdate({
      target: [customerBalances.organization_id, customerBalances.customer_id, customerBalances.currency],
      set: { amount: sql`${customerBalances.amount} + ${change}::int`, modified_at: now },
    });
}
