import { sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runHeavyWork } from "../../server/lib/heavy-work.ts";
import { api } from "../../shared/api/index.ts";
import type { Operation } from "../../shared/contract.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { createPostgresDatabase } from "../support/postgres-database.ts";

let floe: Floe;
let [seller, other]: Seller[] = [];
beforeAll(async () => {
  floe = await start({
    listen: true,
    databaseUrl: await createPostgresDatabase(),
    settings: { FLOE_HEAVY_STATEMENT_SECONDS: "2" },
  });
  [seller, other] = [await floe.seller(), await floe.seller()];
});
afterAll(() => floe.close());

const documentOf = (count: number) => ({
  version: 1,
  catalog: "shop",
  products: Object.fromEntries(
    Array.from({ length: count }, (_, index) => [`p${index}`, { name: `Product ${index}`, prices: ["10.00"] }]),
  ),
});
const call = (method: string, path: string, key = "", body?: object, signal?: AbortSignal) =>
  fetch(floe.url + path, {
    method,
    headers: { authorization: `Bearer ${key}`, ...(body && { "content-type": "application/json" }) },
    ...(body && { body: JSON.stringify(body) }),
    ...(signal && { signal }),
  });
const plan = (count: number, signal?: AbortSignal) =>
  call("POST", "/v1/catalog/plan", seller?.key, { document: documentOf(count) }, signal);

test("what takes the database for long says so in the contract", () => {
  const heavy = Object.values<Record<string, Operation>>(api)
    .flatMap((operations) => Object.values(operations))
    .filter(({ heavy }) => heavy !== undefined)
    .map(({ method, path }) => `${method} ${path}`);
  for (const path of ["plan", "rehearse", "apply"]) expect(heavy).toContain(`POST /v1/catalog/${path}`);
  const files = Object.values<Record<string, Operation>>(api)
    .flatMap((operations) => Object.values(operations))
    .filter(({ file, path }) => file !== undefined || /snapshots\b.*$/.test(path));
  for (const { method, path } of files.filter(({ path, method }) => !(method === "GET" && /snapshots$/.test(path))))
    expect(heavy).toContain(`${method} ${path}`);
});

test("of many plans at once some are answered and the rest refused with 429, while another seller is served", async () => {
  const plans = Array.from({ length: 40 }, () => plan(50));
  const took: number[] = [];
  for (let turn = 0; turn < 20; turn += 1) {
    const began = performance.now();
    const { status } = await call("GET", "/v1/products/", other?.key);
    expect(status).toBe(200);
    took.push(performance.now() - began);
  }
  const answers = await Promise.all(plans);
  const refused = answers.filter(({ status }) => status === 429);
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(9);
  expect(refused).toHaveLength(31);
  expect(refused[0]?.headers.get("retry-after")).toBe("2");
  expect(await refused[0]?.json()).toEqual({ error: "TooManyRequests", detail: expect.stringContaining("heavy work") });
  expect((await plan(1)).status).toBe(200);
});

test("a catalogue with too many entries, and a filter with too many brackets, are refused with 422 at their place", async () => {
  const filter = (depth: number) => `${"(".repeat(depth)}name eq "a"${")".repeat(depth)}`;
  const withFilter = (text: string) => ({
    version: 1,
    catalog: "shop",
    meters: { calls: { name: "Calls", filter: text, aggregation: "count" } },
  });
  for (const path of ["plan", "rehearse", "apply"]) {
    const send = async (document: object) => {
      const answer = await call("POST", `/v1/catalog/${path}`, other?.key, { document });
      const json = (await answer.json()) as { detail?: { loc: unknown[] }[] };
      return [answer.status, ...(json.detail ?? []).map(({ loc }) => loc.join("."))];
    };
    expect(await send(documentOf(5001))).toEqual([422, "body.document"]);
    expect(await send(withFilter(filter(1000)))).toEqual([422, "body.document.meters.calls.filter"]);
    expect(await send(withFilter(`name eq ${'"a" or x eq '.repeat(9000)}1`))).toEqual([
      422,
      "body.document.meters.calls.filter",
    ]);
    expect(await send(withFilter(filter(32)))).toEqual([200]);
  }
});

describe("on PostgreSQL", () => {
  const work = (statement: string, leave?: (leave: () => void) => void) =>
    runHeavyWork({ statementTimeoutMs: 1000, onGone: leave ?? (() => {}) }, () =>
      floe.deps.db.transaction(async (tx) => {
        await tx.execute(sql.raw(statement));
        await tx.execute(sql`select 1`);
      }),
    );
  const running = async () => {
    const rows = await floe.deps.db.execute(
      sql`select 1 from pg_stat_activity where state <> 'idle' and query like '%pg_sleep(30)%' and pid <> pg_backend_pid()`,
    );
    return Array.from(rows as unknown as Iterable<unknown>).length;
  };

  test("a statement is cancelled when its caller leaves, and when it takes too long", async () => {
    for (const leave of [(leave: () => void) => void setTimeout(leave, 200), undefined]) {
      const began = performance.now();
      const error = await work("select pg_sleep(30)", leave).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ name: leave ? "RequestTimeout" : "ServiceUnavailable" });
      expect(performance.now() - began).toBeLessThan(4000);
      await expect.poll(running, { timeout: 2000 }).toBe(0);
    }
    await work("select 1");
  });

  test("heavy work takes half of the connections at most", async () => {
    const sleeping = Array.from({ length: 20 }, () => work("select pg_sleep(0.4)"));
    const began = performance.now();
    await floe.deps.db.execute(sql`select 1`);
    expect(performance.now() - began).toBeLessThan(350);
    await Promise.all(sleeping);
  });
});

test("a plan whose caller leaves ends, and gives its slot to the next", async () => {
  const leaving = new AbortController();
  const left = plan(400, leaving.signal).catch(() => "left");
  setTimeout(() => leaving.abort(), 200);
  expect(await left).toBe("left");
  expect((await plan(1)).status).toBe(200);
  expect(floe.logged.filter((line) => line.startsWith("error"))).toEqual([]);
});
