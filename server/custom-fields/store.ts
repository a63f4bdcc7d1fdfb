import { and, eq, inArray, isNull, ne, sql } from "drizzle-orm";
import type { customFields as operations } from "../../shared/api/custom-fields.ts";
import type { Database, Tx } from "../lib/context.ts";
import {
  type ListQuery,
  listRows,
  matchAny,
  matchFilters,
  matchOrganizations,
  matchText,
  orderBy,
} from "../lib/page.ts";
import { matchKey, type RowKey } from "../lib/rows.ts";
import type { CustomFieldRow } from "./rules.ts";
import { customFields } from "./tables.ts";

type Filter = ListQuery<typeof operations.list>;
const sortable = {
  created_at: customFields.created_at,
  slug: customFields.slug,
  name: customFields.name,
  type: customFields.type,
};
const living = (organizations: string | readonly string[]) =>
  and(matchOrganizations(customFields.organization_id, organizations), isNull(customFields.deleted_at));

/** One page of custom fields, and how many there are (CUF-11). */
export async function listCustomFields(db: Database, organizations: readonly string[], filter: Filter) {
  const where = and(
    living(organizations),
    matchFilters(filter, {
      query: matchText(customFields.name, customFields.slug),
      type: matchAny(customFields.type),
    }),
  );
  return listRows(db, customFields, {
    where,
    order: orderBy(filter.sorting, sortable, customFields.id),
    paging: filter,
  });
}

/** These fields of an organization that were not deleted, in no order. */
export async function findCustomFields(
  db: Database,
  organization_id: string,
  ids: readonly string[],
): Promise<CustomFieldRow[]> {
  if (ids.length === 0) return [];
  return db
    .select()
    .from(customFields)
    .where(and(living(organization_id), inArray(customFields.id, [...ids])));
}

/** A field that was not deleted, kept from changing until the transaction ends. */
export async function lockCustomField(
  tx: Tx,
  organization_id: string,
  id: string,
): Promise<CustomFieldRow | undefined> {
  const [row] = await tx
    .select()
    .from(customFields)
    .where(and(living(organization_id), eq(customFields.id, id)))
    .for("update");
  return row;
}

/** Whether another living field has the slug. */
export async function isSlugTaken(tx: Tx, organization_id: string, slug: string, id?: string): Promise<boolean> {
  const [row] = await tx
    .select({ id: customFields.id })
    .from(customFields)
    .where(
      and(living(organization_id), eq(customFields.slug, slug), id === undefined ? undefined : ne(customFields.id, id)),
    );
  return row !== undefined;
}

/** Add a field; undefined when a parallel one has just taken the slug. */
export async function insertCustomField(
  tx: Tx,
  values: typeof customFields.$inferInsert,
): Promise<CustomFieldRow | undefined> {
  const [row] = await tx.insert(customFields).values(values).onConflictDoNothing().returning();
  return row;
}

/** Change columns of a field that the caller has locked. */
export async function updateCustomField(tx: Tx, key: RowKey, patch: Partial<CustomFieldRow>): Promise<CustomFieldRow> {
  const [row] = await tx.update(customFields).set(patch).where(matchKey(customFields, key)).returning();
  if (!row) throw new Error(`The custom field ${key.id} is gone.`);
  return row;
}

/** A field, deleted or not, kept from changing until the transaction ends. */
export async function lockAnyCustomField(tx: Tx, key: RowKey): Promise<CustomFieldRow | undefined> {
  const [row] = await tx.select().from(customFields).where(matchKey(customFields, key)).for("update");
  return row;
}

/** Whether answers are still being moved away from a slug; a field may go back to its own. */
export async function isSlugFormer(tx: Tx, organization_id: string, slug: string, id?: string): Promise<boolean> {
  const [row] = await tx
    .select({ id: customFields.id })
    .from(customFields)
    .where(
      and(
        eq(customFields.organization_id, organization_id),
        sql`jsonb_exists(${customFields.former_slugs}, ${slug})`,
        id === undefined ? undefined : ne(customFields.id, id),
      ),
    )
    .limit(1);
  return row !== undefined;
}
