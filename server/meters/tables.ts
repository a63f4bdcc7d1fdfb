import { sql } from "drizzle-orm";
import { index, integer, jsonb, pgTable, text } from "drizzle-orm/pg-core";
import type { Meter } from "../../shared/api/meters.ts";
import { instant, metadata, ownedKey } from "../lib/columns.ts";
import { owned } from "../organizations/tables.ts";

/** What is counted. There is no deleting, only archiving (MTR-13). */
export const meters = pgTable(
  "meters",
  {
    ...owned(),
    archived_at: instant(),
    name: text().notNull(),
    unit: text().$type<Meter["unit"]>().notNull().default("scalar"),
    custom_label: text(),
    custom_multiplier: integer(),
    filter: jsonb().$type<Meter["filter"]>().notNull(),
    aggregation: jsonb().$type<Meter["aggregation"]>().notNull(),
    metadata: metadata(),
  },
  (table) => [
    ownedKey(table.id),
    index("meters_by_name").on(table.organization_id, table.name, table.id),
    index("meters_by_creation").on(table.organization_id, table.created_at, table.id),
    index("meters_name_part").using("gin", sql`${table.name} gin_trgm_ops`),
    index("meters_metadata").using("gin", sql`${table.metadata} jsonb_path_ops`),
  ],
);
