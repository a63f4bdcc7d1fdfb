import { sql } from "drizzle-orm";
import { index, jsonb, pgTable, text, uniqueIndex } from "drizzle-orm/pg-core";
import type { CustomField } from "../../../shared/api/custom-fields.ts";
import { owned } from "../../identity/organizations/tables.ts";
import { instant, metadata, ownedKey, searchIndex } from "../../platform/db/columns.ts";

/** Questions that checkouts ask. Deleting keeps the row, since what buyers answered goes on naming it (CUF-05). */
export const customFields = pgTable(
  "custom_fields",
  {
    ...owned(),
    deleted_at: instant(),
    type: text().$type<CustomField["type"]>().notNull(),
    slug: text().notNull(),
    /** Slugs under which there are still answers, which are being moved to the present one. */
    former_slugs: jsonb().$type<string[]>().notNull().default([]),
    name: text().notNull(),
    properties: jsonb().$type<CustomField["properties"]>().notNull(),
    metadata: metadata(),
  },
  (table) => [
    ownedKey(table.id),
    // A deleted field frees its slug (CUF-02).
    uniqueIndex("custom_fields_slug").on(table.organization_id, table.slug).where(sql`${table.deleted_at} is null`),
    index("custom_fields_by_creation")
      .on(table.organization_id, table.created_at, table.id)
      .where(sql`${table.deleted_at} is null`),
    index("custom_fields_by_name")
      .on(table.organization_id, table.name, table.id)
      .where(sql`${table.deleted_at} is null`),
    index("custom_fields_by_type")
      .on(table.organization_id, table.type, table.id)
      .where(sql`${table.deleted_at} is null`),
    index("custom_fields_moving").on(table.organization_id, table.id).where(sql`${table.former_slugs} <> '[]'`),
    searchIndex("custom_fields_search", table.name, table.slug),
  ],
);
