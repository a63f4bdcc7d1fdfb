import type { SQL } from "drizzle-orm";
import { and, asc, count, desc, eq, ilike, inArray, isNotNull, isNull, or, sql } from "drizzle-orm";
import type { PgColumn, PgTable } from "drizzle-orm/pg-core";
import type { z } from "zod";
import type { OwnedTable } from "./columns.ts";
import { queryTogether } from "./pool.ts";
import type { Database } from "./transaction.ts";
import { unpreparedPlan } from "./unprepared.ts";

export type Paging = { page: number; limit: number };

type Asked<O extends { query: z.ZodType }> = z.output<O["query"]>;
/** Parameters that are no filters. `organization_id` is resolved to the permitted organizations before. */
type Placed = "page" | "limit" | "sorting" | "organization_id";
/** The query parameters of a list, as its operation in the contract declares them. */
export type ListQuery<O extends { query: z.ZodType }> = Paging &
  Pick<Asked<O>, Extract<keyof Asked<O>, "sorting">> &
  Partial<Omit<Asked<O>, Placed>>;
/** One condition for each filter of a list. If a declared filter has no condition, the code does not compile. */
export type Conditions<F> = {
  [K in Exclude<keyof F, Placed>]-?: (value: Exclude<F[K], undefined>) => SQL | undefined;
};
type Given = (value: unknown) => SQL | undefined;

/** Combine the conditions of the filters that are set. */
export const matchFilters = <F extends object>(filter: F, conditions: Conditions<F>): SQL | undefined =>
  and(
    ...Object.entries(conditions as Record<string, Given>).map(([name, condition]) => {
      const value = (filter as Record<string, unknown>)[name];
      return value === undefined ? undefined : condition(value);
    }),
  );

/** The response for one page; `total` counts the whole list (API-14). */
export const buildPage = <T>(items: T[], total: number, { limit }: Paging) => ({
  items,
  pagination: { total_count: total, max_page: (total + limit - 1 - ((total + limit - 1) % limit)) / limit },
});

/** Common page sizes. */
export const usualLimits = new Set([10, 20, 25, 50, 100]);

/**
 * The limit of a page's statement. Without filters, a usual limit is written into the text, so that PostgreSQL keeps a plan
 * for it. As a parameter, the generic plan assumes a tenth of the list, so each page would be planned again, which takes
 * longer than reading it. With filters, the best plan depends on how many rows match, so each statement is planned for its
 * values.
 */
export const limitPage = ({ limit }: Pick<Paging, "limit">, asked: SQL | undefined): number =>
  asked === undefined && usualLimits.has(limit) ? (sql.raw(String(limit)) as never) : limit;

export const computeOffset = ({ page, limit }: Paging): number => (page - 1) * limit;

/** Build an ORDER BY from sort keys; the id comes last, so that pages never overlap. */
export function orderBy<K extends string>(
  sorting: readonly NoInfer<K | `-${K}`>[],
  columns: Record<K, PgColumn | SQL>,
  id: PgColumn,
): SQL[] {
  const order = sorting.map((key) => {
    const down = key.startsWith("-");
    const column = columns[(down ? key.slice(1) : key) as K];
    return down ? desc(column) : asc(column);
  });
  return [...order, sorting[0]?.startsWith("-") ? desc(id) : asc(id)];
}

/** Read one page and the total number of rows at the same time. */
export async function readPage<T>(
  page: () => PromiseLike<T[]>,
  count: () => PromiseLike<number>,
): Promise<{ items: T[]; total: number }> {
  const [items, total] = await queryTogether(() => [page(), count()]);
  return { items, total };
}

/** The selection of a statement that counts rows with their joins, and the function that reads the count. */
export const counted = { total: count() };
export const countRows = async (rows: PromiseLike<{ total: number }[]>): Promise<number> => (await rows)[0]?.total ?? 0;

/** Find the ids of a page first, so that the joins are read only for its rows, however many rows precede them or match. */
export const selectIds = (
  db: Database,
  table: OwnedTable,
  where: SQL | undefined,
  order: SQL[],
  limit: number,
  offset: number,
) =>
  db
    .select({ id: table.id })
    .from(table as PgTable)
    .where(where)
    .orderBy(...order)
    .limit(limit)
    .offset(offset);

/** List one page of a table's rows, and the total number of rows. */
export function listRows<T extends PgTable>(
  db: Database,
  table: T,
  { where, order, paging }: { where: SQL | undefined; order: SQL[]; paging: Paging },
): Promise<{ items: T["$inferSelect"][]; total: number }> {
  const loadPage = () =>
    db
      .select()
      .from(table as PgTable)
      .where(where)
      .orderBy(...order)
      .limit(paging.limit)
      .offset(computeOffset(paging)) as PromiseLike<T["$inferSelect"][]>;
  return readPage(loadPage, () => db.$count(table, where));
}

/** The text as a case-insensitive substring pattern; `%`, `_` and `\` are literal (API-16). */
export const buildPattern = (text: string): string => `%${text.replace(/[\\%_]/g, "\\$&")}%`;

/** A number as JSON and the database write it; other notations are matched as text. */
const numeric = /^-?(0|[1-9]\d{0,400})(\.\d{1,400})?$/;

/** The entries that a filter's text can match, as JSON: metadata keeps numbers and booleans as such. */
function getEntries(key: string, value: string): string[] {
  const name = JSON.stringify(key);
  const asItself = numeric.test(value) || value === "true" || value === "false";
  return [`{${name}:${JSON.stringify(value)}}`, ...(asItself ? [`{${name}:${value}}`] : [])];
}

/**
 * `metadata[key]=value`: text form compared, values of one key OR, keys AND (API-18). Containment alone would take 1.0 for
 * 1, and comparison alone would read every row: the index answers the first, the second has the last word.
 */
export const matchMetadata =
  (column: PgColumn) =>
  (filter: Record<string, string[] | undefined>): SQL | undefined =>
    and(
      ...Object.entries(filter).flatMap(([key, values = []]) => [
        or(
          ...values
            .flatMap((value) => getEntries(key, value))
            .map((entry) => sql`${column} @> ${entry}::jsonb ${sql.raw(unpreparedPlan)}`),
        ),
        or(...values.map((value) => sql`${column} ->> ${key} = ${value}`)),
      ]),
    );

/** Rows of these organizations: nearly always of one, which is what indexes begin with. */
export const matchOrganizations = (column: PgColumn, ids: string | readonly string[]): SQL => {
  const [first, ...others] = [ids].flat();
  return first !== undefined && others.length === 0 ? eq(column, first) : inArray(column, [...ids]);
};

/** Load related data for rows of several organizations, once for each organization. The order of the rows is kept. */
export async function loadByOrganization<R extends { organization_id: string }, T>(
  rows: readonly R[],
  load: (organization_id: string, rows: R[]) => Promise<T[]>,
): Promise<T[]> {
  const loaded = new Map<R, T>();
  for (const [organization_id, own] of Map.groupBy(rows, (row) => row.organization_id)) {
    const made = await load(organization_id, own);
    for (const [index, row] of own.entries()) loaded.set(row, made[index] as T);
  }
  return rows.map((row) => loaded.get(row) as T);
}

/** `column in (values)`; an empty list matches nothing. */
export const matchAny =
  (column: PgColumn) =>
  (values: readonly (string | boolean)[]): SQL =>
    inArray(column, [...values] as never[]);

/**
 * The text somewhere in one of these columns, in capitals or not (API-16). A plan that is kept would use the index even for a
 * text of one letter, for which the index names every row of every organization.
 */
export const matchText =
  (...columns: PgColumn[]) =>
  (text: string): SQL | undefined =>
    or(...columns.map((column) => sql`${ilike(column, buildPattern(text))} ${sql.raw(unpreparedPlan)}`));

/** This one value. */
export const matchOne =
  (column: PgColumn) =>
  (value: string | boolean): SQL =>
    eq(column, value);

/** That a column has a value, or has none. */
export const matchPresence =
  (column: PgColumn) =>
  (present: boolean): SQL =>
    present ? isNotNull(column) : isNull(column);
