/** What a server does that is short of something: room on the disk, or connections. Nothing is its fault who asked. */
import { sql } from "drizzle-orm";
import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { findOutage, full, unreachable } from "../../server/platform/db/unreachable.ts";
import { getCode } from "../../shared/errors.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { newId } from "../support/ids.ts";
import { createPostgresDatabase } from "../support/postgres-database.ts";

const detail = full.message;
const closing: (() => Promise<unknown>)[] = [];
let floe: Floe;
let seller: Seller;
beforeAll(async () => {
  floe = await start({ replace: (deps) => ({ jobs: { ...deps.jobs, working: () => true } }) });
  closing.push(() => floe.close());
  seller = await floe.seller();
});
afterAll(async () => {
  for (const step of closing.reverse()) await step();
});

const create = (to: Floe, token: string) =>
  to.request("POST", "/v1/products/", { token, body: { name: "Map", prices: [{ amount_type: "free" }] } });
const readiness = async () => {
  const { status, json } = await floe.request("GET", "/readyz");
  return [status, json] as [number, object];
};

test("a full disk is 503 with Retry-After on both sides, /readyz says it, and all goes on when there is room", async () => {
  expect((await readiness())[0]).toBe(200);
  const made = await create(floe, seller.key);
  await floe.deps.db.execute(sql`
    create function refuse_room() returns trigger language plpgsql as $$
    begin raise exception 'could not extend file: No space left on device' using errcode = '53100'; end $$`);
  await floe.deps.db.execute(sql`
    create function refuse_table() returns event_trigger language plpgsql as $$
    begin raise exception 'could not extend file: No space left on device' using errcode = '53100'; end $$`);
  const tables = ["products", '"user"', "webhook_events", "events"];
  await floe.deps.db.execute(
    sql`create event trigger full_disk on ddl_command_start when tag in ('CREATE TABLE AS') execute function refuse_table()`,
  );
  for (const table of tables)
    await floe.deps.db.execute(
      sql.raw(`create trigger full_disk before insert or update on ${table} execute function refuse_room()`),
    );
  try {
    const refused = await create(floe, seller.key);
    expect([refused.status, refused.headers["retry-after"], refused.json]).toEqual([
      503,
      "60",
      { error: "ServiceUnavailable", detail },
    ]);
    const body = { email: `${newId()}@example.com`, password: "correct horse battery", name: "Ada" };
    const account = await floe.request("POST", "/api/auth/sign-up/email", { body });
    expect([account.status, account.headers["retry-after"], account.json]).toEqual([
      503,
      "60",
      { code: getCode(detail), message: detail },
    ]);
    expect(
      (await floe.request("GET", `/v1/products/${(made.json as { id: string }).id}`, { token: seller.key })).status,
    ).toBe(200);
    floe.clock.advance(10_000);
    expect(await readiness()).toEqual([503, expect.objectContaining({ database: true, room: false, dead_letters: 0 })]);
    expect((await floe.request("GET", "/healthz")).status).toBe(200);
  } finally {
    await floe.deps.db.execute(sql`drop event trigger full_disk`);
    for (const table of tables) await floe.deps.db.execute(sql.raw(`drop trigger full_disk on ${table}`));
  }
  expect((await create(floe, seller.key)).status).toBe(201);
  floe.clock.advance(10_000);
  expect((await readiness())[0]).toBe(200);
});

test("so is a file that finds no room on the disk", async () => {
  const error = Object.assign(new Error("no space left on device, write"), { code: "ENOSPC" });
  expect(findOutage(error)).toBe(full);
  expect(findOutage(new Error("lost", { cause: error }))).toBe(full);
  expect(findOutage(Object.assign(new Error("refused"), { code: "ECONNREFUSED" })), "another server's").toBeUndefined();
});

test("without a connection to be had it is 503 with Retry-After, for those alone who got none", async () => {
  const databaseUrl = new URL(await createPostgresDatabase());
  const admin = postgres(databaseUrl.href, { max: 1, onnotice: () => undefined });
  closing.push(() => admin.end());
  const role = `few_${newId().replaceAll("-", "")}`;
  await admin.unsafe(`create role ${role} superuser login password 'few'`);
  Object.assign(databaseUrl, { username: role, password: "few" });
  const few = await start({ databaseUrl: databaseUrl.href });
  closing.push(() => few.close());
  const { key } = await few.seller();
  await admin.unsafe(
    `grant all on all tables in schema public to ${role}; grant all on all sequences in schema public to ${role}`,
  );
  const end = () => admin`select pg_terminate_backend(pid) from pg_stat_activity where usename = ${role}`;
  await admin.unsafe(`alter role ${role} nosuperuser connection limit 2`);
  await end();
  const answers = await Promise.all(Array.from({ length: 12 }, () => create(few, key)));
  expect(answers.map(({ status }) => status)).toContain(503);
  for (const { status, headers, json } of answers)
    if (status === 503)
      expect([headers["retry-after"], json]).toEqual([
        "1",
        { error: "ServiceUnavailable", detail: unreachable.message },
      ]);
    else expect(status).toBe(201);
  // One is for notifications. Those who came at once may all have kept each other out; who comes alone gets the other.
  await expect.poll(async () => (await create(few, key)).status).toBe(201);
  await admin.unsafe(`alter role ${role} connection limit 0`);
  await end();
  const account = await few.request("POST", "/api/auth/sign-in/email", {
    body: { email: "a@example.com", password: "b" },
  });
  expect([account.status, account.headers["retry-after"]]).toEqual([503, "1"]);
  expect((await few.request("GET", "/readyz")).json).toMatchObject({ database: false });
  // Also for what is still to be written when it closes.
  await admin.unsafe(`alter role ${role} connection limit -1`);
  expect((await create(few, key)).status).toBe(201);
});
