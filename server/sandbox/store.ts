import { and, asc, count, desc, eq, gt, gte, notInArray, or } from "drizzle-orm";
import type { Database } from "../lib/context.ts";
import { offsetOf, ofOrganizations, type Paging } from "../lib/page.ts";
import { events, failedWork, mails } from "../lib/tables.ts";

const timeline_max = 5000;

/** The place after the last event of a sandbox, and what else a timeline begins after. */
export type Beginning = { xid: bigint; seq: number; now: Date; server_now: Date; mail_ids: string[] };

/** What there is already, so that what comes can be told from it. `now` is the sandbox's time. */
export async function findBeginning(
  db: Database,
  organization_id: string,
  now: Date,
  server_now: Date,
): Promise<Beginning> {
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

const shown = { id: events.id, seq: events.seq, type: events.type, data: events.data, created_at: events.created_at };

/** The events, mails and failures since then. */
export async function findSince(db: Database, organization_id: string, since: Beginning) {
  const { xid, seq } = since;
  const told = await db
    .select(shown)
    .from(events)
    .where(
      and(
        eq(events.organization_id, organization_id),
        or(gt(events.xid, xid), and(eq(events.xid, xid), gt(events.seq, seq))),
      ),
    )
    .orderBy(asc(events.xid), asc(events.seq))
    .limit(timeline_max);
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
    .limit(timeline_max);
  const failed = await db
    .select({ kind: failedWork.kind, id: failedWork.row_id, error: failedWork.error })
    .from(failedWork)
    .where(and(eq(failedWork.organization_id, organization_id), gte(failedWork.first_failed_at, since.server_now)))
    .orderBy(asc(failedWork.kind), asc(failedWork.row_id))
    .limit(timeline_max);
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
export async function listKept(db: Database, organization_ids: readonly string[], paging: Paging) {
  const where = ofOrganizations(mails.organization_id, organization_ids);
  const items = await db
    .select()
    .from(mails)
    .where(where)
    .orderBy(desc(mails.created_at), desc(mails.id))
    .limit(paging.limit)
    .offset(offsetOf(paging));
  const [row] = await db.select({ total: count() }).from(mails).where(where);
  return { items, total: row?.total ?? 0 };
}
