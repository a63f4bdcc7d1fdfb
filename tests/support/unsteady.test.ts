import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";

/** Run one of the fixtures as `.ci/run` runs the tests: what fails is run once more. */
function runFixture(name: string) {
  const vitest = ["node_modules/vitest/vitest.mjs", "run", "--config", "tests/fixtures/unsteady/vitest.config.ts"];
  const { status, stderr } = spawnSync(process.execPath, [...vitest, "--retry=1", name], { encoding: "utf8" });
  return { status, isNamed: stderr.includes(`tests/fixtures/unsteady/${name}.ts > `) };
}

test.each([
  ["a test that passes only when it is run again is named, and fails the run", "fails-first", 1, true],
  ["a test that passes at once does neither", "passes", 0, false],
])("%s", (_, name, status, isNamed) => {
  expect(runFixture(name)).toEqual({ status, isNamed });
});
