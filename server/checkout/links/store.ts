import { and, eq, getTableColumns, inArray, sql } from "drizzle-orm";
import type { checkoutLinks as operations } from "../../../shared/api/checkout-links.ts";
import type { DiscountRow } from "../../catalog/discounts/rules.ts";
import { discounts } from "../../catalog/discounts/tables.ts";
import { findProducts } from "../../catalog/products/store.ts";
import type { Database, Tx } from "../../platform/context.ts";
import { matchAnyOf } from "../../platform/db/arrays.ts";
import {
  computeOffset,
  type ListQuery,
  loadByOrganization,
  matchFilters,
  matchOrganizations,
  orderBy,
  readPage,
} from "../../platform/db/page.ts";
import {
  addRows,
  isAmong,
  joinByKey,
  lockRows,
  matchKey,
  matchSeller,
  type RowKey,
  updateLockedRows,
} from "../../platform/db/rows.ts";
import type { LinkAggregate, LinkRow } from "./rules.ts";
import { checkoutLinkProducts, checkoutLinkSecrets, checkoutLinks, truncateSortableUrl } from "./tables.ts";

type Filter = ListQuery<typeof operations.list>;
const sortable = {
  created_at: checkoutLinks.created_at,
  label: checkoutLinks.label,
  success_url: truncateSortableUrl(checkoutLinks.success_url),
  allow_discount_codes: checkoutLinks.allow_discount_codes,
};

const productIds = sql<string[]>`(
  select coalesce(json_agg(lp.product_id order by lp."order"), '[]') from ${checkoutLinkProducts} lp
  where lp.organization_id = ${checkoutLinks}.organization_id and lp.checkout_link_id = ${checkoutLinks}.id
)`;
const shown = { ...getTableColumns(checkoutLinks), product_ids: productIds, discount: discounts };
type Shown = LinkRow & { product_ids: string[]; discount: DiscountRow | null };

const select = (db: Database) =>
  db.select(shown).from(checkoutLinks).leftJoin(discounts, joinByKey(checkoutLinks.discount_id, discounts)).$dynamic();

/** Links with their products and discounts, in two statements however many they are. */
const getWhole = (db: Database, all: Shown[]): Promise<LinkAggregate[]> =>
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
  const loadPage = () =>
    select(db)
      .where(where)
      .orderBy(...orderBy(filter.sorting, sortable, checkoutLinks.id))
      .limit(filter.limit)
      .offset(computeOffset(filter));
  const { items, total } = await readPage(loadPage, () => db.$count(checkoutLinks, where));
  return { items: await getWhole(db, items), total };
}

/** These links, in no order. */
export async function findLinks(
  db: Database,
  organization_id: string,
  ids: readonly string[],
): Promise<LinkAggregate[]> {
  if (ids.length === 0) return [];
  const rows = await select(db).where(isAmong(organization_id, checkoutLinks.id, ids));
  return getWhole(db, rows);
}

/** A link by its id. */
export async function findLink(db: Database, organization_id: string, id: string): Promise<LinkAggregate | undefined> {
  const rows = await select(db).where(matchKey(checkoutLinks, { organization_id, id }));
  return (await getWhole(db, rows))[0];
}

/** A link by its secret, whoever's it is. */
export async function findBySecret(db: Database, client_secret: string): Promise<LinkAggregate | undefined> {
  const rows = await select(db)
    .innerJoin(checkoutLinkSecrets, joinByKey(checkoutLinkSecrets.checkout_link_id, checkoutLinks))
    .where(eq(checkoutLinkSecrets.client_secret, client_secret));
  const [row] = rows;
  return row && (await getWhole(db, rows))[0];
}

/** Links, kept from changing until the transaction ends. */
export const lockLinks = (tx: Tx, organization_id: string, ids: readonly string[]): Promise<LinkRow[]> =>
  lockRows(tx, checkoutLinks, organization_id, ids);

/** Add links that set the same columns, and their secrets. */
export async function insertLinks(tx: Tx, values: (typeof checkoutLinks.$inferInsert)[]): Promise<void> {
  await addRows(tx, checkoutLinks, values);
  await addRows(
    tx,
    checkoutLinkSecrets,
    values.map(({ client_secret, organization_id, id }) => ({ client_secret, organization_id, checkout_link_id: id })),
  );
}

/** Change columns of links that the caller has locked. */
export const updateLinks = (tx: Tx, changes: { row: LinkRow; patch: Partial<LinkRow> }[]): Promise<unknown> =>
  updateLockedRows(tx, checkoutLinks, changes);

/** Delete links and their secrets; the checkouts they opened go on. Answers which ones there were. */
export async function deleteLinks(tx: Tx, organization_id: string, ids: readonly string[]): Promise<string[]> {
  if (ids.length === 0) return [];
  const deleted = await tx
    .delete(checkoutLinks)
    .where(isAmong(organization_id, checkoutLinks.id, ids))
    .returning({ id: checkoutLinks.id, secret: checkoutLinks.client_secret });
  const secrets = deleted.map(({ secret }) => secret);
  if (secrets.length > 0)
    await tx
      .delete(checkoutLinkSecrets)
      .where(sql`${checkoutLinkSecrets.client_secret} = ${matchAnyOf(secrets, "text")}`);
  return deleted.map(({ id }) => id);
}

/** The products that each of these links offers, in no order. */
export async function findProductIds(
  tx: Tx,
  organization_id: string,
  ids: readonly string[],
): Promise<Map<string, string[]>> {
  if (ids.length === 0) return new Map();
  const { checkout_link_id, product_id } = checkoutLinkProducts;
  const rows = await tx
    .select({ link_id: checkout_link_id, product_id })
    .from(checkoutLinkProducts)
    .where(isAmong(organization_id, checkout_link_id, ids));
  const byLink = Map.groupBy(rows, ({ link_id }) => link_id);
  return new Map([...byLink].map(([id, offered]) => [id, offered.map((one) => one.product_id)]));
}

type Offer = { link: RowKey; product_ids: readonly string[] };

/** Have new links offer these in this order. */
export const addProducts = (tx: Tx, wanted: readonly Offer[]): Promise<void> =>
  addRows(
    tx,
    checkoutLinkProducts,
    wanted.flatMap(({ link: { organization_id, id: checkout_link_id }, product_ids }) =>
      [...new Set(product_ids.map((id) => id.toLowerCase()))].map((product_id, order) => ({
        ...{ organization_id, checkout_link_id, product_id, order },
      })),
    ),
  );

/** Have links offer these in this order, in place of what they offered. */
export async function setProducts(tx: Tx, wanted: readonly Offer[]): Promise<void> {
  if (wanted.length === 0) return;
  const links = wanted.map(({ link }) => link);
  const ids = links.map(({ id }) => id);
  await tx.delete(checkoutLinkProducts).where(isAmong(matchSeller(links), checkoutLinkProducts.checkout_link_id, ids));
  await addProducts(tx, wanted);
}

/** Archived products are offered by no link; a link that offered nothing else goes with them (PRD-28). */
export async function removeProducts(tx: Tx, archived: readonly RowKey[]): Promise<void> {
  const organization_id = matchSeller(archived);
  const ids = archived.map(({ id }) => id);
  const { checkout_link_id, product_id } = checkoutLinkProducts;
  const changed = await tx
    .delete(checkoutLinkProducts)
    .where(isAmong(organization_id, product_id, ids))
    .returning({ id: checkout_link_id });
  const links = [...new Set(changed.map(({ id }) => id))];
  const offered = await findProductIds(tx, organization_id, links);
  await deleteLinks(
    tx,
    organization_id,
    links.filter((id) => !offered.has(id)),
  );
}
