import { and, eq, inArray, lte, ne, or, sql, sum } from "drizzle-orm";
import type { refunds as operations } from "../../../shared/api/refunds.ts";
import type { Erased } from "../../customers/customers/rules.ts";
import { matchExternalIds } from "../../customers/customers/store.ts";
import { clearIfNamed } from "../../platform/anonymize.ts";
import type { Database, Tx } from "../../platform/context.ts";
import { countMatching } from "../../platform/db/counters.ts";
import {
  computeOffset,
  type ListQuery,
  limitPage,
  matchAny,
  matchFilters,
  matchOrganizations,
  orderBy,
  readPage,
} from "../../platform/db/page.ts";
import { joinByKey, matchKey, type RowKey } from "../../platform/db/rows.ts";
import { disputes } from "../disputes/tables.ts";
import type { AmountShare } from "../orders/rules.ts";
import { orders } from "../orders/tables.ts";
import type { PaymentRow } from "../payments/rules.ts";
import { payments } from "../payments/tables.ts";
import type { RefundRow } from "./rules.ts";
import { refunds } from "./tables.ts";

type Filter = ListQuery<typeof operations.list>;
const sortable = { created_at: refunds.created_at, amount: refunds.amount };
/** The dispute that a refund prevented: there is at most one of a payment. */
const ofPrevented = and(
  eq(disputes.organization_id, refunds.organization_id),
  eq(disputes.payment_id, refunds.payment_id),
  eq(disputes.status, "prevented"),
);
const ofOrder = joinByKey(refunds.order_id, orders);

/** One page of refunds, and how many there are (RFD-14). */
export async function listRefunds(db: Database, organizations: readonly string[], filter: Filter) {
  const asked = matchFilters(filter, {
    id: matchAny(refunds.id),
    order_id: matchAny(refunds.order_id),
    subscription_id: (ids) =>
      sql`${refunds.order_id} in (select ${orders.id} from ${orders}
        where ${and(matchOrganizations(orders.organization_id, organizations), inArray(orders.subscription_id, ids))})`,
    customer_id: matchAny(refunds.customer_id),
    external_customer_id: matchExternalIds(refunds.customer_id, organizations),
    succeeded: (succeeded) => (succeeded ? eq : ne)(refunds.status, "succeeded"),
  });
  const where = and(matchOrganizations(refunds.organization_id, organizations), eq(refunds.is_announced, true), asked);
  const loadPage = () =>
    db
      .select({ refund: refunds, order: { subscription_id: orders.subscription_id }, dispute: disputes })
      .from(refunds)
      .innerJoin(orders, ofOrder)
      .leftJoin(disputes, ofPrevented)
      .where(where)
      .orderBy(...orderBy(filter.sorting, sortable, refunds.id))
      .limit(limitPage(filter, asked))
      .offset(computeOffset(filter));
  const count = () => db.$count(refunds, where);
  return readPage(loadPage, () => countMatching(db, organizations, "refunds", asked, count));
}

/** Add a refund; undefined where it is there: the same surplus, or the same one of the processor's. */
export async function insertRefund(tx: Tx, values: typeof refunds.$inferInsert): Promise<RefundRow | undefined> {
  const [row] = await tx.insert(refunds).values(values).onConflictDoNothing().returning();
  return row;
}

/** The payment that an order was paid with. */
export async function findPaymentOf(db: Database, order: RowKey): Promise<PaymentRow | undefined> {
  const [row] = await db
    .select()
    .from(payments)
    .where(
      and(
        eq(payments.organization_id, order.organization_id),
        eq(payments.order_id, order.id),
        eq(payments.status, "succeeded"),
        eq(payments.is_surplus, false),
      ),
    );
  return row;
}

/** What is under way of an order: asked for, and not known to be with the buyer. */
export async function sumPending(db: Database, order: RowKey): Promise<AmountShare> {
  const [row] = await db
    .select({
      amount: sum(refunds.amount).mapWith(Number),
      tax_amount: sum(refunds.tax_amount).mapWith(Number),
    })
    .from(refunds)
    .where(
      and(
        eq(refunds.organization_id, order.organization_id),
        eq(refunds.order_id, order.id),
        eq(refunds.status, "pending"),
        eq(refunds.is_surplus, false),
      ),
    );
  return { amount: row?.amount ?? 0, tax_amount: row?.tax_amount ?? 0 };
}

/**
 * Have the processor asked about a refund that it told of: one that was asked for here, by our id or its own, or else one that
 * was made there, of which nothing more is known yet.
 */
export async function upsertRefund(
  tx: Tx,
  refund_id: string | null,
  values: typeof refunds.$inferInsert & { processor_id: string },
): Promise<void> {
  const { organization_id, processor_id, due_at = null } = values;
  const ours = refund_id === null ? undefined : matchKey(refunds, { organization_id, id: refund_id });
  const same = and(eq(refunds.organization_id, organization_id), eq(refunds.processor_id, processor_id));
  const known = await tx.update(refunds).set({ due_at }).where(or(ours, same)).returning({ id: refunds.id });
  if (known.length === 0) await insertRefund(tx, values);
}

/** The payment that a refund is of. */
export async function findPayment(db: Database, { organization_id, payment_id }: RefundRow): Promise<PaymentRow> {
  const [row] = await db
    .select()
    .from(payments)
    .where(matchKey(payments, { organization_id, id: payment_id }));
  if (!row) throw new Error(`The payment ${payment_id} is gone.`);
  return row;
}

/** A refund, kept from changing until the transaction ends. The caller has locked its order. */
export async function lockRefund(tx: Tx, key: RowKey): Promise<RefundRow> {
  const [row] = await tx.select().from(refunds).where(matchKey(refunds, key)).for("no key update");
  if (!row) throw new Error(`The refund ${key.id} is gone.`);
  return row;
}

/** Change a refund that the caller has locked. */
export async function updateRefund(tx: Tx, key: RowKey, patch: Partial<RefundRow>): Promise<RefundRow> {
  const [row] = await tx.update(refunds).set(patch).where(matchKey(refunds, key)).returning();
  if (!row) throw new Error(`The refund ${key.id} is gone.`);
  return row;
}

/** Take a refund, if it is due. It is put off first, so that no other server works on it at the same time. */
export async function claimDueRefund(
  db: Database,
  key: RowKey,
  now: Date,
  again: Date,
): Promise<RefundRow | undefined> {
  const [row] = await db
    .update(refunds)
    .set({ due_at: again })
    .where(and(matchKey(refunds, key), lte(refunds.due_at, now)))
    .returning();
  return row;
}

/** Forget whom money went back to: what was noted about it may say anything. */
export async function erasePayee(tx: Tx, person: Erased): Promise<void> {
  await tx
    .update(refunds)
    .set({ comment: null, metadata: clearIfNamed(refunds.metadata, person) })
    .where(and(eq(refunds.organization_id, person.organization_id), eq(refunds.customer_id, person.id)));
}
