/**
 * How long the command line takes to start, as multiples of `node -e 0` of the same Node, and beside the official
 * `stripe` binary where its path is given. All cases run in turns, so that what else the machine does strikes all of
 * them, and of each the quarter that was quickest counts, since other work only ever adds time. Above a promised
 * figure the exit code is 1.
 *
 *   node bench/start-up.mjs [path/to/stripe]          after a build; needs Node 24
 */
import { fork, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";

const rounds = 60;
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

/** How long the server of a Model Context Protocol client takes until it has answered the first message. */
async function timeInitialize(args, env) {
  const started = process.hrtime.bigint();
  const child = spawn(process.execPath, args, { env, stdio: ["pipe", "pipe", "ignore"] });
  const ended = new Promise((resolve) => child.once("close", resolve));
  const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "bench", version: "1" } };
  child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params })}\n`);
  let out = "";
  for await (const part of child.stdout) {
    out += part;
    if (out.includes("\n")) break;
  }
  const ms = Number(process.hrtime.bigint() - started) / 1e6;
  child.kill();
  await ended;
  if (!out.includes('"serverInfo"')) throw new Error(`floe mcp: ${out}`);
  return ms;
}

/** The mean of the quickest quarter. */
function computeQuiet(values) {
  const quickest = values.toSorted((a, b) => a - b).slice(0, Math.ceil(values.length / 4));
  return quickest.reduce((sum, ms) => sum + ms, 0) / quickest.length;
}

async function main([stripe]) {
  const server = fork(import.meta.filename, ["serve"]);
  const port = await new Promise((resolve) => server.once("message", resolve));
  const home = mkdtempSync(join(tmpdir(), "floe-bench-"));
  const url = `http://127.0.0.1:${port}`;
  const env = { PATH: process.env.PATH, HOME: home, FLOE_SERVER: url, FLOE_API_KEY: "key" };
  const floe = join(import.meta.dirname, "../bin/floe.js");
  const cases = {
    "node -e 0": { args: ["-e", "0"] },
    "floe --version": { args: [floe, "--version"], ratio_max: 1.05 },
    "floe --help": { args: [floe, "--help"], ratio_max: 1.1 },
    "floe products list": { args: [floe, "products", "list"], ratio_max: 1.85 },
    // A tab after the first one: the names are kept by then.
    "completion of a name": {
      args: [floe, "__complete", "fish"],
      input: "products\0get\0B\0",
      ratio_max: 1.8,
      ms_max: 150,
    },
    "mcp, first answer": { args: [floe, "mcp"], measure: timeInitialize, ms_max: 300 },
    ...(stripe && {
      "stripe products list": {
        command: stripe,
        args: ["products", "list", "--api-base", url, "--api-key", "sk_test_12345678901234567890"],
      },
    }),
  };
  const times = Object.fromEntries(Object.keys(cases).map((name) => [name, []]));
  for (let round = -warmUps; round < rounds; round += 1) {
    for (const [name, { command = process.execPath, args, input, measure }] of Object.entries(cases)) {
      const ms = measure ? await measure(args, env) : time(command, args, env, input);
      if (round >= 0) times[name].push(ms);
    }
  }
  server.kill();
  rmSync(home, { recursive: true, force: true });

  const floor = computeQuiet(times["node -e 0"]);
  let kept = true;
  for (const [name, { ratio_max, ms_max = Number.POSITIVE_INFINITY }] of Object.entries(cases)) {
    const ms = computeQuiet(times[name]);
    const promise = [ratio_max && `at most ${ratio_max}`, Number.isFinite(ms_max) && `at most ${ms_max} ms`];
    if ((ratio_max !== undefined && ms / floor > ratio_max) || ms > ms_max) kept = false;
    console.log(
      `${name.padEnd(22)} ${ms.toFixed(1).padStart(7)} ms  ${(ms / floor).toFixed(2)}  ${promise.filter(Boolean).join(", ")}`,
    );
  }
  if (stripe && computeQuiet(times["floe products list"]) > computeQuiet(times["stripe products list"])) kept = false;
  process.exitCode = kept ? 0 : 1;
}

if (process.argv[2] === "serve") serve();
else await main(process.argv.slice(2));
