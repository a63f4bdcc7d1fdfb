/**
 * Memory of a server: after its start, after 2,000 sales by eight buyers at once, and at rest after that, on a PostgreSQL.
 * Prints resident megabytes, of which the program of Node is about 58, and the processor time of a sale. Beyond what
 * is promised the exit code is 1.
 *
 *   npm run build && node bench/memory.mjs [--sales 2000] [--node-flags "--max-semi-space-size=8"]     needs Linux and Node 24
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { start } from "../tests/support/floe.ts";
import { freePort } from "../tests/support/free-port.ts";
import { startPostgres } from "../tests/support/postgres.ts";
import { readMegabytes } from "./support/memory.mjs";
import { sell } from "./support/sale.mjs";

const { values: given } = parseArgs({
  options: { sales: { type: "string", default: "2000" }, "node-flags": { type: "string", default: "" } },
});
const salesCount = Number(given.sales);
const flags = given["node-flags"].split(" ").filter(Boolean);
const buyersAtOnce = 8;
const restMs = 30_000;
/** Megabytes. */
const peakMax = 430;
const executable = join(import.meta.dirname, "../bin/floe.js");
const settings = { FLOE_EMAIL_VERIFICATION: "off", FLOE_REQUESTS_PER_MINUTE: "0", FLOE_TEST_CARDS: "on" };
// That of the test harness, which makes the key.
const secret = "a secret for tests, long enough to be one";

const ticksPerSecond = 100;
function readSeconds({ pid }) {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ");
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}

async function openStore(options) {
  const floe = await start({ ...options, settings });
  const seller = await floe.seller("memory");
  const prices = [{ amount_type: "fixed", price_amount: 1900 }];
  const { id } = await seller.client.products.create({ body: { name: "Guide", prices } });
  await floe.close();
  return { key: seller.key, product_id: id };
}

async function measure(env, { key, product_id }) {
  const port = await freePort();
  const child = spawn(process.execPath, [...flags, executable, "serve", "--port", String(port)], {
    cwd: tmpdir(),
    stdio: ["ignore", "ignore", "inherit"],
    env: { PATH: process.env.PATH, HOME: env.FLOE_DATA_DIR, FLOE_SECRET: secret, ...settings, ...env },
  });
  const ended = once(child, "exit");
  const url = `http://127.0.0.1:${port}`;
  const isReady = () =>
    fetch(`${url}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
  while (!(await isReady())) {
    if (child.exitCode !== null) throw new Error(`The server ended with ${child.exitCode}.`);
    await sleep(20);
  }
  const begun = readMegabytes(child);
  const secondsBefore = readSeconds(child);
  let sold = 0;
  const buy = async () => {
    while (sold < salesCount) {
      sold += 1;
      await sell({ url, key, product_id, email: `buyer-${sold}@example.com` });
    }
  };
  await Promise.all(Array.from({ length: buyersAtOnce }, buy));
  const [sale, busy, peak] = [
    (readSeconds(child) - secondsBefore) / salesCount,
    readMegabytes(child),
    readMegabytes(child, "VmHWM"),
  ];
  await sleep(restMs);
  const rest = readMegabytes(child);
  child.kill("SIGTERM");
  await ended;
  return { begun, busy, peak, rest, sale };
}

const folder = mkdtempSync(join(tmpdir(), "floe-memory-"));
const postgres = await startPostgres();
const store = await openStore({ databaseUrl: postgres.url });
const { begun, busy, peak, rest, sale } = await measure({ DATABASE_URL: postgres.url, FLOE_DATA_DIR: folder }, store);
const [first, last, most, least] = [begun, busy, peak, rest].map(Math.round);
console.log(`${first} MB after the start, ${last} MB after ${salesCount} sales (at most ${most}), ${least} MB at rest`);
console.log(`${(sale * 1000).toFixed(1)} ms of processor time a sale`);
rmSync(folder, { recursive: true, force: true });
process.exit(peak <= peakMax ? 0 : 1);
