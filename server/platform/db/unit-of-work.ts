import { type SQL, type SQLWrapper, sql } from "drizzle-orm";
// The statement that writes events reads the webhook endpoints, to find out whether an endpoint can receive them.
import { webhookEndpoints } from "../../messaging/webhooks/tables.ts";
// Events are also listed among the usage events; the same statement writes both.
import { usageEvents, usageNames } from "../../usage/events/tables.ts";
import type { Ctx, Deps } from "../context.ts";
import { awaitUntilDeadline } from "../jobs/deadline.ts";
import { redactError } from "../loggable.ts";
import { createView } from "./database.ts";
import { runWithLoaders } from "./loaders.ts";
import { buildInsert } from "./rows.ts";
import { auditLog, events } from "./tables.ts";
import type { Database, ExtraWrite, TransactionUnit, Tx } from "./transaction.ts";

type Parts = Pick<Deps, "db" | "log"> & { extraWrites?: readonly ExtraWrite[] };

/** Get the unit of a transaction; null for a connection, where every statement is a transaction of its own. */
export const getUnit = (db: Database): TransactionUnit | null => ("unit" in db ? (db as Tx).unit : null);

/** Whether the pending writes of a unit are written, or will be if the open transaction commits. */
export function isCommitting({ isUndone, parent }: TransactionUnit): boolean {
  return !isUndone && (parent === null || isCommitting(parent));
}

/**
 * Run work in a transaction, or in a savepoint if `ctx.db` is a transaction already. Events and audit entries are collected
 * in the unit and written together just before the commit, in order. If a savepoint is rolled back, its pending writes are
 * dropped.
 */
export async function transact<T>(ctx: Parts, work: (tx: Tx) => Promise<T>): Promise<T> {
  const parent = getUnit(ctx.db);
  const unit = createUnit(parent);
  let result: T;
  try {
    result = await ctx.db.transaction(async (begun) => {
      // The driver creates an object for each transaction and savepoint, so the unit can be assigned to it.
      const tx: Tx = Object.assign(begun, { unit });
      const made = await awaitUntilDeadline(work(tx));
      for (const write of ctx.extraWrites ?? []) await write(tx, made);
      if (!parent) await writeNoted(tx);
      return made;
    });
  } catch (error) {
    unit.isUndone = true;
    throw error;
  }
  if (parent) mergeInto(unit, parent);
  else await finish(unit, ctx);
  return result;
}

/**
 * Run a change of one statement that emits no events. It opens a transaction only if there are extra writes, and joins one
 * that is open.
 */
export const runChange = <T>(ctx: Parts, work: (db: Database) => Promise<T>): Promise<T> =>
  getUnit(ctx.db) === null && !ctx.extraWrites?.length ? work(ctx.db) : transact(ctx, work);

const createUnit = (parent: TransactionUnit | null): TransactionUnit => ({
  parent,
  isUndone: false,
  events: [],
  entries: [],
  inserts: [],
  atEnd: [],
  afterCommit: [],
});

/**
 * Run the same work for several items in one transaction, concurrently, so that their queries are batched. Events are
 * written in the order of the items. If one item fails, the transaction is rolled back. The items must not change the same
 * rows, because no lock separates them.
 */
export const transactAll = <I, T>(
  ctx: Parts,
  items: readonly I[],
  work: (tx: Tx, item: I) => Promise<T>,
): Promise<T[]> =>
  transact(ctx, async (tx) => {
    const units = items.map((): TransactionUnit => ({ ...createUnit(tx.unit), root: tx }));
    const made = await runWithLoaders(
      items.map((item, index) => async () => {
        const own = createView(tx, units[index] ?? tx.unit);
        const one = await work(own, item);
        for (const act of own.unit.atEnd.splice(0)) await act();
        return one;
      }),
    );
    for (const unit of units) mergeInto(unit, tx.unit);
    return made;
  });

/** The context within a transaction that its operation has begun. The extra writes are left to the outer transaction. */
export const joinTransaction = (ctx: Ctx, tx: Tx): Ctx => ({ ...ctx, db: tx, extraWrites: [] });

/**
 * Run a function at the end of the outermost transaction, before events are written. It is for rows that others need, such
 * as a counter, so that they are locked only briefly.
 */
export function runAtEnd(tx: Tx, act: () => Promise<void>): void {
  tx.unit.atEnd.push(act);
}

/** Run a function after the outermost transaction commits; it does not run after a rollback. */
export function runAfterCommit(tx: Tx, act: () => Promise<void> | void): void {
  tx.unit.afterCommit.push(act);
}

async function writeNoted(tx: Tx): Promise<void> {
  const { unit } = tx;
  for (const act of unit.atEnd) await act();
  const { events: noted, entries, inserts } = unit;
  const added = entries.length > 0 ? [...inserts, buildInsert(tx, auditLog, entries)] : inserts;
  if (noted.length > 0) await writeEvents(tx, noted, added);
  else for (const insert of added) await tx.execute(insert);
}

/** Separates JSON texts. JSON always escapes this character, so it occurs in none of them. */
const separator = "\u001e";

/**
 * Write all events in one statement, in their order, and with them what else is added. A payload that several events share is sent and parsed once. If no
 * endpoint is enabled, the events are marked as dispatched, because an endpoint added later receives only later events.
 */
async function writeEvents(tx: Tx, noted: TransactionUnit["events"], added: readonly SQLWrapper[]): Promise<void> {
  const written = noted.map((one) => one.write());
  const listed = written.flatMap((one, index) =>
    one.listed.map(({ member_id = null, ...event }) => ({
      ...event,
      member_id,
      organization_id: noted[index]?.organization_id,
    })),
  );
  const rows = noted.flatMap(({ emitted, organization_id, created_at }, place) =>
    emitted.map((row) => ({ ...row, organization_id, created_at, place: place + 1 })),
  );
  const { organization_id, deleted_at, enabled, off_since } = webhookEndpoints;
  // The subquery hides the number of texts from the planner, which would otherwise plan the statement again for each number.
  const texts = sql`(select ${written.map(({ wire }) => wire).join(separator)}::text)`;
  await tx.execute(sql`with ${listed.length > 0 ? writeListed(listed) : sql``} ${writeAdded(added)} texts as materialized (
      select data::jsonb as data, place
      from unnest(string_to_array(${texts}, ${separator})) with ordinality as sent (data, place))
    insert into ${events} (id, organization_id, type, data, created_at, request_id, traceparent, dispatched_at)
    select id, listed.organization_id, type, data, listed.created_at, request_id, traceparent, case when not exists (select from ${webhookEndpoints}
      where ${organization_id} = listed.organization_id and ${deleted_at} is null and (${enabled} or ${off_since} is not null)) then listed.created_at end
    from rows from (json_to_recordset(${JSON.stringify(rows)}::json)
      as (id uuid, organization_id text, type text, created_at timestamptz, request_id text, traceparent text, place bigint))
      with ordinality as listed
    join texts using (place)
    order by listed.ordinality`);
}

/** Build the parts of the statement that add other rows. */
const writeAdded = (added: readonly SQLWrapper[]): SQL =>
  sql.join(added.map((insert, place) => sql`${sql.identifier(`added_${place}`)} as (${insert.getSQL()}),`));

/**
 * Build the parts of the statement that list events as usage events and count their names. These events are never metered,
 * so the insert waits for no lock of a meter.
 */
const writeListed = (listed: readonly object[]): SQL => sql`noted as materialized (
      select * from json_to_recordset(${JSON.stringify(listed)}::json) as n (id uuid, organization_id text, timestamp timestamptz,
        name text, customer_id uuid, member_id uuid, metadata jsonb)),
    listed_events as (
      insert into ${usageEvents} (id, organization_id, timestamp, name, source, customer_id, member_id, depth, metadata)
      select id, organization_id, timestamp, name, 'system', customer_id, member_id, 0, metadata from noted),
    listed_names as (
      insert into ${usageNames} (organization_id, name, source, occurrences, first_seen, last_seen)
      select organization_id, name, 'system', count(*), min(timestamp), max(timestamp) from noted group by 1, 2 order by 1, 2),`;

function mergeInto(unit: TransactionUnit, parent: TransactionUnit): void {
  parent.events.push(...unit.events);
  parent.entries.push(...unit.entries);
  parent.inserts.push(...unit.inserts);
  parent.atEnd.push(...unit.atEnd);
  parent.afterCommit.push(...unit.afterCommit);
}

/** The change is committed by now, so a failure here must not be reported as a failure of the change. */
async function finish({ afterCommit }: TransactionUnit, { log }: Parts): Promise<void> {
  for (const act of afterCommit) {
    try {
      await act();
    } catch (error) {
      log.error({ error: redactError(error) }, "What follows a change failed; the change stands.");
    }
  }
}
