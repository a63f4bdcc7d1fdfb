import { sql } from "drizzle-orm";
import { boolean, index, integer, jsonb, pgTable, text, uniqueIndex, uuid } from "drizzle-orm/pg-core";
import type { ImportKind, ImportReason, ImportRow, ImportRun, recordStatuses } from "../../../shared/api/imports.ts";
import { owned } from "../../identity/organizations/tables.ts";
import { instant, ownedKey, references } from "../../platform/db/columns.ts";

/** A shop that moves here from another product. An organization has one at a time. */
export const importRuns = pgTable(
  "import_runs",
  {
    ...owned(),
    source: text().$type<ImportRun["source"]>().notNull(),
    status: text().$type<ImportRun["status"]>().notNull().default("reading"),
    /** How often the source was read: rows of an earlier reading that are not in the last one are gone there. */
    reading: integer().notNull().default(1),
    /** How many rows the last reading has sent. */
    rows: integer().notNull().default(0),
    applied_at: instant(),
    /** When it was finished or rolled back. */
    finished_at: instant(),
  },
  (table) => [
    ownedKey(table.id),
    uniqueIndex("import_runs_open").on(table.organization_id).where(sql`${table.finished_at} is null`),
    index("import_runs_by_time").on(table.organization_id, table.created_at, table.id),
  ],
);

/** A thing of a source, and what it is in floe. It outlives its run, so that nothing is imported twice. */
export const importRecords = pgTable(
  "import_records",
  {
    ...owned(),
    source: text().$type<ImportRun["source"]>().notNull(),
    kind: text().$type<ImportKind>().notNull(),
    source_id: text().notNull(),
    /** The run that read it last. */
    run_id: uuid().notNull(),
    reading: integer().notNull(),
    line: integer(),
    status: text().$type<(typeof recordStatuses)[number]>().notNull().default("read"),
    reason: text().$type<ImportReason>(),
    detail: text(),
    /** What was read, and its checksum. Null once the run is finished, as it names people. */
    data: jsonb().$type<ImportRow>(),
    hash: text().notNull(),
    /** What was read after it was applied, where that differs. */
    changed_data: jsonb().$type<ImportRow>(),
    /** The run that made it, and what it made: a product, a customer or a subscription. Not a foreign key, as it may be any of them. */
    applied_run_id: uuid(),
    target_id: uuid(),
    is_created: boolean().notNull().default(false),
  },
  (table) => [
    ownedKey(table.id),
    references(table.run_id, importRuns),
    uniqueIndex("import_records_of_source").on(table.organization_id, table.source, table.kind, table.source_id),
    index("import_records_of_run").on(table.organization_id, table.run_id, table.kind, table.status, table.id),
    index("import_records_applied")
      .on(table.organization_id, table.applied_run_id, table.kind, table.id)
      .where(sql`${table.applied_run_id} is not null`),
    index("import_records_of_target").on(table.organization_id, table.target_id),
  ],
);
export type RunRow = typeof importRuns.$inferSelect;
export type RecordRow = typeof importRecords.$inferSelect;
