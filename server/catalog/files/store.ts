import { and, desc, eq, inArray, isNotNull, isNull, ne, notExists, sql } from "drizzle-orm";
import type { files as operations } from "../../../shared/api/files.ts";
import { organization } from "../../identity/organizations/tables.ts";
import { snapshotFiles } from "../../operations/sandbox/tables.ts";
import type { Database, Tx } from "../../platform/context.ts";
import { type ListQuery, listRows, matchAny, matchFilters, matchOrganizations } from "../../platform/db/page.ts";
import { matchKey, matchKeys, type RowKey } from "../../platform/db/rows.ts";
import { type FileRow, parsePath } from "./rules.ts";
import { files } from "./tables.ts";

type Filter = ListQuery<typeof operations.list>;

const matchLiving = (organizations: string | readonly string[]) =>
  and(
    matchOrganizations(files.organization_id, organizations),
    isNull(files.deleted_at),
    ne(files.service, "document"),
  );

/** One page of files, the newest first, and how many there are. */
export async function listFiles(db: Database, organizations: readonly string[], filter: Filter) {
  const where = and(matchLiving(organizations), matchFilters(filter, { ids: matchAny(files.id) }));
  return listRows(db, files, { where, order: [desc(files.created_at), desc(files.id)], paging: filter });
}

/** A file that was not deleted. */
export async function findFile(db: Database, organization_id: string, id: string): Promise<FileRow | undefined> {
  const [row] = await db
    .select()
    .from(files)
    .where(and(matchLiving(organization_id), eq(files.id, id)));
  return row;
}

/** A document that the server made and that was not deleted. */
export async function findDocument(db: Database, key: RowKey): Promise<FileRow | undefined> {
  const [row] = await db
    .select()
    .from(files)
    .where(and(matchKey(files, key), eq(files.service, "document"), isNull(files.deleted_at)));
  return row;
}

/** The complete file of a path, if everybody may see it. */
export async function findPublic(db: Database, path: string): Promise<FileRow | undefined> {
  const key = parsePath(path);
  if (!key) return undefined;
  const [row] = await db
    .select()
    .from(files)
    .where(
      and(
        matchKey(files, key),
        eq(files.path, path),
        inArray(files.service, ["product_media", "organization_avatar"]),
        isNull(files.deleted_at),
        eq(files.is_uploaded, true),
      ),
    );
  return row;
}

/** A file that was not deleted, kept from changing until the transaction ends. */
export async function lockFile(tx: Tx, organization_id: string, id: string): Promise<FileRow | undefined> {
  const [row] = await tx
    .select()
    .from(files)
    .where(and(matchLiving(organization_id), eq(files.id, id)))
    .for("update");
  return row;
}

/** Add a file. */
export async function insertFile(tx: Tx, values: typeof files.$inferInsert): Promise<FileRow> {
  const [row] = await tx.insert(files).values(values).returning();
  if (!row) throw new Error("The file was not written.");
  return row;
}

/** Change columns of a file. */
export async function updateFile(tx: Database | Tx, key: RowKey, patch: Partial<FileRow>): Promise<FileRow> {
  const [row] = await tx.update(files).set(patch).where(matchKey(files, key)).returning();
  if (!row) throw new Error(`The file ${key.id} is gone.`);
  return row;
}

const matchOrphaned = (db: Database) =>
  notExists(db.select({ one: sql`1` }).from(organization).where(eq(organization.id, files.organization_id)));

/** Give up uploads that were not completed. */
export async function markFilesAbandoned(db: Database, keys: readonly RowKey[], now: Date): Promise<void> {
  await db
    .update(files)
    .set({ deleted_at: now })
    .where(and(matchKeys(files, keys), isNull(files.deleted_at), eq(files.is_uploaded, false)));
}

/** Give up files whose organization was deleted, so many at once; answers how many. */
export async function markOrphansAbandoned(db: Database, now: Date, limit: number): Promise<number> {
  const some = db
    .select({ organization_id: files.organization_id, id: files.id })
    .from(files)
    .where(and(isNull(files.deleted_at), matchOrphaned(db)))
    .limit(limit);
  const gone = await db
    .update(files)
    .set({ deleted_at: now })
    .where(sql`(${files.organization_id}, ${files.id}) in (${some})`)
    .returning({ id: files.id });
  return gone.length;
}

/** Whether a snapshot of a sandbox needs the bytes of a file. */
export const isSaved = sql`exists (select 1 from ${snapshotFiles}
  where ${snapshotFiles.organization_id} = ${files.organization_id} and ${snapshotFiles.path} = ${files.path})`;

/** A deleted file whose bytes are still in the storage. */
export async function findUnpurged(db: Database, key: RowKey): Promise<FileRow | undefined> {
  const [row] = await db
    .select()
    .from(files)
    .where(and(matchKey(files, key), isNotNull(files.deleted_at), isNull(files.purged_at), sql`not ${isSaved}`));
  return row;
}

/** Write down that the bytes of a file are gone; of an organization that is gone too, nothing stays. */
export async function markPurged(db: Database, key: RowKey, now: Date): Promise<void> {
  const gone = await db
    .delete(files)
    .where(and(matchKey(files, key), matchOrphaned(db)))
    .returning({ id: files.id });
  if (gone.length === 0) await db.update(files).set({ purged_at: now }).where(matchKey(files, key));
}
