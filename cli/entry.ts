import { join } from "node:path";
import { getEnvironment } from "./environment.ts";
import { processIo } from "./io.ts";
import { openManifest } from "./manifest.ts";
import { run } from "./program.ts";
import { showUpdateNotice, updateCommand } from "./update/notice.ts";

/** Run the command line of this process, with the manifest that the build put beside it. */
export async function runCommandLine(argv: string[], version: string): Promise<void> {
  if (argv[0] === updateCommand) {
    await (await import("./update/look.ts")).checkForUpdate(getEnvironment());
    return;
  }
  const io = processIo();
  const code = await run(argv, io, openManifest(join(import.meta.dirname, "manifest")), version);
  if (argv[0] !== "__complete" && !argv.includes("--quiet")) await showUpdateNotice(io, version);
  // Everything is written by now. Taking the process down part by part would take a tenth of the time of a short command.
  process.exit(code);
}
