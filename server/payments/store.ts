import { and, count, eq, inArray, isNotNull, lte, ne, sql } from "drizzle-orm";
import { customers } from "../customers/tables.ts";
import type { Database, Tx } from "../lib/context.ts";
import { among, offsetOf, ofOrganizations, orderBy, type Paging } from "../lib/page.ts";
import { followKey, matchKey, type RowKey } from "../lib/rows.ts";
import type { OrderRow } from "../orders/rules.ts";
import { aggregate, ofCustomer, ofProduct } from "../orders/store.ts";
import { orders } from "../orders/tables.ts";
import { products } from "../products/tables.ts";
import type { PaymentAggregate, PaymentRow } from "./rules.ts";
import { payments, processorEvents } from "./tables.ts";

type Filter = Paging & {
  checkout_id?: string[] | undefined;
  order_id?: string[] | undefined;
  customer_id?: string[] | undefined;
  status?: string[] | undefined;
  method?: string[] | undefined;
  customer_email?: string[] | undefined;
  sorting: readonly string[];
};
const sortable = {
  created_at: payments.created_at,
  status: payments.status,
  amount: payments.amount,
  method: payments.method,
};

const ofOrder = followKey(payments.order_id, orders);
const shown = {
  payment: payments,
  order: { id: orders.id, checkout_id: orders.checkout_id, invoice_number: orders.invoice_number },
};

/** One page of payments, and how many there are. */
export async function listPayments(db: Database, organizations: readonly string[], filter: Filter) {
  const where = and(
    ofOrganizations(payments.organization_id, organizations),
    among(orders.checkout_id, filter.checkout_id),
    filter.order_id && and(among(payments.order_id, filter.order_id), isNotNull(orders.invoice_number)),
    among(payments.customer_id, filter.customer_id),
    among(payments.status, filter.status),
    among(payments.method, filter.method),
    filter.customer_email &&
      inArray(
        sql`lower(${payments.customer_email})`,
        filter.customer_email.map((email) => email.toLowerCase()),
      ),
  );
  const items: PaymentAggregate[] = await db
    .select(shown)
    .from(payments)
    .innerJoin(orders, ofOrder)
    .where(where)
    .orderBy(...orderBy(filter.sorting, sortable, payments.id))
    .limit(filter.limit)
    .offset(offsetOf(filter));
  const [row] = await db.select({ total: count() }).from(payments).innerJoin(orders, ofOrder).where(where);
  return { items, total: row?.total ?? 0 };
}

/** A payment of an organization. */
export async function findPayment(
  db: Database,
  organization_id: string,
  id: string,
): Promise<PaymentAggregate | undefined> {
  const [found] = await db
    .select(shown)
    .from(payments)
    .innerJoin(orders, ofOrder)
    .where(matchKey(payments, { organization_id, id }));
  return found;
}

/** A payment and its order with all that it is answered with; payment and order are kept until the transaction ends. */
export async function lockPayment(tx: Tx, key: RowKey) {
  const [found] = await tx
    .select({ payment: payments, ...aggregate })
    .from(payments)
    .innerJoin(orders, ofOrder)
    .innerJoin(customers, ofCustomer)
    .innerJoin(products, ofProduct)
    .where(matchKey(payments, key))
    .for("no key update", { of: [payments, orders] });
  return found;
}

/** The order that a payment is for. */
export async function findOrderOf(
  db: Database,
  { organization_id, order_id }: PaymentRow,
): Promise<OrderRow | undefined> {
  const [row] = await db
    .select()
    .from(orders)
    .where(matchKey(orders, { organization_id, id: order_id }));
  return row;
}

/** Add a payment. */
export async function insertPayment(tx: Tx, values: typeof payments.$inferInsert): Promise<PaymentRow> {
  const [row] = await tx.insert(payments).values(values).returning();
  if (!row) throw new Error("The payment was not written.");
  return row;
}

/** Change a payment that the caller has locked. */
export async function updatePayment(tx: Tx, key: RowKey, patch: Partial<PaymentRow>): Promise<PaymentRow> {
  const [row] = await tx.update(payments).set(patch).where(matchKey(payments, key)).returning();
  if (!row) throw new Error(`The payment ${key.id} is gone.`);
  return row;
}

/** Have the attempts that are under way for an order reconciled now; one that is being settled at this moment needs it not. */
export async function hastenPending(tx: Tx, order: RowKey, now: Date): Promise<void> {
  const mine = eq(payments.organization_id, order.organization_id);
  const pending = tx
    .select({ id: payments.id })
    .from(payments)
    .where(and(mine, eq(payments.order_id, order.id), eq(payments.status, "pending")))
    .for("no key update", { skipLocked: true });
  await tx
    .update(payments)
    .set({ reconcile_due_at: now })
    .where(and(mine, inArray(payments.id, pending)));
}

/** Write an event of the processor down; false when it was known. */
export async function insertProcessorEvent(tx: Tx, event: typeof processorEvents.$inferInsert): Promise<boolean> {
  const made = await tx
    .insert(processorEvents)
    .values(event)
    .onConflictDoNothing()
    .returning({ id: processorEvents.id });
  return made.length > 0;
}

/**
 * Keep the processor's own id of an attempt whose answer was lost, and have the payment reconciled at `due_at`: a failed one
 * too, which may have been given up for lost.
 */
export async function noteProcessorEvent(
  tx: Tx,
  { organization_id, payment_id: id }: { organization_id: string; payment_id: string },
  processor_id: string,
  due_at: Date | undefined,
): Promise<void> {
  await tx
    .update(payments)
    .set({
      processor_id: sql`coalesce(${payments.processor_id}, ${processor_id})`,
      ...(due_at ? { reconcile_due_at: due_at } : {}),
    })
    .where(and(matchKey(payments, { organization_id, id }), ne(payments.status, "succeeded")));
}

/**
 * Take a payment whose outcome has to be asked for, if it is due. It is put off first, so that no other server asks at the
 * same time and a processor that is down is not asked without pause.
 */
export async function takeDuePayment(
  db: Database,
  key: RowKey,
  now: Date,
  again: Date,
): Promise<PaymentRow | undefined> {
  const [row] = await db
    .update(payments)
    .set({ reconcile_due_at: again })
    .where(and(matchKey(payments, key), lte(payments.reconcile_due_at, now)))
    .returning();
  return row;
}
