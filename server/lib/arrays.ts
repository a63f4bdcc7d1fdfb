import { type SQL, sql } from "drizzle-orm";

/**
 * A list of values as one parameter of a statement: a column of many rows to be written together. It is sent as a text, which
 * both drivers do alike, and read by the database as what it is to be.
 */
export function arraySql(
  values: readonly (string | number | null)[],
  type: "uuid" | "text" | "numeric" | "bigint" | "smallint" | "timestamptz" | "jsonb",
): SQL {
  const literal = values.map((value) => (value === null ? "NULL" : quoted(String(value)))).join(",");
  return sql`${`{${literal}}`}::text::${sql.raw(type)}[]`;
}

const special = /["\\]/;
const quoted = (text: string): string => `"${special.test(text) ? text.replace(/["\\]/g, "\\$&") : text}"`;
