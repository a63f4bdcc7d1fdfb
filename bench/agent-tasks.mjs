/**
 * Sixty tasks of a seller, done by the commands of bench/agent-tasks/tasks.ts as an agent would type them: calls, bytes of the answers
 * that it reads, and bytes that the API answered. No model is asked. The tasks are run and judged by tests/cli/agent-tasks.long.test.ts.
 *
 *   node bench/agent-tasks.mjs
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Of an answer of the API that is no longer, nothing can be left out. */
const wordyBytes = 100;
const folder = mkdtempSync(join(tmpdir(), "floe-tasks-"));
const table = join(folder, "tasks.json");
const args = ["node_modules/vitest/vitest.mjs", "run", "tests/cli/agent-tasks.long.test.ts", "--reporter=dot"];
const { status } = spawnSync(process.execPath, args, {
  env: { ...process.env, FLOE_TASKS_TABLE: table },
  stdio: ["ignore", 2, 2],
});
const rows = JSON.parse(readFileSync(table, "utf8"));
rmSync(folder, { recursive: true });

const pad = (text, width) => String(text).padStart(width);
console.log(`${"task".padEnd(64)}${pad("calls", 6)}${pad("answer", 9)}${pad("API", 9)}${pad("ratio", 8)}`);
for (const { task, calls, answer, raw } of rows)
  console.log(`${task.padEnd(64)}${pad(calls, 6)}${pad(answer, 9)}${pad(raw, 9)}${pad((answer / raw).toFixed(3), 8)}`);
const sum = (field) => rows.reduce((total, row) => total + row[field], 0);
const ratios = rows.map(({ answer, raw }) => answer / raw).toSorted((a, b) => a - b);
console.log(
  `${rows.length} tasks: ${(sum("calls") / rows.length).toFixed(2)} calls each; ${sum("answer")} bytes of ${sum("raw")}, ` +
    `${(sum("answer") / sum("raw")).toFixed(3)} in all, median ${ratios[Math.floor(ratios.length / 2)].toFixed(3)}`,
);
const long = rows.filter(({ answer, raw }) => answer > raw / 6);
for (const { task, answer, raw } of long)
  console.log(
    `Above a sixth: ${task} (${answer} of ${raw} bytes)${raw <= wordyBytes ? ", as the API answers no more than a word or two itself" : ""}`,
  );
process.exit(status ?? 1);
