import { and, asc, count, desc, eq, inArray, isNotNull, isNull, lt, notInArray, or, type SQL, sql } from "drizzle-orm";
import type { ImportKind, ImportReason } from "../../../shared/api/imports.ts";
import { subscriptions } from "../../billing/subscriptions/tables.ts";
import { products } from "../../catalog/products/tables.ts";
import type { Erased } from "../../customers/customers/rules.ts";
import { customers } from "../../customers/customers/tables.ts";
import type { Database, Tx } from "../../platform/context.ts";
import { matchAnyOf } from "../../platform/db/arrays.ts";
import { isAmong, matchKey, type RowKey, updateRows } from "../../platform/db/rows.ts";
import { type RecordRow, type RunRow, importRecords as records, importRuns as runs } from "./tables.ts";

export async function insertRun(tx: Tx, values: typeof runs.$inferInsert): Promise<RunRow | undefined> {
  const [row] = await tx.insert(runs).values(values).onConflictDoNothing().returning();
  return row;
}

export async function findRun(db: Database, key: RowKey): Promise<RunRow | undefined> {
  const [row] = await db.select().from(runs).where(matchKey(runs, key));
  return row;
}

/** A run kept from others: its steps are taken one at a time. */
export async function lockRun(tx: Tx, key: RowKey): Promise<RunRow | undefined> {
  const [row] = await tx.select().from(runs).where(matchKey(runs, key)).for("update");
  return row;
}

export async function updateRun(tx: Tx, key: RowKey, patch: Partial<RunRow>): Promise<RunRow> {
  const [row] = await tx.update(runs).set(patch).where(matchKey(runs, key)).returning();
  if (!row) throw new Error(`The import ${key.id} is gone.`);
  return row;
}

export async function listRuns(db: Database, where: SQL | undefined, page: { limit: number; offset: number }) {
  const rows = await db
    .select()
    .from(runs)
    .where(where)
    .orderBy(desc(runs.created_at), desc(runs.id))
    .limit(page.limit)
    .offset(page.offset);
  return { rows, total: await db.$count(runs, where) };
}

const matchRun = ({ organization_id, id }: RowKey): SQL | undefined =>
  and(eq(records.organization_id, organization_id), eq(records.run_id, id));

/** How many records of runs are in each state. */
export const countRecords = (db: Database, organization_id: string, ids: readonly string[]) =>
  db
    .select({
      run_id: records.run_id,
      kind: records.kind,
      status: records.status,
      count: count(),
      changed: count(records.changed_data),
    })
    .from(records)
    .where(and(eq(records.organization_id, organization_id), inArray(records.run_id, [...ids])))
    .groupBy(records.run_id, records.kind, records.status)
    .orderBy(records.run_id, records.kind, records.status);

type RecordFilter = {
  kind?: readonly ImportKind[] | undefined;
  status?: readonly RecordRow["status"][] | undefined;
  reason?: readonly ImportReason[] | undefined;
};

export async function listRecords(
  db: Database,
  run: RowKey,
  { kind, status, reason }: RecordFilter,
  page: { limit: number; offset: number },
) {
  const where = and(
    matchRun(run),
    kind && inArray(records.kind, [...kind]),
    status && inArray(records.status, [...status]),
    reason && inArray(records.reason, [...reason]),
  );
  const rows = await db
    .select()
    .from(records)
    .where(where)
    .orderBy(asc(records.kind), asc(records.line), asc(records.id))
    .limit(page.limit)
    .offset(page.offset);
  return { rows, total: await db.$count(records, where) };
}

/** Nothing of these is in floe yet, or no longer. */
const unapplied = ["read", "ready", "blocked", "undone"] as const;
const isUnapplied = sql`${records.status} in ('read', 'ready', 'blocked', 'undone')`;

/**
 * Keep what was read. A row that was read before and not applied is checked again. Of one that was applied, the difference is kept beside
 * what was applied. What was switched is billed here, so the source has no say in it any more.
 */
export async function upsertRecords(tx: Tx, rows: (typeof records.$inferInsert)[]): Promise<void> {
  const choose = (whenUnapplied: SQL, otherwise: SQL): SQL =>
    sql`case when ${isUnapplied} then ${whenUnapplied} else ${otherwise} end`;
  const changes: Partial<Record<keyof typeof records.$inferInsert, SQL>> = {
    modified_at: sql`excluded.created_at`,
    run_id: sql`excluded.run_id`,
    reading: sql`excluded.reading`,
    line: sql`excluded.line`,
    status: choose(sql`'read'`, sql`${records.status}`),
    reason: choose(sql`null`, sql`case when ${records.status} = 'held' then null else ${records.reason} end`),
    detail: choose(sql`null`, sql`${records.detail}`),
    data: choose(sql`excluded.data`, sql`coalesce(${records.data}, excluded.data)`),
    hash: choose(sql`excluded.hash`, sql`${records.hash}`),
    changed_data: sql`case when ${records.status} in ('applied', 'held') and ${records.hash} <> excluded.hash
      then excluded.data end`,
    applied_run_id: choose(sql`null`, sql`${records.applied_run_id}`),
    target_id: choose(sql`null`, sql`${records.target_id}`),
    is_created: choose(sql`false`, sql`${records.is_created}`),
  };
  const names = [
    ...["id", "organization_id", "created_at", "source", "kind", "source_id", "run_id", "reading", "line", "status"],
    ...["data", "hash", "is_created"],
  ].map((name) => sql.identifier(name));
  const columns = sql.join(names, sql`, `);
  // The rows come as one value, so that the statement is the same for any number of them.
  const values = JSON.stringify(rows.map((row) => ({ is_created: false, ...row })));
  await tx.execute(sql`insert into ${records} (${columns})
    select ${columns} from json_populate_recordset(null::${records}, ${values}::json)
    on conflict (organization_id, source, kind, source_id) do update set ${sql.join(
      Object.entries(changes).map(([name, change]) => sql`${sql.identifier(name)} = ${change}`),
      sql`, `,
    )}`);
}

/** Forget rows that an earlier reading had and the last one has not, where nothing of them is in floe. */
export const deleteUnread = (tx: Tx, run: RunRow): Promise<unknown> =>
  tx
    .delete(records)
    .where(and(matchRun(run), lt(records.reading, run.reading), inArray(records.status, [...unapplied])));

/** The next records of a run in a state, all of one kind: what subscriptions name is settled before they are looked at. */
export async function findNext(tx: Tx, run: RowKey, status: RecordRow["status"], limit: number): Promise<RecordRow[]> {
  const found = await tx
    .select()
    .from(records)
    .where(and(matchRun(run), eq(records.status, status)))
    .orderBy(asc(records.kind), asc(records.id))
    .limit(limit);
  return found.filter(({ kind }) => kind === found[0]?.kind);
}

/** Held subscriptions that differ in the last reading, and are not refused yet. */
export const findChanged = (tx: Tx, run: RowKey, limit: number): Promise<RecordRow[]> =>
  tx
    .select()
    .from(records)
    .where(and(matchRun(run), eq(records.status, "held"), isNotNull(records.changed_data), isNull(records.reason)))
    .orderBy(asc(records.id))
    .limit(limit);

/** Records by their ids at the source. */
export async function findBySource(
  db: Database,
  run: Pick<RunRow, "organization_id" | "source">,
  kind: ImportKind,
  source_ids: readonly string[],
): Promise<Map<string, RecordRow>> {
  if (source_ids.length === 0) return new Map();
  const found = await db
    .select()
    .from(records)
    .where(
      and(
        eq(records.organization_id, run.organization_id),
        eq(records.source, run.source),
        eq(records.kind, kind),
        sql`${records.source_id} = ${matchAnyOf([...new Set(source_ids)], "text")}`,
      ),
    );
  return new Map(found.map((row) => [row.source_id, row]));
}

/** Held subscriptions of a run: those without a refusal first, then by their next renewal. */
export const findHeld = (
  tx: Tx,
  run: RowKey,
  { source_ids, limit }: { source_ids: readonly string[] | null; limit: number },
): Promise<{ record: RecordRow }[]> =>
  tx
    .select({ record: records })
    .from(records)
    .leftJoin(
      subscriptions,
      and(eq(subscriptions.organization_id, records.organization_id), eq(subscriptions.id, records.target_id)),
    )
    .where(
      and(
        matchRun(run),
        eq(records.kind, "subscription"),
        eq(records.status, "held"),
        source_ids ? sql`${records.source_id} = ${matchAnyOf([...source_ids], "text")}` : undefined,
      ),
    )
    .orderBy(sql`${records.reason} is not null`, asc(subscriptions.current_period_end), asc(records.id))
    .limit(limit);

const leftovers = ["charged", "used"] as const;
/** What a rollback removes next: subscriptions before their customers and products. What could not be removed is passed over. */
export const findUndoable = (tx: Tx, { organization_id, id }: RowKey, limit: number): Promise<RecordRow[]> =>
  tx
    .select()
    .from(records)
    .where(
      and(
        eq(records.organization_id, organization_id),
        eq(records.applied_run_id, id),
        inArray(records.status, ["applied", "held", "switched"]),
        or(isNull(records.reason), notInArray(records.reason, [...leftovers])),
      ),
    )
    .orderBy(desc(records.kind), asc(records.id))
    .limit(limit);

export const updateRecords = (tx: Tx, changes: { key: RowKey; patch: Partial<RecordRow> }[]): Promise<unknown> =>
  updateRows(tx, records, changes, false);

/** Forget what was read: what is not in floe goes, and of the rest the ids stay, so that nothing is imported twice. */
export async function discardRead(tx: Tx, run: RowKey): Promise<void> {
  await tx.delete(records).where(and(matchRun(run), inArray(records.status, [...unapplied])));
  await tx.update(records).set({ data: null, changed_data: null, detail: null }).where(matchRun(run));
}

export const hasRecords = async (db: Database, run: RowKey, status: readonly RecordRow["status"][]): Promise<boolean> =>
  (
    await db
      .select({ id: records.id })
      .from(records)
      .where(and(matchRun(run), inArray(records.status, [...status])))
      .limit(1)
  ).length > 0;

/** The records of a run in pages, in the order of their ids. */
export async function* iterateRecords(db: Database, run: RowKey, limit: number): AsyncGenerator<RecordRow[]> {
  for (let after: string | null = null; ; ) {
    const page: RecordRow[] = await db
      .select()
      .from(records)
      .where(and(matchRun(run), after === null ? undefined : sql`${records.id} > ${after}::uuid`))
      .orderBy(asc(records.id))
      .limit(limit);
    yield page;
    after = page.at(-1)?.id ?? null;
    if (page.length < limit) return;
  }
}

/** Forget who a customer was at the source, and what they subscribed to there. */
export async function eraseImported(tx: Tx, { organization_id, id, emails }: Erased): Promise<void> {
  const theirs = sql`(${records.target_id} = ${id}::uuid or lower(${records.data} ->> 'email') = ${matchAnyOf([...emails], "text")}
    or ${records.target_id} in (select s.id from ${subscriptions} s
      where s.organization_id = ${organization_id} and s.customer_id = ${id}::uuid))`;
  await tx
    .update(records)
    .set({ data: null, changed_data: null, detail: null, source_id: sql`'erased ' || ${records.id}` })
    .where(and(eq(records.organization_id, organization_id), theirs));
}

const tables = { product: products, customer: customers, subscription: subscriptions } as const;

/** The targets of records of one kind that are there. */
export async function findExisting(
  db: Database,
  { organization_id, kind }: Pick<RecordRow, "organization_id" | "kind">,
  some: readonly RecordRow[],
): Promise<Set<string>> {
  const ids = some.flatMap(({ target_id }) => target_id ?? []);
  if (ids.length === 0) return new Set();
  const table = tables[kind];
  const found = await db
    .select({ id: table.id })
    .from(table)
    .where(isAmong(organization_id, table.id, ids));
  return new Set(found.map(({ id }) => id));
}

/** Subscriptions by their ids, with what a comparison looks at. */
export async function findCompared(db: Database, organization_id: string, ids: readonly string[]) {
  if (ids.length === 0) return new Map<string, never>();
  const found = await db
    .select({ row: subscriptions, customer: customers })
    .from(subscriptions)
    .innerJoin(
      customers,
      and(eq(customers.organization_id, subscriptions.organization_id), eq(customers.id, subscriptions.customer_id)),
    )
    .where(isAmong(organization_id, subscriptions.id, ids));
  return new Map(found.map((one) => [one.row.id, one]));
}
