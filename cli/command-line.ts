import { join } from "node:path";
import { processIo } from "./io.ts";
import { manifestIn } from "./manifest.ts";
import { run } from "./program.ts";

/** Run the command line of this process, with the manifest that the build put beside it. */
export async function commandLine(argv: string[], version: string): Promise<void> {
  const code = await run(argv, processIo(), manifestIn(join(import.meta.dirname, "manifest")), version);
  // A server that could not start has said so itself, in process.exitCode.
  if (code !== 0) process.exitCode = code;
}
