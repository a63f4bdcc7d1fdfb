import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { sql as statement } from "drizzle-orm";
import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openPostgres } from "../../server/platform/db/database.ts";
import { findOutage, unreachable } from "../../server/platform/db/unreachable.ts";
import { getCode } from "../../shared/errors.ts";
import { eventually } from "../support/eventually.ts";
import { type Postgres, startPostgres } from "../support/postgres.ts";
import { type Program, spawnProgram } from "../support/programs.ts";
import { openStream, type Stream } from "../support/sse.ts";

/** The database goes away under a server at work, and comes back. */

let database: Postgres;
let databaseUrl: string;
let server: Program;
let at: { url: string; key: string; session: string };
let stream: Stream;
beforeAll(async () => {
  database = await startPostgres();
  databaseUrl = database.url;
  server = await spawnProgram("serving", [databaseUrl]);
  const [line] = (await once(server.stdout, "data")) as [Buffer];
  at = JSON.parse(String(line));
  stream = await openStream(`${at.url}/v1/webhooks/listen`, { authorization: `Bearer ${at.key}` });
}, 120_000);
afterAll(async () => {
  stream?.close();
  if (server?.exitCode === null) {
    server.kill();
    await once(server, "exit");
  }
  await database?.stop();
});

const asked = (method: string, path: string, { token = at.key, key = "", body = null as object | null } = {}) =>
  fetch(at.url + path, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body ? { "content-type": "application/json" } : {}),
      ...(key ? { "idempotency-key": key } : {}),
    },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
async function query<T>(ask: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => undefined });
  try {
    return await ask(sql);
  } finally {
    await sql.end();
  }
}
const endConnections = () =>
  query(
    (sql) =>
      sql`select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and datname = current_database()`,
  );
const failureOf = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  );
const isReady = async () => ((await asked("GET", "/readyz")).status === 200 ? true : undefined);
const answerOf = async (answer: Response) => ({
  status: answer.status,
  retryAfter: answer.headers.get("retry-after"),
  json: await answer.json(),
});
const detail = "The database cannot be reached. Try again in a moment.";

test("a transaction whose connection has ended does nothing more, one with a failed statement is never taken for done", async () => {
  const { db, close } = await openPostgres(databaseUrl);
  try {
    await db.execute(statement`create table things (name text primary key)`);
    const add = (on: Pick<typeof db, "execute">, name: string) =>
      on.execute(statement`insert into things values (${name})`);
    const names = async () => (await db.execute(statement`select name from things order by 1`)) as unknown;

    const lost = await failureOf(
      db.transaction(async (tx) => {
        await add(tx, "before");
        const ended = failureOf(tx.execute(statement`select pg_terminate_backend(pg_backend_pid())`));
        // Asked at the same time, asked after it, and asked by somebody who took the failure for no matter.
        const [, also] = await Promise.all([ended, failureOf(add(tx, "beside"))]);
        expect(findOutage(also)).toBe(unreachable);
        expect(findOutage(await failureOf(add(tx, "after")))).toBe(unreachable);
      }),
    );
    expect(findOutage(lost)).toBe(unreachable);
    expect(await names()).toEqual([]);

    const undone = db.transaction(async (tx) => {
      await add(tx, "one");
      await failureOf(add(tx, "one"));
    });
    await expect(undone).rejects.toThrow("A transaction was undone");
    let late: (() => Promise<unknown>) | undefined;
    await db.transaction(async (tx) => {
      await add(tx, "kept");
      await failureOf(tx.transaction((inner) => add(inner, "kept")));
      await tx.transaction((inner) => add(inner, "kept too"));
      late = () => add(tx, "late");
    });
    await expect(late?.()).rejects.toThrow("late");
    // More than there are connections, while some of them end.
    const many = await Promise.all(
      Array.from({ length: 60 }, (_, at) =>
        failureOf(
          at % 7 === 0
            ? db.execute(statement`select pg_terminate_backend(pg_backend_pid())`)
            : db.transaction((tx) => add(tx, `many ${at}`)),
        ),
      ),
    );
    expect(many.map((failure) => findOutage(failure))).toEqual(
      many.map((_, at) => (at % 7 === 0 ? unreachable : undefined)),
    );
    expect(await names()).toHaveLength(2 + many.filter((_, at) => at % 7 !== 0).length);
  } finally {
    await close();
  }
  expect(findOutage(await failureOf(Promise.resolve(db.execute(statement`select 1`))))).toBe(unreachable);
});

test("a database that ends its connections, dies and comes back: 503 meanwhile, and nothing is lost or done twice", {
  timeout: 120_000,
}, async () => {
  const made: string[] = [];
  const odd: string[] = [];
  let over = false;
  const writer = async (number: number) => {
    for (let turn = 0; !over; turn += 1) {
      const name = `${number}-${turn}`;
      const body = { name, prices: [{ amount_type: "fixed", price_amount: 1900 }] };
      for (let status = 0; status !== 201; ) {
        const answer = await asked("POST", "/v1/products/", { key: name, body });
        status = answer.status;
        if (status !== 201 && status !== 503) odd.push(`${status} ${await answer.text()}`);
        if (status !== 201) await sleep(20);
      }
      made.push(name);
    }
  };
  const reader = async () => {
    while (!over) {
      for (const [path, token] of [
        ["/v1/products/", at.key],
        ["/api/auth/get-session", at.session],
        ["/api/auth/list-accounts", at.session],
      ] as const) {
        const { status, json } = await answerOf(await asked("GET", path, { token }));
        // Nobody is told that they are signed out because the database is away.
        if ((status !== 200 && status !== 503) || json === null) odd.push(`${path} ${status} ${JSON.stringify(json)}`);
      }
      await sleep(5);
    }
  };
  const some = (count: number) => eventually(async () => (made.length >= count ? true : undefined), "products");
  const disturb = async () => {
    await some(5);
    // Often, so that connections end at every moment of their life.
    for (let time = 0; time < 10; time += 1) {
      await endConnections();
      await some(made.length + 1);
    }
    for (let time = 0; time < 2; time += 1) {
      await database.crash();
      expect(await answerOf(await asked("GET", "/v1/products/"))).toEqual({
        status: 503,
        retryAfter: "1",
        json: { error: "ServiceUnavailable", detail },
      });
      expect(await answerOf(await asked("GET", "/api/auth/get-session", { token: at.session }))).toEqual({
        status: 503,
        retryAfter: "1",
        json: { code: getCode(detail), message: detail },
      });
      expect((await asked("GET", "/readyz")).status).toBe(503);
      expect((await asked("GET", "/healthz")).status).toBe(200);
      await database.restart();
      await eventually(isReady, "the server is ready again");
      await some(made.length + 3);
    }
  };
  const disturbing = disturb().finally(() => {
    over = true;
  });
  await Promise.all([disturbing, ...[1, 2, 3, 4].map(writer), reader(), reader()]);
  expect(odd).toEqual([]);
  // Every product once in the database, once in the stream that was open all the time, and every event's job done.
  const rows = await query((sql) => sql<{ name: string }[]>`select name from products`);
  expect(rows.map(({ name }) => name).sort()).toEqual(made.sort());
  const told: string[] = [];
  while (told.length < made.length) {
    const { event, data } = await stream.next();
    if (event !== "delivery") continue;
    const { type, body } = data as { type: string; body: string };
    if (type === "product.created") told.push(JSON.parse(body).data.name);
  }
  expect(told.sort()).toEqual(made);
  await eventually(async () => {
    const [row] = await query((sql) => sql`select count(*)::int as left from events where dispatched_at is null`);
    return row?.left === 0 ? true : undefined;
  }, "the events are dispatched");
  expect(server.exitCode).toBe(null);
});
