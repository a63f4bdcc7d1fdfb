/** Databases on the PostgreSQL that a worker's tests share: copies of one that was migrated once. */
import { AsyncLocalStorage } from "node:async_hooks";
import postgres from "postgres";
import { type OpenDatabase, openPostgres } from "../../server/lib/database.ts";
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

/** The address of an empty, migrated database of one's own on the PostgreSQL that this worker's tests share. */
export async function createPostgresDatabase(): Promise<string> {
  const { server, sql } = await connect();
  const name = `floe_${newId().replaceAll("-", "")}`;
  await sql`create database ${sql(name)} template ${sql(template)} strategy file_copy`;
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
 * Make a client strict: it also refuses what the embedded database refuses, a question beside the transaction that its
 * asker has open.
 */
function beStrict(client: Client): void {
  const asking = new AsyncLocalStorage<{ isOpen: boolean }>();
  const check = (): void => {
    if (asking.getStore()?.isOpen) throw new Error("The database was asked beside the transaction that is open.");
  };
  const { begin } = client;
  const unsafe = flip(client.unsafe);
  Object.assign(client, {
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
  });
}

type Kept = { url: string; uses: number };
const kept: Kept[] = [];
/** What was deleted still lies in its tables. */
const uses_max = 20;
let asMade: Promise<{ restore: string; schema: string }> | undefined;

/** An empty, migrated database in the place of an embedded one, to be used by others once it is closed. */
export async function openShared(): Promise<OpenDatabase> {
  const { url, uses } = kept.pop() ?? { url: await createPostgresDatabase(), uses: 0 };
  // One connection, as the embedded database has: what is asked at once is done one after the other, in its order.
  const database = await openPostgres(url, { connections: 1 });
  const { $client: client } = database.db as unknown as { $client: Client };
  const { unsafe } = client;
  beStrict(client);
  const ask: Ask = async (statement, ...values) => [
    ...((await unsafe(statement, values)) as Record<string, string | null>[]),
  ];
  asMade ??= Promise.all([writeRestore(ask), fingerprintOf(ask)]).then(([restore, schema]) => ({ restore, schema }));
  const { restore, schema } = await asMade;
  return {
    ...database,
    async close() {
      const isAsMade = (await fingerprintOf(ask)) === schema;
      if (isAsMade) await unsafe(restore);
      await database.close();
      if (isAsMade && uses < uses_max) return void kept.push({ url, uses: uses + 1 });
      const { sql } = await connect();
      await sql`drop database ${sql(new URL(url).pathname.slice(1))} with (force)`;
    },
  };
}
