/** Streams of events while a transaction stays open, and what the operator sees of it. */
import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openLagWatch } from "../../server/platform/events/tail-lag.ts";
import { openGauges, registry } from "../../server/platform/telemetry/metrics.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { startOnPostgres } from "../support/races.ts";
import { openStream } from "../support/sse.ts";

let floe: Floe;
let seller: Seller;
beforeAll(async () => {
  floe = await startOnPostgres({ listen: true });
  seller = await floe.seller();
});
afterAll(() => floe?.close());

const readLag = async (): Promise<number> =>
  Number(/^floe_tail_lag_seconds (\S+)$/m.exec(await registry.render())?.[1] ?? Number.NaN);

/** A transaction of another program that has written and stays open. */
async function holdOpen(name: string) {
  const connection = { application_name: name };
  const sql = postgres(String(floe.deps.config.DATABASE_URL), { max: 1, onnotice: () => {}, connection });
  const [begun, ended] = [Promise.withResolvers<number>(), Promise.withResolvers<void>()];
  const running = sql.begin(async (tx) => {
    await tx`create temporary table held on commit drop as select pg_current_xact_id()`;
    const [row] = await tx`select pg_backend_pid() as pid`;
    begun.resolve(Number(row?.pid));
    await ended.promise;
  });
  await Promise.race([begun.promise, running]);
  const end = async () => {
    ended.resolve();
    await running;
    await sql.end();
  };
  return { pid: await begun.promise, end };
}

test("STR-11: an open transaction is seen in the metric, and events come once it has ended", async () => {
  const close = openGauges(floe.deps, "test", async () => ({ undispatched_at: null, undelivered_at: null }));
  const held = await holdOpen("a report that runs long");
  const stream = await openStream(`${floe.url}/v1/events/stream?types=product.created`, {
    authorization: `Bearer ${seller.key}`,
  });
  try {
    await stream.next();
    await seller.client.products.create({
      body: { name: "Book", prices: [{ amount_type: "fixed", price_amount: 900 }] },
    });
    expect(await stream.rest(1200)).toEqual([]);
    expect(await readLag()).toBeGreaterThan(1);
    await held.end();
    expect((await stream.next()).event).toBe("product.created");
    expect(await readLag()).toBeLessThan(1);
  } finally {
    stream.close();
    close();
  }
});

test("STR-11: above five seconds a warning names who holds it, once a minute, until it is over", async () => {
  const held = await holdOpen("nightly import");
  const said: [string, object, string][] = [];
  const say =
    (level: string) =>
    (fields: object, text = "") =>
      void said.push([level, fields, text]);
  let now = 0;
  const log = { info: say("info"), warn: say("warn"), error: say("error") };
  const watch = openLagWatch({ db: floe.deps.db, log }, () => now);
  const noteAt = async (ms: number, xmin: bigint, isHeld: boolean) => {
    now = ms;
    await watch.note({ xmin, isHeld });
  };
  // A place that moves is no transaction that stays open, and an idle database holds nothing back.
  for (let at = 0; at < 20; at += 1) await noteAt(at * 1000, BigInt(at), true);
  for (let at = 20; at < 40; at += 1) await noteAt(at * 1000, 20n, false);
  expect([said, watch.getSeconds()]).toEqual([[], 0]);
  await noteAt(40_000, 21n, true);
  await noteAt(44_900, 21n, true);
  expect([said, watch.getSeconds()]).toEqual([[], 4.9]);
  await noteAt(45_000, 21n, true);
  const fields = {
    held_seconds: 5,
    pid: held.pid,
    application_name: "nightly import",
    database: expect.any(String),
    state: "idle in transaction",
    open_seconds: expect.any(Number),
  };
  expect(said).toEqual([["warn", fields, expect.stringContaining("holds back all streams")]]);
  await noteAt(104_000, 21n, true);
  expect(said).toHaveLength(1);
  await noteAt(105_000, 21n, true);
  expect(said.map(([level]) => level)).toEqual(["warn", "warn"]);
  await held.end();
  await noteAt(106_000, 22n, false);
  expect(said.at(-1)).toEqual(["info", {}, "The streams of events are up to date again."]);
  expect(watch.getSeconds()).toBe(0);
});

test("STR-11: the embedded database has no writer that its readers wait for", async () => {
  const embedded = await start({ embedded: true });
  const close = openGauges(embedded.deps, "test", async () => ({ undispatched_at: null, undelivered_at: null }));
  try {
    expect(await readLag()).toBe(0);
  } finally {
    close();
    await embedded.close();
  }
});
