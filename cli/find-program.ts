/** Programs on the person's own PATH. A program that a cloned folder contains is not run. */
import { accessSync, constants, existsSync, readdirSync, realpathSync, statSync } from "node:fs";
import { dirname, join, posix, sep, win32 } from "node:path";

type Env = Record<string, string | undefined>;
/** Where a command is typed: in which folder, on which system. */
type Terminal = { from?: string; platform?: NodeJS.Platform };

/** The root of the repository that holds a folder. The home folder is none, also where its settings are under git. */
function findRepository(env: Env, from: string): string | undefined {
  const home = env.HOME ?? process.getBuiltinModule("node:os").homedir();
  for (let folder = from; folder !== home; folder = dirname(folder)) {
    if (existsSync(join(folder, ".git"))) return folder;
    if (dirname(folder) === folder) return undefined;
  }
  return undefined;
}

/** A folder without links; undefined where there is none. */
function resolveFolder(folder: string): string | undefined {
  try {
    return realpathSync(folder);
  } catch {
    // A PATH may name folders that are not there.
    return undefined;
  }
}

/** The folders of the PATH in which programs are looked for: none of the current repository, and none of its packages. */
function listProgramFolders(env: Env, { from = process.cwd(), platform = process.platform }: Terminal): string[] {
  const here = resolveFolder(from) ?? from;
  const repository = findRepository(env, here);
  const { delimiter, isAbsolute } = platform === "win32" ? win32 : posix;
  const folders = (env.PATH ?? env.Path ?? "").split(delimiter).filter((folder) => isAbsolute(folder));
  return folders.filter((folder) => {
    const real = resolveFolder(folder);
    if (real === undefined || real.endsWith(join("node_modules", ".bin"))) return false;
    return repository === undefined || !`${real}${sep}`.startsWith(`${repository}${sep}`);
  });
}

/** How the files are called that Windows starts without the program of some other file, in its usual order. */
const windowsEndings = [".com", ".exe", ".bat", ".cmd"];

/** What stands after the name of a program: on Windows what PATHEXT says, of what can be started. */
export function listEndings(env: Env, platform: NodeJS.Platform = process.platform): string[] {
  if (platform !== "win32") return [""];
  const wanted = (env.PATHEXT ?? "").toLowerCase().split(";");
  const known = wanted.filter((ending) => windowsEndings.includes(ending));
  return known.length > 0 ? known : windowsEndings;
}

function isProgram(path: string): boolean {
  try {
    if (!statSync(path).isFile()) return false;
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    // It is not there, or this user may not run it.
    return false;
  }
}

/** The path of a program; undefined where there is none. */
export function findProgram(env: Env, name: string, where: Terminal = {}): string | undefined {
  for (const folder of listProgramFolders(env, where))
    for (const ending of listEndings(env, where.platform))
      if (isProgram(join(folder, name + ending))) return join(folder, name + ending);
  return undefined;
}

const programsMax = 200;
type Program = { name: string; path: string };

/** The programs whose names begin so, each once and in the order of the PATH: the rest of the name, and the path. */
export function listPrograms(env: Env, prefix: string, where: Terminal = {}): Program[] {
  const found = new Map<string, string>();
  const { platform = process.platform } = where;
  const endings = listEndings(env, platform);
  // Windows takes no notice of case.
  const normalize = (file: string): string => (platform === "win32" ? file.toLowerCase() : file);
  for (const folder of listProgramFolders(env, where)) {
    let files: string[];
    try {
      files = readdirSync(folder).sort();
    } catch {
      // A folder that this user may not list has no programs for them.
      continue;
    }
    // Of two files of one name, the one that would be started is shown.
    for (const ending of endings)
      for (const file of files) {
        const called = normalize(file);
        const isOurs = called.startsWith(prefix) && called.endsWith(ending);
        const name = isOurs ? called.slice(prefix.length, called.length - ending.length) : "";
        if (name === "" || found.has(name) || found.size >= programsMax || !isProgram(join(folder, file))) continue;
        found.set(name, join(folder, file));
      }
  }
  return [...found].map(([name, path]) => ({ name, path }));
}
