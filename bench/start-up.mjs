/**
 * How long the command line takes to start, as multiples of `node -e 0` of the same Node, and beside the official
 * `stripe` binary where its path is given. All cases run in turns, so that what else the machine does strikes all of
 * them. Prints the ratios of the medians; above a promised one the exit code is 1.
 *
 *   node bench/start-up.mjs [path/to/stripe]          after a build; needs Node 24
 */
import { fork, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";

const rounds = 25;
const warmUps = 3;
const items = Array.from({ length: 10 }, (_, number) => ({
  id: `0193a000-0000-7000-8000-00000000000${number}`,
  name: `Book ${number}`,
  is_archived: false,
  prices: [{ amount_type: "fixed", price_amount: 1900, price_currency: "usd" }],
}));

/** One page of products, in the words of both APIs. */
function serve() {
  const floe = JSON.stringify({ items, pagination: { total_count: items.length, max_page: 1 } });
  const stripe = JSON.stringify({ object: "list", data: items, has_more: false, url: "/v1/products" });
  const server = createServer((request, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(request.url?.startsWith("/v1/products/") ? floe : stripe);
  });
  server.listen(0, "127.0.0.1", () => process.send?.(server.address().port));
}

function time(command, args, env, input) {
  const started = process.hrtime.bigint();
  const { status, stderr } = spawnSync(command, args, {
    env,
    stdio: [input === undefined ? "ignore" : "pipe", "pipe", "pipe"],
    input,
  });
  const ms = Number(process.hrtime.bigint() - started) / 1e6;
  if (status !== 0) throw new Error(`${command} ${args.join(" ")}: ${status} ${stderr}`);
  return ms;
}

const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];

async function main([stripe]) {
  const server = fork(import.meta.filename, ["serve"]);
  const port = await new Promise((resolve) => server.once("message", resolve));
  const home = mkdtempSync(join(tmpdir(), "floe-bench-"));
  const url = `http://127.0.0.1:${port}`;
  const env = { PATH: process.env.PATH, HOME: home, FLOE_SERVER: url, FLOE_API_KEY: "key" };
  const floe = join(import.meta.dirname, "../bin/floe.js");
  const cases = {
    "node -e 0": { args: ["-e", "0"] },
    "floe --version": { args: [floe, "--version"], ratio_max: 1.3 },
    "floe --help": { args: [floe, "--help"], ratio_max: 1.3 },
    "floe products list": { args: [floe, "products", "list"], ratio_max: 1.8 },
    // A tab after the first one: the names are kept by then.
    "completion of a name": {
      args: [floe, "__complete", "fish"],
      input: "products\0get\0B\0",
      ratio_max: 2.2,
      ms_max: 150,
    },
    ...(stripe && {
      "stripe products list": {
        command: stripe,
        args: ["products", "list", "--api-base", url, "--api-key", "sk_test_12345678901234567890"],
      },
    }),
  };
  const times = Object.fromEntries(Object.keys(cases).map((name) => [name, []]));
  for (let round = -warmUps; round < rounds; round += 1) {
    for (const [name, { command = process.execPath, args, input }] of Object.entries(cases)) {
      const ms = time(command, args, env, input);
      if (round >= 0) times[name].push(ms);
    }
  }
  server.kill();
  rmSync(home, { recursive: true, force: true });

  const floor = median(times["node -e 0"]);
  let kept = true;
  for (const [name, { ratio_max, ms_max = Number.POSITIVE_INFINITY }] of Object.entries(cases)) {
    const ms = median(times[name]);
    const promise = ratio_max === undefined ? "" : `  (at most ${ratio_max})`;
    if ((ratio_max !== undefined && ms / floor > ratio_max) || ms > ms_max) kept = false;
    console.log(`${name.padEnd(22)} ${ms.toFixed(1).padStart(7)} ms  ${(ms / floor).toFixed(2)}${promise}`);
  }
  if (stripe && median(times["floe products list"]) > median(times["stripe products list"])) kept = false;
  process.exitCode = kept ? 0 : 1;
}

if (process.argv[2] === "serve") serve();
else await main(process.argv.slice(2));
