import { index, integer, jsonb, pgTable, text, uniqueIndex, uuid } from "drizzle-orm/pg-core";
import { organization } from "../../identity/organizations/tables.ts";
import { instant, ownedKey, references } from "../../platform/db/columns.ts";

/** Which columns of a table were saved, each kind in its order. */
export type SavedColumns = { texts: string[]; documents: string[] };

/** A sandbox as it was. Its rows are in `snapshot_rows`. */
export const snapshots = pgTable(
  "snapshots",
  {
    id: uuid().notNull(),
    organization_id: text()
      .notNull()
      .references(() => organization.id, { onDelete: "cascade" }),
    name: text().notNull(),
    /** By the sandbox's clock, which is set to it when it is restored; and by the server's. */
    created_at: instant().notNull(),
    saved_at: instant().notNull(),
    rows: integer().notNull(),
    /** The columns that there were, by table: one that came later has its default in what is restored. */
    columns: jsonb().$type<Record<string, SavedColumns>>().notNull(),
    /** The row of the organization. */
    settings: jsonb().notNull(),
  },
  (table) => [ownedKey(table.id), uniqueIndex("snapshots_name").on(table.organization_id, table.name)],
);

/** Of how many columns with JSON a saved table may be. */
export const documentsMax = 12;
export const documentNames = Array.from({ length: documentsMax }, (_, place) => `document_${place + 1}`);

/**
 * Every row of a saved sandbox: its table, its columns as texts, and those with JSON as they are, which is copied without being
 * read. `snapshots.columns` says which is which.
 */
export const snapshotRows = pgTable(
  "snapshot_rows",
  {
    organization_id: text().notNull(),
    snapshot_id: uuid().notNull(),
    kind: text().notNull(),
    place: integer().notNull(),
    texts: text().array().notNull(),
    ...Object.fromEntries(documentNames.map((name) => [name, jsonb()])),
  },
  (table) => [
    ownedKey(table.snapshot_id, table.kind, table.place),
    references(table.snapshot_id, snapshots, "cascade"),
  ],
);

/**
 * Bytes that stay in the storage because a snapshot needs them. It outlives the snapshot, until it is found out whether
 * anything else needs them: a file whose row a restored snapshot does not have is known by this alone.
 */
export const snapshotFiles = pgTable(
  "snapshot_files",
  {
    id: uuid().notNull(),
    organization_id: text().notNull(),
    /** Null where the row was put aside by what was restored. */
    snapshot_id: uuid(),
    path: text().notNull(),
  },
  (table) => [ownedKey(table.id), index("snapshot_files_path").on(table.organization_id, table.path)],
);
