/** A job that reaches its time limit is aborted: its statement, its transaction and its calls end before it can run again. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "drizzle-orm";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type OpenDatabase, openPostgres } from "../../server/platform/db/database.ts";
import { transact } from "../../server/platform/db/unit-of-work.ts";
import { fetchService } from "../../server/platform/external/services.ts";
import { DeadlineError, runWithDeadline } from "../../server/platform/jobs/deadline.ts";
import { createPostgresDatabase } from "../support/postgres-database.ts";
import { openStallingProxy } from "../support/stalling-proxy.ts";

let url: string;
let database: OpenDatabase;
let observer: OpenDatabase;
beforeEach(async () => {
  url = await createPostgresDatabase();
  [database, observer] = [await openPostgres(url, { connections: 1 }), await openPostgres(url, { connections: 1 })];
  await ask(sql`create table accounts (id integer primary key, balance integer)`);
  await ask(sql`insert into accounts values (1, 100)`);
});
afterEach(() => Promise.all([database.close(), observer.close()]));

const ask = async (statement: ReturnType<typeof sql>, { db }: Pick<OpenDatabase, "db"> = database) => [
  ...((await db.execute(statement)) as unknown as Record<string, unknown>[]),
];
const runJob = (run: () => Promise<unknown>) =>
  runWithDeadline({ timeoutMs: 200, graceMs: 30_000, stopping: new AbortController().signal }, run);
const transactIn = (work: Parameters<typeof transact>[1]) => transact({ db: database.db, log: console } as never, work);
/** The sessions beside the observer's that run a statement or are in a transaction. */
const countBusy = async () => {
  const [row] = await ask(
    sql`select count(*)::int as busy from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and state <> 'idle'`,
    observer,
  );
  return row?.busy;
};
const never = () => new Promise<never>(() => undefined);

test("a statement that hangs is canceled in the database, and its connection is replaced", async () => {
  await expect(runJob(() => ask(sql`select pg_sleep(60)`))).rejects.toThrow(DeadlineError);
  await expect.poll(countBusy).toBe(0);
  // The pool has one connection.
  expect(await ask(sql`select balance from accounts`)).toEqual([{ balance: 100 }]);
});

test("a transaction that hangs in a statement is rolled back before the job counts as ended", async () => {
  const job = runJob(() =>
    transactIn(async (tx) => {
      await ask(sql`update accounts set balance = 0`, { db: tx });
      await ask(sql`select pg_sleep(60)`, { db: tx });
    }),
  );
  await expect(job).rejects.toThrow(DeadlineError);
  await expect.poll(countBusy).toBe(0);
  expect(await ask(sql`update accounts set balance = balance + 1 returning balance`, observer)).toEqual([
    { balance: 101 },
  ]);
});

test("a transaction that hangs without a statement gives back its connection and its locks", async () => {
  const job = runJob(() =>
    transactIn(async (tx) => {
      await ask(sql`update accounts set balance = 0`, { db: tx });
      await never();
    }),
  );
  await expect(job).rejects.toThrow(DeadlineError);
  expect(await ask(sql`update accounts set balance = balance + 1 returning balance`)).toEqual([{ balance: 101 }]);
  await expect.poll(countBusy).toBe(0);
});

test("a job that goes on after its deadline can change nothing", async () => {
  let late: Promise<unknown> = Promise.resolve();
  const job = runJob(async () => {
    late = sleep(400).then(() => ask(sql`update accounts set balance = 0`));
    late.catch(() => undefined);
    await late;
  });
  await expect(job).rejects.toThrow(DeadlineError);
  await expect(late).rejects.toThrow();
  expect(await ask(sql`select balance from accounts`)).toEqual([{ balance: 100 }]);
});

test("a call to a service that never answers ends with the job", async () => {
  const closed = Promise.withResolvers<void>();
  const server = createServer((request) => request.once("close", () => closed.resolve()));
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const began = performance.now();
  await expect(runJob(() => fetchService(url, {}))).rejects.toThrow(DeadlineError);
  await closed.promise;
  // The call's own limit is ten seconds.
  expect(performance.now() - began).toBeLessThan(8_000);
  server.close();
});

test("a connection that falls silent is destroyed, and the next one works", async () => {
  const proxy = await openStallingProxy(url);
  const silenced = await openPostgres(proxy.url, { connections: 1 });
  proxy.silence();
  await expect(runJob(() => ask(sql`select 1 as one`, silenced))).rejects.toThrow(DeadlineError);
  expect(await ask(sql`select 1 as one`, silenced)).toEqual([{ one: 1 }]);
  await silenced.close();
  await proxy.close();
});

test("the database itself ends a transaction whose process has stopped responding", async () => {
  const limits = await database.db.transaction((tx) =>
    ask(
      sql`select name, setting::int as ms from pg_settings where name in ('statement_timeout', 'lock_timeout',
        'idle_in_transaction_session_timeout') order by name`,
      { db: tx },
    ),
  );
  expect(limits).toEqual([
    { name: "idle_in_transaction_session_timeout", ms: 60_000 },
    { name: "lock_timeout", ms: 60_000 },
    { name: "statement_timeout", ms: 602_000 },
  ]);
  const [own] = (await runJob(() =>
    transactIn((tx) => ask(sql`select current_setting('statement_timeout') as statement`, { db: tx })),
  )) as Record<string, unknown>[];
  expect(own).toEqual({ statement: "2200ms" });
});
