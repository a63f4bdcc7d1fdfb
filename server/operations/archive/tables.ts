import { bigint, index, integer, pgTable, text, uniqueIndex } from "drizzle-orm/pg-core";
import { owned } from "../../identity/organizations/tables.ts";
import { instant, ownedKey } from "../../platform/db/columns.ts";

/** An archive that is or was restored into an organization. Its id is that of the archive. */
export const archiveRestores = pgTable(
  "archive_restores",
  {
    ...owned(),
    source_organization_id: text().notNull(),
    taken_at: instant().notNull(),
    /** The key that signed the archive, and the key that opens its secrets; sealed, and gone when it is restored. */
    signer: text().notNull(),
    archive_key: text(),
    /** The header as it is in the archive: it says which columns a kind has. */
    header: text().notNull(),
    parts: integer().notNull(),
    next_part: integer().notNull().default(0),
    rows_total: bigint({ mode: "number" }).notNull(),
    rows: bigint({ mode: "number" }).notNull().default(0),
    files_left_out: integer().notNull(),
    finished_at: instant(),
    activated_at: instant(),
  },
  (table) => [
    ownedKey(table.id),
    uniqueIndex("archive_restores_of_organization").on(table.organization_id),
    index("archive_restores_of_source").on(table.source_organization_id),
  ],
);
