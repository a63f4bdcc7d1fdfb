/**
 * How soon the dashboard shows a store, and what it takes of a core while nothing happens. It runs on a terminal of its own
 * (`script`) against a server on this machine. Above a promised figure the exit code is 1.
 *
 *   node bench/dashboard.mjs          after a build; needs Linux and Node 24
 */
import { fork, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";

const [rounds, idle_ms, first_max_ms, idle_max, ticks_a_second] = [11, 30_000, 400, 0.02, 100];
const customer = { customer_id: "c", customer_name: "Ada", customer_email: "ada@example.com" };
const order = (number) => ({
  ...{ id: `o${number}`, created_at: new Date().toISOString(), invoice_number: `A-${number}`, status: "paid" },
  ...{ total_amount: 1900, currency: "usd", product_name: "Field Guide", ...customer },
});
const buildOverview = () => ({
  ...{ organization_id: "s", name: "Acme", slug: "acme", sandbox: true, currency: "usd", now: new Date(), scopes: [] },
  figures: {
    ...{ today_revenue: 1900, month_revenue: 3800, monthly_recurring_revenue: 9900 },
    days: Array.from({ length: 30 }, () => ({ date: "2026-11-01", revenue: 1900, monthly_recurring_revenue: 9900 })),
  },
  orders: Array.from({ length: 10 }, (_, number) => order(number)),
  ...{ failed_payments: [], dead_letters: { count: 0, kinds: [] }, failing_endpoints: [], renewals: [] },
  meters: [{ id: "m", name: "Tokens", consumed_units: 1000, customers: 3, partial: false }],
  ...{ has_products: true, has_checkout_links: true },
});

function serve() {
  const server = createServer((_, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify(buildOverview()));
  });
  server.listen(0, "127.0.0.1", () => process.send?.(server.address().port));
}

/** Start it on a terminal; resolves when the store stands on the screen. */
async function open(env, pidFile) {
  const floe = join(import.meta.dirname, "../bin/floe.js");
  const command = `stty rows 24 cols 80; echo $$ > "${pidFile}"; exec "${process.execPath}" "${floe}"`;
  const started = process.hrtime.bigint();
  const child = spawn("script", ["-qfc", command, "/dev/null"], { env, stdio: ["pipe", "pipe", "ignore"] });
  let out = "";
  await new Promise((resolve) =>
    child.stdout.on("data", (part) => {
      out += part;
      if (out.includes("Field Guide")) resolve();
    }),
  );
  return { child, ms: Number(process.hrtime.bigint() - started) / 1e6 };
}

async function close(child) {
  const ended = new Promise((resolve) => child.once("close", resolve));
  child.stdin.write("q");
  await ended;
}

/** The processor time of a process so far, in seconds. */
function readProcessorTime(pidFile) {
  const stat = readFileSync(`/proc/${readFileSync(pidFile, "utf8").trim()}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / ticks_a_second;
}

async function main() {
  const server = fork(import.meta.filename, ["serve"]);
  const port = await new Promise((resolve) => server.once("message", resolve));
  const home = mkdtempSync(join(tmpdir(), "floe-bench-"));
  const pidFile = join(home, "pid");
  const url = `http://127.0.0.1:${port}`;
  const own = { HOME: home, TERM: "xterm", SHELL: "/bin/sh", FLOE_SERVER: url, FLOE_API_KEY: "key", FLOE_AGENT: "no" };
  const env = { PATH: process.env.PATH, ...own };
  const times = [];
  for (let round = -1; round < rounds; round += 1) {
    const { child, ms } = await open(env, pidFile);
    if (round >= 0) times.push(ms);
    await close(child);
  }
  const { child } = await open(env, pidFile);
  const before = readProcessorTime(pidFile);
  await new Promise((resolve) => setTimeout(resolve, idle_ms));
  const share = (readProcessorTime(pidFile) - before) / (idle_ms / 1000);
  await close(child);
  server.kill();
  rmSync(home, { recursive: true, force: true });
  const first = times.toSorted((a, b) => a - b)[times.length >> 1];
  console.log(`first frame with the store  ${first.toFixed(0)} ms  (at most ${first_max_ms})`);
  console.log(`of a core at rest           ${(share * 100).toFixed(2)} %  (at most ${idle_max * 100})`);
  process.exitCode = first <= first_max_ms && share <= idle_max ? 0 : 1;
}

if (process.argv[2] === "serve") serve();
else await main();
