/** Statements that are asked together go over one connection, one behind the other, and are each by themselves all the same. */
import { connect, createServer, type Server } from "node:net";
import { sql } from "drizzle-orm";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type OpenDatabase, openPostgres } from "../../server/platform/db/database.ts";
import { queryTogether } from "../../server/platform/db/pool.ts";
import { createPostgresDatabase } from "../support/postgres-database.ts";

let url: string;
let database: OpenDatabase;
beforeEach(async () => {
  url = await createPostgresDatabase();
  database = await openPostgres(url, { connections: 2 });
});
afterEach(() => database.close());

type Rows = Record<string, unknown>[];
const ask = async (statement: ReturnType<typeof sql>): Promise<Rows> => [
  ...((await database.db.execute(statement)) as unknown as Rows),
];
const own = () => ask(sql`select pg_backend_pid() as pid`);

test("over one connection, which is free again once all are answered", async () => {
  const [[one], [other]] = await queryTogether(() => [own(), own()]);
  expect(one).toEqual(other);
  const apart = await Promise.all([own(), own()]);
  expect(new Set(apart.map(([row]) => row?.pid)).size).toBe(2);
  // As many as there is room for at the same time: none was kept.
  const rounds = await Promise.all(Array.from({ length: 5 }, () => queryTogether(() => [own(), own()])));
  for (const [[first], [second]] of rounds) expect(first).toEqual(second);
});

/** Lets statements through to PostgreSQL, and holds all of its answers back once it is told to, until as many have come. */
async function holdAnswers(count: number): Promise<{ url: string; hold(): void; server: Server }> {
  let isHolding = false;
  let seen = 0;
  const held: (() => void)[] = [];
  const to = new URL(url);
  const server = createServer((client) => {
    const database = connect(Number(to.port), to.hostname);
    client.on("data", (data) => {
      if (isHolding) seen += data.toString("latin1").split("the same statement").length - 1;
      database.write(data);
      if (seen >= count) for (const go of held.splice(0)) go();
    });
    database.on("data", (data) => {
      const pass = () => void client.write(data);
      if (isHolding && seen < count) held.push(pass);
      else pass();
    });
    for (const [one, other] of [
      [client, database],
      [database, client],
    ] as const)
      one.on("error", () => other.destroy()).on("close", () => other.destroy());
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const address = server.address();
  const proxied = new URL(url);
  proxied.port = String(typeof address === "object" ? address?.port : "");
  return {
    url: proxied.href,
    server,
    hold: () => {
      isHolding = true;
    },
  };
}

test("the second is sent before the first is answered", async () => {
  await database.close();
  const proxy = await holdAnswers(2);
  database = await openPostgres(proxy.url, { connections: 1 });
  proxy.hold();
  const [first, second] = await queryTogether(() => [
    ask(sql`select 'the same statement' as said, 1 as number`),
    ask(sql`select 'the same statement' as said, 2 as number`),
  ]);
  expect([...first, ...second]).toMatchObject([{ number: 1 }, { number: 2 }]);
  proxy.server.close();
});

test("one that fails undoes nothing of the other, and the connection is good", async () => {
  await ask(sql`create table noted (number integer)`);
  const outcomes = await queryTogether(() => [
    Promise.allSettled([ask(sql`select 1 / ${0}::int`)]),
    ask(sql`insert into noted values (1)`),
  ]);
  expect(outcomes[0]).toMatchObject([{ status: "rejected" }]);
  expect(await ask(sql`select number from noted`)).toEqual([{ number: 1 }]);
  await expect(queryTogether(() => [own(), ask(sql`select 1 / ${0}::int`)])).rejects.toThrow();
  expect(await queryTogether(() => [ask(sql`select 1 as a`), ask(sql`select 2 as a`)])).toEqual([
    [{ a: 1 }],
    [{ a: 2 }],
  ]);
});

test("where the connection ends under both, both fail, and the next is asked over another, however often", async () => {
  // More of them than there is room for.
  for (let count = 0; count < 3; count += 1) {
    const together = queryTogether(() => [
      ask(sql`select pg_terminate_backend(pg_backend_pid())`).catch(() => "gone"),
      own().catch(() => "gone"),
    ]);
    expect(await together).toEqual(["gone", "gone"]);
  }
  expect(await own()).toHaveLength(1);
});
