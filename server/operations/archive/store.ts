import { and, eq, sql } from "drizzle-orm";
import { files } from "../../catalog/files/tables.ts";
import type { Database, Tx } from "../../platform/context.ts";
import { matchKey, type RowKey } from "../../platform/db/rows.ts";
import type { ArchiveKind } from "./kinds.ts";
import { archiveRestores } from "./tables.ts";

export type RestoreRow = typeof archiveRestores.$inferSelect;
/** A row of a table as one line of JSON, and its sealed columns. */
export type ReadRow = { line: string; secrets: (string | null)[] };

const quoteNames = (names: readonly string[]) =>
  sql.join(
    names.map((name) => sql`t.${sql.identifier(name)}`),
    sql`, `,
  );

/** What a statement answers, of either driver. */
const getRows = <T>(answer: unknown): T[] => (Array.isArray(answer) ? answer : (answer as { rows: T[] }).rows) as T[];

/** The settings of an organization as one line of JSON. */
export async function readSettings(db: Database, organization_id: string, columns: readonly string[]): Promise<string> {
  const [row] = getRows<{ line: string }>(
    await db.execute(sql`select (select row_to_json(r) from (select ${quoteNames(columns)}) r)::text as line
      from organization t where t.id = ${organization_id}`),
  );
  return row?.line ?? "{}";
}

/** The rows of a table of an organization, a batch at a time: the database keeps the place. */
export async function* iterateRows(
  tx: Database,
  organization_id: string,
  { kind, columns, sealed, key }: ArchiveKind,
  batch: number,
): AsyncGenerator<ReadRow> {
  const secrets = sealed.map((name) => sql`t.${sql.identifier(name)}::text`);
  const order = key.length > 0 ? sql`order by ${quoteNames(key)}` : sql``;
  await tx.execute(sql`declare archive_rows no scroll cursor for
    select (select row_to_json(r) from (select ${quoteNames(columns)}) r)::text as line,
      json_build_array(${sql.join(secrets, sql`, `)})::text as secrets
    from ${sql.identifier(kind)} t where t.organization_id = ${organization_id} ${order}`);
  for (;;) {
    const rows = getRows<{ line: string; secrets: string }>(
      await tx.execute(sql.raw(`fetch forward ${Number(batch)} from archive_rows`)),
    );
    for (const { line, secrets: texts } of rows)
      yield { line, secrets: sealed.length === 0 ? [] : (JSON.parse(texts) as (string | null)[]) };
    if (rows.length < batch) break;
  }
  await tx.execute(sql`close archive_rows`);
}

/** The files of an organization whose bytes are stored. */
export const listFiles = (db: Database, organization_id: string) =>
  db
    .select({ id: files.id, path: files.path, size: files.size })
    .from(files)
    .where(
      sql`${files.organization_id} = ${organization_id} and ${files.is_uploaded} and ${files.deleted_at} is null
        and ${files.purged_at} is null`,
    )
    .orderBy(files.id);

/** A file as the storage needs it. */
export async function findStoredFile(db: Database, key: RowKey) {
  const { path, name, mime_type, size } = files;
  const [row] = await db.select({ path, name, mime_type, size }).from(files).where(matchKey(files, key));
  return row;
}

/** The restoration into an organization. */
export async function findRestore(db: Database, organization_id: string): Promise<RestoreRow | undefined> {
  const [row] = await db.select().from(archiveRestores).where(eq(archiveRestores.organization_id, organization_id));
  return row;
}

/** The same, locked. */
export async function lockRestore(tx: Tx, organization_id: string): Promise<RestoreRow | undefined> {
  const [row] = await tx
    .select()
    .from(archiveRestores)
    .where(eq(archiveRestores.organization_id, organization_id))
    .for("update");
  return row;
}

/**
 * Begin a restoration; undefined where an archive of the same organization is or was restored on this server. Two that begin at once wait
 * for each other.
 */
export async function insertRestore(
  tx: Tx,
  values: typeof archiveRestores.$inferInsert,
): Promise<RestoreRow | undefined> {
  const { source_organization_id: source } = values;
  await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended(${`archive of ${source}`}, 0))`);
  const [there] = await tx
    .select({ id: archiveRestores.id })
    .from(archiveRestores)
    .where(eq(archiveRestores.source_organization_id, source))
    .limit(1);
  if (there) return undefined;
  const [row] = await tx.insert(archiveRestores).values(values).returning();
  return row;
}

/** Change columns of a restoration. */
export async function updateRestore(
  tx: Tx,
  { organization_id, id }: RestoreRow,
  patch: Partial<RestoreRow>,
): Promise<RestoreRow> {
  const [row] = await tx
    .update(archiveRestores)
    .set(patch)
    .where(and(eq(archiveRestores.organization_id, organization_id), eq(archiveRestores.id, id)))
    .returning();
  if (!row) throw new Error("The restoration is gone.");
  return row;
}

/** The first table of these in which an organization has a row. */
export async function findFilledKind(
  db: Database,
  organization_id: string,
  kinds: readonly string[],
): Promise<string | undefined> {
  const parts = kinds.map(
    (kind) =>
      sql`(select ${kind}::text as kind from ${sql.identifier(kind)} where organization_id = ${organization_id} limit 1)`,
  );
  const [row] = getRows<{ kind: string }>(await db.execute(sql.join(parts, sql` union all `)));
  return row?.kind;
}

/** Of how many subscriptions a renewal is due. */
export async function countOverdue(db: Database, organization_id: string, now: Date): Promise<number> {
  const [row] = getRows<{ count: number }>(
    await db.execute(sql`select count(*)::int as count from subscriptions
      where organization_id = ${organization_id} and due_at <= ${now.toISOString()}::timestamptz`),
  );
  return Number(row?.count ?? 0);
}
