import { type SQL, sql } from "drizzle-orm";
// The rows of endpoints say whether anybody hears of what happens; it is found in the statement that writes it.
import { webhookEndpoints } from "../../messaging/webhooks/tables.ts";
// What happens is in the list of events, too; it is written in the statement that tells it.
import { usageEvents, usageNames } from "../../usage/events/tables.ts";
import type { Ctx, Deps } from "../context.ts";
import { redactError } from "../loggable.ts";
import { createView } from "./database.ts";
import { runWithLoaders } from "./loaders.ts";
import { addRows } from "./rows.ts";
import { auditLog, events } from "./tables.ts";
import type { Database, ExtraWrite, TransactionUnit, Tx } from "./transaction.ts";

type Parts = Pick<Deps, "db" | "log"> & { extraWrites?: readonly ExtraWrite[] };

/** The unit of a transaction; null for a connection, where every statement is a transaction of its own. */
export const getUnit = (db: Database): TransactionUnit | null => ("unit" in db ? (db as Tx).unit : null);

/** Whether what was noted in a unit is written, or will be if the transaction that is open holds. */
export function isCommitting({ isUndone, parent }: TransactionUnit): boolean {
  return !isUndone && (parent === null || isCommitting(parent));
}

/**
 * Do some work in a transaction, or in a savepoint where `ctx.db` is a transaction already. What happened (events) and who did
 * it (audit entries) are noted on the transaction while the work is done, and written
 * together just before the commit, in the order in which they were noted. What was noted in a savepoint that is undone is
 * forgotten with it.
 */
export async function transact<T>(ctx: Parts, work: (tx: Tx) => Promise<T>): Promise<T> {
  const parent = getUnit(ctx.db);
  const unit = unitIn(parent);
  let result: T;
  try {
    result = await ctx.db.transaction(async (begun) => {
      // The driver makes an object for each transaction and each savepoint, so this one is ours.
      const tx: Tx = Object.assign(begun, { unit });
      const made = await work(tx);
      for (const write of ctx.extraWrites ?? []) await write(tx, made);
      if (!parent) await writeNoted(tx);
      return made;
    });
  } catch (error) {
    unit.isUndone = true;
    throw error;
  }
  if (parent) hand(unit, parent);
  else await finish(unit, ctx);
  return result;
}

/**
 * Do some work that changes what it changes by one statement and tells nobody: in a transaction only where something else is
 * written with it, or where one is open.
 */
export const runChange = <T>(ctx: Parts, work: (db: Database) => Promise<T>): Promise<T> =>
  getUnit(ctx.db) === null && !ctx.extraWrites?.length ? work(ctx.db) : transact(ctx, work);

const unitIn = (parent: TransactionUnit | null): TransactionUnit => ({
  parent,
  isUndone: false,
  events: [],
  entries: [],
  atEnd: [],
  afterCommit: [],
});

/**
 * Do the same work for several things in one transaction, side by side, so that what it asks of the database is gathered. What
 * happened to each is written in the order of the things, and where one of them fails, nothing has happened. They must not
 * change the same rows, as no lock keeps them from each other.
 */
export const transactAll = <I, T>(
  ctx: Parts,
  items: readonly I[],
  work: (tx: Tx, item: I) => Promise<T>,
): Promise<T[]> =>
  transact(ctx, async (tx) => {
    const units = items.map((): TransactionUnit => ({ ...unitIn(tx.unit), root: tx }));
    const made = await runWithLoaders(
      items.map((item, index) => async () => {
        const own = createView(tx, units[index] ?? tx.unit);
        const one = await work(own, item);
        for (const act of own.unit.atEnd.splice(0)) await act();
        return one;
      }),
    );
    for (const unit of units) hand(unit, tx.unit);
    return made;
  });

/**
 * The same context in a transaction that its operation has begun: what it does further is part of that, and what is written
 * extraWrites is left to it.
 */
export const joinTransaction = (ctx: Ctx, tx: Tx): Ctx => ({ ...ctx, db: tx, extraWrites: [] });

/**
 * Have something done at the end of the outermost transaction, before what was noted is written: what others wait for while
 * it is locked, such as a counter.
 */
export function runAtEnd(tx: Tx, act: () => Promise<void>): void {
  tx.unit.atEnd.push(act);
}

/** Have something done once the outermost transaction is committed, and not at all if it is undone. */
export function runAfterCommit(tx: Tx, act: () => Promise<void> | void): void {
  tx.unit.afterCommit.push(act);
}

async function writeNoted(tx: Tx): Promise<void> {
  const { unit } = tx;
  for (const act of unit.atEnd) await act();
  if (unit.events.length > 0) await writeEvents(tx, unit.events);
  await addRows(tx, auditLog, unit.entries);
}

/** Stands between texts of JSON, in which it is always written otherwise. */
const separator = "\u001e";

/**
 * Write events, as many as there are, by one statement, in their order. What is told is sent and read once for all of which it
 * is told. Where no endpoint is on that could hear of them, they need not be looked at again: one that comes later gets later
 * events alone.
 */
async function writeEvents(tx: Tx, noted: TransactionUnit["events"]): Promise<void> {
  const written = noted.map((one) => one.write());
  const listed = written.flatMap((one, index) =>
    one.listed.map(({ member_id = null, ...event }) => ({
      ...event,
      member_id,
      organization_id: noted[index]?.organization_id,
    })),
  );
  const rows = noted.flatMap(({ emitted: told, organization_id, created_at }, place) =>
    told.map((row) => ({ ...row, organization_id, created_at, place: place + 1 })),
  );
  const { organization_id, deleted_at, enabled } = webhookEndpoints;
  // Asked for within the statement, how many texts there are is not known to who plans it, who would plan it anew each time.
  const texts = sql`(select ${written.map(({ wire }) => wire).join(separator)}::text)`;
  await tx.execute(sql`with ${listed.length > 0 ? writeListed(listed) : sql``} texts as materialized (
      select data::jsonb as data, place
      from unnest(string_to_array(${texts}, ${separator})) with ordinality as sent (data, place))
    insert into ${events} (id, organization_id, type, data, created_at, dispatched_at)
    select id, listed.organization_id, type, data, listed.created_at, case when not exists (select from ${webhookEndpoints}
      where ${organization_id} = listed.organization_id and ${deleted_at} is null and ${enabled}) then listed.created_at end
    from rows from (json_to_recordset(${JSON.stringify(rows)}::json)
      as (id uuid, organization_id text, type text, created_at timestamptz, place bigint)) with ordinality as listed
    join texts using (place)
    order by listed.ordinality`);
}

/**
 * What is in the list of events as well, and how often each name came: parts of the statement. It is never counted, so it waits for
 * nobody who counts.
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

function hand(unit: TransactionUnit, parent: TransactionUnit): void {
  parent.events.push(...unit.events);
  parent.entries.push(...unit.entries);
  parent.atEnd.push(...unit.atEnd);
  parent.afterCommit.push(...unit.afterCommit);
}

/** The change stands by now: what fails here must not be taken for its failure. */
async function finish({ afterCommit }: TransactionUnit, { log }: Parts): Promise<void> {
  for (const act of afterCommit) {
    try {
      await act();
    } catch (error) {
      log.error({ error: redactError(error) }, "What follows a change failed; the change stands.");
    }
  }
}
