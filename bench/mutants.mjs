/**
 * How many planted faults the tests see, for each area. A fault is a text of one source file and what stands in its place;
 * it is seen when a test fails in the files that are named with it. Everything happens in a copy of the checkout. Prints
 * each fault that no test saw, and the share of the seen ones; below 85 % of an area the exit code is 1.
 *
 *   node bench/mutants.mjs [area or fault …]     all of them without a name; slow: each fault is a run of its tests
 *   node bench/mutants.mjs --check               only whether each text is still to be found, once, in its file
 */
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { faults } from "./support/faults.mjs";

const leastShare = 0.85;
const minutesMax = 15;
const asked = process.argv.slice(2).filter((name) => name !== "--check");
const all = Object.entries(faults).flatMap(([area, list]) =>
  list.map(([name, file, text, instead, ...tests]) => ({ area, name, file, text, instead, tests })),
);
const chosen = all.filter(({ area, name }) => asked.length === 0 || asked.includes(area) || asked.includes(name));
if (chosen.length === 0) throw new Error(`There is no area and no fault of these names: ${asked.join(", ")}.`);

const stale = chosen.filter(({ file, text, tests }) => {
  const isThere = existsSync(file) && readFileSync(file, "utf8").split(text).length === 2;
  return !isThere || tests.some((test) => !existsSync(test));
});
for (const { area, name, file } of stale)
  console.log(`${area}/${name}: its text does not stand once in ${file}, or a test file is gone. Plant it elsewhere.`);
if (process.argv.includes("--check")) process.exit(stale.length === 0 ? 0 : 1);

const copy = mkdtempSync(join(tmpdir(), "floe-mutants-"));
process.once("exit", () => rmSync(copy, { recursive: true, force: true }));
for (const file of execFileSync("git", ["ls-files", "-co", "--exclude-standard"], { encoding: "utf8" }).split("\n"))
  if (file !== "" && file !== "node_modules" && existsSync(file)) cpSync(file, join(copy, file), { recursive: true });
symlinkSync(resolve("node_modules"), join(copy, "node_modules"));

/** What the named tests say: whether one failed, all passed, or nothing can be told. */
function run(tests) {
  const report = join(copy, "report.json");
  rmSync(report, { force: true });
  const vitest = ["node_modules/vitest/vitest.mjs", "run", "--maxWorkers=1", "--bail=1", "--reporter=json"];
  const { error } = spawnSync(process.execPath, [...vitest, `--outputFile=${report}`, ...tests], {
    cwd: copy,
    stdio: "ignore",
    timeout: minutesMax * 60_000,
  });
  if (error || !existsSync(report)) return "no verdict";
  const { numFailedTests, numPassedTests, success } = JSON.parse(readFileSync(report, "utf8"));
  if (numFailedTests > 0) return "failed";
  // A file that cannot even be loaded fails for a fault of the fault.
  return success && numPassedTests > 0 ? "passed" : "no verdict";
}

const scores = new Map();
for (const fault of chosen.filter((one) => !stale.includes(one))) {
  const path = join(copy, fault.file);
  const source = readFileSync(path, "utf8");
  writeFileSync(
    path,
    source.replace(fault.text, () => fault.instead),
  );
  const verdict = run(fault.tests);
  writeFileSync(path, source);
  const score = scores.get(fault.area) ?? { failed: 0, passed: 0, "no verdict": 0 };
  score[verdict] += 1;
  scores.set(fault.area, score);
  const word = { failed: "seen", passed: "NOT SEEN", "no verdict": "no verdict" }[verdict];
  console.log(`${word.padEnd(10)} ${fault.area}/${fault.name}`);
}
for (const tests of new Set(chosen.map((fault) => fault.tests.join("\n"))))
  if (run(tests.split("\n")) !== "passed")
    throw new Error(`These tests fail without any fault, so what they see counts for nothing:\n${tests}`);

let isEnough = stale.length === 0;
for (const [area, { failed, passed, "no verdict": open }] of scores) {
  const share = failed / (failed + passed + open);
  if (share < leastShare) isEnough = false;
  console.log(`${area}: ${failed} of ${failed + passed + open} seen, ${(100 * share).toFixed(0)} %`);
}
process.exit(isEnough ? 0 : 1);
