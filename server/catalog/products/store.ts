import { and, eq, getTableColumns, inArray, isNull, type SQL, sql } from "drizzle-orm";
import type { products as operations } from "../../../shared/api/products.ts";
import type { Database, Tx } from "../../platform/context.ts";
import { countMatching, selectListed } from "../../platform/db/counters.ts";
import {
  computeOffset,
  countRows,
  type ListQuery,
  limitPage,
  matchAny,
  matchFilters,
  matchMetadata,
  matchOne,
  matchOrganizations,
  matchPresence,
  matchText,
  orderBy,
  readPage,
  selectIds,
  usualLimits,
} from "../../platform/db/page.ts";
import {
  addRows,
  isAmong,
  joinByKey,
  matchSeller,
  patchLockedRows,
  type RowKey,
  readRow,
  readRows,
} from "../../platform/db/rows.ts";
import { memoizeStatement } from "../../platform/db/statements.ts";
import { getUnit } from "../../platform/db/unit-of-work.ts";
import { meters } from "../../usage/meters/tables.ts";
import type { BenefitRow } from "../benefits/rules.ts";
import { benefits } from "../benefits/tables.ts";
import { customFields } from "../custom-fields/tables.ts";
import type { FileRow } from "../files/rules.ts";
import { files } from "../files/tables.ts";
import type { PricedProduct, PriceInsert, PriceRow, ProductRow } from "./rules.ts";
import {
  productBenefits,
  productCustomFields,
  productMedias,
  productPrices,
  productSellers,
  products,
} from "./tables.ts";

type Filter = ListQuery<typeof operations.list>;
type Sorting = Filter["sorting"];

type WithMeter = { price: object; meter: object | null };
/** The prices of the product in the same row, so that a page of products is one statement: static ones first (PRD-24). */
const prices = sql<PriceRow[]>`(
  select coalesce(json_agg(json_build_object('price', p, 'meter', m)
    order by p.amount_type = 'metered_unit', p.created_at, p.id), '[]')
  from ${productPrices} p left join ${meters} m on m.organization_id = p.organization_id and m.id = p.meter_id
  where p.organization_id = ${products}.organization_id and p.product_id = ${products}.id and not p.is_archived and p.source = 'catalog'
)`.mapWith((list: unknown) => (list as WithMeter[]).map(readPrice));

const readPrice = ({ price, meter }: WithMeter): PriceRow => ({
  ...readRow(productPrices, price),
  meter: meter && readRow(meters, meter),
});

const given = sql<BenefitRow[]>`(
  select coalesce(json_agg(b order by pb."order"), '[]')
  from ${productBenefits} pb join ${benefits} b on b.organization_id = pb.organization_id and b.id = pb.benefit_id
  where pb.organization_id = ${products}.organization_id and pb.product_id = ${products}.id and b.deleted_at is null
)`.mapWith((list: unknown) => readRows(benefits, list));

const medias = sql<FileRow[]>`(
  select coalesce(json_agg(f order by pm."order"), '[]')
  from ${productMedias} pm join ${files} f on f.organization_id = pm.organization_id and f.id = pm.file_id
  where pm.organization_id = ${products}.organization_id and pm.product_id = ${products}.id and f.deleted_at is null
)`.mapWith((list: unknown) => readRows(files, list));

type Attached = PricedProduct["fields"][number];
const fields = sql<Attached[]>`(
  select coalesce(json_agg(json_build_object('order', pf."order", 'required', pf.required, 'field', c)
    order by pf."order"), '[]')
  from ${productCustomFields} pf join ${customFields} c
    on c.organization_id = pf.organization_id and c.id = pf.custom_field_id
  where pf.organization_id = ${products}.organization_id and pf.product_id = ${products}.id and c.deleted_at is null
)`.mapWith((list: unknown) =>
  (list as Attached[]).map(({ field, ...place }) => ({ ...place, field: readRow(customFields, field) })),
);

/** What a product is read by: its columns, and in the same row its prices, benefits, pictures and fields. */
export const priced = { ...getTableColumns(products), prices, benefits: given, medias, fields };

const sortable = {
  created_at: products.created_at,
  name: products.name,
  price_amount_type: products.sort_amount_type,
  price_amount: products.sort_amount,
};

/** One page. */
function selectPageAt(
  db: Database,
  ofThem: SQL,
  where: SQL | undefined,
  sorting: Sorting,
  limit: number,
  offset: number,
) {
  const order = orderBy(sorting, sortable, products.id);
  const ids = selectIds(db, products, where, order, limit, offset);
  return db
    .select(priced)
    .from(products)
    .where(and(ofThem, inArray(products.id, ids)))
    .orderBy(...order);
}

const owner = sql.placeholder("organization_id");
const whole = eq(products.organization_id, owner);
const prepareWhole = (db: Database, sorting: Sorting, limit: number) => ({
  page: selectPageAt(db, whole, whole, sorting, limitPage({ limit }, undefined), 0).prepare(
    `products_page_${sorting}_${limit}`,
  ),
  total: selectListed(db, "products", (column) => eq(column, owner)).prepare("products_total"),
});
/** The first page of all is asked for most, so its statements are made once for each order of one key and each usual length. */
const statements = memoizeStatement(() => new Map<string, ReturnType<typeof prepareWhole>>());

function listWhole(db: Database, { sorting, limit }: Filter): ReturnType<typeof prepareWhole> {
  const made = statements(db);
  const key = `${sorting} ${limit}`;
  const known = made.get(key) ?? prepareWhole(db, sorting, limit);
  made.set(key, known);
  return known;
}

/** One page of products with their prices, and how many products there are. */
export async function listProducts(
  db: Database,
  organizations: readonly string[],
  filter: Filter,
): Promise<{ items: PricedProduct[]; total: number }> {
  const { page: number, limit, sorting, ...filters } = filter;
  const [organization_id, ...others] = organizations;
  const isWhole = others.length === 0 && Object.values(filters).every((value) => value === undefined);
  const isUsual = number === 1 && usualLimits.has(limit) && sorting.length === 1;
  if (isWhole && isUsual && getUnit(db) === null) {
    const { page, total } = listWhole(db, filter);
    return readPage(
      () => page.execute({ organization_id }),
      () => countRows(total.execute({ organization_id })),
    );
  }
  const asked = matchFilters(filter, {
    id: matchAny(products.id),
    query: matchText(products.name),
    is_archived: matchOne(products.is_archived),
    is_recurring: matchPresence(products.recurring_interval),
    benefit_id: (ids) =>
      inArray(
        products.id,
        db
          .select({ id: productBenefits.product_id })
          .from(productBenefits)
          .where(
            and(
              matchOrganizations(productBenefits.organization_id, organizations),
              inArray(productBenefits.benefit_id, ids),
            ),
          ),
      ),
    visibility: matchAny(products.visibility),
    metadata: matchMetadata(products.metadata),
  });
  const ofThem = matchOrganizations(products.organization_id, organizations);
  const where = and(ofThem, asked);
  return readPage(
    () => selectPageAt(db, ofThem, where, sorting, limitPage(filter, asked), computeOffset(filter)),
    () => countMatching(db, organizations, "products", asked, () => db.$count(products, where)),
  );
}

/** These products of an organization with their prices on sale, archived products too, in no order. */
export async function findProducts(
  db: Database,
  organization_id: string,
  ids: readonly string[],
): Promise<PricedProduct[]> {
  if (ids.length === 0) return [];
  return db
    .select(priced)
    .from(products)
    .where(isAmong(organization_id, products.id, ids));
}

/** One product with its prices on sale. */
export async function findProduct(
  db: Database,
  organization_id: string,
  id: string,
): Promise<PricedProduct | undefined> {
  const [row] = await findProducts(db, organization_id, [id]);
  return row;
}

/** These prices, archived or made for one checkout too: what was bought stays readable (PRD-23). */
export async function findPrices(db: Database, organization_id: string, ids: readonly string[]): Promise<PriceRow[]> {
  if (ids.length === 0) return [];
  const found = await db
    .select({ price: productPrices, meter: meters })
    .from(productPrices)
    .leftJoin(meters, joinByKey(productPrices.meter_id, meters))
    .where(isAmong(organization_id, productPrices.id, ids));
  return found.map(({ price, meter }) => ({ ...price, meter }));
}

/** One of them. */
export const findPrice = async (db: Database, organization_id: string, id: string): Promise<PriceRow | undefined> =>
  (await findPrices(db, organization_id, [id]))[0];

/** Which of these organizations own any of the products that are named, or the product of the price. */
export async function findOwners(
  db: Database,
  organizations: readonly string[],
  named: { products?: string[] | null; product_id?: string | null; product_price_id?: string | null },
): Promise<string[]> {
  const ids = named.products ?? (named.product_id ? [named.product_id] : []);
  const { product_price_id } = named;
  const found =
    ids.length === 0 && product_price_id
      ? db
          .selectDistinct({ id: productPrices.organization_id })
          .from(productPrices)
          .where(
            and(
              matchOrganizations(productPrices.organization_id, organizations),
              eq(productPrices.id, product_price_id),
            ),
          )
      : db
          .selectDistinct({ id: products.organization_id })
          .from(products)
          .where(and(matchOrganizations(products.organization_id, organizations), inArray(products.id, ids)));
  return (await found).map(({ id }) => id);
}

/** Products with their prices on sale, kept from changing until the transaction ends. */
export async function lockProducts(tx: Tx, organization_id: string, ids: readonly string[]): Promise<PricedProduct[]> {
  if (ids.length === 0) return [];
  await tx
    .select({ id: products.id })
    .from(products)
    .where(isAmong(organization_id, products.id, ids))
    .orderBy(products.id)
    .for("update");
  return findProducts(tx, organization_id, ids);
}

/** Add products that set the same columns, and who sells them. */
export async function insertProducts(tx: Tx, values: (typeof products.$inferInsert)[]): Promise<void> {
  await addRows(tx, products, values);
  await addRows(
    tx,
    productSellers,
    values.map(({ id, organization_id }) => ({ product_id: id, organization_id })),
  );
}

/** The organization that sells all of these products; undefined when there is none or more than one. */
export async function findSeller(db: Database, ids: readonly string[]): Promise<string | undefined> {
  const rows = await db
    .selectDistinct({ id: productSellers.organization_id })
    .from(productSellers)
    .where(inArray(productSellers.product_id, [...ids]));
  return rows.length === 1 ? rows[0]?.id : undefined;
}

/** Change columns of products that the caller has locked. */
export const updateProducts = (tx: Tx, changes: { row: ProductRow; patch: Partial<ProductRow> }[]): Promise<void> =>
  patchLockedRows(tx, products, changes);

/** Add prices; those that set the same columns come as one value. */
export async function insertPrices(tx: Tx, values: PriceInsert[]): Promise<void> {
  const getColumns = (row: PriceInsert) => Object.keys(row).filter((name) => row[name as never] !== undefined);
  for (const rows of Map.groupBy(values, (row) => getColumns(row).join()).values())
    await addRows(tx, productPrices, rows);
}

/** Take prices off sale; whoever bought at one of them keeps it (PRD-22). */
export async function archivePrices(tx: Tx, organization_id: string, ids: readonly string[], now: Date): Promise<void> {
  if (ids.length === 0) return;
  await tx
    .update(productPrices)
    .set({ is_archived: true, modified_at: now })
    .where(isAmong(organization_id, productPrices.id, ids));
}

type Attachments = typeof productMedias | typeof productCustomFields | typeof productBenefits;

/** Take everything of a kind off products. */
async function detachAll(tx: Tx, table: Attachments, wanted: readonly { product: RowKey }[]): Promise<void> {
  const [first] = wanted;
  if (!first) return;
  const ids = wanted.map(({ product }) => product.id);
  await tx.delete(table).where(isAmong(first.product.organization_id, table.product_id, ids));
}

const referToProduct = ({ organization_id, id }: RowKey) => ({ organization_id, product_id: id });

type Medias = { product: RowKey; file_ids: readonly string[] };
type Fields = { product: RowKey; fields: readonly { custom_field_id: string; required: boolean }[] };

/** Put these on products that have none, in this order. */
export const addMedias = (tx: Tx, wanted: readonly Medias[]): Promise<void> =>
  addRows(
    tx,
    productMedias,
    wanted.flatMap(({ product, file_ids }) =>
      [...new Set(file_ids)].map((file_id, order) => ({ ...referToProduct(product), file_id, order })),
    ),
  );

/** Put these on products in this order, in place of what was there. */
export async function setMedias(tx: Tx, wanted: readonly Medias[]): Promise<void> {
  await detachAll(tx, productMedias, wanted);
  await addMedias(tx, wanted);
}

/** Have products that ask for none ask for these, in this order. */
export const addFields = (tx: Tx, wanted: readonly Fields[]): Promise<void> =>
  addRows(
    tx,
    productCustomFields,
    wanted.flatMap(({ product, fields }) =>
      fields.map((one, order) => ({ ...one, ...referToProduct(product), order })),
    ),
  );

/** Have products ask for these in this order, in place of what they asked for. */
export async function setFields(tx: Tx, wanted: readonly Fields[]): Promise<void> {
  await detachAll(tx, productCustomFields, wanted);
  await addFields(tx, wanted);
}

/** Have products give these in this order, in place of what they gave. */
export async function setBenefits(
  tx: Tx,
  wanted: readonly { product: RowKey; benefit_ids: readonly string[] }[],
): Promise<void> {
  await detachAll(tx, productBenefits, wanted);
  await addRows(
    tx,
    productBenefits,
    wanted.flatMap(({ product, benefit_ids }) =>
      benefit_ids.map((benefit_id, order) => ({ ...referToProduct(product), benefit_id, order })),
    ),
  );
}

/** Which of these are uploaded pictures of the organization. */
export async function findMedias(tx: Tx, organization_id: string, ids: readonly string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const rows = await tx
    .select({ id: files.id })
    .from(files)
    .where(
      and(
        isAmong(organization_id, files.id, ids),
        eq(files.service, "product_media"),
        eq(files.is_uploaded, true),
        isNull(files.deleted_at),
      ),
    );
  return new Set(rows.map(({ id }) => id));
}

/** No product gives these benefits any more (BEN-02). */
export async function detachBenefits(tx: Tx, gone: readonly RowKey[]): Promise<void> {
  const ids = gone.map(({ id }) => id);
  await tx.delete(productBenefits).where(isAmong(matchSeller(gone), productBenefits.benefit_id, ids));
}

/** No product asks for these custom fields any more (CUF-05). */
export async function detachFields(tx: Tx, gone: readonly RowKey[]): Promise<void> {
  const ids = gone.map(({ id }) => id);
  await tx.delete(productCustomFields).where(isAmong(matchSeller(gone), productCustomFields.custom_field_id, ids));
}

/** Remove products that nobody has changed. The database refuses one that something else refers to. */
export async function removeUnused(tx: Tx, organization_id: string, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  const unchanged = and(isAmong(organization_id, products.id, ids), isNull(products.modified_at));
  const found = await tx.select({ id: products.id }).from(products).where(unchanged);
  const gone = found.map(({ id }) => id);
  await tx.delete(productPrices).where(isAmong(organization_id, productPrices.product_id, gone));
  await tx.delete(products).where(isAmong(organization_id, products.id, gone));
}
