import "../shared/walls.ts";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { findCacheFolder, findSettingsFolder } from "./cache-folder.ts";
import { loadCompiled } from "./compiled.ts";
import { getEnvironment } from "./environment.ts";
import { writeAll } from "./output.ts";

declare const FLOE_VERSION: string | undefined;

const here = import.meta.dirname;

/** The version of the package. */
const readVersion = (): string =>
  typeof FLOE_VERSION === "string"
    ? FLOE_VERSION
    : (JSON.parse(readFileSync(join(here, "../package.json"), "utf8")) as { version: string }).version;

/** Whether `floe` alone may have a store to show: a terminal on both ends, and a sign-in or a key. The program then looks closely. */
function canShowStore(): boolean {
  const { isatty } = process.getBuiltinModule("node:tty");
  if (!isatty(0) || !isatty(1)) return false;
  const env = getEnvironment();
  return Boolean(env.FLOE_API_KEY) || existsSync(join(findSettingsFolder(env), "credentials.json"));
}

/** The entry of the program. The two commonest questions are answered before anything else is loaded. */
async function main(argv: string[]): Promise<void> {
  const [first] = argv;
  if (argv.length === 1 && (first === "--version" || first === "-V")) {
    writeAll(1, `${readVersion()}\n`);
    return;
  }
  const isHelp = argv.length === 1 && (first === "--help" || first === "-h" || first === "help");
  if (isHelp || (argv.length === 0 && !canShowStore())) {
    writeAll(1, readFileSync(join(here, "manifest/help.txt"), "utf8"));
    return;
  }
  // Where what V8 made of the program is kept for the next run.
  const compiled = findCacheFolder(getEnvironment());
  const { runCommandLine } = loadCompiled<typeof import("./entry.ts")>(join(here, "cli-main.cjs"), compiled, argv);
  await runCommandLine(argv, readVersion());
}

void main(process.argv.slice(2));
