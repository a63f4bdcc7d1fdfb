/**
 * An export of an organization with many customers, and its restoration on another server, each through a PostgreSQL. Prints rows per
 * second, and how much memory the process had at most above what it had before, with few rows and with many. A reader that
 * pauses after each piece must cost no more. Where an export takes more than 100 MB, the exit code is 1.
 *
 *   node bench/archive.mjs [customers]     needs Node 24, as it reads TypeScript
 */
import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "drizzle-orm";
import { beginRestore, passphrase, readArchive, sendPart } from "../tests/support/archives.ts";
import { start } from "../tests/support/floe.ts";
import { startPostgres } from "../tests/support/postgres.ts";

const memoryMaxMb = 100;
const few = 10_000;
const many = Number(process.argv[2] ?? 100_000);
const restored = Math.min(many, 20_000);

const rowsAtOnce = 10_000;
async function fill({ deps }, organization_id, count) {
  for (let first = 1; first <= count; first += rowsAtOnce)
    await deps.db.execute(sql`
      insert into customers (id, organization_id, created_at, email, name, external_id, metadata)
      select gen_random_uuid(), ${organization_id}, now() - n * interval '1 second', 'buyer-' || n || '@example.com',
        'Buyer ' || n, 'u-' || n, jsonb_build_object('tier', 'common', 'n', n % 50)
      from generate_series(${first}::int, ${Math.min(first + rowsAtOnce - 1, count)}::int) n`);
}

/** Sample the memory of the process while something runs; answers its result and how much it rose, in MB. */
async function measure(work) {
  globalThis.gc?.();
  const before = process.memoryUsage().rss;
  let peak = before;
  const timer = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage().rss);
  }, 20);
  const began = performance.now();
  const result = await work();
  clearInterval(timer);
  return {
    result,
    seconds: (performance.now() - began) / 1000,
    mb: (Math.max(peak, process.memoryUsage().rss) - before) / 2 ** 20,
  };
}

/** Read an archive and keep nothing of it but how many lines it has; `pauseMs` after each piece makes a slow reader. */
async function readExport({ url }, { key }, pauseMs = 0) {
  const answer = await fetch(`${url}/v1/archives/export`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ passphrase }),
  });
  if (answer.status !== 200) throw new Error(`${answer.status} ${await answer.text()}`);
  let lines = 0;
  for await (const piece of answer.body) {
    for (const byte of piece) if (byte === 10) lines += 1;
    if (pauseMs > 0) await sleep(pauseMs);
  }
  return lines;
}

const [database, other] = [await startPostgres(), await startPostgres()];
let isGood = true;
try {
  const floe = await start({ databaseUrl: database.url, listen: true, realTime: true });
  const warm = await floe.seller("warm");
  await fill(floe, warm.organization_id, 1000);
  await readExport(floe, warm);
  for (const [name, count, pauseMs] of [
    ["few", few, 0],
    ["many", many, 0],
    ["many, slow reader", many, 2],
  ]) {
    const seller = await floe.seller(name.split(",")[0]);
    await fill(floe, seller.organization_id, count);
    await floe.deps.db.execute("analyze customers");
    const { result: lines, seconds, mb } = await measure(() => readExport(floe, seller, pauseMs));
    if (lines < count) throw new Error(`${lines} lines of ${count} customers`);
    isGood &&= mb <= memoryMaxMb;
    console.log(`${name}: ${count} customers, ${Math.round(count / seconds)} rows/s, ${mb.toFixed(0)} MB more at most`);
  }
  const seller = await floe.seller("moved");
  await fill(floe, seller.organization_id, restored);
  const { text } = await floe.request("POST", "/v1/archives/export", { token: seller.key, body: { passphrase } });
  const archive = readArchive(text);
  const target = await start({ databaseUrl: other.url, realTime: true });
  const into = await target.seller("into");
  const { seconds } = await measure(async () => {
    await beginRestore(target, into.key, archive);
    for (const part of archive.parts) {
      const { status, json } = await sendPart(target, into.key, part);
      if (status !== 200) throw new Error(JSON.stringify(json));
    }
  });
  console.log(`restored: ${restored} customers, ${Math.round(restored / seconds)} rows/s`);
  await floe.close();
  await target.close();
} finally {
  await database.stop();
  await other.stop();
}
process.exitCode = isGood ? 0 : 1;
