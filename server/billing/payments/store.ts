import { and, eq, gt, inArray, isNotNull, lte, ne, type SQL, sql } from "drizzle-orm";
import type { payments as operations } from "../../../shared/api/payments.ts";
import { ApiError } from "../../../shared/errors.ts";
import { discounts } from "../../catalog/discounts/tables.ts";
import { products } from "../../catalog/products/tables.ts";
import { listSpellings } from "../../customers/customers/rules.ts";
import { customers } from "../../customers/customers/tables.ts";
import type { Database, Tx } from "../../platform/context.ts";
import { countMatching } from "../../platform/db/counters.ts";
import { defineLoader } from "../../platform/db/loaders.ts";
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
import {
  insertRows,
  isAmong,
  joinByKey,
  matchKey,
  matchSeller,
  type RowKey,
  updateRows,
} from "../../platform/db/rows.ts";
import type { DisputeEvent, PaymentEvent, RefundEvent, SetupEvent } from "../../platform/processors/processor.ts";
import type { OrderRow } from "../orders/rules.ts";
import { aggregate, ofCustomer, ofDiscount, ofProduct, ofSubscription } from "../orders/store.ts";
import { orders } from "../orders/tables.ts";
import { subscriptions } from "../subscriptions/tables.ts";
import type { PaymentAggregate, PaymentMethodRow, PaymentRow, SetupRow } from "./rules.ts";
import { paymentCustomers, paymentMethods, paymentSetups, payments, processorEvents } from "./tables.ts";

type Filter = ListQuery<typeof operations.list>;
const sortable = {
  created_at: payments.created_at,
  status: payments.status,
  amount: payments.amount,
  method: payments.method,
};

const ofOrder = joinByKey(payments.order_id, orders);
const shown = {
  payment: payments,
  order: { id: orders.id, checkout_id: orders.checkout_id, invoice_number: orders.invoice_number },
};

const matchEmails = (emails: string[]): SQL => inArray(sql`lower(${payments.customer_email})`, emails);

/** One page of payments, and how many there are. */
export async function listPayments(db: Database, organizations: readonly string[], filter: Filter) {
  const matchOrders = (where: SQL | undefined) =>
    sql`${payments.order_id} in (select ${orders.id} from ${orders}
      where ${and(matchOrganizations(orders.organization_id, organizations), where)})`;
  const asked = matchFilters(filter, {
    checkout_id: (ids) => matchOrders(inArray(orders.checkout_id, ids)),
    order_id: (ids) => matchOrders(and(inArray(orders.id, ids), isNotNull(orders.invoice_number))),
    customer_id: matchAny(payments.customer_id),
    status: matchAny(payments.status),
    method: matchAny(payments.method),
    customer_email: (emails) => matchEmails(emails.flatMap(listSpellings)),
  });
  const where = and(matchOrganizations(payments.organization_id, organizations), asked);
  const loadPage = (): PromiseLike<PaymentAggregate[]> =>
    db
      .select(shown)
      .from(payments)
      .innerJoin(orders, ofOrder)
      .where(where)
      .orderBy(...orderBy(filter.sorting, sortable, payments.id))
      .limit(limitPage(filter, asked))
      .offset(computeOffset(filter));
  const count = () => db.$count(payments, where);
  return readPage(loadPage, () => countMatching(db, organizations, "payments", asked, count));
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
export const lockPayment = defineLoader(async (tx: Tx, keys: RowKey[]) => {
  let found = await lockPayments(tx, keys);
  // Where the order got another buyer or product while its lock was waited for, the row is passed over; asked again it is there.
  if (found.length < keys.length) found = await lockPayments(tx, keys);
  return keys.map(({ id }) => found.find(({ payment }) => payment.id === id));
});

const lockPayments = (tx: Tx, keys: RowKey[]) =>
  tx
    .select({ payment: payments, ...aggregate })
    .from(payments)
    .innerJoin(orders, ofOrder)
    .innerJoin(customers, ofCustomer)
    .innerJoin(products, ofProduct)
    .leftJoin(discounts, ofDiscount)
    .leftJoin(subscriptions, ofSubscription)
    .where(
      isAmong(
        matchSeller(keys),
        payments.id,
        keys.map(({ id }) => id),
      ),
    )
    .orderBy(orders.id)
    .for("no key update", { of: [payments, orders] });

/** The order that an attempt is for; of a card that is left for none there is none. */
export async function findOrderOf(
  db: Database,
  { organization_id, order_id }: PaymentRow | SetupRow,
): Promise<OrderRow | undefined> {
  if (order_id === null) return undefined;
  const [row] = await db
    .select()
    .from(orders)
    .where(matchKey(orders, { organization_id, id: order_id }));
  return row;
}

/** Add a payment; refused while another of its order is under way (ORD-14). */
export async function insertPayment(tx: Tx, values: typeof payments.$inferInsert): Promise<PaymentRow> {
  const row = await gatherInserts(tx, values);
  if (!row) throw new ApiError("PaymentAlreadyInProgress", "A payment of this order is under way.");
  return row;
}

const gatherInserts = defineLoader(async (tx: Tx, values: (typeof payments.$inferInsert)[]) => {
  const rows = await insertRows(tx, payments, values, { orNothing: true });
  return values.map(({ id }) => rows.find((row) => row.id === id));
});
const gatherUpdates = defineLoader((tx: Tx, changes: { key: RowKey; patch: Partial<PaymentRow> }[]) =>
  updateRows(tx, payments, changes),
);

/** Change a payment that the caller has locked. */
export async function updatePayment(
  tx: Tx,
  { organization_id, id }: RowKey,
  patch: Partial<PaymentRow>,
): Promise<PaymentRow> {
  const row = await gatherUpdates(tx, { key: { organization_id, id }, patch });
  if (!row) throw new Error(`The payment ${id} is gone.`);
  return row;
}

/** Have the attempts that are under way for an order reconciled now; one that is being settled at this moment needs it not. */
export async function expeditePending(tx: Tx, order: RowKey, now: Date): Promise<void> {
  for (const table of [payments, paymentSetups]) {
    const mine = eq(table.organization_id, order.organization_id);
    const pending = tx
      .select({ id: table.id })
      .from(table)
      .where(and(mine, eq(table.order_id, order.id), eq(table.status, "pending")))
      .for("no key update", { skipLocked: true });
    await tx
      .update(table)
      .set({ reconcile_due_at: now })
      .where(and(mine, inArray(table.id, pending)));
  }
}

/** Have the attempts reconciled now that processes were in the middle of when they ended (OPS-02). */
export async function expediteOfProcesses(tx: Tx, process_ids: readonly string[]): Promise<void> {
  for (const table of [payments, paymentSetups])
    await tx
      .update(table)
      // The past by the seller's clock, whichever that is.
      .set({ reconcile_due_at: table.created_at })
      .where(
        and(
          inArray(table.process_id, [...process_ids]),
          eq(table.status, "pending"),
          gt(table.reconcile_due_at, table.created_at),
        ),
      );
}

/** Whether there is such a payment. */
export const hasPayment = async (db: Database, key: RowKey): Promise<boolean> =>
  (await db.select({ id: payments.id }).from(payments).where(matchKey(payments, key))).length > 0;

/** Keep the processor's own id of a payment that has none yet. */
export async function recordProcessorId(db: Database, key: RowKey, processor_id: string): Promise<void> {
  await db
    .update(payments)
    .set({ processor_id: sql`coalesce(${payments.processor_id}, ${processor_id})` })
    .where(matchKey(payments, key));
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
 * Keep the processor's own id of an attempt whose answer was lost, and have it reconciled at `due_at`: a failed one too, which
 * may have been given up for lost. One that another account was asked for is not meant.
 */
export async function recordProcessorOutcome(
  tx: Tx,
  event: PaymentEvent | SetupEvent,
  due_at: Date | undefined,
): Promise<void> {
  const { organization_id, processor_id } = event;
  const [table, id] =
    event.kind === "payment" ? ([payments, event.payment_id] as const) : ([paymentSetups, event.setup_id] as const);
  await tx
    .update(table)
    .set({
      processor_id: sql`coalesce(${table.processor_id}, ${processor_id})`,
      ...(due_at ? { reconcile_due_at: due_at } : {}),
    })
    .where(
      and(matchKey(table, { organization_id, id }), eq(table.account, event.account), ne(table.status, "succeeded")),
    );
}

/** The payment whose money an event is about: of the same account, and by no other intent. */
export async function findCharge(tx: Tx, event: RefundEvent | DisputeEvent): Promise<PaymentRow | undefined> {
  const { organization_id, payment_id: id, account, intent_processor_id } = event;
  const isOther = and(isNotNull(payments.processor_id), ne(payments.processor_id, intent_processor_id));
  const [row] = await tx
    .select()
    .from(payments)
    .where(and(matchKey(payments, { organization_id, id }), eq(payments.account, account), sql`not (${isOther})`));
  return row;
}

/**
 * Take a payment whose outcome has to be asked for, if it is due. It is put off first, so that no other server asks at the
 * same time and a processor that is down is not asked without pause.
 */
export async function claimDuePayment(
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

/** A set-up and its order with all that it is answered with; both are kept until the transaction ends. */
export async function lockSetup(tx: Tx, key: RowKey) {
  const [found] = await tx
    .select({ setup: paymentSetups, ...aggregate })
    .from(paymentSetups)
    .innerJoin(orders, joinByKey(paymentSetups.order_id, orders))
    .innerJoin(customers, ofCustomer)
    .innerJoin(products, ofProduct)
    .leftJoin(discounts, ofDiscount)
    .leftJoin(subscriptions, ofSubscription)
    .where(matchKey(paymentSetups, key))
    .for("no key update", { of: [paymentSetups, orders] });
  return found;
}

/** Add a set-up; refused while another of its order is under way (ORD-14). */
export async function insertSetup(tx: Tx, values: typeof paymentSetups.$inferInsert): Promise<SetupRow> {
  const [row] = await tx.insert(paymentSetups).values(values).onConflictDoNothing().returning();
  if (!row) throw new ApiError("PaymentAlreadyInProgress", "A payment of this order is under way.");
  return row;
}

/** Change a set-up that the caller has locked. */
export async function updateSetup(tx: Tx, key: RowKey, patch: Partial<SetupRow>): Promise<SetupRow> {
  const [row] = await tx.update(paymentSetups).set(patch).where(matchKey(paymentSetups, key)).returning();
  if (!row) throw new Error(`The set-up ${key.id} is gone.`);
  return row;
}

/** Take a set-up whose outcome has to be asked for, as `claimDuePayment` does. */
export async function claimDueSetup(db: Database, key: RowKey, now: Date, again: Date): Promise<SetupRow | undefined> {
  const [row] = await db
    .update(paymentSetups)
    .set({ reconcile_due_at: again })
    .where(and(matchKey(paymentSetups, key), lte(paymentSetups.reconcile_due_at, now)))
    .returning();
  return row;
}

type Owner = Pick<PaymentMethodRow, "organization_id" | "customer_id" | "account">;
const matchOwnerKey = (
  table: typeof paymentCustomers | typeof paymentMethods,
  { organization_id, customer_id, account }: Owner,
) => and(eq(table.organization_id, organization_id), eq(table.customer_id, customer_id), eq(table.account, account));

/** A customer's name, and by which id the processor knows them, if it does. */
export async function findProcessorCustomer(
  db: Database,
  owner: Owner,
): Promise<{ name: string | null; processor_id: string | null }> {
  const [row] = await db
    .select({ name: customers.name, processor_id: paymentCustomers.processor_id })
    .from(customers)
    .leftJoin(paymentCustomers, matchOwnerKey(paymentCustomers, owner))
    .where(matchKey(customers, { organization_id: owner.organization_id, id: owner.customer_id }));
  return row ?? { name: null, processor_id: null };
}

/** By which ids a processor's account has known a customer. */
export async function findProcessorIds(db: Database, owner: Owner): Promise<string[]> {
  const known = await db
    .select({ id: paymentCustomers.processor_id })
    .from(paymentCustomers)
    .where(matchOwnerKey(paymentCustomers, owner));
  const paying = await db
    .selectDistinct({ id: paymentMethods.customer_processor_id })
    .from(paymentMethods)
    .where(matchOwnerKey(paymentMethods, owner));
  return [...new Set([...known, ...paying].map(({ id }) => id))].sort();
}

/** Keep by which id the processor knows a customer; the first one stays. */
export async function insertProcessorCustomer(tx: Tx, values: typeof paymentCustomers.$inferInsert): Promise<void> {
  await tx.insert(paymentCustomers).values(values).onConflictDoNothing();
}
