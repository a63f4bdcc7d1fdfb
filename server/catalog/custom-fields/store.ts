import { and, eq, isNull, sql } from "drizzle-orm";
import type { customFields as operations } from "../../../shared/api/custom-fields.ts";
import type { Database, Tx } from "../../platform/context.ts";
import { matchAnyOf } from "../../platform/db/arrays.ts";
import {
  type ListQuery,
  listRows,
  matchAny,
  matchFilters,
  matchOrganizations,
  matchText,
  orderBy,
} from "../../platform/db/page.ts";
import {
  insertRows,
  isAmong,
  lockRows,
  matchKey,
  matchSeller,
  type RowKey,
  updateLockedRows,
} from "../../platform/db/rows.ts";
import type { CustomFieldRow } from "./rules.ts";
import { customFields } from "./tables.ts";

type Filter = ListQuery<typeof operations.list>;
const sortable = {
  created_at: customFields.created_at,
  slug: customFields.slug,
  name: customFields.name,
  type: customFields.type,
};
const matchLiving = (organizations: string | readonly string[]) =>
  and(matchOrganizations(customFields.organization_id, organizations), isNull(customFields.deleted_at));

/** One page of custom fields, and how many there are (CUF-11). */
export async function listCustomFields(db: Database, organizations: readonly string[], filter: Filter) {
  const where = and(
    matchLiving(organizations),
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
    .where(and(isAmong(organization_id, customFields.id, ids), isNull(customFields.deleted_at)));
}

/** Fields that were not deleted, kept from changing until the transaction ends. */
export const lockCustomFields = (tx: Tx, organization_id: string, ids: readonly string[]): Promise<CustomFieldRow[]> =>
  lockRows(tx, customFields, organization_id, ids, isNull(customFields.deleted_at));

/** Which living fields have these slugs. */
export async function findSlugHolders(
  tx: Tx,
  organization_id: string,
  slugs: readonly string[],
): Promise<[string, string][]> {
  if (slugs.length === 0) return [];
  const rows = await tx
    .select({ slug: customFields.slug, id: customFields.id })
    .from(customFields)
    .where(and(matchLiving(organization_id), sql`${customFields.slug} = ${matchAnyOf(slugs, "text")}`));
  return rows.map(({ slug, id }) => [slug, id]);
}

/** Add fields; one whose slug a parallel one has just taken is not among those that are answered. */
export const insertCustomFields = (tx: Tx, values: (typeof customFields.$inferInsert)[]): Promise<CustomFieldRow[]> =>
  insertRows(tx, customFields, values, { orNothing: true });

type Change = { row: CustomFieldRow; patch: Partial<CustomFieldRow> };

/** Change columns of fields that the caller has locked. */
export async function updateCustomFields(tx: Tx, changes: readonly Change[]): Promise<CustomFieldRow[]> {
  const holders = new Map(changes.map(({ row }) => [row.slug, row.id]));
  const moved = changes.filter(({ patch }) => patch.slug !== undefined).map(({ row }) => row);
  // The index looks at each row as it is written, not at the end of the statement.
  if (changes.some(({ row, patch }) => patch.slug !== undefined && (holders.get(patch.slug) ?? row.id) !== row.id))
    await tx
      .update(customFields)
      .set({ slug: sql`${customFields.id}::text` })
      .where(
        isAmong(
          matchSeller(moved),
          customFields.id,
          moved.map(({ id }) => id),
        ),
      );
  return updateLockedRows(tx, customFields, changes);
}

/** Change columns of a field that the caller has locked. */
export async function updateCustomField(tx: Tx, key: RowKey, patch: Partial<CustomFieldRow>): Promise<void> {
  await tx.update(customFields).set(patch).where(matchKey(customFields, key));
}

/** A field, deleted or not, kept from changing until the transaction ends. */
export async function lockAnyCustomField(tx: Tx, key: RowKey): Promise<CustomFieldRow | undefined> {
  const [row] = await tx.select().from(customFields).where(matchKey(customFields, key)).for("update");
  return row;
}

/** From which of these slugs answers are still being moved away, with the fields that had them; a field may go back to its own. */
export async function findFormerSlugs(
  tx: Tx,
  organization_id: string,
  slugs: readonly string[],
): Promise<{ slug: string; id: string }[]> {
  if (slugs.length === 0) return [];
  const rows = await tx
    .select({ id: customFields.id, former_slugs: customFields.former_slugs })
    .from(customFields)
    .where(and(eq(customFields.organization_id, organization_id), sql`${customFields.former_slugs} <> '[]'`));
  const wanted = new Set(slugs);
  return rows.flatMap(({ id, former_slugs }) =>
    former_slugs.filter((slug) => wanted.has(slug)).map((slug) => ({ slug, id })),
  );
}
