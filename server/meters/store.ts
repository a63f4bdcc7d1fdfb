import { and, eq, ilike, inArray, isNotNull, isNull, sql } from "drizzle-orm";
import { benefits } from "../benefits/tables.ts";
import type { Database, Tx } from "../lib/context.ts";
import { contains, listRows, metadataMatches, ofOrganizations, orderBy, type Paging } from "../lib/page.ts";
import { followKey, matchKey, type RowKey } from "../lib/rows.ts";
import { productPrices, products } from "../products/tables.ts";
import type { MeterRow, MeterUse } from "./rules.ts";
import { meters } from "./tables.ts";

type Filter = Paging & {
  query?: string | undefined;
  is_archived?: boolean | undefined;
  metadata?: Record<string, string[] | undefined> | undefined;
  sorting: readonly string[];
};
const sortable = { created_at: meters.created_at, name: meters.name };

/** One page of meters, and how many there are. */
export async function listMeters(db: Database, organizations: readonly string[], filter: Filter) {
  const { query, is_archived } = filter;
  const where = and(
    ofOrganizations(meters.organization_id, organizations),
    query === undefined ? undefined : ilike(meters.name, contains(query)),
    is_archived === undefined ? undefined : is_archived ? isNotNull(meters.archived_at) : isNull(meters.archived_at),
    metadataMatches(meters.metadata, filter.metadata),
  );
  return listRows(db, meters, { where, order: orderBy(filter.sorting, sortable, meters.id), paging: filter });
}

/** These meters of an organization, in no order. */
export async function findMeters(db: Database, organization_id: string, ids: readonly string[]): Promise<MeterRow[]> {
  if (ids.length === 0) return [];
  return db
    .select()
    .from(meters)
    .where(and(eq(meters.organization_id, organization_id), inArray(meters.id, [...ids])));
}

/** Which of these meters count, and go on counting until the transaction ends: something is about to use them. */
export async function holdMeters(tx: Tx, organization_id: string, ids: readonly string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const counting = and(
    eq(meters.organization_id, organization_id),
    inArray(meters.id, [...ids]),
    isNull(meters.archived_at),
  );
  const rows = await tx.select({ id: meters.id }).from(meters).where(counting).orderBy(meters.id).for("share");
  return new Set(rows.map(({ id }) => id));
}

/** A meter, kept from changing until the transaction ends. */
export async function lockMeter(tx: Tx, organization_id: string, id: string): Promise<MeterRow | undefined> {
  const [row] = await tx.select().from(meters).where(matchKey(meters, { organization_id, id })).for("update");
  return row;
}

/** What keeps a meter from being archived (MTR-13). */
export async function usesOf(tx: Tx, { id, organization_id }: MeterRow): Promise<MeterUse> {
  const [price] = await tx
    .select({ id: productPrices.id })
    .from(productPrices)
    .innerJoin(products, followKey(productPrices.product_id, products))
    .where(
      and(
        eq(productPrices.organization_id, organization_id),
        eq(productPrices.meter_id, id),
        eq(productPrices.is_archived, false),
        eq(products.is_archived, false),
      ),
    )
    .limit(1);
  const [credit] = await tx
    .select({ id: benefits.id })
    .from(benefits)
    .where(
      and(
        eq(benefits.organization_id, organization_id),
        eq(benefits.type, "meter_credit"),
        eq(sql`${benefits.properties} ->> 'meter_id'`, id),
        isNull(benefits.deleted_at),
      ),
    )
    .limit(1);
  return { priced: price !== undefined, credited: credit !== undefined };
}

/** Add a meter. */
export async function insertMeter(tx: Tx, values: typeof meters.$inferInsert): Promise<MeterRow> {
  const [row] = await tx.insert(meters).values(values).returning();
  if (!row) throw new Error("The meter was not written.");
  return row;
}

/** Change columns of a meter that the caller has locked. */
export async function updateMeter(tx: Tx, key: RowKey, patch: Partial<MeterRow>): Promise<MeterRow> {
  const [row] = await tx.update(meters).set(patch).where(matchKey(meters, key)).returning();
  if (!row) throw new Error(`The meter ${key.id} is gone.`);
  return row;
}
