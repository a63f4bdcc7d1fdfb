import { sql } from "drizzle-orm";
import { bigint, boolean, index, jsonb, pgTable, text, uuid } from "drizzle-orm/pg-core";
import type { FileService, UploadPart } from "../../../shared/api/files.ts";
import { instant, ownedKey, stamps } from "../../platform/db/columns.ts";

/** What was uploaded: to be downloaded by buyers, or to be seen by everybody. The bytes are in the storage, under `path`. */
export const files = pgTable(
  "files",
  {
    id: uuid().notNull(),
    /** No foreign key: when an organization is deleted, its rows stay until their bytes have been removed. */
    organization_id: text().notNull(),
    ...stamps(),
    deleted_at: instant(),
    /** A document is one that the server made; its bytes are answered by who made it, and it is in no list. */
    service: text().$type<FileService | "document">().notNull(),
    name: text().notNull(),
    path: text().notNull(),
    mime_type: text().notNull(),
    size: bigint({ mode: "number" }).notNull(),
    version: text(),
    storage_version: text(),
    checksum_etag: text(),
    checksum_sha256_base64: text(),
    checksum_sha256_hex: text(),
    last_modified_at: instant(),
    is_uploaded: boolean().notNull().default(false),
    /** The storage's own id of an upload that has not been completed. */
    upload_id: text(),
    /** The parts it was begun with. */
    upload_parts: jsonb().$type<UploadPart[]>(),
    /** When the bytes of a deleted or abandoned file were removed from the storage. */
    purged_at: instant(),
  },
  (table) => [
    ownedKey(table.id),
    index("files_by_creation")
      .on(table.organization_id, table.created_at, table.id)
      .where(sql`${table.deleted_at} is null`),
    index("files_unfinished")
      .on(table.organization_id, table.created_at)
      .where(sql`${table.deleted_at} is null and not ${table.is_uploaded}`),
    index("files_to_purge")
      .on(table.organization_id, table.deleted_at)
      .where(sql`${table.deleted_at} is not null and ${table.purged_at} is null`),
  ],
);
