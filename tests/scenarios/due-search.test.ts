/** Looking for due work costs what is due, not how many sellers have work ahead of them. */
import { sql } from "drizzle-orm";
import type { PgColumn } from "drizzle-orm/pg-core";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { dueWorkers } from "../../server/app/worker.ts";
import { checkoutExpiryWorker } from "../../server/checkout/checkouts/jobs.ts";
import { type DueQuery, findDue } from "../../server/platform/db/due.ts";
import { type Floe, start } from "../support/floe.ts";
import { createPostgresDatabase } from "../support/postgres-database.ts";

const sellers = 500;
let floe: Floe;
const run = async (statement: string) => [
  ...((await floe.deps.db.execute(sql.raw(statement))) as unknown as Record<string, unknown>[]),
];

/** Write rows without their triggers, which count lists and look for what a row refers to. */
const writeRows = (statement: string) =>
  floe.deps.db.transaction(async (tx) => {
    await tx.execute(sql`set local session_replication_role = replica`);
    await tx.execute(sql.raw(statement));
  });

beforeAll(async () => {
  floe = await start({ databaseUrl: await createPostgresDatabase() });
  const { client } = await floe.seller();
  const product = await client.products.create({
    body: { name: "Guide", prices: [{ amount_type: "fixed", price_amount: 1900 }] },
  });
  await client.checkouts.create({ body: { products: [product.id] } });
  await run(`insert into organization (id, name, slug, "createdAt")
    select to_char(n, '"s"FM0000'), 'Seller', 's' || n, now() from generate_series(1, ${sellers}) n`);
  await writeRows(`insert into checkouts select copy.* from checkouts, generate_series(1, ${sellers}) n
    cross join lateral jsonb_populate_record(checkouts, jsonb_build_object('id', gen_random_uuid(),
      'organization_id', to_char(n, '"s"FM0000'), 'client_secret', 'secret_' || n)) copy`);
  await run("analyze checkouts");
}, 60_000);
afterAll(async () => {
  await writeRows("delete from checkouts where organization_id like 's0%'");
  await floe?.close();
});
beforeEach(async () => {
  await run("update checkouts set expires_at = now() + interval '1 day'");
  await run("update organization set clock_offset_ms = 0");
});

const makeDue = (organization_id: string) =>
  run(`update checkouts set expires_at = now() - interval '1 hour' where organization_id = '${organization_id}'`);
/** The sellers whose checkouts are due, and how many look-ups in indexes of checkouts it took to find them. */
const search = ({ after = "", limit = 8, share = 2 } = {}) =>
  floe.deps.db.transaction(async (tx) => {
    // A table of some hundred rows is read as a whole otherwise.
    await tx.execute(sql`set local enable_seqscan = off`);
    await tx.execute(sql`set local enable_bitmapscan = off`);
    const { name, due } = checkoutExpiryWorker as { name: string; due: DueQuery };
    const before = await countReads(tx as never);
    const rows = await findDue(tx as never, floe.deps.clock.now(), due, {
      ...{ name, limit, share, after, busy: [], except: [], taken: [] },
    });
    const reads = await countReads(tx as never);
    return {
      found: rows.map(({ organization_id }) => organization_id),
      lookups: reads.lookups - before.lookups,
      scans: reads.scans - before.scans,
    };
  });
/** How often this transaction's session has looked something up in indexes of checkouts, or read the table as a whole. */
async function countReads(db: Floe["deps"]["db"]): Promise<{ lookups: number; scans: number }> {
  const rows = await db.execute(sql`select coalesce(max(idx_scan), 0)::int as lookups,
    coalesce(max(seq_scan), 0)::int as scans from pg_stat_xact_user_tables where relname = 'checkouts'`);
  const [row] = Array.from(rows as unknown as Iterable<{ lookups: number; scans: number }>);
  if (!row) throw new Error("There are no statistics.");
  return row;
}

test("nothing is due: one look-up, whatever the number of sellers", async () => {
  expect(await search()).toEqual({ found: [], lookups: 1, scans: 0 });
});

test("one seller's row is due among many: a look-up to find the seller, and one to read the row", async () => {
  await makeDue("s0300");
  expect(await search()).toEqual({ found: ["s0300"], lookups: 2, scans: 0 });
});

test("a sandbox with a clock of its own costs a look-up of its own", async () => {
  await run(`update organization set clock_offset_ms = 2 * 86400000 where id = 's0200'`);
  expect(await search()).toEqual({ found: ["s0200"], lookups: 2, scans: 0 });
});

test("sellers come in order of their ids, from the given one on", async () => {
  for (const seller of ["s0400", "s0100", "s0250"]) await makeDue(seller);
  await run(`update organization set clock_offset_ms = 2 * 86400000 where id = 's0200'`);
  expect((await search()).found).toEqual(["s0100", "s0200", "s0250", "s0400"]);
  expect((await search({ after: "s0200" })).found).toEqual(["s0250", "s0400"]);
});

test("thousands of due rows of one seller leave another its share", async () => {
  await writeRows(`insert into checkouts select copy.* from checkouts, generate_series(1, 2000) n
    cross join lateral jsonb_populate_record(checkouts, jsonb_build_object('id', gen_random_uuid(),
      'client_secret', 'more_' || n, 'expires_at', now() - interval '2 days')) copy
    where checkouts.organization_id = 's0010'`);
  await makeDue("s0400");
  expect((await search()).found).toEqual(["s0010", "s0010", "s0400"]);
  await writeRows("delete from checkouts where client_secret like 'more_%'");
});

test("each search by time has an index that serves it", async () => {
  const indexes = await run("select indexdef from pg_indexes where schemaname = 'public'");
  const marked = dueWorkers.flatMap((worker) => {
    const due = "due" in worker && typeof worker.due !== "function" ? worker.due : undefined;
    return due?.isIndexedByTime && due.at ? [due.at as PgColumn] : [];
  });
  expect(marked).not.toEqual([]);
  for (const column of marked)
    expect(indexes).toContainEqual({ indexdef: expect.stringContaining(`(${column.name}, organization_id) WHERE`) });
});
