/**
 * How long a server takes until it is ready, and what it holds of memory once what it needed to start is given back: on a
 * PostgreSQL and on the embedded database, each with a store that is there already. Both are started in turns, so that what else
 * the machine does strikes both. Prints the median times, also as multiples of `node -e 0` of the same Node; beyond what is
 * promised the exit code is 1.
 *
 *   npm run build && node bench/serve.mjs     needs Node 24, as it reads TypeScript, and Linux, for what it holds of memory
 */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../tests/support/free-port.ts";
import { startPostgres } from "../tests/support/postgres.ts";
import { readMegabytes } from "./support/memory.mjs";

const rounds = 9;
const restMs = 30_000;
const executable = join(import.meta.dirname, "../bin/floe.js");
const folder = mkdtempSync(join(tmpdir(), "floe-serve-"));
const postgres = await startPostgres();
const cases = {
  PostgreSQL: {
    env: { DATABASE_URL: postgres.url, FLOE_SECRET: "a secret for benches, long enough to be one" },
    allowed: { seconds: 0.8, megabytes: 150 },
  },
  embedded: { env: {}, allowed: { seconds: 1.6, megabytes: 430 } },
};

/** Start a server, wait until it says that it is ready, and for so long besides, and end it. */
async function serve(name, ms = 0) {
  const port = await freePort();
  const began = performance.now();
  const child = spawn(process.execPath, [executable, "serve", "--port", String(port)], {
    cwd: folder,
    env: { PATH: process.env.PATH, HOME: folder, FLOE_DATA_DIR: join(folder, name), ...cases[name].env },
    stdio: ["ignore", "ignore", "inherit"],
  });
  const ended = once(child, "exit");
  const isReady = async () =>
    fetch(`http://127.0.0.1:${port}/readyz`).then(
      async (answer) => {
        await answer.text();
        return answer.ok;
      },
      () => false,
    );
  while (!(await isReady())) {
    if (child.exitCode !== null) throw new Error(`The server on ${name} has ended with ${child.exitCode}.`);
    await new Promise((done) => setTimeout(done, 5));
  }
  const seconds = (performance.now() - began) / 1000;
  await new Promise((done) => setTimeout(done, ms));
  const megabytes = readMegabytes(child);
  child.kill("SIGTERM");
  await ended;
  return { seconds, megabytes };
}

const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];
const floor = [];
const measured = { PostgreSQL: [], embedded: [] };
const held = {};
try {
  for (const name of Object.keys(cases)) await serve(name);
  for (let round = 0; round < rounds; round += 1) {
    const began = performance.now();
    spawnSync(process.execPath, ["-e", "0"]);
    floor.push((performance.now() - began) / 1000);
    for (const name of Object.keys(cases)) measured[name].push((await serve(name)).seconds);
  }
  for (const name of Object.keys(cases)) held[name] = (await serve(name, restMs)).megabytes;
} finally {
  await postgres.stop();
  rmSync(folder, { recursive: true, force: true });
}
for (const [name, { allowed }] of Object.entries(cases)) {
  const seconds = median(measured[name]);
  const megabytes = held[name];
  const times = (seconds / median(floor)).toFixed(0);
  console.log(`${name}: ready in ${seconds.toFixed(2)} s (at most ${allowed.seconds}), ${times} times node -e 0`);
  console.log(`${name}: holds ${megabytes.toFixed(0)} MB (at most ${allowed.megabytes})`);
  if (seconds > allowed.seconds || megabytes > allowed.megabytes) process.exitCode = 1;
}
