import { type SQL, sql } from "drizzle-orm";
import type { AnyPgColumn } from "drizzle-orm/pg-core";
import { writeArray } from "./db/arrays.ts";

/** That a text is one of these addresses, which are in lower case. */
export const isOneOf = (column: AnyPgColumn, emails: readonly string[]): SQL =>
  sql`lower(${column}) = any(${writeArray(emails, "text")})`;

/** Of an address, what taxes are computed from. */
export const reduceToRegion = (column: AnyPgColumn): SQL =>
  sql`${column} || '{"line1": null, "line2": null, "postal_code": null, "city": null}'::jsonb`;

/** What sellers noted on a row; nothing where it says who somebody is. */
export const clearIfNamed = (
  column: AnyPgColumn,
  { emails, names }: { emails: readonly string[]; names: readonly string[] },
): SQL =>
  sql`case when exists (select 1 from unnest(${writeArray(
    [...emails, ...names.map((name) => name.toLowerCase())],
    "text",
  )}) as word where position(word in lower(${column}::text)) > 0) then '{}'::jsonb else ${column} end`;
