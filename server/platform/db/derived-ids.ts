import { count, sql } from "drizzle-orm";
import { createDerivedId } from "../ids.ts";
import { writeArray } from "./arrays.ts";
import type { OwnedTable } from "./columns.ts";
import { defineLoader } from "./loaders.ts";
import { matchSeller } from "./rows.ts";
import type { Tx } from "./transaction.ts";

/**
 * Define a loader of the next free id of a table with a prefix (`deriveIdPrefix`). The caller holds a lock on what the prefix
 * stands for, or can bear that its row is refused.
 */
export const defineDerivedIds = (table: OwnedTable) =>
  defineLoader(async (tx: Tx, wanted: { organization_id: string; prefix: string }[]): Promise<string[]> => {
    const organization_id = matchSeller(wanted);
    const prefixes = wanted.map(({ prefix }) => prefix);
    const listed = sql`unnest(${writeArray([...new Set(prefixes)], "text")}) as listed (prefix)`;
    const rows = await tx
      .select({ prefix: sql<string>`listed.prefix`, taken: count(table.id) })
      .from(listed)
      .innerJoin(
        table,
        sql`${table.organization_id} = ${organization_id}
          and ${table.id} between (listed.prefix || '0000')::uuid and (listed.prefix || 'ffff')::uuid`,
      )
      .groupBy(sql`listed.prefix`);
    const taken = new Map(rows.map((row) => [row.prefix, row.taken]));
    return prefixes.map((prefix) => {
      const others = taken.get(prefix) ?? 0;
      taken.set(prefix, others + 1);
      return createDerivedId(prefix, others);
    });
  });
