import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Script } from "node:vm";

/** By what name a file that is loaded so imports its parts: without a loader of its own, it has no `import()`. */
export const import_name = "importPart";
/** What stands around the program in its file. Put there by the build, it costs no copy of the whole text at each start. */
export const scriptStart = `(function (exports, require, module, __filename, __dirname, ${import_name}) {`;
export const scriptEnd = "\n})";
const commandsMax = 64;
const wordMax = 40;
const lineEnd = 0x0a;

/** What V8 has made of a build of the program, and for which commands. */
type Compiled = { build: string; commands: string[]; code: Buffer };

/** The first two words of a command line: what they need of the program is known well enough by them. */
const formatCommand = (argv: string[]): string =>
  argv
    .filter((word) => word.length <= wordMax && /^[a-z][a-z-]*$/.test(word))
    .slice(0, 2)
    .join(" ");

/** What an earlier run has kept: a line that says of what, and how long it is, then what V8 made. */
function readCompiled(path: string): Compiled | undefined {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch {
    // There is none yet, or this user may not read it: the program is compiled.
    return undefined;
  }
  const end = bytes.indexOf(lineEnd);
  const [build = "", length, ...commands] = bytes.toString("latin1", 0, Math.max(end, 0)).split(",");
  const code = bytes.subarray(end + 1);
  return code.length === Number(length) ? { build, commands, code } : undefined;
}

function writeCompiled(path: string, { build, commands, code }: Compiled): void {
  const own = `${path}.${process.pid}`;
  try {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(own, Buffer.concat([Buffer.from(`${[build, code.length, ...commands].join(",")}\n`), code]), {
      mode: 0o600,
    });
    renameSync(own, path);
  } catch {
    // A folder that cannot be written, or a full disk: the next run is slower, and nothing else.
    if (existsSync(own)) rmSync(own, { force: true });
  }
}

/**
 * Load a file that stands between `scriptStart` and `scriptEnd` as `require` does, and keep in `folder` what V8 has compiled of
 * it by the end of the process.
 * Node's own store has of a file what is compiled as it is read, not the functions that are called then, on which a short
 * command spends half of its own time. V8 refuses what another version of it has made. The file is ASCII, which is read and
 * compiled as one byte for each character.
 */
export function loadCompiled<Exports>(file: string, folder: string | undefined, argv: string[]): Exports {
  const { mtimeMs, size } = statSync(file);
  const build = `${size}-${mtimeMs}`;
  const path = folder && join(folder, `cli-${process.version}-${process.arch}`);
  const kept = path ? readCompiled(path) : undefined;
  const code = kept?.build === build ? kept.code : undefined;
  const script = new Script(readFileSync(file, "latin1"), { filename: file, ...(code && { cachedData: code }) });
  const commands = code && !script.cachedDataRejected ? (kept?.commands ?? []) : [];
  const command = formatCommand(argv);
  if (path && !commands.includes(command) && commands.length < commandsMax)
    process.once("exit", () =>
      writeCompiled(path, { build, commands: [...commands, command], code: script.createCachedData() }),
    );
  const module = { exports: {} };
  // The module loader of Node is loaded by what needs it: parts of the program, and packages.
  const importPart = (name: string) => {
    if (folder) process.getBuiltinModule("node:module").enableCompileCache?.(folder);
    return import(name);
  };
  const requirePackage = (name: string): unknown =>
    process.getBuiltinModule(name) ?? process.getBuiltinModule("node:module").createRequire(file)(name);
  script.runInThisContext()(module.exports, requirePackage, module, file, dirname(file), importPart);
  return module.exports as Exports;
}
