/** The database fails over: connections fall silent or are refused, and floe is whole again by itself. */
import { connect, createServer } from "node:net";
import { sql } from "drizzle-orm";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openPostgres } from "../../server/platform/db/database.ts";
import { getPoolUse } from "../../server/platform/db/pool.ts";
import { runPreparation } from "../../server/platform/jobs/deadline.ts";
import { type Floe, start } from "../support/floe.ts";
import { freePort } from "../support/free-port.ts";
import { createPostgresDatabase } from "../support/postgres-database.ts";
import { openStallingProxy } from "../support/stalling-proxy.ts";

let url: string;
let proxy: Awaited<ReturnType<typeof openStallingProxy>>;
let floe: Floe | undefined;
beforeEach(async () => {
  url = await createPostgresDatabase();
  proxy = await openStallingProxy(url);
});
afterEach(async () => {
  await floe?.close();
  floe = undefined;
  await proxy.close();
});

const startBehindProxy = async (settings: Record<string, string> = {}, worker = false) => {
  floe = await start({
    databaseUrl: proxy.url,
    worker,
    settings: { FLOE_DATABASE_CONNECTIONS: "4", FLOE_DATABASE_STATEMENT_SECONDS: "1", ...settings },
  });
  return { floe, seller: await floe.seller() };
};
const listOutageLines = ({ logged }: Floe) => logged.filter((line) => line.includes('"outage":"database"'));

test("all connections fall silent: each request is answered, new connections work, and the log has two lines", async () => {
  const { floe, seller } = await startBehindProxy({ FLOE_DATABASE_WAIT_SECONDS: "2" }, true);
  const ask = () => floe.request("GET", "/v1/products/", { token: seller.key });
  // All connections are open, and some are in use by workers.
  expect((await Promise.all(Array.from({ length: 8 }, ask))).map(({ status }) => status)).toEqual(Array(8).fill(200));
  proxy.silence();
  const began = performance.now();
  const answers = await Promise.all(Array.from({ length: 12 }, ask));
  // A statement may take 1 s and its cancellation 2 s.
  expect(performance.now() - began).toBeLessThan(8_000);
  const failed = answers.filter(({ status }) => status !== 200);
  expect(failed.length).toBeGreaterThan(0);
  for (const { status, headers, json } of failed) {
    expect(status).toBe(503);
    // Those that waited for a connection meanwhile were refused earlier.
    expect(headers["retry-after"]).toMatch(/^[12]$/);
    expect((json as { detail: string }).detail).toMatch(/cannot be reached|too busy/);
  }
  // Connections that workers use have a limit of their own.
  const askMany = async () => (await Promise.all(Array.from({ length: 12 }, ask))).map(({ status }) => status);
  await expect.poll(askMany, { timeout: 30_000 }).toEqual(Array(12).fill(200));
  expect((await floe.request("GET", "/healthz")).status).toBe(200);
  await expect
    .poll(
      async () => {
        await ask();
        return listOutageLines(floe).length;
      },
      { timeout: 10_000, interval: 500 },
    )
    .toBe(2);
  expect(performance.now() - began).toBeLessThan(30_000);
  expect(floe.logged.filter((line) => /Failed query|could not be/.test(line))).toEqual([]);
  expect(floe.logged.filter((line) => line.includes("No connection to the database is free")).length).toBeLessThan(2);
  expect(listOutageLines(floe)[0]).not.toMatch(/select|params/i);
  expect(listOutageLines(floe)[1]).toMatch(/answers again/);
});

test("one silent connection is enough to give up the others", async () => {
  const { floe, seller } = await startBehindProxy();
  const ask = () => floe.request("GET", "/v1/products/", { token: seller.key });
  await Promise.all(Array.from({ length: 4 }, async () => await floe.deps.db.execute(sql`select pg_sleep(0.2)`)));
  expect(getPoolUse(floe.deps.db)).toMatchObject({ open: 4, used: 0 });
  proxy.silence();
  expect((await ask()).status).toBe(503);
  expect((await Promise.all([ask(), ask(), ask(), ask()])).map(({ status }) => status)).toEqual(Array(4).fill(200));
});

test("a request that finds no free connection is answered with 503 and Retry-After", async () => {
  const { floe, seller } = await startBehindProxy({
    FLOE_DATABASE_WAIT_SECONDS: "1",
    FLOE_DATABASE_STATEMENT_SECONDS: "20",
  });
  const blockers = Array.from({ length: 4 }, async () => await floe.deps.db.execute(sql`select pg_sleep(2.5)`));
  await expect.poll(() => getPoolUse(floe.deps.db)?.used).toBe(4);
  const refused = await floe.request("GET", "/v1/products/", { token: seller.key });
  expect([refused.status, refused.headers["retry-after"]]).toEqual([503, "2"]);
  expect(refused.text).toMatch(/too busy/);
  await Promise.all(blockers);
  expect((await floe.request("GET", "/v1/products/", { token: seller.key })).status).toBe(200);
  expect(listOutageLines(floe)).toEqual([]);
});

test("a statement that takes too long is canceled, its connection is replaced, and the others stay", async () => {
  const { floe } = await startBehindProxy();
  const pid = async () =>
    Number(
      [...((await floe.deps.db.execute(sql`select pg_backend_pid() as pid`)) as unknown as { pid: number }[])][0]?.pid,
    );
  await Promise.all(Array.from({ length: 4 }, () => floe.deps.db.execute(sql`select pg_sleep(0.2)`)));
  const open = getPoolUse(floe.deps.db)?.open;
  const kept = await pid();
  const failure = await floe.deps.db.execute(sql`select pg_sleep(30)`).then(undefined, (error: Error) => error);
  expect(String((failure as Error).cause)).toMatch(/StatementTimeoutError: .*more than 1 s/);
  // The canceled connection was the one that is free most recently.
  expect(await pid()).not.toBe(kept);
  expect(getPoolUse(floe.deps.db)?.open).toBe((open ?? 0) - 1);
  expect(listOutageLines(floe)).toEqual([]);
});

test("/healthz fails when all connections have been taken for a minute and none was given back", async () => {
  const { floe } = await startBehindProxy();
  const { promise, resolve } = Promise.withResolvers<void>();
  const held = Array.from({ length: 4 }, () =>
    floe.deps.db.transaction(async (tx) => {
      await tx.execute(sql`select 1`);
      await promise;
    }),
  );
  await expect.poll(() => getPoolUse(floe.deps.db)?.used).toBe(4);
  expect((await floe.request("GET", "/healthz")).status).toBe(200);
  const { now } = performance;
  performance.now = () => now.call(performance) + 61_000;
  try {
    const stuck = await floe.request("GET", "/healthz");
    expect([stuck.status, stuck.json]).toEqual([503, { status: "stuck" }]);
  } finally {
    performance.now = now;
  }
  resolve();
  await Promise.all(held);
  expect((await floe.request("GET", "/healthz")).status).toBe(200);
});

test("connections carry the name of the process", async () => {
  const { floe } = await startBehindProxy({ FLOE_DATABASE_APPLICATION_NAME: "floe pay 1" });
  const names = await floe.deps.db.execute(sql`select current_setting('application_name') as name`);
  expect([...(names as unknown as unknown[])]).toEqual([{ name: "floe pay 1" }]);
});

test("a start waits for the database, says so, and gives up at its limit or at a wrong password", async () => {
  const port = await freePort();
  const absent = new URL(url);
  absent.port = String(port);
  const lines: string[] = [];
  const options = { connections: 1, startTimeoutMs: 30_000, say: (line: string) => void lines.push(line) };
  const opening = openPostgres(absent.href, options);
  await expect.poll(() => lines.length).toBe(1);
  expect(lines[0]).toMatch(/cannot be reached: .*Waiting for it, 0 s so far/);
  const { hostname, port: realPort } = new URL(url);
  const late = createServer((socket) => {
    const upstream = connect(Number(realPort), hostname);
    socket.pipe(upstream).pipe(socket);
    for (const one of [socket, upstream]) one.on("error", () => one.destroy());
  });
  await new Promise<void>((listening) => late.listen(port, "127.0.0.1", listening));
  const database = await opening;
  expect(lines.length).toBeLessThanOrEqual(2);
  await database.close();
  await new Promise((closed) => late.close(closed));

  await expect(openPostgres(absent.href, { ...options, startTimeoutMs: 0 })).rejects.toThrow(/Check DATABASE_URL/);
  const wrong = new URL(url);
  wrong.pathname = "nowhere_at_all";
  const began = performance.now();
  await expect(openPostgres(wrong.href, options)).rejects.toThrow(/nowhere_at_all/);
  expect(performance.now() - began).toBeLessThan(4_000);
});

test("the limits of requests do not end what prepares a start or a job", async () => {
  const { floe } = await startBehindProxy();
  await runPreparation(async () => expect(await floe.deps.db.execute(sql`select pg_sleep(1.5)`)).toHaveLength(1));
});
