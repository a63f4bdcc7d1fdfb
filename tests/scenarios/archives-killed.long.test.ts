import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { floe as command, folder } from "../cli/support.ts";
import { exportArchive, passphrase } from "../support/archives.ts";
import { start } from "../support/floe.ts";
import { spawnProgram } from "../support/programs.ts";
import { startOnPostgres } from "../support/races.ts";

const customers = 6000;
const killsMax = 6;

test("MOV-05: a server that is killed while an archive is restored loses no part and stores none twice", async () => {
  const source = await start({ listen: true });
  const seller = await source.seller("ada");
  await source.deps.db.execute(sql`insert into customers (id, organization_id, created_at, email, name)
    select gen_random_uuid(), ${seller.organization_id}, now(), 'buyer-' || n || '@example.com', 'Buyer ' || n
    from generate_series(1, ${customers}::int) n`);
  const path = join(folder(), "shop.floe.gz");
  const env = { FLOE_ARCHIVE_PASSPHRASE: passphrase };
  const saved = await command(["export", "--out", path], {
    env: { ...env, FLOE_SERVER: source.url, FLOE_API_KEY: seller.key },
  });
  expect([saved.code, saved.err]).toEqual([0, ""]);
  const target = await startOnPostgres();
  const into = await target.seller("ada-again");
  const { DATABASE_URL = "", FLOE_FILES_DIR } = target.deps.config;
  const countCustomers = async () => (await into.client.customers.list({ query: {} })).pagination.total_count;
  // A kill by progress, as a kill by time finds the restore of a fast machine at its end.
  const waitForMoreCustomers = async () => {
    const before = await countCustomers();
    while ((await countCustomers()) <= before) await sleep(5);
  };
  let kills = 0;
  const reached: number[] = [];
  for (let isDone = false; !isDone; ) {
    const server = await spawnProgram("serving", [DATABASE_URL, JSON.stringify({ FLOE_FILES_DIR })]);
    const [line] = (await once(server.stdout, "data")) as [Buffer];
    const { url } = JSON.parse(String(line)) as { url: string };
    const restoring = command(["restore", path], { env: { ...env, FLOE_SERVER: url, FLOE_API_KEY: into.key } });
    if (kills < killsMax) {
      await Promise.race([restoring, waitForMoreCustomers()]);
      server.kill("SIGKILL");
      kills += 1;
    }
    isDone = (await restoring).code === 0;
    if (server.exitCode === null && server.signalCode === null) server.kill("SIGKILL");
    reached.push(await countCustomers());
  }
  expect(kills).toBeGreaterThan(1);
  // At least one server was killed while parts were missing.
  expect(reached.some((count) => count > 0 && count < customers)).toBe(true);
  expect(reached.at(-1)).toBe(customers);
  const again = await exportArchive(target, into);
  const archive = await exportArchive(source, seller);
  const listRows = ({ parts }: typeof archive) =>
    parts.flatMap(({ kind, lines }) => lines.map((row) => `${kind} ${row}`));
  expect(listRows(again)).toEqual(listRows(archive));
  await source.close();
  await target.close();
});
