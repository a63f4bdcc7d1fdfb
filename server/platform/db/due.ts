import { and, eq, inArray, isNull, type SQL, sql } from "drizzle-orm";
import type { AnyPgColumn, PgTable } from "drizzle-orm/pg-core";
// The seller's row holds its clock offset. One statement joins it to find what is due by the seller's clock.
import { organization } from "../../identity/organizations/tables.ts";
import type { Config } from "../config.ts";
import type { Database, Deps, SellerTerms } from "../context.ts";
import { redactError } from "../loggable.ts";
import type { RowKey } from "./rows.ts";
import { failedWork } from "./tables.ts";

/** Which rows of a table are pending, and when they are due. */
export type DueQuery = {
  table: PgTable;
  id: AnyPgColumn;
  /**
   * The seller by whose clock the row is due. An index begins with this column and holds the others. Absent: the row belongs
   * to the server.
   */
  organization_id?: AnyPgColumn;
  /** Which rows are pending at all. It has no parameters, so that a partial index serves it. */
  where?: SQL | undefined;
  /** When a row is due; absent: immediately. */
  at?: AnyPgColumn;
  /**
   * Most sellers have a row that is due much later. Due rows are found by time first, so that a search costs what is due and not
   * how many sellers there are. An index of the pending rows begins with `at` and holds `organization_id`.
   */
  isIndexedByTime?: true;
  /** The delay after `at`, in milliseconds. */
  delayMs?: number;
  /** The order, if rows are not processed in the order in which they fall due. */
  order?: AnyPgColumn | SQL;
  /** A server processes at most one row at a time for each value of this column. */
  partitionBy?: AnyPgColumn;
  /** Whether it charges or refunds: the rows of a seller whose money is held wait (RST-10). */
  movesMoney?: true;
  /** Whether a seller's rows are due by the server's clock instead of the seller's. */
  serverClock?: true;
};

/** What a query that is built for each search may read. */
export type DueContext = Pick<Deps, "db" | "clock"> & { config: Pick<Config, "SMTP_URL"> };

export type DueRow = RowKey &
  SellerTerms & {
    /** The time of the first failure; null if the row has not failed. */
    failing_since: Date | null;
    /** When the row fell due by its seller's clock; null if the query has no time by that clock. */
    due_at: Date | null;
    lane: string | null;
  };

export type DueSearch = {
  name: string;
  limit: number;
  /** The maximum rows of one seller. */
  share: number;
  /** The seller id after which the search begins. */
  after: string;
  /** Sellers to skip, and rows to skip because they are being processed. */
  busy: readonly string[];
  except: readonly string[];
  /** Partitions in which a row is being processed. */
  taken: readonly string[];
  /** Only whether there is a row, in as short a text as can be: one that is too long is planned each time. */
  isProbe?: true;
  /** Only rows of this seller, even while its clock is held. Without it, sellers whose clock is held are skipped. */
  only?: string | undefined;
};

const splitTexts = (texts: readonly string[]): SQL => sql`string_to_array(${texts.join(",")}, ',')`;

/** Build the query for rows that match `whose` and whose retry is due at `now`, in order. */
function selectDueRows({ table, id, where = sql`true`, at, order = at ?? id }: DueQuery, name: string, now: Date) {
  return (fields: SQL, whose: SQL, limit: number) => sql`
    select ${fields}
    from ${table} left join ${failedWork} as failed on failed.kind = ${name} and failed.row_id = ${id}::text
    where ${whose} and ${where}
      and (failed.kind is null or failed.retry_at <= ${now.toISOString()}::timestamptz)
    order by ${order} limit ${limit}`;
}

/**
 * Find when the next row of a seller is due, by its own clock, for each kind of work that has a pending row. Rows without a
 * time are due at the epoch.
 */
export async function findNext(
  db: Database,
  now: Date,
  organization_id: string,
  works: readonly { name: string; due: DueQuery }[],
): Promise<{ name: string; at: Date }[]> {
  const parts = works.flatMap(({ name, due }) => {
    const { organization_id: owner, at, delayMs = 0, serverClock } = due;
    if (!owner) return [];
    const own = serverClock ? sql`(select clock_offset_ms from ${organization} where id = ${organization_id})` : sql`0`;
    const time = at ? sql`${at} + (${delayMs}::bigint + ${own}) * interval '1 millisecond'` : sql`'epoch'::timestamptz`;
    return [
      sql`(${selectDueRows(due, name, now)(sql`${name}::text as name, ${time} as at`, sql`${owner} = ${organization_id}`, 1)})`,
    ];
  });
  return db
    .select({ name: sql<string>`found.name`, at: sql`found.at`.mapWith(failedWork.first_failed_at) })
    .from(sql`(${sql.join(parts, sql` union all `)}) as found`);
}

/** Find the due time of the last of at most `limit` rows of a seller that are due by `until`. */
export async function findLastDue(
  db: Database,
  now: Date,
  { organization_id, name, due }: { organization_id: string; name: string; due: DueQuery },
  until: Date,
  limit: number,
): Promise<Date | null> {
  const { organization_id: owner, at, delayMs = 0 } = due;
  if (!owner || !at) return null;
  const whose = sql`${owner} = ${organization_id} and ${at} <= ${new Date(until.getTime() - delayMs).toISOString()}::timestamptz`;
  const [row] = await db
    .select({ at: sql`max(found.at)`.mapWith(failedWork.first_failed_at) })
    .from(
      sql`(${selectDueRows(due, name, now)(sql`${at} + ${delayMs} * interval '1 millisecond' as at`, whose, limit)}) as found`,
    );
  return row?.at ?? null;
}

/** From so many due rows on, the search steps from seller to seller instead of reading all due rows to find their sellers. */
const fewRowsMax = 1000;

/** Build the query that steps from seller to seller through the index of pending rows, and answers one after the other. */
const buildSellerSteps = (
  name: SQL,
  { table, where = sql`true` }: DueQuery,
  organization_id: AnyPgColumn,
  after: string,
  condition: SQL,
): SQL => {
  const selectNext = (previous: SQL) => sql`
    select ${organization_id} from ${table} where ${where} and ${organization_id} > ${previous} and ${condition}
    order by ${organization_id} limit 1`;
  return sql`${name} (organization_id) as (
        (${selectNext(sql`${after}`)})
        union all
        select (${selectNext(sql`${name}.organization_id`)}) from ${name} where ${name}.organization_id is not null)`;
};

/**
 * Build the query for the sellers among whom to look for due rows, in order of their ids. Where an index by time exists, a few
 * due rows name their sellers; sellers with a clock of their own are looked at apart.
 */
function selectSellers(due: DueQuery, organization_id: AnyPgColumn, clock: SQL, after: string): SQL {
  const { table, where = sql`true`, at, serverClock } = due;
  if (!at || !due.isIndexedByTime) return buildSellerSteps(sql`sellers`, due, organization_id, after, sql`true`);
  const isBacklog = sql`(select count(*) > ${fewRowsMax} from first_due)`;
  const withOwnClock = sql`union select ${organization.id} from ${organization}
          where ${organization.clock_offset_ms} <> 0 and not ${isBacklog}`;
  return sql`first_due (organization_id) as materialized (
        select ${organization_id} from ${table} where ${where} and ${at} <= ${clock} order by ${at} limit ${fewRowsMax + 1}),
      ${buildSellerSteps(sql`stepped`, due, organization_id, after, isBacklog)},
      sellers (organization_id) as (
        select organization_id from stepped
        union all
        (select organization_id from (
          select organization_id from first_due where not ${isBacklog}
          ${serverClock ? sql`` : withOwnClock}) as few
        where few.organization_id > ${after} order by organization_id))`;
}

/** Of these kinds of work, the names of those with a due row, in one statement. */
export async function findDueKinds(
  db: Database,
  now: Date,
  works: readonly { name: string; due: DueQuery }[],
): Promise<string[]> {
  const search = { limit: 1, share: 1, after: "", busy: [], except: [], taken: [], isProbe: true as const };
  const parts = works.map(
    ({ name, due }) => sql`select ${name}::text as name where exists (${buildSearch(now, due, { ...search, name })})`,
  );
  const found = sql`(${sql.join(parts, sql` union all `)}) as found`;
  return (await db.select({ name: sql<string>`found.name` }).from(found)).map(({ name }) => name);
}

/**
 * Find due rows in one statement, at most `share` of each seller in turn, so that a busy seller does not delay the others.
 * It reads only the rows it returns, and what names their sellers. Failed rows whose retry is not due are skipped.
 */
export async function findDue(db: Database, now: Date, due: DueQuery, search: DueSearch): Promise<DueRow[]> {
  return db
    .select({
      id: sql<string>`found.id`,
      organization_id: sql<string>`found.organization_id`,
      clock_offset_ms: sql`found.offset_ms`.mapWith(Number),
      sandbox: sql<boolean>`found.sandbox`,
      failing_since: sql`found.failing_since`.mapWith(failedWork.first_failed_at),
      due_at: sql`found.due_at`.mapWith(failedWork.first_failed_at),
      lane: sql<string | null>`found.lane`,
    })
    .from(sql`(${buildSearch(now, due, search)}) as found`);
}

function buildSearch(now: Date, due: DueQuery, search: DueSearch): SQL {
  const { id, organization_id, at, delayMs = 0 } = due;
  const clock = sql`${new Date(now.getTime() - delayMs).toISOString()}::timestamptz`;
  const due_at =
    at && organization_id && !due.serverClock
      ? sql`${at} + ${delayMs} * interval '1 millisecond'`
      : sql`null::timestamptz`;
  const lane = due.partitionBy ? sql`${due.partitionBy}::text` : sql`null::text`;
  const fields = search.isProbe
    ? sql`1`
    : sql`${id}::text as id, failed.first_failed_at as failing_since, ${due_at} as due_at, ${lane} as lane`;
  const isFree = due.partitionBy && !search.isProbe ? sql` and ${lane} <> all(${splitTexts(search.taken)})` : sql``;
  const isOther = search.isProbe ? sql`` : sql` and ${id}::text <> all(${splitTexts(search.except)})`;
  const selectRows = (whose: SQL, time: SQL, limit: number) =>
    selectDueRows(due, search.name, now)(
      fields,
      sql`${whose} and ${at ? sql`${at} <= ${time}` : sql`true`}${isOther}${isFree}`,
      limit,
    );
  const offset = sql`coalesce(${organization.clock_offset_ms}, 0)`;
  const shown = search.isProbe
    ? sql`1`
    : sql`due.*, sellers.organization_id, ${offset} as offset_ms, coalesce(${organization.sandbox}, false) as sandbox`;
  const isIdle = search.isProbe ? sql`true` : sql`sellers.organization_id <> all(${splitTexts(search.busy)})`;
  const held = sql`${organization.clock_held_until} > ${now.toISOString()}::timestamptz`;
  const isServed = sql`${organization.held_at} is null`;
  const isFunded = due.movesMoney ? sql`${organization.money_held_at} is null` : sql`true`;
  return organization_id
    ? sql`
      with recursive ${search.only === undefined ? selectSellers(due, organization_id, clock, search.after) : sql`sellers (organization_id) as (select ${search.only}::text)`}
      select ${shown} from sellers
      left join ${organization} on ${organization.id} = sellers.organization_id
      cross join lateral (${selectRows(
        sql`${organization_id} = sellers.organization_id`,
        due.serverClock ? clock : sql`${clock} + ${offset} * interval '1 millisecond'`,
        search.share,
      )}) as due
      where ${isIdle} and ${isServed} and ${isFunded} and ${search.only === undefined ? sql`(${held}) is not true` : sql`true`}
      limit ${search.limit}`
    : sql`select due.*, '' as organization_id, 0 as offset_ms, false as sandbox from (${selectRows(sql`true`, clock, search.limit)}) as due`;
}

const pauseLeastMs = 5000;
const pauseMostMs = 60 * 60 * 1000;
const givenUpAfterMs = 24 * 60 * 60 * 1000;
const errorLengthMax = 500;

/**
 * Compute the pause before the next retry from how long the row has been failing, both in milliseconds. Null after 24 hours:
 * the row becomes a dead letter.
 */
export function planRetry(failing_ms: number): number | null {
  if (failing_ms >= givenUpAfterMs) return null;
  return Math.min(Math.max(failing_ms / 4, pauseLeastMs), pauseMostMs);
}

/** Thrown when a retry would do harm: the row becomes a dead letter immediately. */
export class GiveUpError extends Error {
  override readonly name = "GiveUpError";
}

/** Schedule a retry for a row that failed, or make it a dead letter. */
export async function scheduleRetries(
  { db, clock, log }: Deps,
  kind: string,
  row: DueRow,
  error: unknown,
): Promise<void> {
  const now = clock.now();
  const failingMs = row.failing_since === null ? 0 : now.getTime() - row.failing_since.getTime();
  const pause_ms = error instanceof GiveUpError ? null : planRetry(failingMs);
  const retry_at = pause_ms === null ? null : new Date(now.getTime() + pause_ms);
  const said = redactError(error);
  const text = ("message" in said ? String(said.message) : "").slice(0, errorLengthMax);
  await db
    .insert(failedWork)
    .values({
      kind,
      row_id: row.id,
      organization_id: row.organization_id || null,
      attempts: 1,
      error: text,
      first_failed_at: now,
      retry_at,
    })
    .onConflictDoUpdate({
      target: [failedWork.kind, failedWork.row_id],
      set: { attempts: sql`${failedWork.attempts} + 1`, error: text, retry_at },
    });
  const fields = { err: error, work: kind, id: row.id, organization_id: row.organization_id, retry_at };
  if (retry_at) log.warn(fields, "What was due could not be done; it will be tried again.");
  else log.error(fields, "What was due could not be done; it is given up, and is a dead letter.");
}

/** Delete the failures of rows that have been processed. */
export const deleteFailures = (db: Database, kind: string, ids: readonly string[]): Promise<unknown> =>
  db.delete(failedWork).where(and(eq(failedWork.kind, kind), inArray(failedWork.row_id, [...ids])));

/** A failed job that is not retried any more, and that no operator has discarded. */
export const isDeadLetter = and(isNull(failedWork.retry_at), isNull(failedWork.discarded_at));

/** Requeue all dead letters: a new version that just started may have removed the cause. */
export async function requeueDeadLetters({ db, clock, log }: Pick<Deps, "db" | "clock" | "log">): Promise<void> {
  const revived = await db
    .update(failedWork)
    .set({ retry_at: clock.now() })
    .where(isDeadLetter)
    .returning({ kind: failedWork.kind });
  if (revived.length > 0) log.info({ count: revived.length }, "Dead letters are tried once more.");
}
