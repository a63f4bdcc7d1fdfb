/**
 * How many planted faults the tests see, for each area. A fault is a text of one source file and what stands in its place;
 * it is seen when a test fails in the files that are named with it. Everything happens in copies of the checkout. Prints
 * each fault that no test saw, and the share of the seen ones; below 90 % of an area the exit code is 1.
 *
 *   node bench/mutants.mjs [area or fault …]     all of them without a name; slow: each fault is a run of its tests
 *   node bench/mutants.mjs --shards N            so many at a time, each in a copy of its own (default: 1)
 *   node bench/mutants.mjs --list                how many there are in each area
 *   node bench/mutants.mjs --check               only whether each text is still to be found, once, in its file
 */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { faults } from "./support/faults.mjs";

const leastShare = 0.9;
const minutesMax = 15;
const memoryBytesMax = 4 * 1024 ** 3;
const pageBytes = 4096;
const { values, positionals: asked } = parseArgs({
  allowPositionals: true,
  options: {
    check: { type: "boolean", default: false },
    list: { type: "boolean", default: false },
    shards: { type: "string", default: "1" },
  },
});
const shardCount = Number(values.shards);
if (!Number.isInteger(shardCount) || shardCount < 1)
  throw new Error(`--shards needs a number from 1 on: ${values.shards}`);
const all = Object.entries(faults).flatMap(([area, list]) =>
  list.map(([name, file, text, instead, ...tests]) => ({ area, name, file, text, instead, tests })),
);
const chosen = all.filter(({ area, name }) => asked.length === 0 || asked.includes(area) || asked.includes(name));
if (chosen.length === 0) throw new Error(`There is no area and no fault of these names: ${asked.join(", ")}.`);

if (values.list) {
  for (const [area, list] of Object.entries(Object.groupBy(chosen, ({ area }) => area)))
    console.log(`${area}: ${list.length}`);
  console.log(`${chosen.length} in all`);
  process.exit(0);
}

const stale = chosen.filter(({ file, text, tests }) => {
  const isThere = existsSync(file) && readFileSync(file, "utf8").split(text).length === 2;
  return !isThere || tests.some((test) => !existsSync(test));
});
for (const { area, name, file } of stale)
  console.log(`${area}/${name}: its text does not stand once in ${file}, or a test file is gone. Plant it elsewhere.`);
if (values.check) process.exit(stale.length === 0 ? 0 : 1);

const files = execFileSync("git", ["ls-files", "-co", "--exclude-standard"], { encoding: "utf8" })
  .split("\n")
  .filter((file) => file !== "" && file !== "node_modules" && existsSync(file));

function makeCopy() {
  const copy = mkdtempSync(join(tmpdir(), "floe-mutants-"));
  process.once("exit", () => rmSync(copy, { recursive: true, force: true }));
  for (const file of files) cpSync(file, join(copy, file), { recursive: true });
  symlinkSync(resolve("node_modules"), join(copy, "node_modules"));
  return copy;
}

/** The resident memory of a process and those that it started, in bytes; 0 where there is no /proc. */
function sumMemory(group) {
  const processes = existsSync("/proc/self/stat") ? readdirSync("/proc").filter((name) => /^\d+$/.test(name)) : [];
  return processes.reduce((sum, id) => {
    try {
      // After the name, which may have spaces: the state, the parent, the group, and as the 22nd the pages in memory.
      const fields = readFileSync(`/proc/${id}/stat`, "utf8")
        .replace(/^.*\) /s, "")
        .split(" ");
      return Number(fields[2]) === group ? sum + Number(fields[21]) * pageBytes : sum;
    } catch {
      // It has ended in between.
      return sum;
    }
  }, 0);
}

/** What the named tests say in a copy: whether one failed, all passed, or nothing can be told. */
async function run(copy, tests) {
  const [report, built] = [join(copy, "report.json"), join(copy, "dist")];
  for (const path of [report, built]) rmSync(path, { recursive: true, force: true });
  // What is packed, installed or put into an image is what was built. Elsewhere it would stand in for the source with the fault.
  if (tests.some((test) => test.startsWith("tests/deploy/"))) cpSync("dist", built, { recursive: true });
  const vitest = ["node_modules/vitest/vitest.mjs", "run", "--maxWorkers=1", "--bail=1", "--reporter=json"];
  const child = spawn(process.execPath, [...vitest, `--outputFile=${report}`, ...tests], {
    cwd: copy,
    stdio: "ignore",
    timeout: minutesMax * 60_000,
    detached: true,
  });
  // A fault may fill the memory of the machine, beyond what a limit of the heap holds. No test would pass there.
  let isTooLarge = false;
  const watch = setInterval(() => {
    if (sumMemory(child.pid) <= memoryBytesMax) return;
    isTooLarge = true;
    process.kill(-child.pid, "SIGKILL");
  }, 1000);
  const [, signal] = await once(child, "exit");
  clearInterval(watch);
  if (isTooLarge) return "failed";
  if (signal || !existsSync(report)) return "no verdict";
  const { numFailedTests, numPassedTests, success } = JSON.parse(readFileSync(report, "utf8"));
  if (numFailedTests > 0) return "failed";
  // A file that cannot even be loaded fails for a fault of the fault.
  return success && numPassedTests > 0 ? "passed" : "no verdict";
}

const copies = Array.from({ length: shardCount }, makeCopy);
/** Do something with each item, in every copy at the same time. */
async function share(items, work) {
  const left = [...items];
  await Promise.all(
    copies.map(async (copy) => {
      for (let item = left.shift(); item !== undefined; item = left.shift()) await work(copy, item);
    }),
  );
}

const scores = new Map();
await share(
  chosen.filter((one) => !stale.includes(one)),
  async (copy, fault) => {
    const path = join(copy, fault.file);
    const source = readFileSync(path, "utf8");
    writeFileSync(
      path,
      source.replace(fault.text, () => fault.instead),
    );
    const verdict = await run(copy, fault.tests);
    writeFileSync(path, source);
    const score = scores.get(fault.area) ?? { failed: 0, passed: 0, "no verdict": 0 };
    score[verdict] += 1;
    scores.set(fault.area, score);
    const word = { failed: "seen", passed: "NOT SEEN", "no verdict": "no verdict" }[verdict];
    console.log(`${word.padEnd(10)} ${fault.area}/${fault.name}`);
  },
);
const broken = [];
await share(new Set(chosen.map((fault) => fault.tests.join("\n"))), async (copy, tests) => {
  if ((await run(copy, tests.split("\n"))) !== "passed") broken.push(tests);
});
if (broken.length > 0)
  throw new Error(`These tests fail without any fault, so what they see counts for nothing:\n${broken.join("\n")}`);

let isEnough = stale.length === 0;
for (const [area, { failed, passed, "no verdict": open }] of scores) {
  const share = failed / (failed + passed + open);
  if (share < leastShare) isEnough = false;
  console.log(`${area}: ${failed} of ${failed + passed + open} seen, ${(100 * share).toFixed(0)} %`);
}
process.exit(isEnough ? 0 : 1);
