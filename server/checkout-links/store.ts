import { and, asc, eq, getTableColumns, inArray, type SQL, sql } from "drizzle-orm";
import type { checkoutLinks as operations } from "../../shared/api/checkout-links.ts";
import type { DiscountRow } from "../discounts/rules.ts";
import { discounts } from "../discounts/tables.ts";
import type { Database, Tx } from "../lib/context.ts";
import {
  computeOffset,
  type ListQuery,
  loadByOrganization,
  matchFilters,
  matchOrganizations,
  orderBy,
  readPage,
} from "../lib/page.ts";
import { followKey, matchKey, type RowKey } from "../lib/rows.ts";
import { findProducts } from "../products/store.ts";
import type { LinkAggregate, LinkRow } from "./rules.ts";
import { checkoutLinkProducts, checkoutLinkSecrets, checkoutLinks, cutSortableUrl } from "./tables.ts";

type Filter = ListQuery<typeof operations.list>;
const sortable = {
  created_at: checkoutLinks.created_at,
  label: checkoutLinks.label,
  success_url: cutSortableUrl(checkoutLinks.success_url),
  allow_discount_codes: checkoutLinks.allow_discount_codes,
};

const productIds = sql<string[]>`(
  select coalesce(json_agg(lp.product_id order by lp."order"), '[]') from ${checkoutLinkProducts} lp
  where lp.organization_id = ${checkoutLinks}.organization_id and lp.checkout_link_id = ${checkoutLinks}.id
)`;
const shown = { ...getTableColumns(checkoutLinks), product_ids: productIds, discount: discounts };
type Shown = LinkRow & { product_ids: string[]; discount: DiscountRow | null };

const select = (db: Database) =>
  db.select(shown).from(checkoutLinks).leftJoin(discounts, followKey(checkoutLinks.discount_id, discounts)).$dynamic();

/** Links with their products and discounts, in two statements however many they are. */
const wholeOf = (db: Database, all: Shown[]): Promise<LinkAggregate[]> =>
  loadByOrganization(all, async (organization_id, rows) => {
    const found = await findProducts(db, organization_id, [...new Set(rows.flatMap((row) => row.product_ids))]);
    const byId = new Map(found.map((product) => [product.id, product]));
    return rows.map(({ product_ids, discount, ...row }) => ({
      row,
      discount,
      products: product_ids.flatMap((id) => byId.get(id) ?? []),
    }));
  });

/** One page of links, and how many there are. */
export async function listLinks(db: Database, organizations: readonly string[], filter: Filter) {
  const where = and(
    matchOrganizations(checkoutLinks.organization_id, organizations),
    matchFilters(filter, {
      product_id: (ids) =>
        inArray(
          checkoutLinks.id,
          db
            .select({ id: checkoutLinkProducts.checkout_link_id })
            .from(checkoutLinkProducts)
            .where(
              and(
                matchOrganizations(checkoutLinkProducts.organization_id, organizations),
                inArray(checkoutLinkProducts.product_id, ids),
              ),
            ),
        ),
    }),
  );
  const page = () =>
    select(db)
      .where(where)
      .orderBy(...orderBy(filter.sorting, sortable, checkoutLinks.id))
      .limit(filter.limit)
      .offset(computeOffset(filter));
  const { items, total } = await readPage(page, () => db.$count(checkoutLinks, where));
  return { items: await wholeOf(db, items), total };
}

/** These links, in no order. */
export async function findLinks(
  db: Database,
  organization_id: string,
  ids: readonly string[],
): Promise<LinkAggregate[]> {
  if (ids.length === 0) return [];
  const rows = await select(db).where(
    and(eq(checkoutLinks.organization_id, organization_id), inArray(checkoutLinks.id, [...ids])),
  );
  return wholeOf(db, rows);
}

/** A link by its id. */
export async function findLink(db: Database, organization_id: string, id: string): Promise<LinkAggregate | undefined> {
  const rows = await select(db).where(matchKey(checkoutLinks, { organization_id, id }));
  return (await wholeOf(db, rows))[0];
}

/** A link by its secret, whoever's it is. */
export async function findBySecret(db: Database, client_secret: string): Promise<LinkAggregate | undefined> {
  const rows = await select(db)
    .innerJoin(checkoutLinkSecrets, followKey(checkoutLinkSecrets.checkout_link_id, checkoutLinks))
    .where(eq(checkoutLinkSecrets.client_secret, client_secret));
  const [row] = rows;
  return row && (await wholeOf(db, rows))[0];
}

/** A link, kept from changing until the transaction ends. */
export async function lockLink(tx: Tx, organization_id: string, id: string): Promise<LinkRow | undefined> {
  const [row] = await tx
    .select()
    .from(checkoutLinks)
    .where(matchKey(checkoutLinks, { organization_id, id }))
    .orderBy(asc(checkoutLinks.id))
    .for("update");
  return row;
}

/** Add a link. */
export async function insertLink(tx: Tx, values: typeof checkoutLinks.$inferInsert): Promise<void> {
  const { client_secret, organization_id, id: checkout_link_id } = values;
  await tx.insert(checkoutLinks).values(values);
  await tx.insert(checkoutLinkSecrets).values({ client_secret, organization_id, checkout_link_id });
}

/** Change columns of a link that the caller has locked. */
export async function updateLink(tx: Tx, key: RowKey, patch: Partial<LinkRow>): Promise<void> {
  await tx.update(checkoutLinks).set(patch).where(matchKey(checkoutLinks, key));
}

/** Remove links and their secrets; the checkouts they opened go on. Answers how many there were. */
async function removeLinks(tx: Tx, which: SQL | undefined): Promise<number> {
  const gone = await tx.delete(checkoutLinks).where(which).returning({ secret: checkoutLinks.client_secret });
  const secrets = gone.map(({ secret }) => secret);
  if (secrets.length > 0)
    await tx.delete(checkoutLinkSecrets).where(inArray(checkoutLinkSecrets.client_secret, secrets));
  return gone.length;
}

/** Remove a link; false when there is none. */
export const deleteLink = async (tx: Tx, key: RowKey): Promise<boolean> =>
  (await removeLinks(tx, matchKey(checkoutLinks, key))) > 0;

const ofLink = (link: RowKey) =>
  and(
    eq(checkoutLinkProducts.organization_id, link.organization_id),
    eq(checkoutLinkProducts.checkout_link_id, link.id),
  );

/** The products that a link offers, in no order. */
export async function findProductIds(tx: Tx, link: RowKey): Promise<string[]> {
  const rows = await tx.select({ id: checkoutLinkProducts.product_id }).from(checkoutLinkProducts).where(ofLink(link));
  return rows.map(({ id }) => id);
}

/** Offer these in this order, in place of what was offered. */
export async function setProducts(tx: Tx, link: RowKey, ids: readonly string[]): Promise<void> {
  await tx.delete(checkoutLinkProducts).where(ofLink(link));
  const rows = [...new Set(ids.map((id) => id.toLowerCase()))].map((product_id, order) => ({
    organization_id: link.organization_id,
    checkout_link_id: link.id,
    product_id,
    order,
  }));
  if (rows.length > 0) await tx.insert(checkoutLinkProducts).values(rows);
}

/** An archived product is offered by no link; a link that offered nothing else goes with it (PRD-28). */
export async function dropProduct(tx: Tx, { organization_id, id }: RowKey): Promise<void> {
  const left = await tx
    .delete(checkoutLinkProducts)
    .where(and(eq(checkoutLinkProducts.organization_id, organization_id), eq(checkoutLinkProducts.product_id, id)))
    .returning({ id: checkoutLinkProducts.checkout_link_id });
  if (left.length === 0) return;
  const empty = sql`not exists (select from ${checkoutLinkProducts} lp
    where lp.organization_id = ${organization_id} and lp.checkout_link_id = ${checkoutLinks.id})`;
  await removeLinks(
    tx,
    and(
      eq(checkoutLinks.organization_id, organization_id),
      inArray(
        checkoutLinks.id,
        left.map(({ id }) => id),
      ),
      empty,
    ),
  );
}
