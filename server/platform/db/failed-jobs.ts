import { and, asc, eq, gt, isNotNull, isNull, or, type SQL, sql } from "drizzle-orm";
import type { JobStatus } from "../../../shared/job-statuses.ts";
import { isDeadLetter } from "./due.ts";
import { failedWork } from "./tables.ts";
import type { Database, Tx } from "./transaction.ts";

export type FailedJob = typeof failedWork.$inferSelect;
/** What names a failed job: the worker, and the row that it could not process. */
export type JobKey = { kind: string; row_id: string };
export type JobFilter = { status: JobStatus; kind?: string | undefined; after?: JobKey | undefined; limit: number };

const conditions: Record<JobStatus, SQL | undefined> = {
  dead: isDeadLetter,
  retrying: isNotNull(failedWork.retry_at),
  discarded: and(isNull(failedWork.retry_at), isNotNull(failedWork.discarded_at)),
};

const matchJob = ({ kind, row_id }: JobKey) => and(eq(failedWork.kind, kind), eq(failedWork.row_id, row_id));

/** List failed jobs by worker and row, those behind `after`. */
export const listJobs = (db: Database, { status, kind, after, limit }: JobFilter): Promise<FailedJob[]> =>
  db
    .select()
    .from(failedWork)
    .where(
      and(
        conditions[status],
        kind === undefined ? undefined : eq(failedWork.kind, kind),
        after &&
          or(
            gt(failedWork.kind, after.kind),
            and(eq(failedWork.kind, after.kind), gt(failedWork.row_id, after.row_id)),
          ),
      ),
    )
    .orderBy(asc(failedWork.kind), asc(failedWork.row_id))
    .limit(limit);

export async function findJob(db: Database, key: JobKey): Promise<FailedJob | undefined> {
  const [row] = await db.select().from(failedWork).where(matchJob(key));
  return row;
}

/** Requeue a failed job. The time of its first failure starts again, so that it is retried for another 24 hours. */
export async function requeueJob(tx: Tx, key: JobKey, now: Date): Promise<FailedJob | undefined> {
  const [row] = await tx
    .update(failedWork)
    .set({ retry_at: now, discarded_at: null, first_failed_at: now })
    .where(matchJob(key))
    .returning();
  return row;
}

/** Requeue failed jobs, as many as are named. */
export const requeueJobs = (db: Database, keys: readonly JobKey[], now: Date): Promise<FailedJob[]> =>
  keys.length === 0
    ? Promise.resolve([])
    : db
        .update(failedWork)
        .set({ retry_at: now, discarded_at: null, first_failed_at: now })
        .where(or(...keys.map(matchJob)))
        .returning();

/** Discard a dead letter. Returns undefined if the job is none. */
export async function discardJob(db: Database, key: JobKey, now: Date): Promise<FailedJob | undefined> {
  const [row] = await db
    .update(failedWork)
    .set({ discarded_at: sql`coalesce(${failedWork.discarded_at}, ${now.toISOString()}::timestamptz)` })
    .where(and(matchJob(key), isNull(failedWork.retry_at)))
    .returning();
  return row;
}
