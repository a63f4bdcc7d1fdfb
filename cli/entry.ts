import { join } from "node:path";
import { processIo } from "./io.ts";
import { openManifest } from "./manifest.ts";
import { run } from "./program.ts";

/** Run the command line of this process, with the manifest that the build put beside it. */
export async function runCommandLine(argv: string[], version: string): Promise<void> {
  const code = await run(argv, processIo(), openManifest(join(import.meta.dirname, "manifest")), version);
  // Everything is written by now. Taking the process down part by part would take a tenth of the time of a short command.
  process.exit(code);
}
