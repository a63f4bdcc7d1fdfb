import { pgTable, primaryKey, text, uniqueIndex, uuid } from "drizzle-orm/pg-core";
import type { Kind } from "../../../shared/catalog/kinds/kind.ts";
import { organization } from "../../identity/organizations/tables.ts";
import { instant } from "../../platform/db/columns.ts";

/**
 * Which thing a key of a catalogue file stands for. Kept apart from the things, so that nothing a seller edits can change
 * or copy it. A thing has one key, and a key one thing.
 */
export const catalogEntries = pgTable(
  "catalog_entries",
  {
    organization_id: text()
      .notNull()
      .references(() => organization.id, { onDelete: "cascade" }),
    catalog: text().notNull(),
    kind: text().$type<Kind>().notNull(),
    key: text().notNull(),
    subject_id: uuid().notNull(),
    created_at: instant().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.catalog, table.kind, table.key] }),
    uniqueIndex("catalog_entries_subject").on(table.organization_id, table.kind, table.subject_id),
  ],
);
