import { and, asc, count, eq, inArray, isNotNull, isNull, lte, ne, sql } from "drizzle-orm";
import type { Database, Deps, Tx } from "../lib/context.ts";
import { among, offsetOf, orderBy, type Paging } from "../lib/page.ts";
import { transact } from "../lib/unit-of-work.ts";
import { processorNotices } from "../processors/tables.ts";
import type { PaymentRow } from "./rules.ts";
import { payments } from "./tables.ts";

type Filter = Paging & {
  organization_id?: string[] | undefined;
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

/** One page of payments, and how many there are. */
export async function listPayments(db: Database, organization_id: string, filter: Filter) {
  const where = and(
    eq(payments.organization_id, organization_id),
    among(payments.organization_id, filter.organization_id),
    among(payments.checkout_id, filter.checkout_id),
    among(payments.order_id, filter.order_id),
    among(payments.customer_id, filter.customer_id),
    among(payments.status, filter.status),
    among(payments.method, filter.method),
    filter.customer_email &&
      inArray(
        sql`lower(${payments.customer_email})`,
        filter.customer_email.map((email) => email.toLowerCase()),
      ),
  );
  const items = await db
    .select()
    .from(payments)
    .where(where)
    .orderBy(...orderBy(filter.sorting, sortable, payments.id))
    .limit(filter.limit)
    .offset(offsetOf(filter));
  const [row] = await db.select({ total: count() }).from(payments).where(where);
  return { items, total: row?.total ?? 0 };
}

/** A payment of an organization. */
export async function findPayment(db: Database, organization_id: string, id: string): Promise<PaymentRow | undefined> {
  const [row] = await db
    .select()
    .from(payments)
    .where(and(eq(payments.organization_id, organization_id), eq(payments.id, id)));
  return row;
}

/** A payment by its id alone, for those who got the id from the processor. */
export async function findAnyPayment(db: Database, id: string): Promise<PaymentRow | undefined> {
  const [row] = await db.select().from(payments).where(eq(payments.id, id));
  return row;
}

export async function insertPayment(tx: Tx, values: typeof payments.$inferInsert): Promise<PaymentRow> {
  const [row] = await tx.insert(payments).values(values).returning();
  if (!row) throw new Error("The payment was not written.");
  return row;
}

/** Change a payment that is still in the state it was seen in; undefined when another was faster. */
export async function movePayment(
  tx: Tx,
  row: PaymentRow,
  patch: Partial<PaymentRow>,
): Promise<PaymentRow | undefined> {
  const [moved] = await tx
    .update(payments)
    .set(patch)
    .where(and(eq(payments.id, row.id), eq(payments.status, row.status)))
    .returning();
  return moved;
}

/** Have the attempts that are still under way for a checkout looked at now. */
export async function hurryOthers(tx: Tx, checkout_id: string, now: Date): Promise<void> {
  await tx
    .update(payments)
    .set({ reconcile_due_at: now })
    .where(and(eq(payments.checkout_id, checkout_id), eq(payments.status, "pending")));
}

/**
 * Write a notice of the processor down, unless it was heard before, and have its payment looked at now. A failed one too:
 * it may have been given up for lost.
 */
export async function hearNotice(tx: Tx, notice: typeof processorNotices.$inferInsert): Promise<void> {
  const made = await tx
    .insert(processorNotices)
    .values(notice)
    .onConflictDoNothing()
    .returning({ id: processorNotices.id });
  if (made.length === 0) return;
  await tx
    .update(payments)
    .set({ reconcile_due_at: notice.created_at })
    .where(and(eq(payments.id, notice.payment_id), ne(payments.status, "succeeded")));
}

/** Keep the processor's own id of an attempt whose answer was lost. */
export async function keepProcessorId(tx: Tx, id: string, processor_id: string): Promise<void> {
  await tx
    .update(payments)
    .set({ processor_id })
    .where(and(eq(payments.id, id), isNull(payments.processor_id)));
}

/**
 * Take payments whose outcome has to be asked for. Each is put off first, so that no other server asks at the same time
 * and a processor that is down is not asked without pause.
 */
export async function takeDuePayments(deps: Deps, now: Date, again: Date, limit: number): Promise<PaymentRow[]> {
  return transact(deps, async (tx) => {
    const due = await tx
      .select({ id: payments.id })
      .from(payments)
      .where(and(isNotNull(payments.reconcile_due_at), lte(payments.reconcile_due_at, now)))
      .orderBy(asc(payments.reconcile_due_at))
      .limit(limit)
      .for("update", { skipLocked: true });
    if (due.length === 0) return [];
    const ids = due.map((row) => row.id);
    return tx.update(payments).set({ reconcile_due_at: again }).where(inArray(payments.id, ids)).returning();
  });
}
