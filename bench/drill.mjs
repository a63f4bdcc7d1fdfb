/**
 * The drills of docs/operating.md: each starts real processes, breaks something, prints what an operator sees, and says of each promise
 * whether it held. A promise that did not hold is exit code 1; a drill that this machine cannot do is exit code 2.
 *
 *   npm run drill                      the names of the drills
 *   npm run drill fail-over restore    these drills, one after the other; needs Node 24, as it reads TypeScript
 *   npm run drill all
 */
import { spawnSync } from "node:child_process";
import { loadavg } from "node:os";
import { fileURLToPath } from "node:url";
import "../shared/walls.ts";
import { drills, runDrill } from "../tests/support/drills.ts";

const rollingDeploy = "rolling-deploy";
const names = [...Object.keys(drills), rollingDeploy];
const asked = process.argv.slice(2).flatMap((name) => (name === "all" ? names : [name]));
const unknown = asked.filter((name) => !names.includes(name));
if (asked.length === 0 || unknown.length > 0) {
  if (unknown.length > 0) console.error(`There is no drill ${unknown.join(", ")}.`);
  for (const [name, { about }] of Object.entries(drills)) console.log(`${name.padEnd(16)}${about}`);
  console.log(`${rollingDeploy.padEnd(16)}three servers are replaced under load, and one is killed`);
  process.exit(unknown.length > 0 ? 1 : 0);
}
for (const name of asked) {
  console.log(`\n${name}`);
  const began = performance.now();
  const code = name === rollingDeploy ? runRollingDeploy() : await run(drills[name]);
  const seconds = ((performance.now() - began) / 1000).toFixed(0);
  console.log(
    `${name}: ${["held", "BROKEN", "not possible here"][code]}, ${seconds} s, load ${loadavg()[0].toFixed(1)}`,
  );
  process.exitCode = Math.max(Number(process.exitCode ?? 0), code);
}
process.exit();

async function run(drill) {
  try {
    await runDrill(drill, (line) => console.log(line));
    return 0;
  } catch (error) {
    console.log(`  ${error.name}: ${error.message}`);
    return error.name === "ImpossibleHere" ? 2 : 1;
  }
}

function runRollingDeploy() {
  const program = fileURLToPath(new URL("rolling-deploy.mjs", import.meta.url));
  return spawnSync(process.execPath, [program, "600", "3"], { stdio: "inherit" }).status === 0 ? 0 : 1;
}
