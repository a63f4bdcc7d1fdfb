import { readFileSync } from "node:fs";
import { join } from "node:path";

declare const FLOE_VERSION: string | undefined;

const here = import.meta.dirname;

/** The version of the package. */
const version = (): string =>
  typeof FLOE_VERSION === "string" ? FLOE_VERSION : (JSON.parse(readFileSync(join(here, "../package.json"), "utf8")) as { version: string }).version;

/** The entry of the program. The two commonest questions are answered before anything else is loaded. */
async function main(argv: string[]): Promise<void> {
  const [first] = argv;
  if (argv.length === 1 && (first === "--version" || first === "-V")) {
    process.stdout.write(`${version()}\n`);
    return;
  }
  if (argv.length === 0 || (argv.length === 1 && (first === "--help" || first === "-h" || first === "help"))) {
    process.stdout.write(readFileSync(join(here, "manifest/help.txt"), "utf8"));
    return;
  }
  const [{ run }, { manifestIn }, { processIo }] = await Promise.all([import("./program.ts"), import("./manifest.ts"), import("./io.ts")]);
  const io = processIo();
  const code = await run(argv, io, manifestIn(join(here, "manifest")), version());
  // A server that could not start has said so itself, in process.exitCode.
  if (code !== 0) process.exitCode = code;
}

void main(process.argv.slice(2));
