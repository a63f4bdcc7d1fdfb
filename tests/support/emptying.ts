/** Databases emptied of what a test left in them, which takes milliseconds where a new one takes a good part of a second. */

/** The rows that a statement answers. */
export type Ask = (statement: string, ...values: (string | null)[]) => Promise<Record<string, string | null>[]>;

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
export async function fingerprintOf(ask: Ask): Promise<string> {
  return (await ask(schemaQuery))[0]?.schema ?? "";
}

const isOwnSchema = `n.nspname not in ('pg_catalog', 'information_schema') and n.nspname not like 'pg\\_%'`;

/** The statements that make it what it is now. Most tables are empty; migrations fill some. */
export async function writeRestore(ask: Ask): Promise<string> {
  const tables = await ask(
    `select c.oid::regclass::text as name, (select string_agg(quote_ident(attname), ', ' order by attnum) from pg_attribute
       where attrelid = c.oid and attnum > 0 and not attisdropped and attgenerated = '') as columns
     from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.relkind = 'r' and ${isOwnSchema}`,
  );
  const sequences = await ask(
    `select c.oid::regclass::text as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.relkind = 'S' and ${isOwnSchema}`,
  );
  // As on a replica no trigger runs: no foreign key asks for an order, and the audit log lets its entries go.
  const statements = ["begin", "set local session_replication_role = replica"];
  for (const { name, columns } of tables) {
    statements.push(`delete from ${name}`);
    const [filled] = await ask(
      `select case when count(*) > 0 then format('insert into ${name} (%1$s) select %1$s from json_populate_recordset(null::${name}, %2$L)',
         $1::text, json_agg(t)) end as insert from ${name} t`,
      columns ?? null,
    );
    if (filled?.insert) statements.push(filled.insert);
  }
  for (const { name } of sequences) {
    const [counted] = await ask(
      `select format('select setval(%L, %s, %L)', $1::text, last_value, is_called) as setval from ${name}`,
      name ?? null,
    );
    if (counted?.setval) statements.push(counted.setval);
  }
  return [...statements, "commit"].join(";\n");
}
