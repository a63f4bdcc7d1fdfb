import { sql } from "drizzle-orm";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runHeavyWork } from "../../server/platform/jobs/heavy-work.ts";
import { api } from "../../shared/api/index.ts";
import type { Operation } from "../../shared/contract.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { newId } from "../support/ids.ts";
import { createPostgresDatabase } from "../support/postgres-database.ts";

let floe: Floe;
let [seller, other]: Seller[] = [];
beforeAll(async () => {
  floe = await start({
    listen: true,
    databaseUrl: await createPostgresDatabase(),
    settings: {
      FLOE_DATABASE_CONNECTIONS: "6",
      FLOE_DATABASE_STATEMENT_SECONDS: "2",
      FLOE_HEAVY_STATEMENT_SECONDS: "20",
    },
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
  const answered = answers.filter(({ status }) => status === 200);
  // Nine are held at once; one more is let in for each that ends before the last has come.
  expect(answered.length).toBeGreaterThanOrEqual(9);
  expect(answered.length).toBeLessThanOrEqual(12);
  expect(refused).toHaveLength(40 - answered.length);
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

  test("buyers are served while heavy work holds all the connections that it may have", async () => {
    const product = await other?.client.products.create({
      body: { name: "Book", prices: [{ amount_type: "fixed", price_amount: 900 }] },
    });
    const created = await other?.client.checkouts.create({ body: { products: [product?.id ?? ""] } });
    let isOver = false;
    const sleeping = Promise.all(Array.from({ length: 20 }, () => work("select pg_sleep(0.4)"))).then(() => {
      isOver = true;
    });
    const buyers = Array.from({ length: 12 }, async () => {
      const path = `/v1/checkouts/client/${created?.client_secret}`;
      const update = { customer_email: "ada@example.com" };
      return [(await call("GET", path)).status, (await call("PATCH", path, "", update)).status];
    });
    expect((await Promise.all(buyers)).flat().filter((status) => status !== 200 && status !== 409)).toEqual([]);
    expect(isOver).toBe(false);
    await sleeping;
  });
});

describe("work that its caller leaves is stopped, and its statements are cancelled", () => {
  const operations = Object.entries<Record<string, Operation>>(api)
    .flatMap(([name, of]) => Object.entries(of).map(([key, op]) => ({ name: `${name}.${key}`, op })))
    .filter(({ op }) => op.heavy === "cancel");
  const bodies: Record<string, object> = {
    "archives.export": { passphrase: "a passphrase of a test" },
    "catalog.plan": { document: documentOf(1) },
    "catalog.rehearse": { document: documentOf(1) },
    "catalog.apply": { document: documentOf(1) },
    "invoices.createExport": {},
    "sandbox.saveSnapshot": { name: "one" },
    "subscriptionMigrations.preview": { product_id: newId(), to_product_id: newId() },
  };
  const queries: Record<string, string> = {
    "meters.quantities": "start_timestamp=2026-01-01T00:00:00Z&end_timestamp=2026-02-01T00:00:00Z&interval=day",
    "metrics.get": "start_date=2026-01-01&end_date=2026-02-01&interval=day",
    "metrics.export": "start_date=2026-01-01&end_date=2026-02-01&interval=day",
    "catalog.pull": "catalog=shop",
  };
  let sandbox: Seller;
  let blocker: postgres.Sql;
  beforeAll(async () => {
    sandbox = await floe.seller("blocked");
    await sandbox.client.products.create({ body: { name: "Book", prices: [{ amount_type: "free" }] } });
    blocker = postgres(String(floe.deps.config.DATABASE_URL), { max: 1, onnotice: () => {} });
  });
  afterAll(() => blocker.end());

  /** Nobody reads a table but those by which it is known who asks. */
  async function whileBlocked(meanwhile: () => Promise<void>): Promise<void> {
    const known = ["apikey", "organization", "user", "session", "member", "organization_role"];
    await blocker.begin(async (tx) => {
      const tables =
        await tx`select tablename from pg_tables where schemaname = 'public' and tablename <> all(${known})`;
      await tx.unsafe(`lock table ${tables.map(({ tablename }) => `"${tablename}"`).join()} in access exclusive mode`);
      await meanwhile();
    });
  }
  const countWaiting = async () => {
    const [row] = (await floe.deps.db.execute<{ waiting: string }>(
      sql`select count(*) as waiting from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()
        and query not like '%"request_log"%'`,
    )) as unknown as { waiting: string }[];
    return Number(row?.waiting);
  };

  test("any other request whose statement takes too long is answered 503, and the statement is cancelled", async () => {
    await whileBlocked(async () => {
      const answer = await call("GET", "/v1/products/", sandbox.key);
      expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "60"]);
      await expect.poll(countWaiting, { timeout: 5000, interval: 20 }).toBe(0);
    });
    expect((await call("GET", "/v1/products/", sandbox.key)).status).toBe(200);
  });

  test.each(operations)("$name", async ({ name, op }) => {
    const path = op.path.replace(":id", newId()).replace(":name", "one");
    const query = queries[name] ? `?${queries[name]}` : "";
    await whileBlocked(async () => {
      const leaving = new AbortController();
      const body = op.method === "POST" ? (bodies[name] ?? {}) : undefined;
      const left = call(op.method, path + query, sandbox.key, body, leaving.signal).then(
        async (answer) => (op.file ? "left" : `${answer.status} ${await answer.text()}`),
        () => "left",
      );
      await expect.poll(countWaiting, { timeout: 5000, interval: 20 }).toBe(1);
      leaving.abort();
      expect(await left).toBe("left");
      await expect.poll(countWaiting, { timeout: 5000, interval: 20 }).toBe(0);
    });
    expect((await call("GET", "/v1/catalog/?catalog=shop", sandbox.key)).status).toBe(200);
  });
});

test("a plan whose caller leaves ends, and gives its slot to the next", async () => {
  const leaving = new AbortController();
  const left = plan(2000, leaving.signal).catch(() => "left");
  setTimeout(() => leaving.abort(), 100);
  expect(await left).toBe("left");
  expect((await plan(1)).status).toBe(200);
  expect(floe.logged.filter((line) => line.startsWith("error"))).toEqual([]);
});
