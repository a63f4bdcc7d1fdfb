import { and, asc, desc, eq, gte, isNull, not, notInArray, sql } from "drizzle-orm";
import { files } from "../../catalog/files/tables.ts";
import { organization } from "../../identity/organizations/tables.ts";
import type { Database, Tx } from "../../platform/context.ts";
import { listRows, matchOrganizations, type Paging } from "../../platform/db/page.ts";
import { matchKey, type RowKey } from "../../platform/db/rows.ts";
import { events, failedWork, mails } from "../../platform/db/tables.ts";
import { snapshotFiles, snapshots } from "./tables.ts";

const timelineMax = 5000;

/** The place after the last event of a sandbox, and what else a timeline begins after. */
export type SandboxStart = { xid: bigint; seq: number; now: Date; server_now: Date; mail_ids: string[] };

/** What there is already, so that what comes can be told from it. `now` is the sandbox's time. */
export async function findBeginning(
  db: Database,
  organization_id: string,
  now: Date,
  server_now: Date,
): Promise<SandboxStart> {
  const [last] = await db
    .select({ xid: events.xid, seq: events.seq })
    .from(events)
    .where(eq(events.organization_id, organization_id))
    .orderBy(desc(events.xid), desc(events.seq))
    .limit(1);
  const same = await db
    .select({ id: mails.id })
    .from(mails)
    .where(and(eq(mails.organization_id, organization_id), gte(mails.created_at, now)));
  return { xid: last?.xid ?? 0n, seq: last?.seq ?? 0, now, server_now, mail_ids: same.map(({ id }) => id) };
}

/** Of what was told, what an event is said with in one line. */
const said = sql<Record<string, unknown>>`(select json_build_object('id', t.id, 'status', t.status, 'amount', t.amount,
    'total_amount', t.total_amount, 'currency', t.currency, 'description', t.description, 'name', t.name, 'email', t.email,
    'customer_email', t.customer_email, 'product', json_build_object('name', t.product -> 'name'),
    'customer', json_build_object('email', t.customer -> 'email'))
  from jsonb_to_record(${events.data}) as t (id jsonb, status jsonb, amount jsonb, total_amount jsonb, currency jsonb,
    description jsonb, name jsonb, email jsonb, customer_email jsonb, product jsonb, customer jsonb))`;
const shown = { type: events.type, data: said, created_at: events.created_at };

/** The events, mails and failures since then. */
export async function findSince(db: Database, organization_id: string, since: SandboxStart) {
  const { xid, seq } = since;
  const told = await db
    .select(shown)
    .from(events)
    .where(
      and(
        eq(events.organization_id, organization_id),
        // As one comparison, so that nothing before it is read.
        sql`(${events.xid}, ${events.seq}) > (${String(xid)}::bigint, ${seq}::bigint)`,
      ),
    )
    .orderBy(asc(events.xid), asc(events.seq))
    .limit(timelineMax);
  const kept = await db
    .select({ id: mails.id, to: mails.to, subject: mails.subject, created_at: mails.created_at })
    .from(mails)
    .where(
      and(
        eq(mails.organization_id, organization_id),
        gte(mails.created_at, since.now),
        notInArray(mails.id, since.mail_ids),
      ),
    )
    .orderBy(asc(mails.created_at), asc(mails.id))
    .limit(timelineMax);
  const failed = await db
    .select({ kind: failedWork.kind, id: failedWork.row_id, error: failedWork.error })
    .from(failedWork)
    .where(and(eq(failedWork.organization_id, organization_id), gte(failedWork.first_failed_at, since.server_now)))
    .orderBy(asc(failedWork.kind), asc(failedWork.row_id))
    .limit(timelineMax);
  return { told, kept, failed };
}

/** The last events of a sandbox, the oldest of them first. */
export async function findLast(db: Database, organization_id: string, limit: number) {
  const rows = await db
    .select(shown)
    .from(events)
    .where(eq(events.organization_id, organization_id))
    .orderBy(desc(events.xid), desc(events.seq))
    .limit(limit);
  return rows.reverse();
}

/** One page of the mails that sandboxes have kept, the newest first. */
export function listKept(db: Database, organization_ids: readonly string[], paging: Paging) {
  const where = matchOrganizations(mails.organization_id, organization_ids);
  return listRows(db, mails, { where, order: [desc(mails.created_at), desc(mails.id)], paging });
}

/** The row of an organization in JSON. It is locked, so that until the transaction ends nobody adds a row that points to it. */
export async function lockSettings(tx: Tx, organization_id: string): Promise<unknown> {
  const [row] = await tx
    .select({ settings: sql<unknown>`to_jsonb(${organization})` })
    .from(organization)
    .where(eq(organization.id, organization_id))
    .for("update");
  if (!row) throw new Error(`The organization ${organization_id} is gone.`);
  return row.settings;
}

/** One page of what was saved of sandboxes, the newest first. */
export function listSnapshots(db: Database, organization_ids: readonly string[], paging: Paging) {
  const where = matchOrganizations(snapshots.organization_id, organization_ids);
  return listRows(db, snapshots, { where, order: [desc(snapshots.saved_at), desc(snapshots.id)], paging });
}

export const countSnapshots = (db: Database, organization_id: string): Promise<number> =>
  db.$count(snapshots, eq(snapshots.organization_id, organization_id));

const sortByName = (organization_id: string, name: string) =>
  and(eq(snapshots.organization_id, organization_id), eq(snapshots.name, name));

/** What was saved under a name. */
export async function findSnapshot(db: Database, organization_id: string, name: string) {
  const [row] = await db.select().from(snapshots).where(sortByName(organization_id, name));
  return row;
}

/** Forget it; answers whether it was there. */
export async function deleteSnapshot(tx: Tx, organization_id: string, name: string): Promise<boolean> {
  const gone = await tx.delete(snapshots).where(sortByName(organization_id, name)).returning({ id: snapshots.id });
  return gone.length > 0;
}

/** Bytes whose snapshot is gone; whether another snapshot or a file needs them. */
export async function findReleased(
  db: Database,
  key: RowKey,
): Promise<{ path: string; isNeeded: boolean } | undefined> {
  const [row] = await db
    .select({ path: snapshotFiles.path })
    .from(snapshotFiles)
    .where(and(matchKey(snapshotFiles, key), isReleased));
  if (!row) return undefined;
  const { path } = row;
  const { organization_id } = key;
  const [kept] = await db
    .select({ id: snapshotFiles.id })
    .from(snapshotFiles)
    .where(and(eq(snapshotFiles.organization_id, organization_id), eq(snapshotFiles.path, path), not(isReleased)))
    .limit(1);
  const [file] = await db
    .select({ id: files.id })
    .from(files)
    .where(and(eq(files.organization_id, organization_id), eq(files.path, path), isNull(files.purged_at)))
    .limit(1);
  return { path, isNeeded: kept !== undefined || file !== undefined };
}

/** Bytes that no snapshot needs any more. */
export const isReleased = sql`not exists (select 1 from ${snapshots}
  where ${snapshots.organization_id} = ${snapshotFiles.organization_id} and ${snapshots.id} = ${snapshotFiles.snapshot_id})`;

/** Know of them no longer. */
export const deleteReleased = (db: Database, key: RowKey): Promise<unknown> =>
  db.delete(snapshotFiles).where(matchKey(snapshotFiles, key));
