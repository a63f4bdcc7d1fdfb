/** Saved payment methods: the cards of customers, and the orders that were paid with them. */
import { and, desc, eq, exists, gte, isNotNull, isNull, not, or, sql } from "drizzle-orm";
import { union } from "drizzle-orm/pg-core";
import type { Database, Tx } from "../../platform/context.ts";
import { listRows, type Paging } from "../../platform/db/page.ts";
import type { RowKey } from "../../platform/db/rows.ts";
import type { PaymentMethodRow } from "./rules.ts";
import { paymentMethods, paymentSetups, payments } from "./tables.ts";

/** Add a card, or take the newer names of one that its owner left before. */
export async function insertMethod(tx: Tx, values: typeof paymentMethods.$inferInsert): Promise<PaymentMethodRow> {
  const { organization_id, customer_id, account, fingerprint } = paymentMethods;
  const newer = {
    processor_id: values.processor_id,
    customer_processor_id: values.customer_processor_id,
    card: values.card,
    modified_at: values.created_at,
    // Of the same card on which the same stands, its owner is told once.
    expiry_due_at: sql`case when ${paymentMethods.card} @> jsonb_build_object('exp_year', excluded.card -> 'exp_year',
      'exp_month', excluded.card -> 'exp_month') then ${paymentMethods.expiry_due_at} else excluded.expiry_due_at end`,
  };
  const [row] = await tx
    .insert(paymentMethods)
    .values(values)
    .onConflictDoUpdate({
      target: [organization_id, customer_id, account, fingerprint],
      targetWhere: isNull(paymentMethods.deleted_at),
      set: newer,
    })
    .returning();
  if (!row) throw new Error("The card was not written.");
  return row;
}

/** One page of a customer's cards, the newest first, and how many there are. */
export async function listMethods(db: Database, { organization_id, id }: RowKey, paging: Paging) {
  const where = and(
    eq(paymentMethods.organization_id, organization_id),
    eq(paymentMethods.customer_id, id),
    isNull(paymentMethods.deleted_at),
  );
  const order = [desc(paymentMethods.created_at), desc(paymentMethods.id)];
  return listRows(db, paymentMethods, { where, order, paging });
}

/** Take the cards of a customer away: they are not charged any more. The rows stay, because payments name them. */
export async function deleteMethods(tx: Tx, { organization_id, id }: RowKey, deleted_at: Date): Promise<void> {
  await tx
    .update(paymentMethods)
    .set({ deleted_at, modified_at: deleted_at })
    .where(
      and(
        eq(paymentMethods.organization_id, organization_id),
        eq(paymentMethods.customer_id, id),
        isNull(paymentMethods.deleted_at),
      ),
    );
}

/** The card by which an order was paid, or started where nothing was due: later charges are made to it. */
export async function findMethodOfOrder(db: Database, order: RowKey): Promise<PaymentMethodRow | undefined> {
  const matchUse = ({ organization_id, order_id, status, payment_method_id }: typeof payments | typeof paymentSetups) =>
    and(
      eq(organization_id, order.organization_id),
      eq(order_id, order.id),
      eq(status, "succeeded"),
      eq(payment_method_id, paymentMethods.id),
    );
  const paid = db
    .select({ one: sql`1` })
    .from(payments)
    .where(and(matchUse(payments), not(payments.is_surplus)));
  const started = db.select({ one: sql`1` }).from(paymentSetups).where(matchUse(paymentSetups));
  const [row] = await db
    .select()
    .from(paymentMethods)
    .where(
      and(
        eq(paymentMethods.organization_id, order.organization_id),
        isNull(paymentMethods.deleted_at),
        or(exists(paid), exists(started)),
      ),
    );
  return row;
}

/** Whether its owner has left a card since then for charges to come, and not for an order or another subscription. */
export async function isLeftFreely(
  db: Database,
  { organization_id, id, customer_id }: PaymentMethodRow,
  since: Date,
): Promise<boolean> {
  const left = and(
    eq(paymentSetups.organization_id, organization_id),
    eq(paymentSetups.customer_id, customer_id),
    eq(paymentSetups.payment_method_id, id),
    eq(paymentSetups.status, "succeeded"),
    isNull(paymentSetups.order_id),
    isNull(paymentSetups.subscription_id),
    gte(paymentSetups.requested_at, since),
  );
  return (await db.select({ one: sql`1` }).from(paymentSetups).where(left).limit(1)).length > 0;
}

/** The orders that were paid, or started, by a card (DSC-15, CHK-53). */
export async function findOrdersOfCard(db: Database, organization_id: string, fingerprint: string): Promise<string[]> {
  const matchUse = (table: typeof payments | typeof paymentSetups) =>
    and(eq(table.organization_id, organization_id), eq(table.fingerprint, fingerprint), eq(table.status, "succeeded"));
  const paid = db.select({ id: payments.order_id }).from(payments).where(matchUse(payments));
  const started = db
    .select({ id: sql<string>`${paymentSetups.order_id}` })
    .from(paymentSetups)
    .where(and(matchUse(paymentSetups), isNotNull(paymentSetups.order_id)));
  return (await union(paid, started)).map(({ id }) => id);
}
