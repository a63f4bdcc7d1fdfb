/**
 * `tests/MAP.md`: for each source file the few test files that run all of its functions that any test runs. A full run with
 * `FLOE_TEST_MAP=1` records what each test file runs (`record-coverage.ts`), and writes the map at its end (`write-map.ts`).
 */

/** Where a run records its coverage. Not kept in the repository. */
export const recordingPath = "node_modules/.cache/floe-test-coverage.jsonl";
export const mapPath = "tests/MAP.md";

export type FileCoverage = {
  test: string;
  durationMs: number;
  /** By source file: the offsets of the functions that ran. */
  sources: Record<string, number[]>;
};

/** A source file's tests, the most specific first. */
export type TestMap = Map<string, string[]>;

/** At most so many tests for one source file: a map that names everything says nothing. */
const maxTests = 6;
/** What loading a server costs: without it, a test of one assertion would always come first. */
const fixedCostMs = 2_000;

/** Choose for one source file: repeatedly the test that runs the most functions still missing for its time. */
function chooseTests(runs: { test: string; durationMs: number; functions: Set<number> }[]): string[] {
  const missing = new Set(runs.flatMap(({ functions }) => [...functions]));
  const chosen: string[] = [];
  while (missing.size > 0 && chosen.length < maxTests) {
    const gain = ({ functions }: { functions: Set<number> }) => [...functions].filter((one) => missing.has(one)).length;
    const [best] = runs
      .map((run) => ({ run, worth: gain(run) / (fixedCostMs + run.durationMs) }))
      .sort((a, b) => b.worth - a.worth || a.run.test.localeCompare(b.run.test));
    if (best === undefined) break;
    chosen.push(best.run.test);
    for (const one of best.run.functions) missing.delete(one);
  }
  return chosen;
}

export function buildMap(recorded: FileCoverage[]): TestMap {
  const runs = new Map<string, { test: string; durationMs: number; functions: Set<number> }[]>();
  for (const { test, durationMs, sources } of recorded) {
    for (const [source, offsets] of Object.entries(sources)) {
      const known = runs.get(source) ?? [];
      known.push({ test, durationMs, functions: new Set(offsets) });
      runs.set(source, known);
    }
  }
  return new Map([...runs].sort(([a], [b]) => a.localeCompare(b)).map(([source, all]) => [source, chooseTests(all)]));
}

const head = `# Which tests run which source file

For each source file: the test files that together run its functions, the most specific first. A test that starts another process
(the installed program, a killed server) is counted only for what it runs in its own. \`npm run test:of -- server/billing/orders/rules.ts\`
runs the tests of a file. Written by \`FLOE_TEST_MAP=1 npm test\`, which then runs the long tests too.
`;

export function formatMap(map: TestMap): string {
  const rows = [...map].map(
    ([source, tests]) => `- \`${source}\`: ${tests.map((test) => test.replace(/^tests\//, "")).join(", ")}`,
  );
  return `${head}\n${rows.join("\n")}\n`;
}

export function parseMap(text: string): TestMap {
  const rows = [...text.matchAll(/^- `([^`]+)`: (.+)$/gm)];
  return new Map(rows.map(([, source = "", tests = ""]) => [source, tests.split(", ").map((test) => `tests/${test}`)]));
}
