/** What waits and what has failed, of all sellers, for the operator: `floe admin queues`, `dead-letters`, `retry` and `mails`. */
import { and, desc, eq, isNotNull, isNull, type SQL, sql } from "drizzle-orm";
import { organization } from "../../identity/organizations/tables.ts";
import type { Database } from "../../platform/context.ts";
import { type DueQuery, isDeadLetter } from "../../platform/db/due.ts";
import { failedWork, mailBounces, mails } from "../../platform/db/tables.ts";

/** More due rows are not counted: the count would cost more than it says. */
const countedMax = 10_000;

export type Queue = {
  worker: string;
  /** How many rows are due, up to 10,000. */
  due: number;
  oldest_at: Date | null;
  retrying: number;
  dead: number;
};

/** Count what is due for each worker, by the server's clock. Sandboxes do not count: their clocks are their own. */
export async function listQueues(
  db: Database,
  now: Date,
  queries: readonly { name: string; due: DueQuery }[],
): Promise<Queue[]> {
  const failed = await db
    .select({
      kind: failedWork.kind,
      retrying: sql<number>`(count(*) filter (where ${failedWork.retry_at} is not null))::int`,
      dead: sql<number>`(count(*) filter (where ${isDeadLetter}))::int`,
    })
    .from(failedWork)
    .groupBy(failedWork.kind);
  const failures = new Map(failed.map(({ kind, ...counts }) => [kind, counts]));
  const queues: Queue[] = [];
  for (const { name, due } of queries) {
    const { retrying = 0, dead = 0 } = failures.get(name) ?? {};
    failures.delete(name);
    queues.push({ worker: name, ...(await countDue(db, now, name, due)), retrying, dead });
  }
  // Failures of workers that this process does not have, such as those of hosted mode.
  for (const [worker, counts] of failures) queues.push({ worker, due: 0, oldest_at: null, ...counts });
  return queues;
}

async function countDue(
  db: Database,
  now: Date,
  name: string,
  due: DueQuery,
): Promise<Pick<Queue, "due" | "oldest_at">> {
  const { table, id, organization_id, where = sql`true`, at, delayMs = 0 } = due;
  const until = new Date(now.getTime() - delayMs).toISOString();
  const isLate = at ? sql`${at} <= ${until}::timestamptz` : sql`true`;
  const ofSeller: SQL = organization_id
    ? sql`exists (select from ${organization} where ${organization.id} = ${organization_id} and not ${organization.sandbox})`
    : sql`true`;
  const hasFailed = sql`exists (select from ${failedWork} where ${failedWork.kind} = ${name} and ${failedWork.row_id} = ${id}::text)`;
  const [row] = await db
    .select({
      due: sql<number>`count(*)::int`,
      oldest_at: sql<Date | null>`min(late.at)`.mapWith(failedWork.first_failed_at),
    })
    .from(
      sql`(select ${at ?? sql`null::timestamptz`} as at from ${table} where ${where} and ${isLate} and ${ofSeller}
        and not ${hasFailed} limit ${countedMax}) as late`,
    );
  return { due: row?.due ?? 0, oldest_at: row?.oldest_at ?? null };
}

export type FailureFilter = {
  status: "dead" | "retrying";
  kind?: string | undefined;
  organization_id?: string | undefined;
  /** A text that the error contains, in any case. */
  error?: string | undefined;
  limit: number;
};

const matchFailures = ({ status, kind, organization_id, error }: FailureFilter) =>
  and(
    status === "dead" ? isDeadLetter : isNotNull(failedWork.retry_at),
    kind === undefined ? undefined : eq(failedWork.kind, kind),
    organization_id === undefined ? undefined : eq(failedWork.organization_id, organization_id),
    error === undefined ? undefined : sql`position(lower(${error}) in lower(${failedWork.error})) > 0`,
  );

/** List failed jobs, the newest failure first, and count all that match. */
export async function listFailures(db: Database, filter: FailureFilter) {
  const matches = matchFailures(filter);
  const kinds = await db
    .select({ kind: failedWork.kind, count: sql<number>`count(*)::int` })
    .from(failedWork)
    .where(matches)
    .groupBy(failedWork.kind)
    .orderBy(failedWork.kind);
  const items = await db
    .select()
    .from(failedWork)
    .where(matches)
    .orderBy(desc(failedWork.first_failed_at), failedWork.kind, failedWork.row_id)
    .limit(filter.limit);
  return { items, kinds, total: kinds.reduce((sum, { count }) => sum + count, 0) };
}

export type MailFilter = {
  status: "waiting" | "refused" | "failing";
  to?: string | undefined;
  limit: number;
};

/** List mails that wait, that fail and are tried again, or that were refused for good. None of their words is read. */
export async function listOperatorMails(db: Database, { status, to, limit }: MailFilter) {
  const { id, created_at, attempts, next_attempt_at, refusal, subject, seller_id, customer_id, request_id } = mails;
  const shown = {
    id,
    to: mails.to,
    subject,
    seller_id,
    customer_id,
    request_id,
    created_at,
    attempts,
    next_attempt_at,
  };
  const state = {
    waiting: isNotNull(next_attempt_at),
    failing: and(isNotNull(next_attempt_at), sql`${attempts} > 0`),
    refused: and(isNotNull(refusal), isNull(mails.sent_at)),
  }[status];
  return db
    .select({ ...shown, answer: sql<string | null>`coalesce(${refusal}, ${mails.last_answer})` })
    .from(mails)
    .where(and(state, to === undefined ? undefined : sql`lower(${mails.to}) = lower(${to})`))
    .orderBy(desc(created_at), desc(id))
    .limit(limit);
}

/** List the addresses that took no mail, the latest first. */
export const listMailBounces = (db: Database, limit: number) =>
  db.select().from(mailBounces).orderBy(desc(mailBounces.last_at), mailBounces.address).limit(limit);
