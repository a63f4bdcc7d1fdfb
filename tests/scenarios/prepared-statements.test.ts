/** What the connections to PostgreSQL keep prepared. */
import { sql } from "drizzle-orm";
import { jsonb, pgTable } from "drizzle-orm/pg-core";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type OpenDatabase, openPostgres } from "../../server/platform/db/database.ts";
import { matchMetadata } from "../../server/platform/db/page.ts";
import { createPostgresDatabase } from "../support/postgres-database.ts";

let url: string;
let database: OpenDatabase;
beforeEach(async () => {
  url = await createPostgresDatabase();
  database = await openPostgres(url, { connections: 1 });
});
afterEach(() => database.close());

type Rows = Record<string, unknown>[];
type Asker = Pick<OpenDatabase["db"], "execute">;
const ask = async (statement: ReturnType<typeof sql>, asker: Asker = database.db): Promise<Rows> => [
  ...((await asker.execute(statement)) as unknown as Rows),
];
const kept = async () => Number((await ask(sql`select count(*) from pg_prepared_statements`))[0]?.count);

test("a statement is prepared once and asked again with other values, in a transaction and outside", async () => {
  const before = await kept();
  for (const value of [1, 2, 3]) expect(await ask(sql`select ${value}::int as a`)).toEqual([{ a: value }]);
  await database.db.transaction(async (tx) => {
    for (const value of [4, null]) expect(await ask(sql`select ${value}::int as a`, tx)).toEqual([{ a: value }]);
  });
  expect((await kept()) - before).toBe(1);
});

test("a table that is changed meanwhile is read as it is now", async () => {
  await ask(sql`create table changing (a integer)`);
  await ask(sql`insert into changing values (${1})`);
  const read = () => ask(sql`select * from changing where a = ${1}`);
  expect(await read()).toEqual([{ a: 1 }]);
  await ask(sql`alter table changing add column b text default 'new'`);
  expect(await read()).toEqual([{ a: 1, b: "new" }]);
});

test("a statement that failed can be asked again", async () => {
  const divide = (by: number) => ask(sql`select 1 / ${by}::int as a`);
  await expect(divide(0)).rejects.toThrow();
  expect(await divide(1)).toEqual([{ a: 1 }]);
});

test("statements of many rows, and more texts than there is room for, are not kept", async () => {
  const before = await kept();
  const rows = Array.from({ length: 3_000 }, (_, index) => sql`(${index}::int)`);
  expect(await ask(sql`select count(*)::int as rows from (values ${sql.join(rows, sql`,`)}) as made`)).toEqual([
    { rows: 3_000 },
  ]);
  expect(await kept()).toBe(before);
  for (let index = 0; index < 1_100; index += 1) await ask(sql`select ${index}::int as ${sql.identifier(`a${index}`)}`);
  expect(await kept()).toBe(1_000);
});

test("a search of metadata is planned for the value that is looked for, however often it is asked", async () => {
  await ask(sql`create table things (id integer, metadata jsonb not null)`);
  await ask(sql`insert into things values (${1}, ${'{"tier":"rare"}'}::jsonb)`);
  const metadata = matchMetadata(pgTable("things", { metadata: jsonb() }).metadata);
  const before = await kept();
  for (const [tier, ids] of [
    ["rare", [{ id: 1 }]],
    ["common", []],
  ] as const)
    expect(await ask(sql`select id from things where ${metadata({ tier: [tier] })} order by id limit ${5}`)).toEqual(
      ids,
    );
  expect(await kept()).toBe(before);
});

test("nothing is prepared where the address says so, for poolers that lend connections for one transaction", async () => {
  await database.close();
  database = await openPostgres(`${url}?prepare=false`, { connections: 1 });
  expect(await ask(sql`select ${1}::int as a`)).toEqual([{ a: 1 }]);
  expect(await kept()).toBe(0);
});
