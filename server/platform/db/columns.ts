import { getTableColumns, getTableName, sql } from "drizzle-orm";
import {
  type AnyPgColumn,
  foreignKey,
  index,
  jsonb,
  type PgColumn,
  type PgTable,
  primaryKey,
  timestamp,
} from "drizzle-orm/pg-core";
import type { Metadata } from "../../../shared/contract.ts";

/** A moment in time, whatever the zone of who asks. */
export const instant = () => timestamp({ withTimezone: true });

/** When a row was made, and when it was last changed: null until then. */
export const stamps = () => ({ created_at: instant().notNull(), modified_at: instant() });

/** What sellers note on a row for themselves. */
export const metadata = () => jsonb().$type<Metadata>().notNull().default({});

/** A table of sellers' data, as another one points to it. */
export type OwnedTable = PgTable & { id: AnyPgColumn; organization_id: AnyPgColumn };

/** The column that says whose the row is. */
export function organizationOf({ table }: AnyPgColumn): PgColumn {
  const { organization_id } = getTableColumns(table);
  if (!organization_id) throw new Error(`The table ${getTableName(table)} has no organization_id.`);
  return organization_id;
}

/**
 * The primary key of a seller's rows: the organization and what tells its rows apart, which is the id, or of a table
 * between two others the columns that point to them.
 */
export function ownedKey(first: AnyPgColumn, ...more: AnyPgColumn[]) {
  return primaryKey({ name: `${getTableName(first.table)}_pkey`, columns: [organizationOf(first), first, ...more] });
}

/**
 * A foreign key to a row of the same organization: it carries the organization on both sides, so the database refuses a
 * row that points into another one. There is no `set null`, because that would empty `organization_id` too.
 */
export function references(column: AnyPgColumn, owner: OwnedTable, onDelete: "no action" | "cascade" = "no action") {
  return foreignKey({
    name: `${getTableName(column.table)}_${column.name}_fkey`,
    columns: [organizationOf(column), column],
    foreignColumns: [owner.organization_id, owner.id],
  }).onDelete(onDelete);
}

/** How many kB of new entries an index for text search keeps unsorted. Each search reads all of them, of every organization. */
const unsortedEntriesKb = 256;

/**
 * An index for a part of a text in one of these columns. It begins with the organization, so that a search reads entries of
 * that organization alone, however many rows others have.
 */
export function searchIndex(name: string, first: AnyPgColumn, ...more: AnyPgColumn[]) {
  return index(name)
    .using("gin", sql`${organizationOf(first)}`, ...[first, ...more].map((column) => sql`${column} gin_trgm_ops`))
    .with({ gin_pending_list_limit: unsortedEntriesKb });
}
