import { existsSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { getSearchPath } from "../platform/config.ts";
import { resolveBeside } from "./migrations-folder.ts";

/** Where a command would be typed: the folder, the search path and the system of the terminal that started this process. */
type Terminal = { folder: string; searchPath: string; platform: NodeJS.Platform };

/** Our executable, beside the built server (dist/) or above the sources. */
const findExecutable = (): string =>
  [resolveBeside("../bin/floe.js"), resolveBeside("../../bin/floe.js")].find((file) => existsSync(file)) ??
  resolveBeside("../bin/floe.js");

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
  executable = findExecutable(),
): string {
  const isWindows = platform === "win32";
  const own = findFile(executable) ?? executable;
  const isOwn = (path: string): boolean => findFile(path) === own;

  // npm and npx put folders of packages first, which a terminal does not have.
  const folders = searchPath
    .split(isWindows ? ";" : ":")
    .filter((entry) => !entry.endsWith(join("node_modules", ".bin")));
  // A link on Unix. On Windows npm writes a script `floe.cmd` beside the global node_modules.
  const isInstalledIn = (entry: string): boolean =>
    isWindows ? isOwn(join(entry, "node_modules", "floe", "bin", "floe.js")) : isOwn(join(entry, "floe"));
  // The first one that has any `floe` is the one that the shell starts.
  const first = folders.find((entry) => existsSync(join(entry, isWindows ? "floe.cmd" : "floe")));
  if (first !== undefined && isInstalledIn(first)) return "floe";

  for (let at = folder; ; at = dirname(at)) {
    // A project that depends on floe, or a clone of floe.
    if (isOwn(join(at, "node_modules", "floe", "bin", "floe.js"))) return "npx floe";
    if (isOwn(join(at, "bin", "floe.js"))) return "npx floe";
    if (dirname(at) === at) break;
  }
  return `node ${/^[\w./:\\-]+$/.test(own) ? own : `"${own}"`}`;
}
