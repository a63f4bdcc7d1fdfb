/** Races with one outcome: an operation meets a row that another transaction has changed and not yet committed. */
import { setTimeout as sleep } from "node:timers/promises";
import postgres, { type Sql, type TransactionSql } from "postgres";
import { expect } from "vitest";
import { type Floe, type Seller, start } from "./floe.ts";
import { createPostgresDatabase } from "./postgres-database.ts";

export type LockRace = {
  /** What the other transaction does first, and keeps uncommitted until the operation waits or has ended. */
  change: (tx: TransactionSql) => Promise<unknown>;
  /** The operation; what it answers is compared. */
  operate: () => Promise<unknown>;
  /** What stands afterwards. */
  read: () => Promise<unknown>;
};
/** Whether the operation waits for the other transaction, or passes over what that one holds. */
export type LockRow = {
  lock: string;
  rule: string;
  waits: boolean;
  arrange: (shop: LockShop) => Promise<LockRace>;
  answer: unknown;
  left: unknown;
};
export type LockShop = { floe: Floe; sql: Sql; seller: Seller };
type Options = NonNullable<Parameters<typeof start>[0]>;

/** A floe on PostgreSQL, and a second connection to the same database. */
export async function openLockShop(options: Options = {}) {
  const databaseUrl = await createPostgresDatabase();
  const floe = await start({ ...options, databaseUrl });
  const sql = postgres(databaseUrl, { max: 2, onnotice: () => undefined });
  const close = async () => {
    await sql.end();
    await floe.close();
  };
  return { floe, sql, close };
}

/** Whether a query of the database waits for a lock before the work is done. */
async function seesWait(sql: Sql, isDone: () => boolean): Promise<boolean> {
  while (!isDone()) {
    const waiting = await sql`select 1 from pg_stat_activity
      where wait_event_type = 'Lock' and datname = current_database() limit 1`;
    if (waiting.length > 0) return true;
    await sleep(5);
  }
  return false;
}

/** Run the race of a row of a table, and compare what comes of it. */
export async function runLockRace(shop: Omit<LockShop, "seller">, row: LockRow): Promise<void> {
  const race = await row.arrange({ ...shop, seller: await shop.floe.seller("locks") });
  const changed = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const other = shop.sql.begin(async (tx) => {
    await race.change(tx);
    changed.resolve();
    await released.promise;
  });
  other.catch(changed.reject);
  await changed.promise;
  let isDone = false;
  const working = race.operate().finally(() => {
    isDone = true;
  });
  // It may fail before it is waited for.
  working.catch(() => undefined);
  const waits = await seesWait(shop.sql, () => isDone).finally(released.resolve);
  await other;
  const answer = await working;
  expect({ waits, answer, left: await race.read() }).toEqual({ waits: row.waits, answer: row.answer, left: row.left });
}

/** What a request was answered: its status, and the name of the refusal. */
export async function ask(floe: Floe, method: string, path: string, token?: string, body?: object): Promise<string> {
  const { status, json } = await floe.request(method, path, {
    ...(token === undefined ? {} : { token }),
    ...(body === undefined ? {} : { body }),
  });
  const { error } = (json ?? {}) as { error?: string };
  return error ? `${status} ${error}` : String(status);
}
