import { isDeepStrictEqual } from "node:util";
import { and, eq, getTableColumns, type SQL, sql } from "drizzle-orm";
import type { AnyPgColumn, PgTable } from "drizzle-orm/pg-core";
import { type OwnedTable, organizationOf } from "./columns.ts";

/** What names a row of a seller: every row is one. */
export type RowKey = { organization_id: string; id: string };

/** That a row is this one. */
export const matchKey = (table: OwnedTable, { organization_id, id }: RowKey): SQL | undefined =>
  and(eq(table.organization_id, organization_id), eq(table.id, id));

/** That a row is one of these. */
export const matchKeys = (table: OwnedTable, keys: readonly RowKey[]): SQL =>
  keys.length === 0
    ? sql`false`
    : sql`(${table.organization_id}, ${table.id}) in (${sql.join(
        keys.map(({ organization_id, id }) => sql`(${organization_id}, ${id}::uuid)`),
        sql`, `,
      )})`;

/** How a table is joined to the one that a foreign key of it points to. */
export const followKey = (column: AnyPgColumn, to: OwnedTable): SQL | undefined =>
  and(eq(to.organization_id, organizationOf(column)), eq(to.id, column));

/** A row that came inside another as JSON, with its dates read. */
export function rowFromJson<T extends PgTable>(table: T, json: object): T["$inferSelect"] {
  const row: Record<string, unknown> = { ...json };
  for (const [key, column] of Object.entries(getTableColumns(table))) {
    const value = row[key];
    if (column.dataType === "date" && typeof value === "string") row[key] = new Date(value);
  }
  return row as T["$inferSelect"];
}

/** Rows that came inside another as a JSON array. */
export const rowsFromJson = <T extends PgTable>(table: T, json: unknown): T["$inferSelect"][] =>
  (json as object[]).map((row) => rowFromJson(table, row));

/** What an update sends of these fields otherwise than the row has it. */
export function changesOf<R extends object, K extends keyof R>(
  row: R,
  sent: { [F in K]?: R[F] | undefined },
  fields: readonly K[],
): Partial<R> {
  const changed = fields.filter((field) => sent[field] !== undefined && !isDeepStrictEqual(sent[field], row[field]));
  return Object.fromEntries(changed.map((field) => [field, sent[field]])) as Partial<R>;
}
