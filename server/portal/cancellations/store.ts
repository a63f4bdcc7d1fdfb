import { and, count, desc, eq, gt, inArray, isNotNull, isNull, or } from "drizzle-orm";
import { orders } from "../../billing/orders/tables.ts";
import { subscriptions } from "../../billing/subscriptions/tables.ts";
import { products } from "../../catalog/products/tables.ts";
import type { Erased } from "../../customers/customers/rules.ts";
import { isOneOf } from "../../platform/anonymize.ts";
import type { Database, Tx } from "../../platform/context.ts";
import { computeOffset, matchOrganizations } from "../../platform/db/page.ts";
import { joinByKey, matchKey, type RowKey } from "../../platform/db/rows.ts";
import type { Candidate, NoticeRow } from "./rules.ts";
import { cancellationNotices as notices } from "./tables.ts";

export const insertNotice = async (tx: Tx, row: typeof notices.$inferInsert): Promise<void> => {
  await tx.insert(notices).values(row);
};

/** Use a link: of two that use it at once, one gets the declaration. */
export async function claimNotice(tx: Tx, hashes: readonly string[], now: Date): Promise<NoticeRow | undefined> {
  const [row] = await tx
    .update(notices)
    .set({ token_hash: null })
    .where(and(inArray(notices.token_hash, [...hashes]), gt(notices.expires_at, now)))
    .returning();
  return row;
}

type Patch = Partial<Pick<NoticeRow, "confirmed_at" | "settled_at" | "customer_id" | "subscription_id">>;
export async function updateNotice(tx: Tx, key: RowKey, patch: Patch, now: Date): Promise<NoticeRow | undefined> {
  const [row] = await tx
    .update(notices)
    .set({ ...patch, modified_at: now })
    .where(matchKey(notices, key))
    .returning();
  return row;
}

export async function findNotice(db: Database, key: RowKey): Promise<NoticeRow | undefined> {
  const [row] = await db.select().from(notices).where(matchKey(notices, key));
  return row;
}

/** Declarations of these sellers, newest first. */
export async function listNotices(
  db: Database,
  organizations: readonly string[],
  filter: { page: number; limit: number; settled?: boolean | undefined },
) {
  const where = and(
    matchOrganizations(notices.organization_id, organizations),
    filter.settled === undefined
      ? undefined
      : filter.settled
        ? isNotNull(notices.settled_at)
        : isNull(notices.settled_at),
  );
  const items = await db
    .select()
    .from(notices)
    .where(where)
    .orderBy(desc(notices.created_at), desc(notices.id))
    .limit(filter.limit)
    .offset(computeOffset(filter));
  const [row] = await db.select({ total: count() }).from(notices).where(where);
  return { items, total: row?.total ?? 0 };
}

const candidatesMax = 100;

/** The living subscriptions of a customer, each with its id, its product and the numbers of its latest orders. */
export async function listCandidates(db: Database, { organization_id, id }: RowKey): Promise<Candidate[]> {
  const rows = await db
    .select({ id: subscriptions.id, product: products.name, ends_at: subscriptions.current_period_end })
    .from(subscriptions)
    .innerJoin(products, joinByKey(subscriptions.product_id, products))
    .where(
      and(
        eq(subscriptions.organization_id, organization_id),
        eq(subscriptions.customer_id, id),
        inArray(subscriptions.status, ["active", "trialing", "past_due", "paused"]),
      ),
    )
    .limit(candidatesMax);
  const numbers = await db
    .select({ subscription_id: orders.subscription_id, number: orders.invoice_number })
    .from(orders)
    .where(
      and(
        eq(orders.organization_id, organization_id),
        eq(orders.customer_id, id),
        isNotNull(orders.subscription_id),
        isNotNull(orders.invoice_number),
      ),
    )
    .orderBy(desc(orders.created_at))
    .limit(10 * candidatesMax);
  return rows.map(({ id: subscription_id, product, ends_at }) => {
    const own = numbers.flatMap((one) => (one.subscription_id === subscription_id ? [one.number ?? ""] : []));
    return { id: subscription_id, names: [subscription_id, product, ...own], ends_at };
  });
}

/** Forget what a customer declared, also where the address was never proved. */
export async function eraseNotices(tx: Tx, { organization_id, id, emails }: Erased): Promise<void> {
  const theirs = or(eq(notices.customer_id, id), isOneOf(notices.email, emails));
  await tx.delete(notices).where(and(eq(notices.organization_id, organization_id), theirs));
}
