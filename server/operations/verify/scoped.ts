/** The rules of the books over some customers of an organization, in few statements, while it sells. */
import { type SQL, sql } from "drizzle-orm";
import { findLedgerFaults, loadLedger } from "../../billing/ledger.ts";
import { computeTotals } from "../../billing/orders/rules.ts";
import type { Database } from "../../platform/context.ts";
import { writeArray } from "../../platform/db/arrays.ts";
import { readAtOnce, readRows } from "../../platform/db/database-reading.ts";
import { moneyRules } from "./money.ts";
import { compareFigures } from "./recompute.ts";
import type { Breach } from "./rules.ts";

/** Rules that need rows of all customers. `floe verify` checks them. */
const wholeRules = new Set(["invoice_numbers", "redemptions", "redemption_limit"]);
const scopedRules = moneyRules.filter(({ rule }) => !wholeRules.has(rule));
/** So many rows are named that break one rule. */
const namedMax = 20;
/** A customer with more orders is left to `floe verify`: the rows would take too long. */
export const customerOrdersMax = 1000;
/** So many orders are checked at once. */
const ordersMax = 5000;

/**
 * Build tables that have only the rows of some customers, under the names of the tables. A rule that stands after them reads
 * these, so its text is the same for all rows and for some.
 */
function buildScope(of: string, customers: readonly string[]): SQL {
  const ids = sql`any(${writeArray(customers, "uuid")})`;
  const ofOrders = sql`organization_id = ${of} and order_id in (select id from orders)`;
  const ofCustomers = sql`organization_id = ${of} and customer_id = ${ids}`;
  return sql`orders as (select * from orders where ${ofCustomers}),
    order_items as (select * from order_items where ${ofOrders}),
    payments as (select * from payments where ${ofOrders}),
    refunds as (select * from refunds where ${ofOrders}),
    disputes as (select * from disputes where ${ofOrders}),
    invoices as (select * from invoices where ${ofOrders}),
    customer_balances as (select * from customer_balances where ${ofCustomers}),
    receipt_counters as (select * from receipt_counters where ${ofCustomers}),
    subscriptions as (select * from subscriptions where ${ofCustomers})`;
}

/** Of some customers, the first whose orders fit in one check, and those that have too many orders for one. */
async function chooseCustomers(db: Database, of: string, customers: readonly string[]) {
  const counted = readRows<{ id: string; count: number }>(
    await db.execute(sql`select c.id::text as id, (select count(*) from (select from orders o where o.organization_id = ${of}
        and o.customer_id = c.id limit ${customerOrdersMax + 1}) as counted)::int as count
      from unnest(${writeArray(customers, "uuid")}) as c(id)`),
  );
  const chosen: string[] = [];
  let orders = 0;
  for (const { id, count } of counted) {
    if (count > customerOrdersMax) continue;
    orders += count;
    if (orders > ordersMax && chosen.length > 0) break;
    chosen.push(id);
  }
  const large = counted.filter(({ count }) => count > customerOrdersMax).map(({ id }) => id);
  return { chosen, large };
}

/** What breaks a money rule among the rows of some customers. */
export async function findCustomerBreaches(db: Database, of: string, customers: readonly string[]): Promise<Breach[]> {
  const parts = scopedRules.map(
    ({ rule, table, select }) =>
      sql`(select ${rule}::text as rule, ${table}::text as "table", found.* from (${select(of)}) as found limit ${namedMax})`,
  );
  const statement = sql`with ${buildScope(of, customers)} ${sql.join(parts, sql` union all `)}`;
  const breaches = readRows<Breach>(await db.execute(statement));
  const ledger = await loadLedger(db, of, customers);
  const derived = ledger.orders.flatMap((order) =>
    compareFigures({ ...order, ...computeTotals(order) }).map(({ figure, stored, computed }) => ({
      rule: "order_derivation",
      table: "orders",
      row: order.id,
      expected: `${figure} ${computed}`,
      found: stored,
    })),
  );
  return [...breaches, ...findLedgerFaults(ledger), ...derived];
}

/** What was found of some customers, as all rows stood at one moment, and which customers were left out. */
export type ScopedResult = { breaches: Breach[]; left_out: string[] };

/** Check the money rules over the rows of some customers. Nothing is written. */
export async function verifyCustomers(
  db: Database,
  organization_id: string,
  customers: readonly string[],
  statementMs: number,
): Promise<ScopedResult> {
  const breaches: Breach[] = [];
  const left_out: string[] = [];
  for (let left = [...customers]; left.length > 0; ) {
    const { chosen, large } = await readAtOnce(db, statementMs, async (tx) => {
      const step = await chooseCustomers(tx, organization_id, left);
      if (step.chosen.length > 0) breaches.push(...(await findCustomerBreaches(tx, organization_id, step.chosen)));
      return step;
    });
    left_out.push(...large);
    const done = new Set([...chosen, ...large]);
    left = left.filter((id) => !done.has(id));
  }
  return { breaches, left_out };
}
