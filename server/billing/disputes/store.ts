import { and, eq, isNotNull, lte } from "drizzle-orm";
import type { disputes as operations } from "../../../shared/api/disputes.ts";
import { customers } from "../../customers/customers/tables.ts";
import type { Database, Tx } from "../../platform/context.ts";
import {
  computeOffset,
  type ListQuery,
  matchAny,
  matchFilters,
  matchOrganizations,
  orderBy,
  readPage,
} from "../../platform/db/page.ts";
import { joinByKey, matchKey, type RowKey } from "../../platform/db/rows.ts";
import type { DisputeAggregate, DisputeRow, KnownDispute } from "./rules.ts";
import { disputes } from "./tables.ts";

type Filter = ListQuery<typeof operations.list>;
const sortable = { created_at: disputes.created_at, amount: disputes.amount };
const ofCustomer = joinByKey(disputes.customer_id, customers);
const isKnown = isNotNull(disputes.status);
const select = (db: Database) =>
  db.select({ dispute: disputes, customer: customers }).from(disputes).innerJoin(customers, ofCustomer);

/** One page of disputes, and how many there are. */
export async function listDisputes(db: Database, organizations: readonly string[], filter: Filter) {
  const where = and(
    matchOrganizations(disputes.organization_id, organizations),
    isKnown,
    matchFilters(filter, { order_id: matchAny(disputes.order_id), status: matchAny(disputes.status) }),
  );
  const loadPage = () =>
    select(db)
      .where(where)
      .orderBy(...orderBy(filter.sorting, sortable, disputes.id))
      .limit(filter.limit)
      .offset(computeOffset(filter)) as PromiseLike<DisputeAggregate[]>;
  return readPage(loadPage, () => db.$count(disputes, where));
}

/** A dispute that the processor has said something of. */
export async function findDispute(db: Database, key: RowKey): Promise<DisputeAggregate | undefined> {
  const [found] = await select(db).where(and(matchKey(disputes, key), isKnown));
  return found as DisputeAggregate | undefined;
}

/** Note that there is something to ask the processor about: a dispute that was not heard of yet, or one that has moved. */
export async function upsertDispute(tx: Tx, values: typeof disputes.$inferInsert): Promise<void> {
  await tx
    .insert(disputes)
    .values(values)
    .onConflictDoUpdate({
      target: [disputes.organization_id, disputes.processor_id],
      set: { due_at: values.due_at ?? null },
    });
}

/** A dispute, kept from changing until the transaction ends. The caller has locked its order. */
export async function lockDispute(tx: Tx, key: RowKey): Promise<DisputeRow> {
  const [row] = await tx.select().from(disputes).where(matchKey(disputes, key)).for("no key update");
  if (!row) throw new Error(`The dispute ${key.id} is gone.`);
  return row;
}

/** Change a dispute that the caller has locked. */
export async function updateDispute(tx: Tx, key: RowKey, patch: Partial<DisputeRow>): Promise<DisputeRow> {
  const [row] = await tx.update(disputes).set(patch).where(matchKey(disputes, key)).returning();
  if (!row) throw new Error(`The dispute ${key.id} is gone.`);
  return row;
}

/** How the disputes of the money that paid an order stand. */
export async function findStatuses(tx: Tx, order: RowKey): Promise<KnownDispute["status"][]> {
  const rows = await tx
    .select({ status: disputes.status })
    .from(disputes)
    .where(
      and(
        eq(disputes.organization_id, order.organization_id),
        eq(disputes.order_id, order.id),
        eq(disputes.is_surplus, false),
      ),
    );
  return rows.flatMap(({ status }) => status ?? []);
}

/** Take a dispute that is due, put off first, so that no other server asks about it at the same time. */
export async function claimDueDispute(
  db: Database,
  key: RowKey,
  now: Date,
  again: Date,
): Promise<DisputeRow | undefined> {
  const [row] = await db
    .update(disputes)
    .set({ due_at: again })
    .where(and(matchKey(disputes, key), lte(disputes.due_at, now)))
    .returning();
  return row;
}
