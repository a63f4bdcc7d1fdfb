import { and, eq, exists, getTableColumns, inArray, isNull, ne, or, sql } from "drizzle-orm";
import type { discounts as operations } from "../../../shared/api/discounts.ts";
import { orders } from "../../billing/orders/tables.ts";
import { refunds } from "../../billing/refunds/tables.ts";
import { type Erased, listSpellings } from "../../customers/customers/rules.ts";
import type { Database, Tx } from "../../platform/context.ts";
import { matchAnyOf } from "../../platform/db/arrays.ts";
import { countMatching } from "../../platform/db/counters.ts";
import {
  computeOffset,
  type ListQuery,
  limitPage,
  matchFilters,
  matchOrganizations,
  matchText,
  orderBy,
  readPage,
} from "../../platform/db/page.ts";
import {
  addRows,
  insertRows,
  isAmong,
  joinByKey,
  matchKey,
  matchSeller,
  patchLockedRows,
  type RowKey,
  readRows,
} from "../../platform/db/rows.ts";
import type { ProductRow } from "../products/rules.ts";
import { products } from "../products/tables.ts";
import type { DiscountRow, LimitedDiscount } from "./rules.ts";
import { discountProducts, discountRedemptions, discounts } from "./tables.ts";

type Filter = ListQuery<typeof operations.list>;
const sortable = {
  created_at: discounts.created_at,
  name: discounts.name,
  code: discounts.code,
  redemptions_count: discounts.redemptions_count,
  ends_at: discounts.ends_at,
};
const matchLiving = (organizations: string | readonly string[]) =>
  and(matchOrganizations(discounts.organization_id, organizations), isNull(discounts.deleted_at));

/** The products in the same row, so that a page of discounts is one statement. */
const limitedTo = sql<ProductRow[]>`(
  select coalesce(json_agg(to_json(p) order by dp."order"), '[]') from ${discountProducts} dp
  join ${products} p on p.organization_id = dp.organization_id and p.id = dp.product_id
  where dp.organization_id = ${discounts}.organization_id and dp.discount_id = ${discounts}.id
)`.mapWith((list: unknown) => readRows(products, list));
/** Those that are counted, and those that are not yet. */
const redeemed = sql<number>`${discounts.redemptions_count} + (
  select count(*) from ${discountRedemptions} r
  where r.organization_id = ${discounts}.organization_id and r.discount_id = ${discounts}.id and not r.is_counted
)::int`.mapWith(Number);
const counted = { ...getTableColumns(discounts), redemptions_count: redeemed };
const limited = { ...counted, products: limitedTo };

/** One page of discounts with their products, and how many there are (DSC-25). */
export async function listDiscounts(db: Database, organizations: readonly string[], filter: Filter) {
  const asked = matchFilters(filter, { query: matchText(discounts.name, discounts.code) });
  const where = and(matchLiving(organizations), asked);
  const order = orderBy(filter.sorting, sortable, discounts.id);
  // Which ones are on the page is found first, so that nothing is loaded with those before it.
  const ids = db
    .select({ id: discounts.id })
    .from(discounts)
    .where(where)
    .orderBy(...order)
    .limit(limitPage(filter, asked))
    .offset(computeOffset(filter));
  const loadPage = (): PromiseLike<LimitedDiscount[]> =>
    db
      .select(limited)
      .from(discounts)
      .where(and(matchOrganizations(discounts.organization_id, organizations), inArray(discounts.id, ids)))
      .orderBy(...order);
  const count = () => db.$count(discounts, where);
  return readPage(loadPage, () => countMatching(db, organizations, "discounts", asked, count));
}

/** These discounts that were not deleted, with their products, in no order. */
export async function findDiscounts(
  db: Database,
  organization_id: string,
  ids: readonly string[],
): Promise<LimitedDiscount[]> {
  if (ids.length === 0) return [];
  return db
    .select(limited)
    .from(discounts)
    .where(and(isAmong(organization_id, discounts.id, ids), isNull(discounts.deleted_at)));
}

/** A discount that was not deleted, with its products. */
export const findDiscount = async (
  db: Database,
  organization_id: string,
  id: string,
): Promise<LimitedDiscount | undefined> => (await findDiscounts(db, organization_id, [id]))[0];

/** A discount that was not deleted, by what buyers type, in any case (DSC-01). */
export async function findByCode(
  db: Database,
  organization_id: string,
  code: string,
): Promise<LimitedDiscount | undefined> {
  const same = eq(sql`lower(${discounts.code})`, sql`lower(${code})`);
  const [row] = await db
    .select(limited)
    .from(discounts)
    .where(and(matchLiving(organization_id), same));
  return row;
}

/** These discounts, deleted or not: who has one keeps it. */
export async function findKeptDiscount(
  db: Database,
  organization_id: string,
  ids: readonly string[],
): Promise<LimitedDiscount[]> {
  if (ids.length === 0) return [];
  return db
    .select(limited)
    .from(discounts)
    .where(isAmong(organization_id, discounts.id, ids));
}

/**
 * Discounts that were not deleted, kept from changing until the transaction ends, as they stand once the locks are had. Orders
 * may point to them all the while: a lock that kept those off would be waited for by each who had just done so.
 */
export async function lockDiscounts(tx: Tx, organization_id: string, ids: readonly string[]): Promise<DiscountRow[]> {
  if (ids.length === 0) return [];
  const wanted = and(matchLiving(organization_id), isAmong(organization_id, discounts.id, ids));
  const locked = await tx
    .select({ id: discounts.id })
    .from(discounts)
    .where(wanted)
    .orderBy(discounts.id)
    .for("no key update");
  // What was counted while they were waited for is seen by a statement of its own alone.
  return locked.length > 0 ? tx.select(counted).from(discounts).where(wanted) : [];
}

/** One of them. */
export const lockDiscount = async (tx: Tx, organization_id: string, id: string): Promise<DiscountRow | undefined> =>
  (await lockDiscounts(tx, organization_id, [id]))[0];

type Redemption = typeof discountRedemptions.$inferInsert;

/** Note that somebody took a discount. What is counted at once is counted under the caller's lock. */
export async function insertRedemption(tx: Tx, values: Redemption): Promise<void> {
  await tx.insert(discountRedemptions).values(values);
  if (values.is_counted) await count(tx, { ...values, id: values.discount_id }, 1);
}

const count = async (tx: Tx, key: RowKey, by: number): Promise<void> => {
  await tx
    .update(discounts)
    .set({ redemptions_count: sql`${discounts.redemptions_count} + ${by}::int` })
    .where(matchKey(discounts, key));
};

/**
 * How often a buyer has taken a discount: they, their address or their card; not what was given back in full, unless that was
 * to prevent a dispute (DSC-15).
 */
export async function countTaken(
  tx: Tx,
  { organization_id, id }: RowKey,
  { customer_id, email_key, card }: { customer_id: string; email_key: string; card: string | null },
): Promise<number> {
  const r = discountRedemptions;
  const theirs = or(
    eq(r.customer_id, customer_id),
    inArray(r.email_key, listSpellings(email_key)),
    card === null ? undefined : eq(r.card, card),
  );
  const preventing = tx
    .select({ id: refunds.id })
    .from(refunds)
    .where(
      and(
        eq(refunds.organization_id, organization_id),
        eq(refunds.order_id, r.order_id),
        eq(refunds.reason, "dispute_prevention"),
        eq(refunds.status, "succeeded"),
      ),
    );
  const [row] = await tx
    .select({ taken: sql<number>`count(*)::int`.mapWith(Number) })
    .from(r)
    .leftJoin(orders, joinByKey(r.order_id, orders))
    .where(
      and(
        eq(r.organization_id, organization_id),
        eq(r.discount_id, id),
        theirs,
        or(isNull(orders.status), ne(orders.status, "refunded"), exists(preventing)),
      ),
    );
  return row?.taken ?? 0;
}

/** Give back what a checkout took, if it took one (DSC-13). */
export async function deleteRedemption(
  tx: Tx,
  organization_id: string,
  by: { checkout_id: string } | { subscription_id: string; discount_id: string },
): Promise<void> {
  const r = discountRedemptions;
  const taken =
    "checkout_id" in by
      ? eq(r.checkout_id, by.checkout_id)
      : and(eq(r.subscription_id, by.subscription_id), eq(r.discount_id, by.discount_id));
  const [gone] = await tx
    .delete(r)
    .where(and(eq(r.organization_id, organization_id), taken))
    .returning();
  if (gone?.is_counted) await count(tx, { organization_id, id: gone.discount_id }, -1);
}

/** Count what was taken of discounts without a limit, so many at once; answers how many. */
export async function countRedemptions(tx: Tx, limit: number): Promise<number> {
  const r = discountRedemptions;
  const some = sql`array(select ctid from ${r} where not is_counted limit ${limit} for update skip locked)`;
  const done = await tx
    .update(r)
    .set({ is_counted: true })
    .where(sql`ctid = any(${some})`)
    .returning({ organization_id: r.organization_id, id: r.discount_id });
  const byDiscount = Map.groupBy(done, ({ organization_id, id }) => `${organization_id} ${id}`);
  // In one order, so that two that count at once do not wait for each other.
  for (const [, taken] of [...byDiscount].sort(([a], [b]) => (a < b ? -1 : 1)))
    if (taken[0]) await count(tx, taken[0], taken.length);
  return done.length;
}

/** Which living discounts have these codes, which are in lower case. */
export async function findCodeHolders(
  tx: Tx,
  organization_id: string,
  codes: readonly string[],
): Promise<[string, string][]> {
  if (codes.length === 0) return [];
  const code = sql<string>`lower(${discounts.code})`;
  const rows = await tx
    .select({ code, id: discounts.id })
    .from(discounts)
    .where(and(matchLiving(organization_id), sql`${code} = ${matchAnyOf(codes, "text")}`));
  return rows.map((row) => [row.code, row.id]);
}

/** The products that a discount is limited to; none where it is good for all (DSC-05). */
export async function findLimit(db: Database, { organization_id, id }: RowKey): Promise<string[]> {
  const rows = await db
    .select({ product_id: discountProducts.product_id })
    .from(discountProducts)
    .where(and(eq(discountProducts.organization_id, organization_id), eq(discountProducts.discount_id, id)));
  return rows.map(({ product_id }) => product_id);
}

/** Which of these products are the organization's. */
export async function findProductIds(tx: Tx, organization_id: string, ids: readonly string[]) {
  if (ids.length === 0) return [];
  return tx
    .select({ id: products.id })
    .from(products)
    .where(isAmong(organization_id, products.id, ids));
}

/** Add discounts; one whose code a parallel one has just taken is not among those that are answered. */
export const insertDiscounts = (tx: Tx, values: (typeof discounts.$inferInsert)[]): Promise<DiscountRow[]> =>
  insertRows(tx, discounts, values, { orNothing: true });

/** Change columns of discounts that the caller has locked. */
export async function updateDiscounts(
  tx: Tx,
  changes: { row: DiscountRow; patch: Partial<DiscountRow> }[],
): Promise<void> {
  const holders = new Map(changes.map(({ row }) => [row.code?.toLowerCase(), row.id]));
  const isPassedOn = changes.some(({ row, patch }) => {
    const holder = patch.code ? holders.get(patch.code.toLowerCase()) : undefined;
    return holder !== undefined && holder !== row.id;
  });
  const recoded = changes.filter(({ patch }) => patch.code !== undefined).map(({ row }) => row);
  // The index looks at each row as it is written, not at the end of the statement.
  if (isPassedOn)
    await tx
      .update(discounts)
      .set({ code: null })
      .where(
        isAmong(
          matchSeller(recoded),
          discounts.id,
          recoded.map(({ id }) => id),
        ),
      );
  await patchLockedRows(tx, discounts, changes);
}

type Limits = { discount: RowKey; product_ids: readonly string[] };

/** Limit new discounts to these products; those without any are for all. */
export const addProducts = (tx: Tx, wanted: readonly Limits[]): Promise<void> =>
  addRows(
    tx,
    discountProducts,
    wanted.flatMap(({ discount: { organization_id, id: discount_id }, product_ids }) =>
      [...new Set(product_ids)].map((product_id, order) => ({ organization_id, discount_id, product_id, order })),
    ),
  );

/** Limit discounts to these products and no others; to none for all. */
export async function setProducts(tx: Tx, wanted: readonly Limits[]): Promise<void> {
  if (wanted.length === 0) return;
  const keys = wanted.map(({ discount }) => discount);
  const ids = keys.map(({ id }) => id);
  await tx.delete(discountProducts).where(isAmong(matchSeller(keys), discountProducts.discount_id, ids));
  await addProducts(tx, wanted);
}

/** Forget by which address a discount was taken; that it was, and with which card, still counts. */
export async function eraseTaker(tx: Tx, { organization_id, id, masked_email }: Erased): Promise<void> {
  const r = discountRedemptions;
  await tx
    .update(r)
    .set({ email_key: masked_email })
    .where(and(eq(r.organization_id, organization_id), eq(r.customer_id, id)));
}
