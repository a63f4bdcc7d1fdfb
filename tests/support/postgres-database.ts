/** Databases on the PostgreSQL that a worker's tests share: copies of one that was migrated once. */
import { AsyncLocalStorage } from "node:async_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { drizzle } from "drizzle-orm/postgres-js";
import postgres, { type Sql } from "postgres";
import { type OpenDatabase, openPostgres, standardLimits } from "../../server/platform/db/database.ts";
import { openPool } from "../../server/platform/db/pool.ts";
import { ConnectionLostError } from "../../server/platform/db/unreachable.ts";
import { type Ask, fingerprintOf, writeRestore } from "./emptying.ts";
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

/** The worker's PostgreSQL. */
async function findServer() {
  const answer = await fetch(`${process.env.FLOE_TEST_POSTGRES}/${process.env.VITEST_POOL_ID}`);
  const server = await answer.text();
  if (!answer.ok) throw new Error(server);
  await makeTemplate(server);
  return { server, sql: postgres(server, { max: 1, onnotice: () => undefined }) };
}

let shared: ReturnType<typeof findServer> | undefined;
const connect = () => {
  shared ??= findServer();
  return shared;
};

/** The address of a database without tables. */
export async function createEmptyDatabase(): Promise<string> {
  const { server, sql } = await connect();
  const name = `floe_${newId().replaceAll("-", "")}`;
  await sql`create database ${sql(name)}`;
  return addressOf(server, name);
}

/** The address of an empty, migrated database of one's own on the PostgreSQL that this worker's tests share. */
export async function createPostgresDatabase(): Promise<string> {
  const { server, sql } = await connect();
  const name = `floe_${newId().replaceAll("-", "")}`;
  await sql`create database ${sql(name)} template ${sql(template)} strategy file_copy`;
  return addressOf(server, name);
}

/** A copy of such a database that nobody is connected to, as a backup is. */
export async function copyPostgresDatabase(url: string): Promise<string> {
  const { server, sql } = await connect();
  const name = `floe_${newId().replaceAll("-", "")}`;
  await sql`create database ${sql(name)} template ${sql(new URL(url).pathname.slice(1))} strategy file_copy`;
  return addressOf(server, name);
}

type Query = Parameters<postgres.Sql["unsafe"]>;
type Pending = Promise<unknown> & { values(): Promise<unknown> };
type Transaction = { unsafe(...query: Query): Pending; savepoint(work: Work): Promise<unknown> };
type Work = (tx: Transaction) => Promise<unknown>;
type Client = { unsafe(...query: Query): Pending; begin(work: Work): Promise<unknown> };

/** With FLOE_TEST_FLIP, rows that no `order by` orders come last to first: who takes them as they were written is wrong. */
function flip(unsafe: Transaction["unsafe"]): Transaction["unsafe"] {
  return (...query) => {
    const pending = unsafe(...query);
    if (!process.env.FLOE_TEST_FLIP) return pending;
    if (!/^\s*(select|with)\b/i.test(query[0]) || /\border by\b/i.test(query[0])) return pending;
    const flipped = pending.then((rows) => (Array.isArray(rows) ? rows.reverse() : rows));
    return Object.assign(flipped, {
      values() {
        pending.values();
        return flipped;
      },
    });
  };
}
const flipWithin = ({ unsafe, savepoint }: Transaction): Transaction => ({
  unsafe: flip(unsafe),
  savepoint: (work) => savepoint((inner) => work(flipWithin(inner))),
});

/**
 * A strict client of a pool, for one floe. It also refuses what the embedded database refuses, a question beside the
 * transaction that its asker has open.
 */
function lendClient(pool: Sql, lease: { isClosed: boolean }): Sql {
  const asking = new AsyncLocalStorage<{ isOpen: boolean }>();
  const check = (): void => {
    // Another test may use the connection by then.
    if (lease.isClosed) throw new ConnectionLostError("The connections to the database are closed.");
    if (asking.getStore()?.isOpen) throw new Error("The database was asked beside the transaction that is open.");
  };
  const { begin, unsafe: ask } = pool as unknown as Client;
  const unsafe = flip(ask);
  const client = {
    options: pool.options,
    unsafe(...query: Query) {
      check();
      return unsafe(...query);
    },
    async begin(work: Work) {
      check();
      const transaction = { isOpen: true };
      try {
        return await asking.run(transaction, () => begin((tx) => work(flipWithin(tx))));
      } finally {
        transaction.isOpen = false;
      }
    },
  };
  return client as unknown as Sql;
}

/** A database with its connection, which keeps the statements that it has planned: planning them anew took half of their time. */
type Kept = { url: string; pool: Sql; uses: number };
const kept: Kept[] = [];
/** What was deleted still lies in its tables. */
const usesMax = 20;
/** How long the work that a test left behind may keep the connection. */
const leftWorkMaxMs = 5_000;
let asMade: Promise<{ restore: string; schema: string }> | undefined;

async function makeKept(): Promise<Kept> {
  const url = await createPostgresDatabase();
  // One connection, as the embedded database has: what is asked at once is done one after the other, in its order.
  const pool = openPool(url, { ...standardLimits, connections: 1 });
  // Sets how values are written, which a connection takes over as it is opened.
  drizzle({ client: pool });
  return { url, pool, uses: 0 };
}

/** Empty a database for its next user. Answers false where a test has changed its tables, or still uses it. */
async function empty(pool: Sql): Promise<boolean> {
  const { restore, schema } = (await asMade) ?? {};
  const restored = (async () => {
    if ((await fingerprintOf(askOf(pool))) !== schema) return false;
    await pool.unsafe(`reset all; select pg_advisory_unlock_all(); ${restore}`);
    return true;
  })();
  return Promise.race([restored.catch(() => false), sleep(leftWorkMaxMs, false, { ref: false })]);
}

const askOf =
  (pool: Sql): Ask =>
  async (statement, ...values) => [...((await pool.unsafe(statement, values)) as Record<string, string | null>[])];

/** An empty, migrated database in the place of an embedded one, to be used by others once it is closed. */
export async function openShared(): Promise<OpenDatabase> {
  const taken = kept.pop() ?? (await makeKept());
  const { url, pool, uses } = taken;
  const ask = askOf(pool);
  asMade ??= Promise.all([writeRestore(ask), fingerprintOf(ask)]).then(([restore, schema]) => ({ restore, schema }));
  await asMade;
  const lease = { isClosed: false };
  return {
    db: drizzle({ client: lendClient(pool, lease) }),
    migrate: async () => [],
    async close() {
      if (lease.isClosed) return;
      lease.isClosed = true;
      if ((await empty(pool)) && uses < usesMax) return void kept.push({ ...taken, uses: uses + 1 });
      await pool.end();
      const { sql } = await connect();
      await sql`drop database ${sql(new URL(url).pathname.slice(1))} with (force)`;
    },
  };
}
