import "../shared/walls.ts";
import { readFileSync } from "node:fs";
import { enableCompileCache } from "node:module";
import { join } from "node:path";
import { getEnvironment } from "./environment.ts";
import { writeAll } from "./output.ts";

declare const FLOE_VERSION: string | undefined;

const here = import.meta.dirname;

/** The version of the package. */
const version = (): string =>
  typeof FLOE_VERSION === "string"
    ? FLOE_VERSION
    : (JSON.parse(readFileSync(join(here, "../package.json"), "utf8")) as { version: string }).version;

/** Keep the compiled program for the next run: a tenth of the time of a short command. Where it cannot be kept, nothing is lost. */
function keepCompiled(env: Record<string, string | undefined>): void {
  const cache = env.XDG_CACHE_HOME || env.LOCALAPPDATA || (env.HOME && join(env.HOME, ".cache"));
  if (cache) enableCompileCache?.(join(cache, "floe"));
}

/** The entry of the program. The two commonest questions are answered before anything else is loaded. */
async function main(argv: string[]): Promise<void> {
  const [first] = argv;
  if (argv.length === 1 && (first === "--version" || first === "-V")) {
    writeAll(1, `${version()}\n`);
    return;
  }
  if (argv.length === 0 || (argv.length === 1 && (first === "--help" || first === "-h" || first === "help"))) {
    writeAll(1, readFileSync(join(here, "manifest/help.txt"), "utf8"));
    return;
  }
  keepCompiled(getEnvironment());
  const { runCommandLine: commandLine } = await import("./entry.ts");
  await commandLine(argv, version());
}

void main(process.argv.slice(2));
