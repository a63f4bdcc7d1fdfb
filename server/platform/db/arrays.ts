import { type Placeholder, type SQL, sql } from "drizzle-orm";

type ItemType = "uuid" | "text" | "numeric" | "bigint" | "smallint" | "timestamptz" | "jsonb";

/**
 * A list of values as one parameter of a statement: a column of many rows to be written together. It is sent as a text, which
 * both drivers do alike, and read by the database as what it is to be.
 */
export const writeArray = (values: readonly (string | number | null)[], type: ItemType): SQL =>
  readArray(formatArray(values), type);

/** A list as the text that the database reads it from. */
export const formatArray = (values: readonly (string | number | null)[]): string =>
  `{${values.map((value) => (value === null ? "NULL" : quote(String(value)))).join(",")}}`;

/** What such a text is read as, which may be a value that is given later. */
export const readArray = (text: string | Placeholder, type: ItemType): SQL => sql`${text}::text::${sql.raw(type)}[]`;

const special = /["\\]/;
const quote = (text: string): string => `"${special.test(text) ? text.replace(/["\\]/g, "\\$&") : text}"`;

/** What a value is held against that may be any of a list. A query of its own, as else the list may be read for each row. */
export const matchAnyOf = (values: readonly (string | number)[], type: ItemType): SQL =>
  sql`any((select ${writeArray(values, type)})::${sql.raw(type)}[])`;
