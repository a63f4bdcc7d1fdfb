import { and, eq, isNotNull } from "drizzle-orm";
import { addUp, allocate } from "../../shared/money.ts";
import type { TaxLine } from "../../shared/pricing.ts";
import type { Database } from "../platform/context.ts";
import { isAmong } from "../platform/db/rows.ts";
import type { DisputeRow } from "./disputes/rules.ts";
import { disputes } from "./disputes/tables.ts";
import { type CreditedLines, loadCredited } from "./orders/credits.ts";
import { isPaid, type OrderRow } from "./orders/rules.ts";
import { customerBalances, orders } from "./orders/tables.ts";
import type { PaymentRow } from "./payments/rules.ts";
import { payments } from "./payments/tables.ts";
import type { RefundRow } from "./refunds/rules.ts";
import { refunds } from "./refunds/tables.ts";

/** All rows that the two laws about a seller's money are computed from. */
export type LedgerRows = {
  orders: readonly OrderRow[];
  credited: ReadonlyMap<string, CreditedLines>;
  payments: readonly PaymentRow[];
  refunds: readonly RefundRow[];
  disputes: readonly DisputeRow[];
  balances: readonly Pick<typeof customerBalances.$inferSelect, "customer_id" | "currency" | "amount">[];
};

/** A row that breaks a law, with both numbers. */
export type LedgerFault = { rule: string; table: string; row: string; expected: string; found: string };

/** The rows of a seller's ledger, or those of some customers, without money that no order waited for. */
export async function loadLedger(
  db: Database,
  organization_id: string,
  customer_ids?: readonly string[],
): Promise<LedgerRows> {
  const isTheirs = (table: typeof orders | typeof payments | typeof refunds | typeof customerBalances) =>
    customer_ids ? isAmong(organization_id, table.customer_id, customer_ids) : undefined;
  const sold = await db
    .select()
    .from(orders)
    .where(and(eq(orders.organization_id, organization_id), isNotNull(orders.invoice_number), isTheirs(orders)));
  const match = (table: typeof payments | typeof refunds | typeof disputes) =>
    and(eq(table.organization_id, organization_id), eq(table.is_surplus, false));
  const disputed = customer_ids
    ? isAmong(
        organization_id,
        disputes.order_id,
        sold.map(({ id }) => id),
      )
    : undefined;
  return {
    orders: sold,
    credited: sold.length === 0 ? new Map() : await loadCredited(db, organization_id, sold),
    payments: await db
      .select()
      .from(payments)
      .where(and(match(payments), isTheirs(payments))),
    refunds: await db
      .select()
      .from(refunds)
      .where(and(match(refunds), isTheirs(refunds))),
    disputes: await db
      .select()
      .from(disputes)
      .where(and(match(disputes), disputed)),
    balances: await db
      .select()
      .from(customerBalances)
      .where(and(eq(customerBalances.organization_id, organization_id), isTheirs(customerBalances))),
  };
}

/** What went back of each order by refunds and lost disputes; of one payment never more than it brought. */
function sumReturned(rows: LedgerRows): Map<string, { amount: number; tax_amount: number }> {
  const byOrder = new Map<string, { amount: number; tax_amount: number }>();
  const count = (order_id: string, amount: number, tax_amount: number) => {
    const had = byOrder.get(order_id) ?? { amount: 0, tax_amount: 0 };
    byOrder.set(order_id, { amount: had.amount + amount, tax_amount: had.tax_amount + tax_amount });
  };
  for (const one of rows.refunds)
    if (one.status === "succeeded") count(one.order_id, one.amount + one.tax_amount, one.tax_amount);
  const taken = Map.groupBy(rows.payments, ({ order_id }) => order_id);
  const orderOf = new Map(rows.orders.map((order) => [order.id, order]));
  for (const one of rows.disputes) {
    if (one.status !== "lost") continue;
    const had = byOrder.get(one.order_id) ?? { amount: 0, tax_amount: 0 };
    const paid = addUp(
      (taken.get(one.order_id) ?? []).map(({ status, amount }) => (status === "succeeded" ? amount : 0)),
    );
    const amount = Math.min(one.amount + one.tax_amount, Math.max(0, paid - had.amount));
    const tax = Math.max(0, (orderOf.get(one.order_id)?.tax_amount ?? 0) - had.tax_amount);
    count(one.order_id, amount, Math.min(one.tax_amount, tax));
  }
  return byOrder;
}

const nothing = { amount: 0, tax_amount: 0 };

/**
 * The first law: for each customer and currency, the credit that is unspent, what was refunded and what was lost to disputes are
 * together at most what was paid. And of each order no more was given back, in whatever way, than it was worth; of one that is
 * not paid, nothing.
 */
function findCreditFaults(rows: LedgerRows): LedgerFault[] {
  const returned = sumReturned(rows);
  const sums = new Map<string, number>();
  const add = (customer_id: string, currency: string, amount: number) => {
    const key = `${customer_id} ${currency}`;
    sums.set(key, (sums.get(key) ?? 0) + amount);
  };
  for (const { customer_id, currency, amount } of rows.balances) add(customer_id, currency, 0 - amount);
  for (const { status, customer_id, currency, amount } of rows.payments)
    if (status === "succeeded") add(customer_id, currency, amount);
  const faults = rows.orders.flatMap((order): LedgerFault[] => {
    const back = returned.get(order.id) ?? nothing;
    add(order.customer_id, order.currency, 0 - back.amount);
    const credited = rows.credited.get(order.id);
    const given = (credited?.amount ?? 0) - order.recalled_amount;
    if (given <= 0) return [];
    // Of what is not paid no more is given back than what is asked for of it is less.
    const worth = isPaid(order.status) ? (credited?.worth.amount ?? 0) : (credited?.reduced.amount ?? 0);
    return given + back.amount <= worth
      ? []
      : [
          {
            rule: "order_credit",
            table: "orders",
            row: order.id,
            expected: `at most ${worth}`,
            found: `${given} as credit and ${back.amount} otherwise`,
          },
        ];
  });
  for (const [who, left] of sums)
    if (left < 0)
      faults.push({
        rule: "credit",
        table: "customers",
        row: who,
        expected: "credit, refunds and lost disputes of at most the payments",
        found: `${0 - left} more`,
      });
  return faults;
}

const getKey = (order: OrderRow, { country, state, rate }: TaxLine): string =>
  [order.customer_id, order.currency, country, state ?? "", rate].join(" ");

/** The second law: for each customer, currency, place and rate, no more tax was returned than was charged. */
function findTaxFaults(rows: LedgerRows): LedgerFault[] {
  const returned = sumReturned(rows);
  const sums = new Map<string, number>();
  for (const order of rows.orders) {
    if (!isPaid(order.status)) continue;
    const { tax_lines } = order.derivation;
    const back = (returned.get(order.id) ?? nothing).tax_amount - order.recalled_tax_amount;
    const weights = tax_lines.map(({ amount }) => Math.max(0, amount));
    const shares = addUp(weights) === 0 ? weights : allocate(back, weights);
    for (const [index, line] of tax_lines.entries()) {
      const key = getKey(order, line);
      sums.set(key, (sums.get(key) ?? 0) + line.amount - (shares[index] ?? 0));
    }
  }
  return [...sums].flatMap(([key, left]) =>
    left < 0
      ? [{ rule: "tax", table: "customers", row: key, expected: "at most the tax charged", found: `${0 - left} more` }]
      : [],
  );
}

/** Where a ledger breaks one of its two laws. */
export const findLedgerFaults = (rows: LedgerRows): LedgerFault[] => [
  ...findCreditFaults(rows),
  ...findTaxFaults(rows),
];
