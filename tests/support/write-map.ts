import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import type { Reporter } from "vitest/node";
import { buildMap, type FileCoverage, formatMap, mapPath, recordingPath } from "./test-map.ts";

/** Writes `tests/MAP.md` at the end of a run that recorded its coverage. */
export class MapWriter implements Reporter {
  onTestRunStart(): void {
    rmSync(recordingPath, { force: true });
    mkdirSync(dirname(recordingPath), { recursive: true });
  }
  onTestRunEnd(): void {
    if (!existsSync(recordingPath)) return;
    const lines = readFileSync(recordingPath, "utf8").trim().split("\n");
    writeFileSync(mapPath, formatMap(buildMap(lines.map((line): FileCoverage => JSON.parse(line)))));
  }
}
