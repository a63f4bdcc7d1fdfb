/** `npm run test:of -- server/billing/orders/rules.ts …` runs the tests that `tests/MAP.md` names for these source files. */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, relative } from "node:path";
import { mapPath, parseMap } from "./test-map.ts";

const sources = process.argv.slice(2).map((path) => relative(process.cwd(), path));
const unknown = sources.find((path) => !existsSync(path));
if (sources.length === 0 || unknown !== undefined) {
  console.error(
    unknown ? `There is no file ${unknown}.` : "Name a source file: npm run test:of -- server/billing/orders/rules.ts",
  );
  process.exit(64);
}
const map = parseMap(readFileSync(mapPath, "utf8"));

/** Its own row, or the rows of its folder where no test runs it in its own process; a page runs in a browser, under `tests/web`. */
function findTests(source: string): string[] {
  const own = map.get(source);
  if (own) return own;
  if (source.startsWith("web/")) return ["tests/web/"];
  return [...map].filter(([other]) => dirname(other) === dirname(source)).flatMap(([, tests]) => tests);
}

const tests = [...new Set(sources.flatMap(findTests))];
if (tests.length === 0) {
  console.error(`No test is known to run ${sources.join(", ")}. FLOE_TEST_MAP=1 npm test writes the map again.`);
  process.exit(1);
}
const { status } = spawnSync(process.execPath, ["node_modules/vitest/vitest.mjs", "run", ...tests], {
  stdio: "inherit",
});
process.exit(status ?? 1);
