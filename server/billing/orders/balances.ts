import { and, eq, sql } from "drizzle-orm";
import type { Database, Tx } from "../../platform/context.ts";
import { defineLoader } from "../../platform/db/loaders.ts";
import { isAmong, matchSeller, type RowKey } from "../../platform/db/rows.ts";
import type { OrderRow } from "./rules.ts";
import { customerBalances } from "./tables.ts";

type Account = Pick<OrderRow, "organization_id" | "customer_id" | "currency">;
const selectBalances = (db: Database, accounts: readonly Account[]) =>
  db
    .select()
    .from(customerBalances)
    .where(
      isAmong(
        matchSeller(accounts),
        customerBalances.customer_id,
        accounts.map(({ customer_id }) => customer_id),
      ),
    )
    .orderBy(customerBalances.customer_id, customerBalances.currency);
type Balance = Pick<typeof customerBalances.$inferSelect, "customer_id" | "currency" | "amount">;
const getAmounts = (accounts: readonly Account[], rows: readonly Balance[]): number[] =>
  accounts.map(
    ({ customer_id, currency }) =>
      rows.find((row) => row.customer_id === customer_id && row.currency === currency)?.amount ?? 0,
  );

/** The balance of a customer as it stands. */
export const findBalance = defineLoader(async (db: Database, accounts: Account[]) =>
  getAmounts(accounts, await selectBalances(db, accounts)),
);

/** The balance of an order's customer, kept from changing until the transaction ends; nothing where there never was one. */
export const lockBalance = defineLoader(async (tx: Tx, accounts: Account[]) =>
  getAmounts(accounts, await selectBalances(tx, accounts).for("no key update")),
);

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

/** The balances of a customer, by currency. */
export const listBalances = (
  db: Database,
  { organization_id, id }: RowKey,
): Promise<(typeof customerBalances.$inferSelect)[]> =>
  db
    .select()
    .from(customerBalances)
    .where(and(eq(customerBalances.organization_id, organization_id), eq(customerBalances.customer_id, id)))
    .orderBy(customerBalances.currency);
