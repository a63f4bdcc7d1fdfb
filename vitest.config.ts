import { defineConfig } from "vitest/config";
import { patienceMs } from "./tests/support/eventually.ts";
import { LongestFirst } from "./tests/support/sequence.ts";
import { Unsteady } from "./tests/support/unsteady.ts";
import { MapWriter } from "./tests/support/write-map.ts";

// Vitest and floe use what Node 24 has: an older Node would fail in the middle of something.
if (Number(process.versions.node.split(".")[0]) < 24) {
  console.error(`The tests need Node 24 or newer; this is ${process.versions.node}. Run: npm test -- tests/FILE`);
  process.exit(1);
}

/** `npm test` leaves out the long tests, `npm run test:long` runs them alone; who names a file may name either. */
const part = process.env.FLOE_TESTS;
const long = "tests/**/*.long.test.{ts,tsx}";

export default defineConfig({
  test: {
    include: part === "long" ? [long] : ["tests/**/*.test.{ts,tsx}"],
    exclude: part === "short" ? [long] : [],
    setupFiles: ["tests/support/release-module.ts", "tests/support/record-coverage.ts", "tests/support/file-budget.ts"],
    globalSetup: "tests/support/shared-postgres.ts",
    // Whole servers and browsers run in these tests, on machines of two cores: a third one works while the others wait.
    maxWorkers: 3,
    // No test changes what modules share, and loading the server anew for each file took a fifth of the time.
    isolate: false,
    reporters: ["default", new Unsteady(), ...(process.env.FLOE_TEST_MAP === "1" ? [new MapWriter()] : [])],
    sequence: { sequencer: LongestFirst },
    // Tests of the terminal play a person at it, also where continuous integration runs them.
    env: { CI: "false", FLOE_KEYCHAIN: "off" },
    // What is broken is told in the end; what is slow, on a machine that is busy with something else, still passes.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    // A test that reaches no expectation is one that cannot fail.
    expect: { requireAssertions: true, poll: { timeout: patienceMs, interval: 20 } },
  },
});
