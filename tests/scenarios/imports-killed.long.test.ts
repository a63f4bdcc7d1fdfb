import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { floe as command, folder } from "../cli/support.ts";
import { spawnProgram } from "../support/programs.ts";
import { startOnPostgres } from "../support/races.ts";

const count = 1000;
const killsMax = 5;
const dayMs = 24 * 60 * 60 * 1000;
const formatDay = (days: number) => new Date(Date.now() + days * dayMs).toISOString().slice(0, 10);

function writeShop(): string {
  const place = join(folder(), "shop");
  mkdirSync(place);
  const listLines = (format: (n: number) => string) =>
    Array.from({ length: count }, (_, n) => `${format(n)}\n`).join("");
  writeFileSync(join(place, "products.csv"), "id,name,price,currency,interval\npro,Pro,9.00,usd,month\n");
  writeFileSync(join(place, "customers.csv"), `id,email\n${listLines((n) => `c${n},buyer-${n}@example.com`)}`);
  const head = "id,customer,product,status,price,currency,started_at,current_period_start,current_period_end";
  const period = `${formatDay(-60)},${formatDay(-10)},${formatDay(20)}`;
  writeFileSync(
    join(place, "subscriptions.csv"),
    `${head}\n${listLines((n) => `s${n},c${n},pro,active,9.00,usd,${period}`)}`,
  );
  return place;
}

test("MOV-09, MOV-11: a server that is killed in any step of an import makes nothing twice, and leaves nothing out", async () => {
  const place = writeShop();
  const floe = await startOnPostgres();
  const seller = await floe.seller("ada");
  const { DATABASE_URL = "", FLOE_FILES_DIR } = floe.deps.config;
  const readSum = async (): Promise<string> => {
    const [row] = await floe.deps.db
      .select({
        sum: sql<string>`count(*) || ' ' || coalesce(string_agg(status, '' order by id), '')`,
      })
      .from(sql`import_records where organization_id = ${seller.organization_id}`);
    return row?.sum ?? "";
  };
  const waitForProgress = async () => {
    const before = await readSum();
    while ((await readSum()) === before) await sleep(3);
  };
  let kills = 0;
  /** Run a step until it is done; its server is killed as it makes progress. */
  const runKilled = async (words: string[], maximum: number): Promise<void> => {
    for (let left = maximum; ; ) {
      const server = await spawnProgram("serving", [DATABASE_URL, JSON.stringify({ FLOE_FILES_DIR })]);
      const [line] = (await once(server.stdout, "data")) as [Buffer];
      const { url } = JSON.parse(String(line)) as { url: string };
      const running = command(["import", ...words], { env: { FLOE_SERVER: url, FLOE_API_KEY: seller.key } });
      if (left > 0) {
        await Promise.race([running, waitForProgress()]);
        server.kill("SIGKILL");
        [left, kills] = [left - 1, kills + 1];
      }
      const { code, err } = await running;
      if (server.exitCode === null && server.signalCode === null) server.kill("SIGKILL");
      if (code === 0) return;
      // What is not a lost server is a fault of the import.
      expect([code, err]).toEqual([9, expect.stringContaining("nothing answers at")]);
    }
  };
  const countRows = async (table: string, where = sql`true`): Promise<number> => {
    const found = await floe.deps.db
      .select({ count: sql<number>`count(*)::int` })
      .from(sql`${sql.identifier(table)} where organization_id = ${seller.organization_id} and ${where}`);
    return Number(found[0]?.count);
  };
  await runKilled(["csv", place], killsMax);
  expect(await countRows("subscriptions")).toBe(0);
  await runKilled(["apply", "--yes"], killsMax);
  expect([await countRows("customers"), await countRows("subscriptions")]).toEqual([count, count]);
  expect(await countRows("subscriptions", sql`billing_held_at is not null and due_at is null`)).toBe(count);
  await runKilled(["switch", "--first", "200", "--source-has-stopped", "--without-card", "--yes"], 2);
  const switched = await countRows("import_records", sql`status = 'switched'`);
  expect(switched).toBeGreaterThanOrEqual(200);
  expect(await countRows("subscriptions", sql`billing_held_at is null and due_at is not null`)).toBe(switched);
  expect(await countRows("events", sql`type = 'subscription.created'`)).toBe(switched);
  expect([await countRows("orders"), await countRows("payments")]).toEqual([0, 0]);
  await runKilled(["rollback", "--yes"], killsMax);
  for (const table of ["products", "customers", "subscriptions", "subscription_prices"])
    expect([table, await countRows(table)]).toEqual([table, 0]);
  expect(kills).toBeGreaterThan(6);
  await floe.close();
}, 300_000);
