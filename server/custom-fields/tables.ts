import { sql } from "drizzle-orm";
import { index, jsonb, pgTable, text, timestamp, uniqueIndex, uuid } from "drizzle-orm/pg-core";
import type { CustomField } from "../../shared/api/custom-fields.ts";
import { organization } from "../organizations/tables.ts";

const instant = () => timestamp({ withTimezone: true });

/** Questions that checkouts ask. Deleting keeps the row, since what buyers answered goes on naming it (CUF-05). */
export const customFields = pgTable(
  "custom_fields",
  {
    id: uuid().primaryKey(),
    organization_id: text()
      .notNull()
      .references(() => organization.id, { onDelete: "cascade" }),
    created_at: instant().notNull(),
    modified_at: instant(),
    deleted_at: instant(),
    type: text().$type<CustomField["type"]>().notNull(),
    slug: text().notNull(),
    name: text().notNull(),
    properties: jsonb().$type<CustomField["properties"]>().notNull(),
    metadata: jsonb().$type<CustomField["metadata"]>().notNull().default({}),
  },
  (table) => [
    // A deleted field frees its slug (CUF-02).
    uniqueIndex("custom_fields_slug").on(table.organization_id, table.slug).where(sql`${table.deleted_at} is null`),
    index("custom_fields_by_creation")
      .on(table.organization_id, table.created_at, table.id)
      .where(sql`${table.deleted_at} is null`),
    index("custom_fields_part").using("gin", sql`${table.name} gin_trgm_ops`, sql`${table.slug} gin_trgm_ops`),
  ],
);
