import { sql } from "drizzle-orm";
import { boolean, index, jsonb, pgTable, text } from "drizzle-orm/pg-core";
import type { Benefit } from "../../../shared/api/benefits.ts";
import { owned } from "../../identity/organizations/tables.ts";
import { instant, metadata, ownedKey, searchIndex } from "../../platform/db/columns.ts";

/** What products give. Deleting keeps the row, because grants go on naming it (BEN-02). */
export const benefits = pgTable(
  "benefits",
  {
    ...owned(),
    deleted_at: instant(),
    type: text().$type<Benefit["type"]>().notNull(),
    description: text().notNull(),
    visibility: text().$type<Benefit["visibility"]>().notNull().default("public"),
    /** Whether sellers may put it on products and take it off, and delete it; only the system's own say no (BEN-04). */
    selectable: boolean().notNull().default(true),
    deletable: boolean().notNull().default(true),
    properties: jsonb().$type<Benefit["properties"]>().notNull(),
    metadata: metadata(),
  },
  (table) => [
    ownedKey(table.id),
    index("benefits_by_creation")
      .on(table.organization_id, table.created_at, table.id)
      .where(sql`${table.deleted_at} is null`),
    index("benefits_by_description")
      .on(table.organization_id, table.description, table.id)
      .where(sql`${table.deleted_at} is null`),
    index("benefits_by_type").on(table.organization_id, table.type, table.id).where(sql`${table.deleted_at} is null`),
    searchIndex("benefits_search", table.description),
    index("benefits_metadata").using("gin", sql`${table.metadata} jsonb_path_ops`),
  ],
);
