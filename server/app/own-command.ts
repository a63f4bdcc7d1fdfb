import { existsSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { isSea } from "node:sea";
import { getSearchPath } from "../platform/config.ts";
import { resolveBeside } from "./migrations-folder.ts";

/** Where a command would be typed: the folder, the search path and the system of the terminal that started this process. */
type Terminal = { folder: string; searchPath: string; platform: NodeJS.Platform };
type Executable = { path: string; isSingle: boolean };

/** Our executable: the single file that holds everything, or the script beside the built server (dist/) or above the sources. */
function findExecutable(): Executable {
  if (isSea()) return { path: process.execPath, isSingle: true };
  const scripts = [resolveBeside("../bin/floe.js"), resolveBeside("../../bin/floe.js")];
  const path = scripts.find((file) => existsSync(file)) ?? resolveBeside("../bin/floe.js");
  return { path, isSingle: false };
}

const quote = (path: string): string => (/^[\w./:\\-]+$/.test(path) ? path : `"${path}"`);

/** The file that a path leads to through links; undefined if there is none. */
function findFile(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}

/**
 * The command that starts this floe again, for hints. `npx floe` downloads whatever package has that name where none is
 * installed, so it is named only where npx finds this very executable.
 */
export function findOwnCommand(
  { folder, searchPath, platform }: Terminal = {
    folder: process.cwd(),
    searchPath: getSearchPath(),
    platform: process.platform,
  },
  executable: string | Executable = findExecutable(),
): string {
  const isWindows = platform === "win32";
  const { path, isSingle } = typeof executable === "string" ? { path: executable, isSingle: false } : executable;
  const own = findFile(path) ?? path;
  const isOwn = (path: string): boolean => findFile(path) === own;

  // npm and npx put folders of packages first, which a terminal does not have.
  const folders = searchPath
    .split(isWindows ? ";" : ":")
    .filter((entry) => !entry.endsWith(join("node_modules", ".bin")));
  // A link on Unix. On Windows npm writes a script `floe.cmd` beside the global node_modules.
  const program = isWindows ? (isSingle ? "floe.exe" : "floe.cmd") : "floe";
  const isInstalledIn = (entry: string): boolean =>
    isWindows && !isSingle ? isOwn(join(entry, "node_modules", "floe", "bin", "floe.js")) : isOwn(join(entry, program));
  // The first one that has any `floe` is the one that the shell starts.
  const first = folders.find((entry) => existsSync(join(entry, program)));
  if (first !== undefined && isInstalledIn(first)) return "floe";
  if (isSingle) return quote(own);

  for (let at = folder; ; at = dirname(at)) {
    // A project that depends on floe, or a clone of floe.
    if (isOwn(join(at, "node_modules", "floe", "bin", "floe.js"))) return "npx floe";
    if (isOwn(join(at, "bin", "floe.js"))) return "npx floe";
    if (dirname(at) === at) break;
  }
  return `node ${quote(own)}`;
}
