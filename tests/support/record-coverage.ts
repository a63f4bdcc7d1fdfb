/**
 * Records which functions each test file runs in its worker, for `tests/MAP.md`. Active only with `FLOE_TEST_MAP=1`. One line of
 * JSON for each test file: its path, its duration, and for each source file the functions that ran.
 */
import { appendFileSync } from "node:fs";
import { Session } from "node:inspector/promises";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect } from "vitest";
import { type FileCoverage, recordingPath } from "./test-map.ts";

/** One profiler serves all files of a worker: they share its modules. */
const shared = globalThis as typeof globalThis & { coverageSession?: Session };

async function openSession(): Promise<Session> {
  if (shared.coverageSession) return shared.coverageSession;
  const session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  shared.coverageSession = session;
  return session;
}

/** The functions that ran since the last call, by source file. The function at offset 0 is the module itself. */
async function takeCoverage(): Promise<FileCoverage["sources"]> {
  const { result } = await (await openSession()).post("Profiler.takePreciseCoverage");
  const sources: FileCoverage["sources"] = {};
  for (const { url, functions } of result) {
    if (!url.startsWith("file://")) continue;
    const path = relative(process.cwd(), fileURLToPath(url));
    if (!/^(server|shared|cli|web)\//.test(path)) continue;
    const offsets = functions
      .map(({ ranges }) => ranges[0])
      .filter((range) => range !== undefined && range.count > 0)
      .map((range) => range?.startOffset ?? 0)
      .filter((offset) => offset > 0);
    if (offsets.length > 0) sources[path] = offsets;
  }
  return sources;
}

if (process.env.FLOE_TEST_MAP === "1") {
  let startedAt = 0;
  beforeAll(async () => {
    startedAt = performance.now();
    await takeCoverage();
  });
  afterAll(async () => {
    const line: FileCoverage = {
      test: relative(process.cwd(), expect.getState().testPath ?? ""),
      durationMs: performance.now() - startedAt,
      sources: await takeCoverage(),
    };
    appendFileSync(recordingPath, `${JSON.stringify(line)}\n`);
  });
}
