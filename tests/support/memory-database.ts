/**
 * Databases in memory. Loading one costs a second, emptying one some milliseconds: a worker keeps those that were closed,
 * without their rows, for the tests that open one next.
 */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PGlite } from "@electric-sql/pglite";
import { embeddedExtensions, type OpenDatabase, openEmbedded } from "../../server/lib/database.ts";

export const migrations = "server/migrations";
const cache = "node_modules/.cache/floe-tests";
/** Each takes more than a hundred megabytes. */
const kept_max = 2;

type Kept = {
  pglite: PGlite;
  /** What brings every row and sequence back to what a new database has. */
  restore: string;
  /** Of its tables as they were made. */
  schema: string;
};
const kept: Kept[] = [];

const own = "oid >= 16384";
const schemaQuery = `select md5(concat(
  (select string_agg(concat(oid, nspname), ',' order by oid) from pg_namespace where ${own} and nspname not like 'pg_%'),
  (select string_agg(concat(oid, relname, relnamespace, relkind, relrowsecurity), ',' order by oid) from pg_class
    where ${own} and relnamespace <> 'pg_toast'::regnamespace),
  (select string_agg(concat(attrelid, attnum, attname, atttypid, atttypmod, attnotnull, attisdropped), ','
    order by attrelid, attnum) from pg_attribute where attrelid >= 16384 and attnum > 0),
  (select string_agg(concat(adrelid, adnum, adbin), ',' order by oid) from pg_attrdef where ${own}),
  (select string_agg(concat(oid, conname, pg_get_constraintdef(oid)), ',' order by oid) from pg_constraint where ${own}),
  (select string_agg(concat(indexrelid, indisvalid), ',' order by indexrelid) from pg_index where indexrelid >= 16384),
  (select string_agg(concat(oid, tgname, tgenabled, tgfoid), ',' order by oid) from pg_trigger where ${own}),
  (select string_agg(concat(oid, proname, prosrc), ',' order by oid) from pg_proc where ${own}),
  (select string_agg(concat(oid, typname), ',' order by oid) from pg_type where ${own}),
  (select string_agg(setconfig::text, ',') from pg_db_role_setting))) as schema`;

/** Differs when a `create`, `alter` or `drop` has changed anything. */
export async function fingerprintOf(pglite: PGlite): Promise<string> {
  return (await pglite.query<{ schema: string }>(schemaQuery)).rows[0]?.schema ?? "";
}

const isOwnSchema = `n.nspname not in ('pg_catalog', 'information_schema') and n.nspname not like 'pg\\_%'`;

/** The statements that make it what it is now. Most tables are empty; migrations fill some. */
async function writeRestore(pglite: PGlite): Promise<string> {
  const tables = await pglite.query<{ name: string; columns: string }>(
    `select c.oid::regclass::text as name, (select string_agg(quote_ident(attname), ', ' order by attnum) from pg_attribute
       where attrelid = c.oid and attnum > 0 and not attisdropped and attgenerated = '') as columns
     from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.relkind = 'r' and ${isOwnSchema}`,
  );
  const sequences = await pglite.query<{ name: string }>(
    `select c.oid::regclass::text as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.relkind = 'S' and ${isOwnSchema}`,
  );
  // As on a replica no trigger runs: no foreign key asks for an order, and the audit log lets its entries go.
  const statements = ["begin", "set local session_replication_role = replica"];
  for (const { name, columns } of tables.rows) {
    statements.push(`delete from ${name}`);
    const { rows } = await pglite.query<{ insert: string | null }>(
      `select case when count(*) > 0 then format('insert into ${name} (%1$s) select %1$s from json_populate_recordset(null::${name}, %2$L)',
         $1::text, json_agg(t)) end as insert from ${name} t`,
      [columns],
    );
    if (rows[0]?.insert) statements.push(rows[0].insert);
  }
  for (const { name } of sequences.rows) {
    const { rows } = await pglite.query<{ setval: string }>(
      `select format('select setval(%L, %s, %L)', $1::text, last_value, is_called) as setval from ${name}`,
      [name],
    );
    if (rows[0]) statements.push(rows[0].setval);
  }
  return [...statements, "commit"].join(";\n");
}

/** A migrated database: made once for each state of the migrations, then loaded from its copy. */
async function load(): Promise<Kept> {
  const hash = createHash("sha256");
  const files = readdirSync(migrations).filter((file) => file.endsWith(".sql"));
  for (const name of files.sort()) hash.update(readFileSync(join(migrations, name)));
  const file = join(cache, `${hash.digest("hex").slice(0, 16)}.tar`);
  if (!existsSync(file)) {
    const pglite = await PGlite.create({ extensions: embeddedExtensions });
    const database = await openEmbedded(pglite);
    await database.migrate(migrations);
    const dump = await pglite.dumpDataDir("none");
    mkdirSync(cache, { recursive: true });
    const partial = `${file}.${process.pid}`;
    writeFileSync(partial, Buffer.from(await dump.arrayBuffer()));
    renameSync(partial, file);
    await database.close();
  }
  const pglite = await PGlite.create({ extensions: embeddedExtensions, loadDataDir: new Blob([readFileSync(file)]) });
  return { pglite, restore: await writeRestore(pglite), schema: await fingerprintOf(pglite) };
}

/** Empty it and keep it, unless a test has changed its tables or has ended it. */
async function keep(database: Kept): Promise<void> {
  const { pglite, restore, schema } = database;
  if (pglite.closed) return;
  await pglite.exec("rollback");
  const isAsMade = (await fingerprintOf(pglite)) === schema;
  if (!isAsMade || kept.length >= kept_max) return pglite.close();
  await pglite.exec("discard all");
  await pglite.exec(restore);
  kept.push(database);
}

/**
 * What one floe sees of a database: after its `close` it is as gone as a closed one, though another floe may use it, and
 * what a test puts in the place of a method stays with it.
 */
function lend(database: Kept): PGlite {
  const { pglite } = database;
  let isClosed = false;
  return new Proxy<PGlite>(Object.create(pglite), {
    get(changed, key) {
      if (Object.hasOwn(changed, key)) return Reflect.get(changed, key);
      if (key === "closed") return isClosed || pglite.closed;
      const value: unknown = Reflect.get(pglite, key);
      if (typeof value !== "function") return value;
      return (...given: unknown[]) => {
        if (isClosed) throw new Error("The database is closed.");
        if (key !== "close") return value.apply(pglite, given);
        isClosed = true;
        return keep(database);
      };
    },
  });
}

/** An empty, migrated database of one's own. */
export async function openMemory(): Promise<OpenDatabase> {
  return openEmbedded(lend(kept.pop() ?? (await load())));
}
