import { isDeepStrictEqual } from "node:util";
import { and, eq, getTableColumns, is, SQL, type SQLWrapper, sql } from "drizzle-orm";
import type { AnyPgColumn, PgColumn, PgTable } from "drizzle-orm/pg-core";
import { writeArray } from "./arrays.ts";
import { type OwnedTable, organizationOf } from "./columns.ts";
import type { Database, Tx } from "./transaction.ts";

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

/**
 * That a column of a seller's rows is one of these ids, in words that are the same for any number. Each is looked up by itself,
 * through an index that begins with both: asked for all of the seller and then for these, a database that does not know yet how
 * many rows a seller has reads them all. The ids are read once: where the table is taken for an empty one, they are gone through
 * for each of its rows.
 */
export function isAmong(organization_id: string, column: AnyPgColumn, ids: readonly string[]): SQL {
  const owner = organizationOf(column);
  const [id] = ids;
  if (id !== undefined && ids.length === 1) return sql`(${owner} = ${organization_id} and ${column} = ${id}::uuid)`;
  return sql`(${owner}, ${column}) in (with wanted as materialized (select ${organization_id}::text, unnest(${writeArray(ids, "uuid")}))
    select * from wanted)`;
}

/** These rows of a seller, kept from changing until the transaction ends, in the order of their ids. */
export async function lockRows<T extends OwnedTable>(
  tx: Tx,
  table: T,
  organization_id: string,
  ids: readonly string[],
  condition?: SQL,
): Promise<T["$inferSelect"][]> {
  if (ids.length === 0) return [];
  return tx
    .select()
    .from(table as PgTable)
    .where(and(isAmong(organization_id, table.id, ids), condition))
    .orderBy(table.id)
    .for("update") as Promise<T["$inferSelect"][]>;
}

/** The one seller that things are of that are asked for together. */
export function matchSeller(things: readonly { organization_id: string }[]): string {
  const [first, ...others] = new Set(things.map(({ organization_id }) => organization_id));
  if (first === undefined || others.length > 0) throw new Error("What is asked for together is of one seller.");
  return first;
}

/**
 * Add rows, and answer them as they are kept, in no order. Many that set the same columns come as one value, whose statement is
 * the same for any number of them.
 */
export async function insertRows<T extends PgTable>(
  db: Database,
  table: T,
  values: T["$inferInsert"][],
  { orNothing = false }: { orNothing?: boolean } = {},
): Promise<T["$inferSelect"][]> {
  if (values.length === 0) return [];
  const columns = getTableColumns(table);
  const from = toRecords(table, values);
  if (!from) {
    const plain = db.insert(table as PgTable).values(values);
    return (orNothing ? plain.onConflictDoNothing() : plain).returning() as Promise<T["$inferSelect"][]>;
  }
  const made = db.$with("made", {}).as(sql`${from}${orNothing ? sql` on conflict do nothing` : sql``} returning *`);
  const fields = Object.entries(columns).map(([key, column]) => [key, sql.identifier(column.name)] as const);
  return db
    .with(made)
    .select(Object.fromEntries(fields.map(([key, name]) => [key, sql`made.${name}`.mapWith(columns[key] as PgColumn)])))
    .from(sql`made`) as Promise<T["$inferSelect"][]>;
}

/** The same without an answer. */
export async function addRows<T extends PgTable>(db: Database, table: T, values: T["$inferInsert"][]): Promise<void> {
  if (values.length === 0) return;
  const from = toRecords(table, values);
  if (from) await db.execute(from);
  else await db.insert(table as PgTable).values(values);
}

/**
 * Add rows by the last statement of the transaction, together with its events. Nothing in the transaction may read them or refer
 * to them.
 */
export function addRowsAtEnd<T extends PgTable>(tx: Tx, table: T, values: T["$inferInsert"][]): void {
  if (values.length > 0) tx.unit.inserts.push(buildInsert(tx, table, values));
}

/** The statement that adds rows, without an answer. */
export const buildInsert = <T extends PgTable>(db: Database, table: T, values: T["$inferInsert"][]): SQLWrapper =>
  toRecords(table, values) ?? db.insert(table as PgTable).values(values);

/** How rows come as one value; undefined where one alone does, or they set different columns. */
function toRecords<T extends PgTable>(table: T, values: T["$inferInsert"][]): SQL | undefined {
  const columns = getTableColumns(table);
  const [first, ...others] = values.map((row) => Object.keys(row).filter((name) => row[name as never] !== undefined));
  if (!first || others.length === 0 || !others.every((names) => names.join() === first.join())) return undefined;
  const names = sql.join(
    first.map((name) => sql.identifier(columns[name]?.name ?? name)),
    sql`, `,
  );
  return sql`insert into ${table} (${names}) select ${names}
    from rows from (json_populate_recordset(null::${table}, ${JSON.stringify(values)}::json)) with ordinality as listed
    order by listed.ordinality`;
}

/** A statement that answers the rows that it changes, where they are asked for. */
type Answerable = PromiseLike<unknown> & { returning(columns: Record<string, PgColumn>): PromiseLike<unknown[]> };
type Change<T extends PgTable> = { key: RowKey; patch: Partial<T["$inferSelect"]> };

/** Change columns of rows, of each its own, and answer the rows in the same order; undefined where one is gone. */
export async function updateRows<T extends OwnedTable>(
  tx: Tx,
  table: T,
  changes: readonly Change<T>[],
  isAnswered = true,
): Promise<(T["$inferSelect"] | undefined)[]> {
  const columns = getTableColumns(table);
  const getNames = ({ patch }: Change<T>) =>
    Object.entries(patch)
      .filter(([, value]) => value !== undefined)
      .map(([name]) => name);
  const made = new Map<string, T["$inferSelect"]>();
  const groups = Map.groupBy(changes, (change) => {
    const isPlain = !Object.values(change.patch).some((value) => is(value, SQL));
    return isPlain ? getNames(change).sort().join() : change.key.id;
  });
  for (const group of groups.values()) {
    const [first] = group;
    if (!first) continue;
    const organization_id = matchSeller(group.map(({ key }) => key));
    const statement: Answerable =
      group.length === 1
        ? tx
            .update(table as PgTable)
            .set(first.patch)
            .where(matchKey(table, first.key))
        : tx
            .update(table as PgTable)
            .set(
              Object.fromEntries(
                getNames(first).map((name) => [name, sql`v.${sql.identifier(columns[name]?.name ?? name)}`]),
              ),
            )
            .from(
              sql`json_populate_recordset(null::${table}, ${JSON.stringify(
                group.map(({ key: { id }, patch }) => ({ ...patch, organization_id, id })),
              )}::json) as v`,
            )
            .where(sql`${table.organization_id} = v.organization_id and ${table.id} = v.id`);
    if (!isAnswered) await statement;
    else for (const row of (await statement.returning(columns)) as T["$inferSelect"][]) made.set(String(row.id), row);
  }
  return changes.map(({ key }) => made.get(key.id));
}

type LockedChange<T extends OwnedTable> = { row: T["$inferSelect"]; patch: Partial<T["$inferSelect"]> };

/**
 * Change columns of rows that the caller has locked, of each its own, by one statement; answers the changed rows. A column that
 * only others of them change is written as the row has it.
 */
export async function updateLockedRows<T extends OwnedTable>(
  tx: Tx,
  table: T,
  changes: readonly LockedChange<T>[],
): Promise<T["$inferSelect"][]> {
  return (await updateRows(tx, table, alignPatches(changes))).filter((row) => row !== undefined);
}

/** The same without an answer. */
export async function patchLockedRows<T extends OwnedTable>(
  tx: Tx,
  table: T,
  changes: readonly LockedChange<T>[],
): Promise<void> {
  await updateRows(tx, table, alignPatches(changes), false);
}

function alignPatches<T extends OwnedTable>(changes: readonly LockedChange<T>[]): Change<T>[] {
  const isSet = (patch: Partial<T["$inferSelect"]>, name: string) => patch[name as keyof typeof patch] !== undefined;
  const names = [...new Set(changes.flatMap(({ patch }) => Object.keys(patch).filter((name) => isSet(patch, name))))];
  return changes.map(({ row, patch }) => {
    const whole: Record<string, unknown> = { ...row, ...patch };
    const columns = Object.fromEntries(names.map((name) => [name, whole[name]]));
    return { key: row as RowKey, patch: columns as Partial<T["$inferSelect"]> };
  });
}

/** How a table is joined to the one that a foreign key of it points to. */
export const joinByKey = (column: AnyPgColumn, to: OwnedTable): SQL | undefined =>
  and(eq(to.organization_id, organizationOf(column)), eq(to.id, column));

/** The columns of each table that are dates: they are looked for once, as pages have many rows inside of rows. */
const dated = new WeakMap<PgTable, string[]>();
function listDates(table: PgTable): string[] {
  const known = dated.get(table);
  if (known) return known;
  const columns = Object.entries(getTableColumns(table));
  const names = columns.flatMap(([name, { dataType }]) => (dataType === "date" ? [name] : []));
  dated.set(table, names);
  return names;
}

/** A row that came inside another as JSON, with its dates read. */
export function readRow<T extends PgTable>(table: T, json: object): T["$inferSelect"] {
  const row: Record<string, unknown> = { ...json };
  for (const name of listDates(table)) {
    const value = row[name];
    if (typeof value === "string") row[name] = new Date(value);
  }
  return row as T["$inferSelect"];
}

/** Rows that came inside another as a JSON array. */
export const readRows = <T extends PgTable>(table: T, json: unknown): T["$inferSelect"][] =>
  (json as object[]).map((row) => readRow(table, row));

/** What an update sends of these fields otherwise than the row has it. */
export function listChanges<R extends object, K extends keyof R>(
  row: R,
  sent: { [F in K]?: R[F] | undefined },
  fields: readonly K[],
): Partial<R> {
  const changed = fields.filter((field) => sent[field] !== undefined && !isDeepStrictEqual(sent[field], row[field]));
  return Object.fromEntries(changed.map((field) => [field, sent[field]])) as Partial<R>;
}
