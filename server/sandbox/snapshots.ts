import { and, eq, type SQL, sql } from "drizzle-orm";
import { files } from "../files/tables.ts";
import type { Database, Tx } from "../lib/context.ts";
import { snapshotFiles, snapshotRows, snapshots } from "./tables.ts";

/** A table whose rows are saved: its columns, its key beside the organization, and the tables that it points to. */
export type SavedTable = { name: string; columns: string[]; key: string[]; parents: string[] };
export type SnapshotRow = typeof snapshots.$inferSelect;

/**
 * The tables with rows of sellers that stay as they are whatever is restored, and why. Tables without an
 * `organization_id` are nobody's, or of accounts.
 */
export const leftOut: Record<string, string> = {
  audit_log: "who did what is never undone",
  snapshots: "what is saved is not part of what is saved",
  snapshot_rows: "what is saved is not part of what is saved",
  snapshot_files: "says which bytes stay",
};
/** Columns of the organization that stay: what accounts know it by, whether it may be used, and its clock, which is set. */
const keptSettings = new Set([
  ...["id", "slug", "metadata", "createdAt", "sso_enforced", "blocked_at"],
  ...["sandbox", "clock_offset_ms", "clock_target", "clock_held_until"],
]);

const namesOf = (numbers: SQL) => sql`(select coalesce(json_agg(a.attname order by n.place), '[]')
  from unnest(${numbers}) with ordinality n(number, place) join pg_attribute a on a.attrelid = c.oid and a.attnum = n.number)`;

/** The tables that are saved, each after those that it points to. They are read from the database: a new one is one of them. */
export async function findTables(db: Database): Promise<SavedTable[]> {
  const rows = await db
    .select({
      name: sql<string>`found.name`,
      columns: sql<string[]>`found.columns`,
      key: sql<string[]>`found.key`,
      parents: sql<string[]>`found.parents`,
    })
    .from(
      sql`(select c.relname as name,
        (select json_agg(a.attname order by a.attnum) from pg_attribute a
          where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped) as columns,
        (select ${namesOf(sql`i.indkey::int2[]`)} from pg_index i where i.indrelid = c.oid and i.indisprimary) as key,
        (select coalesce(json_agg(distinct t.relname), '[]') from pg_constraint f join pg_class t on t.oid = f.confrelid
          where f.conrelid = c.oid and f.contype = 'f' and t.oid <> c.oid) as parents
      from pg_class c where c.relkind = 'r' and c.relnamespace = current_schema()::regnamespace
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

const columnsOf = (names: readonly string[], of?: string) =>
  sql.join(
    names.map((name) => (of ? sql`${sql.identifier(of)}.${sql.identifier(name)}` : sql.identifier(name))),
    sql`, `,
  );

/** Every row of an organization as it is now, in one statement, so that all are of one moment. */
const presentRows = (tables: readonly SavedTable[], organization_id: string): SQL =>
  sql.join(
    tables.map(
      ({ name, key }) => sql`select ${name}::text as kind, jsonb_build_array(${columnsOf(key, "t")})::text as key,
        to_jsonb(t) as row from ${sql.identifier(name)} t where t.organization_id = ${organization_id}`,
    ),
    sql` union all `,
  );

const savedRows = ({ organization_id, id }: SnapshotRow): SQL => sql`
  select kind, key, row from ${snapshotRows} where organization_id = ${organization_id} and snapshot_id = ${id}`;

/** Save every row of an organization under a name; `undefined` where another snapshot has it. */
export async function insertSnapshot(
  tx: Tx,
  values: Omit<typeof snapshots.$inferInsert, "rows" | "columns">,
): Promise<SnapshotRow | undefined> {
  const { organization_id, id } = values;
  const tables = await findTables(tx);
  const columns = Object.fromEntries(tables.map((table) => [table.name, table.columns]));
  const [made] = await tx
    .insert(snapshots)
    .values({ ...values, rows: 0, columns })
    .onConflictDoNothing()
    .returning();
  if (!made) return undefined;
  await tx.execute(sql`insert into ${snapshotRows} (organization_id, snapshot_id, kind, key, row)
    select ${organization_id}, ${id}::uuid, kind, key, row from (${presentRows(tables, organization_id)}) as present`);
  await tx.execute(sql`insert into ${snapshotFiles} (id, organization_id, snapshot_id, path)
    select gen_random_uuid(), ${organization_id}, ${id}::uuid, row ->> 'path' from ${snapshotRows}
    where organization_id = ${organization_id} and snapshot_id = ${id} and kind = 'files' and row ->> 'purged_at' is null`);
  const rows = await tx.$count(snapshotRows, ofSnapshot(made));
  await tx
    .update(snapshots)
    .set({ rows })
    .where(and(eq(snapshots.organization_id, organization_id), eq(snapshots.id, id)));
  return { ...made, rows };
}

const ofSnapshot = ({ organization_id, id }: SnapshotRow) =>
  and(eq(snapshotRows.organization_id, organization_id), eq(snapshotRows.snapshot_id, id));

/** Put every row of an organization back to what was saved. What it has gained since is deleted; nothing else is touched. */
export async function restoreRows(tx: Tx, snapshot: SnapshotRow): Promise<void> {
  const { organization_id, id } = snapshot;
  const tables = await findTables(tx);
  // The bytes of files that are not in it are known by this alone from now on.
  await tx.execute(sql`insert into ${snapshotFiles} (id, organization_id, path)
    select gen_random_uuid(), organization_id, path from ${files}
    where organization_id = ${organization_id} and purged_at is null`);
  for (const { name } of tables.toReversed())
    await tx.execute(sql`delete from ${sql.identifier(name)} where organization_id = ${organization_id}`);
  for (const { name, columns } of tables) {
    const then = snapshot.columns[name] ?? [];
    const both = columns.filter((column) => then.includes(column));
    if (both.length === 0) continue;
    await tx.execute(sql`insert into ${sql.identifier(name)} (${columnsOf(both)}) overriding system value
      select ${columnsOf(both, "p")} from ${snapshotRows} r
      cross join lateral jsonb_populate_record(null::${sql.identifier(name)}, r.row) p
      where r.organization_id = ${organization_id} and r.snapshot_id = ${id} and r.kind = ${name}`);
  }
  const settings = Object.keys(snapshot.settings as object).filter((column) => !keptSettings.has(column));
  await tx.execute(sql`update organization set (${columnsOf(settings)}) =
    (select ${columnsOf(settings, "p")} from jsonb_populate_record(organization, ${JSON.stringify(snapshot.settings)}::jsonb) p)
    where id = ${organization_id}`);
}

/** What a comparison shows of each kind at most. */
const listed_max = 50;
/** What only keeps count, or says which row something else names. */
const plumbing = [
  ...["customer_tallies", "failed_work", "processor_events", "checkout_secrets", "checkout_link_secrets"],
  ...["product_sellers", "invoice_counters", "document_counters", "webhook_deliveries"],
  ...["test_intents", "test_setups", "test_refunds", "test_disputes", "test_events"],
];
/** Where money stands in a row, before tax. */
const amounts: Record<string, SQL> = {
  orders: sql`(row ->> 'subtotal_amount')::bigint - (row ->> 'discount_amount')::bigint`,
  payments: sql`(row ->> 'amount')::bigint`,
  refunds: sql`(row ->> 'amount')::bigint`,
  subscriptions: sql`(row ->> 'amount')::bigint`,
};

export type Difference = { kind: string; key: string; before: Row | null; after: Row | null };
type Row = Record<string, unknown>;

/** The rows of two snapshots that are not the same; without a second one, of one and the present. */
export async function compareRows(db: Database, from: SnapshotRow, to: SnapshotRow | null) {
  const tables = await findTables(db);
  const after = to ? savedRows(to) : presentRows(tables, from.organization_id);
  const known = sql`kind <> all(string_to_array(${plumbing.join(",")}, ','))`;
  const counts = await db
    .select({
      kind: sql<string>`found.kind`,
      added: sql`found.added`.mapWith(Number),
      removed: sql`found.removed`.mapWith(Number),
      changed: sql`found.changed`.mapWith(Number),
      items: sql<Difference[]>`found.items`,
    })
    .from(
      sql`(select kind, count(*) filter (where before is null) as added, count(*) filter (where after is null) as removed,
        count(*) filter (where before is not null and after is not null) as changed,
        json_agg(json_build_object('kind', kind, 'key', key, 'before', before, 'after', after) order by key)
          filter (where place <= ${listed_max}) as items
      from (select coalesce(a.kind, b.kind) as kind, coalesce(a.key, b.key) as key, a.row as before, b.row as after,
          row_number() over (partition by coalesce(a.kind, b.kind) order by coalesce(a.key, b.key)) as place
        from (${savedRows(from)}) as a full join (${after}) as b on a.kind = b.kind and a.key = b.key
        where a.row is distinct from b.row and coalesce(a.kind, b.kind) <> all(string_to_array(${plumbing.join(",")}, ','))) as different
      group by kind order by kind) as found`,
    );
  const sum = sql`case kind ${sql.join(
    Object.entries(amounts).map(([kind, amount]) => sql`when ${kind} then ${amount}`),
    sql` `,
  )} end`;
  const sums = async (rows: SQL) =>
    db
      .select({
        kind: sql<string>`found.kind`,
        currency: sql<string>`found.currency`,
        amount: sql`found.amount`.mapWith(Number),
      })
      .from(
        sql`(select kind, row ->> 'currency' as currency, sum(${sum}) as amount from (${rows}) as every
        where ${known} and kind = any(string_to_array(${Object.keys(amounts).join(",")}, ','))
        group by kind, row ->> 'currency' order by kind, currency) as found`,
      );
  return { counts, before: await sums(savedRows(from)), after: await sums(after) };
}
