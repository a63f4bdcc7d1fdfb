import { and, eq, type SQL, sql } from "drizzle-orm";
import { files } from "../../catalog/files/tables.ts";
import type { Database, Tx } from "../../platform/context.ts";
import { writeArray } from "../../platform/db/arrays.ts";
import { documentNames, documentsMax, type SavedColumns, snapshotFiles, snapshotRows, snapshots } from "./tables.ts";

/** A table to save: columns, key without the organization, tables it refers to, and columns that need a value. */
export type SavedTable = { name: string; columns: Column[]; key: string[]; parents: string[]; required: string[] };
type Column = { name: string; type: string };
export type SnapshotRow = typeof snapshots.$inferSelect;

/** Tables of sellers that a restore does not change, and why. Tables without an `organization_id` are of no seller. */
export const leftOut: Record<string, string> = {
  archive_restores: "how the organization came here stays so",
  audit_log: "who did what is never undone",
  book_checks: "how far the books were checked is never undone",
  refused_calls: "who was refused what is never undone",
  request_log: "what was requested is never undone",
  snapshots: "what is saved is not part of what is saved",
  snapshot_rows: "what is saved is not part of what is saved",
  snapshot_files: "says which bytes stay",
  customer_sessions:
    "who is signed in is so now: what was taken back is not given again, and a restore ends all of them",
  customer_account_requests: "who is on their way with an account comes back to a session that has ended",
  portal_codes: "what opens a session is left out as they are, and a restore ends all of them",
  ci_rules: "which jobs get keys is of accounts, as keys are",
  ci_exchanges: "which tokens of jobs were used is never undone",
  event_stream_tokens: "what opens a stream lasts a minute, and a restore ends all of them",
};
/** Tables emptied by a restore, because their rows may refer to deleted rows. */
const ended = ["customer_account_requests", "customer_sessions", "event_stream_tokens", "portal_codes"];
/** Columns of the organization that stay: what accounts know it by, whether it may be used, and its clock, which is set. */
const keptSettings = new Set([
  ...["id", "slug", "metadata", "createdAt", "sso_enforced", "blocked_at", "held_at"],
  ...["sandbox", "clock_offset_ms", "clock_target", "clock_held_until", "money_held_at", "money_held_reason"],
]);

const getNames = (numbers: SQL) => sql`(select coalesce(json_agg(a.attname order by n.place), '[]')
  from unnest(${numbers}) with ordinality n(number, place) join pg_attribute a on a.attrelid = c.oid and a.attnum = n.number)`;

/**
 * Find the tables to save, each after the tables it refers to. They are read from the catalog of the database, so that new
 * tables are included.
 */
export async function findTables(db: Database): Promise<SavedTable[]> {
  const rows = await db
    .select({
      name: sql<string>`found.name`,
      columns: sql<Column[]>`found.columns`,
      key: sql<string[]>`found.key`,
      parents: sql<string[]>`found.parents`,
      required: sql<string[]>`found.required`,
    })
    .from(
      sql`(select c.relname as name,
        (select json_agg(json_build_object('name', a.attname, 'type', format_type(a.atttypid, a.atttypmod)) order by a.attnum)
          from pg_attribute a
          where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped) as columns,
        (select ${getNames(sql`i.indkey::int2[]`)} from pg_index i where i.indrelid = c.oid and i.indisprimary) as key,
        (select coalesce(json_agg(distinct t.relname), '[]') from pg_constraint f join pg_class t on t.oid = f.confrelid
          where f.conrelid = c.oid and f.contype = 'f' and t.oid <> c.oid) as parents,
        (select coalesce(json_agg(a.attname), '[]') from pg_attribute a where a.attrelid = c.oid and a.attnum > 0
          and a.attnotnull and not a.atthasdef and not a.attisdropped) as required
      from pg_class c where c.relkind in ('r', 'p') and not c.relispartition and c.relnamespace = current_schema()::regnamespace
        and exists (select 1 from pg_attribute a where a.attrelid = c.oid and a.attname = 'organization_id' and not a.attisdropped)
      order by c.relname) as found`,
    );
  const all = rows
    .filter(({ name }) => !Object.hasOwn(leftOut, name))
    .map((table) => ({ ...table, key: table.key.filter((column) => column !== "organization_id") }));
  const names = new Set(all.map(({ name }) => name));
  const sorted: SavedTable[] = [];
  for (const done = new Set<string>(); sorted.length < all.length; ) {
    const free = all.filter(
      ({ name, parents }) => !done.has(name) && parents.every((one) => done.has(one) || !names.has(one)),
    );
    if (free.length === 0) throw new Error("Tables point to each other in a ring, so no order restores them.");
    for (const table of free) done.add(table.name);
    sorted.push(...free);
  }
  return sorted;
}

const listOf = (all: readonly SQL[]): SQL => sql.join([...all], sql`, `);
const quoteNames = (names: readonly string[]): SQL => listOf(names.map((name) => sql`${sql.identifier(name)}`));
const isDocument = ({ type }: Column): boolean => type === "jsonb";

function planColumns({ name, columns }: SavedTable): SavedColumns {
  const documents = columns.filter(isDocument).map((column) => column.name);
  if (documents.length > documentsMax)
    throw new Error(`The table ${name} has more columns with JSON than are saved (${documentsMax}).`);
  return { texts: columns.filter((column) => !isDocument(column)).map((column) => column.name), documents };
}

/** The rows of a table, as they are or as they were saved, and how their columns are read. */
type Side = {
  /** After `from`: the rows, and which. */
  rows: SQL;
  has(column: string): boolean;
  /** Of what is no JSON, as text. */
  text(column: string): SQL;
  document(column: string): SQL;
};

const renderPresentSide = ({ name, columns }: SavedTable, organization_id: string): Side => ({
  rows: sql`${sql.identifier(name)} t where t.organization_id = ${organization_id}`,
  has: (column) => columns.some((one) => one.name === column),
  text: (column) => sql`t.${sql.identifier(column)}::text`,
  document: (column) => sql`t.${sql.identifier(column)}`,
});

function renderSavedSide({ name }: SavedTable, { organization_id, id, columns }: SnapshotRow): Side {
  const { texts, documents } = columns[name] ?? { texts: [], documents: [] };
  return {
    rows: sql`${snapshotRows} r where r.organization_id = ${organization_id} and r.snapshot_id = ${id} and r.kind = ${name}`,
    has: (column) => texts.includes(column) || documents.includes(column),
    text: (column) => sql`r.texts[${sql.raw(String(texts.indexOf(column) + 1))}]`,
    document: (column) => sql`r.${sql.identifier(documentNames[documents.indexOf(column)] ?? "")}`,
  };
}

/** A value as its column has it. */
const getTyped = (side: Side, column: Column): SQL =>
  isDocument(column) ? side.document(column.name) : sql`${side.text(column.name)}::${sql.raw(column.type)}`;

/**
 * Times are written in one way; and tables that have just grown are not taken for small ones, for which rows would be looked up
 * one by one.
 */
const prepare = (tx: Tx) =>
  tx.execute(sql`select set_config('datestyle', 'ISO, YMD', true), set_config('enable_nestloop', 'off', true),
    set_config('jit', 'off', true), set_config('work_mem', '64MB', true)`);

/** Save all rows of an organization under a name; returns undefined if another snapshot has the name. */
export async function insertSnapshot(
  tx: Tx,
  values: Omit<typeof snapshots.$inferInsert, "rows" | "columns">,
): Promise<SnapshotRow | undefined> {
  const { organization_id, id } = values;
  const tables = await findTables(tx);
  const columns = Object.fromEntries(tables.map((table) => [table.name, planColumns(table)]));
  const [made] = await tx
    .insert(snapshots)
    .values({ ...values, rows: 0, columns })
    .onConflictDoNothing()
    .returning();
  if (!made) return undefined;
  await prepare(tx);
  const parts = tables.map((table) => {
    const side = renderPresentSide(table, organization_id);
    const { texts, documents } = planColumns(table);
    const more = documentNames.map((_, place) => {
      const name = documents[place];
      return name === undefined ? sql`null::jsonb` : side.document(name);
    });
    return sql`select ${table.name}::text, row_number() over ()::int, array[${listOf(texts.map(side.text))}], ${listOf(more)}
      from ${side.rows}`;
  });
  // One statement, so that all rows are read from one database snapshot.
  await tx.execute(sql`insert into ${snapshotRows} (organization_id, snapshot_id, kind, place, texts, ${quoteNames(documentNames)})
    select ${organization_id}, ${id}::uuid, present.* from (${sql.join(parts, sql` union all `)}) as present`);
  const file = renderSavedSide({ name: "files", columns: [], key: [], parents: [], required: [] }, made);
  await tx.execute(sql`insert into ${snapshotFiles} (id, organization_id, snapshot_id, path)
    select gen_random_uuid(), ${organization_id}, ${id}::uuid, ${file.text("path")}
    from ${file.rows} and ${file.text("purged_at")} is null`);
  const rows = await tx.$count(snapshotRows, matchSnapshot(made));
  await tx
    .update(snapshots)
    .set({ rows })
    .where(and(eq(snapshots.organization_id, organization_id), eq(snapshots.id, id)));
  return { ...made, rows };
}

const matchSnapshot = ({ organization_id, id }: SnapshotRow) =>
  and(eq(snapshotRows.organization_id, organization_id), eq(snapshotRows.snapshot_id, id));

/**
 * Put every row of an organization back to what was saved. What it has gained since is deleted, and what is as it was stays;
 * nothing else is touched. Every row is locked first: who is changing one is waited for, and who comes later finds it as it was.
 * Where values that are unique have changed hands, rows stand in each other's way: then it is done with `afresh`, which deletes
 * them all first.
 */
export async function restoreRows(tx: Tx, snapshot: SnapshotRow, { afresh }: { afresh: boolean }): Promise<void> {
  const { organization_id } = snapshot;
  const tables = await findTables(tx);
  // What follows from rows is saved with them: no trigger makes it again.
  await tx.execute(sql`select set_config('floe.restoring', 'on', true)`);
  await prepare(tx);
  for (const { name } of tables)
    await tx.execute(sql`select count(*) from (
      select 1 from ${sql.identifier(name)} where organization_id = ${organization_id} for update) as locked`);
  // The bytes of files that are not in it are known by this alone from now on.
  await tx.execute(sql`insert into ${snapshotFiles} (id, organization_id, path)
    select gen_random_uuid(), organization_id, path from ${files}
    where organization_id = ${organization_id} and purged_at is null`);
  for (const name of ended) await deleteRows(tx, name, organization_id);
  if (afresh) for (const { name } of tables.toReversed()) await deleteRows(tx, name, organization_id);
  // Those that others point to first, and what is gone last, when nothing points to it any more.
  for (const table of tables) await putBack(tx, table, snapshot);
  for (const table of tables.toReversed())
    await deleteRows(
      tx,
      table.name,
      organization_id,
      sql`not exists (select 1 from ${renderSavedSide(table, snapshot).rows} and ${isSameKey(table, snapshot)})`,
    );
  const settings = Object.keys(snapshot.settings as object).filter((column) => !keptSettings.has(column));
  const then = settings.map((column) => sql`p.${sql.identifier(column)}`);
  await tx.execute(sql`update organization set (${quoteNames(settings)}) =
    (select ${listOf(then)} from jsonb_populate_record(organization, ${JSON.stringify(snapshot.settings)}::jsonb) p)
    where id = ${organization_id}`);
  // What follows is no restore: its rows are counted.
  await tx.execute(sql`select set_config('floe.restoring', 'off', true)`);
}

const deleteRows = (tx: Tx, name: string, organization_id: string, where = sql`true`) =>
  tx.execute(sql`delete from ${sql.identifier(name)} t where t.organization_id = ${organization_id} and ${where}`);

/** Whether a row of a table, `t`, is that which was saved as `r`. */
const isSameKey = (table: SavedTable, snapshot: SnapshotRow): SQL =>
  sql.join(
    [
      sql`true`,
      ...table.columns
        .filter(({ name }) => table.key.includes(name))
        .map((column) => sql`t.${sql.identifier(column.name)} = ${getTyped(renderSavedSide(table, snapshot), column)}`),
    ],
    sql` and `,
  );

/** Make the rows of a table that are gone, and change those that are not as they were. */
async function putBack(tx: Tx, table: SavedTable, snapshot: SnapshotRow): Promise<void> {
  const { organization_id } = snapshot;
  const saved = renderSavedSide(table, snapshot);
  const then = table.columns.filter(({ name }) => saved.has(name));
  if (then.length === 0) return;
  const own = sql.identifier(table.name);
  const present = sql`t.organization_id = ${organization_id} and ${isSameKey(table, snapshot)}`;
  const values = then.map((column) => getTyped(saved, column));
  const rest = table.columns.filter(({ name }) => name !== "organization_id" && !table.key.includes(name));
  if (rest.length > 0) {
    const sets = rest.map(
      (column) =>
        sql`${sql.identifier(column.name)} = ${saved.has(column.name) ? getTyped(saved, column) : sql`default`}`,
    );
    // By their bytes, which is many times faster than by their values.
    const isOther = then.length === table.columns.length ? sql`t *<> row(${listOf(values)})::${own}` : sql`true`;
    await tx.execute(sql`update ${own} t set ${listOf(sets)} from ${saved.rows} and ${present} and ${isOther}`);
  }
  await tx.execute(sql`insert into ${own} (${quoteNames(then.map(({ name }) => name))}) overriding system value
    select ${listOf(values)} from ${saved.rows} and not exists (select 1 from ${own} t where ${present})`);
}

/** What a comparison shows of each kind at most. */
const listedMax = 50;
/** What only keeps count, or says which row something else names. */
const plumbing = new Set([
  ...["list_tallies", "failed_work", "processor_events", "checkout_secrets", "checkout_link_secrets"],
  ...["product_sellers", "metric_tallies", "invoice_counters", "document_counters", "webhook_deliveries"],
  ...["receipt_counters", "usage_names"],
  ...["test_intents", "test_setups", "test_refunds", "test_disputes", "test_events"],
]);
/** Where money stands in a row, before tax: what is added, what is taken off, and in which states it comes to nothing. */
const amounts: Record<string, { plus: string; minus?: string; except: readonly string[] }> = {
  orders: { plus: "subtotal_amount", minus: "discount_amount", except: ["pending", "void"] },
  payments: { plus: "amount", except: ["pending", "failed"] },
  refunds: { plus: "amount", except: ["failed", "canceled"] },
  subscriptions: { plus: "amount", except: ["canceled"] },
};

type Row = Record<string, unknown>;
/** A row that differs; its words are what it says by ids alone. */
type Difference = { key: string; before: Row | null; after: Row | null; words: Row };
type Sum = { kind: string; currency: string; amount: number };
type Compared = { table: SavedTable; before: Side; after: Side };

/** The rows of two snapshots that are not the same; without a second one, of one and the present. */
export async function compareRows(tx: Tx, from: SnapshotRow, to: SnapshotRow | null) {
  await prepare(tx);
  const all: Compared[] = (await findTables(tx)).map((table) => ({
    table,
    before: renderSavedSide(table, from),
    after: to ? renderSavedSide(table, to) : renderPresentSide(table, from.organization_id),
  }));
  const counts = [];
  for (const { keys, ...count } of await countDifferences(tx, all))
    counts.push({ ...count, items: await findItems(tx, all, count.kind, keys) });
  await formatItems(
    tx,
    all,
    counts.flatMap(({ items }) => items),
  );
  return { counts, before: await sumAmounts(tx, all, "before"), after: await sumAmounts(tx, all, "after") };
}

const findKeyIn = (side: Side, { key }: SavedTable): SQL => sql`jsonb_build_array(${listOf(key.map(side.text))})::text`;

/** How many rows of each kind differ, and which are the first. */
async function countDifferences(tx: Tx, all: readonly Compared[]) {
  const parts = all
    .filter(({ table, before }) => !plumbing.has(table.name) && table.key.every((name) => before.has(name)))
    .map(({ table, before, after }) => {
      const both = table.columns.filter(({ name }) => before.has(name) && after.has(name));
      const getRows = (side: Side) => sql`select ${findKeyIn(side, table)} as key,
        array[${listOf(both.filter((column) => !isDocument(column)).map(({ name }) => side.text(name)))}] as texts
        ${sql.join(both.filter(isDocument).map(({ name }, place) => sql`, ${side.document(name)} as ${sql.identifier(`d${place}`)}`))}
        from ${side.rows}`;
      return sql`select ${table.name}::text as kind, count(*) filter (where a.key is null) as added,
          count(*) filter (where b.key is null) as removed,
          count(*) filter (where a.key is not null and b.key is not null) as changed,
          to_json((array_agg(coalesce(a.key, b.key) order by coalesce(a.key, b.key)))[1:${sql.raw(String(listedMax))}]) as keys
        from (${getRows(before)}) a full join (${getRows(after)}) b on a.key = b.key
        where a.key is null or b.key is null or a *<> b having count(*) > 0`;
    });
  return tx
    .select({
      kind: sql<string>`found.kind`,
      added: sql`found.added`.mapWith(Number),
      removed: sql`found.removed`.mapWith(Number),
      changed: sql`found.changed`.mapWith(Number),
      keys: sql<string[]>`found.keys`,
    })
    .from(sql`(${sql.join(parts, sql` union all `)} order by kind) as found`);
}

/** Rows of a kind by their keys, as they were and as they are, each with its columns by name. */
async function findItems(
  tx: Tx,
  all: readonly Compared[],
  kind: string,
  keys: readonly string[],
): Promise<Difference[]> {
  const found = all.find(({ table }) => table.name === kind);
  if (!found) return [];
  const read = async (side: Side) => {
    const columns = found.table.columns.filter(({ name }) => side.has(name));
    const pairs = columns.map(
      (column) =>
        sql`${column.name}::text, ${isDocument(column) ? side.document(column.name) : side.text(column.name)}`,
    );
    const rows = await tx
      .select({ key: sql<string>`found.key`, row: sql<Row>`found.row` })
      .from(sql`(select ${findKeyIn(side, found.table)} as key, jsonb_build_object(${listOf(pairs)}) as row
        from ${side.rows} and ${findKeyIn(side, found.table)} in (select jsonb_array_elements_text(${JSON.stringify(keys)}::jsonb))) as found`);
    return new Map(rows.map(({ key, row }) => [key, row]));
  };
  const [before, after] = [await read(found.before), await read(found.after)];
  return keys.map((key) => ({ key, before: before.get(key) ?? null, after: after.get(key) ?? null, words: {} }));
}

/** What a row says only by an id, and the word of people for it. */
const named = [
  { id: "customer_id", kind: "customers", word: "email", as: "customer_email" },
  { id: "product_id", kind: "products", word: "name", as: "product_name" },
] as const;

/** Say of each row whose it is and of which product, as that was called on the row's own side. */
async function formatItems(tx: Tx, all: readonly Compared[], items: readonly Difference[]): Promise<void> {
  for (const { id, kind, word, as } of named) {
    const found = all.find(({ table }) => table.name === kind);
    for (const when of ["before", "after"] as const) {
      const pointing = items.filter(
        (item) => typeof item[when]?.[id] === "string" && (when === "after" || !item.after),
      );
      if (!found || pointing.length === 0) continue;
      const side = found[when];
      const ids = writeArray([...new Set(pointing.map((item) => String(item[when]?.[id])))], "text");
      const words = await tx
        .select({ id: sql<string>`found.id`, word: sql<string | null>`found.word` })
        .from(sql`(select ${side.text("id")} as id, ${side.text(word)} as word
          from ${side.rows} and ${side.text("id")} = any (${ids})) as found`);
      const wordOf = new Map(words.map((one) => [one.id, one.word]));
      for (const item of pointing) item.words[as] = wordOf.get(String(item[when]?.[id]));
    }
  }
}

/** What the rows of each kind with money come to. */
async function sumAmounts(tx: Tx, all: readonly Compared[], when: "before" | "after"): Promise<Sum[]> {
  const parts = all.flatMap((one) => {
    const { [when]: side, table } = one;
    const amount = amounts[table.name];
    if (!amount || !side.has(amount.plus)) return [];
    const taken = amount.minus ? sql`${side.text(amount.minus)}::bigint` : sql`0`;
    return [
      sql`select ${table.name}::text as kind, ${side.text("currency")} as currency,
        sum(${side.text(amount.plus)}::bigint - ${taken}) as amount
        from ${side.rows} and ${side.text("status")} <> all (${writeArray(amount.except, "text")}) group by 2`,
    ];
  });
  if (parts.length === 0) return [];
  return tx
    .select({
      kind: sql<string>`found.kind`,
      currency: sql<string>`found.currency`,
      amount: sql`found.amount`.mapWith(Number),
    })
    .from(sql`(${sql.join(parts, sql` union all `)} order by kind, currency) as found`);
}
