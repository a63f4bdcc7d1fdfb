import { and, eq, inArray, isNull, notInArray, sql } from "drizzle-orm";
import { files } from "../../catalog/files/tables.ts";
import type { Database, Tx } from "../../platform/context.ts";
import { computeOffset, matchAny, matchFilters, orderBy, type Paging } from "../../platform/db/page.ts";
import { joinByKey, matchKey, type RowKey } from "../../platform/db/rows.ts";
import type { Downloadable } from "./rules.ts";
import { downloadables } from "./tables.ts";

/** By what a customer may download. */
export type DownloadOwner = { organization_id: string; customer_id: string; benefit_id: string };
const matchHolder = ({ organization_id, customer_id, benefit_id }: DownloadOwner) =>
  and(
    eq(downloadables.organization_id, organization_id),
    eq(downloadables.customer_id, customer_id),
    eq(downloadables.benefit_id, benefit_id),
  );

/** Which of these files are there to be downloaded. */
export async function findPresent(db: Database, organization_id: string, ids: readonly string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const rows = await db
    .select({ id: files.id })
    .from(files)
    .where(
      and(
        eq(files.organization_id, organization_id),
        inArray(files.id, [...ids]),
        eq(files.is_uploaded, true),
        isNull(files.deleted_at),
      ),
    );
  return new Set(rows.map(({ id }) => id));
}

/** Let a customer download these files by a benefit, and no others; what they have downloaded stays counted. */
export async function setFiles(
  tx: Tx,
  held: DownloadOwner,
  rows: readonly { id: string; file_id: string }[],
  now: Date,
) {
  const ids = rows.map(({ file_id }) => file_id);
  await tx
    .update(downloadables)
    .set({ status: "revoked", modified_at: now })
    .where(
      and(
        matchHolder(held),
        eq(downloadables.status, "granted"),
        ids.length === 0 ? undefined : notInArray(downloadables.file_id, ids),
      ),
    );
  if (rows.length === 0) return;
  const { organization_id, customer_id, benefit_id, file_id } = downloadables;
  await tx
    .insert(downloadables)
    .values(rows.map((row) => ({ ...held, ...row, created_at: now, status: "granted" as const })))
    .onConflictDoUpdate({
      target: [organization_id, customer_id, benefit_id, file_id],
      set: { status: "granted", modified_at: now },
    });
}

const isThere = and(eq(downloadables.status, "granted"), eq(files.is_uploaded, true), isNull(files.deleted_at));

/** One page of what a customer may download, the newest first, and how much there is. */
export async function listDownloadables(
  db: Database,
  { organization_id, customer_id }: { organization_id: string; customer_id: string },
  filter: Paging & { benefit_id?: string[] | undefined },
): Promise<{ items: Downloadable[]; total: number }> {
  const where = and(
    eq(downloadables.organization_id, organization_id),
    eq(downloadables.customer_id, customer_id),
    matchFilters(filter, { benefit_id: matchAny(downloadables.benefit_id) }),
    isThere,
  );
  const selectFrom = () =>
    db
      .select({ row: downloadables, file: files, total: sql<number>`count(*) over ()::int` })
      .from(downloadables)
      .innerJoin(files, joinByKey(downloadables.file_id, files))
      .where(where);
  const found = await selectFrom()
    .orderBy(...orderBy(["-created_at"], { created_at: downloadables.created_at }, downloadables.id))
    .limit(filter.limit)
    .offset(computeOffset(filter));
  const total = found[0]?.total ?? (filter.page > 1 ? (await selectFrom().limit(1))[0]?.total : 0) ?? 0;
  return { items: found.map(({ row, file }) => ({ row, file })), total };
}

/** Something that may be downloaded now. */
export async function findDownloadable(db: Database, key: RowKey): Promise<Downloadable | undefined> {
  const [found] = await db
    .select({ row: downloadables, file: files })
    .from(downloadables)
    .innerJoin(files, joinByKey(downloadables.file_id, files))
    .where(and(matchKey(downloadables, key), isThere));
  return found;
}

/** Count a download. */
export const countDownload = (db: Database, key: RowKey, now: Date): Promise<unknown> =>
  db
    .update(downloadables)
    .set({ downloads: sql`${downloadables.downloads} + 1`, last_downloaded_at: now })
    .where(matchKey(downloadables, key));
