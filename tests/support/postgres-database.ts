/** Databases on the PostgreSQL that a worker's tests share: copies of one that was migrated once. */
import postgres from "postgres";
import { openPostgres } from "../../server/lib/database.ts";
import { newId } from "./ids.ts";
import { migrations } from "./memory-database.ts";

const template = "floe_migrated";

/** A migrated database, of which the others are copies. */
async function makeTemplate(server: string): Promise<void> {
  const unfinished = `${template}_unfinished`;
  const sql = postgres(server, { max: 1, onnotice: () => undefined });
  try {
    if ((await sql`select 1 from pg_database where datname = ${template}`).length > 0) return;
    await sql`drop database if exists ${sql(unfinished)}`;
    await sql`create database ${sql(unfinished)}`;
    const database = await openPostgres(addressOf(server, unfinished));
    await database.migrate(migrations);
    await database.close();
    await sql`alter database ${sql(unfinished)} rename to ${sql(template)}`;
  } finally {
    await sql.end();
  }
}

function addressOf(server: string, name: string): string {
  const url = new URL(server);
  url.pathname = name;
  return url.href;
}

let shared: Promise<string> | undefined;
/** The worker's PostgreSQL. */
async function findServer(): Promise<string> {
  const answer = await fetch(`${process.env.FLOE_TEST_POSTGRES}/${process.env.VITEST_POOL_ID}`);
  const text = await answer.text();
  if (!answer.ok) throw new Error(text);
  await makeTemplate(text);
  return text;
}

/** The address of an empty, migrated database of one's own on the PostgreSQL that this worker's tests share. */
export async function createPostgresDatabase(): Promise<string> {
  shared ??= findServer();
  const server = await shared;
  const name = `floe_${newId().replaceAll("-", "")}`;
  const sql = postgres(server, { max: 1, onnotice: () => undefined });
  try {
    await sql`create database ${sql(name)} template ${sql(template)} strategy file_copy`;
  } finally {
    await sql.end();
  }
  return addressOf(server, name);
}
