/** Programs on the person's own PATH. A program that a cloned folder contains is not run. */
import { accessSync, constants, existsSync, readdirSync, realpathSync, statSync } from "node:fs";
import { delimiter, dirname, isAbsolute, join, sep } from "node:path";

type Env = Record<string, string | undefined>;

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
export function listProgramFolders(env: Env, from = process.cwd()): string[] {
  const here = resolveFolder(from) ?? from;
  const repository = findRepository(env, here);
  const folders = (env.PATH ?? env.Path ?? "").split(delimiter).filter(isAbsolute);
  return folders.filter((folder) => {
    const real = resolveFolder(folder);
    if (real === undefined || real.endsWith(join("node_modules", ".bin"))) return false;
    return repository === undefined || !`${real}${sep}`.startsWith(`${repository}${sep}`);
  });
}

const isWindows = process.platform === "win32";
/** How a file is called that Windows runs. */
const endings = isWindows ? [".exe", ".cmd", ".bat"] : [""];

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
export function findProgram(env: Env, name: string, from?: string): string | undefined {
  for (const folder of listProgramFolders(env, from))
    for (const ending of endings) if (isProgram(join(folder, name + ending))) return join(folder, name + ending);
  return undefined;
}

const programsMax = 200;

/** The programs whose names begin so, each once and in the order of the PATH: the rest of the name, and the path. */
export function listPrograms(env: Env, prefix: string, from?: string): { name: string; path: string }[] {
  const found = new Map<string, string>();
  for (const folder of listProgramFolders(env, from)) {
    let files: string[];
    try {
      files = readdirSync(folder).sort();
    } catch {
      // A folder that this user may not list has no programs for them.
      continue;
    }
    for (const file of files) {
      const ending = endings.find((one) => file.startsWith(prefix) && file.endsWith(one));
      const name = ending === undefined ? "" : file.slice(prefix.length, file.length - ending.length);
      if (name === "" || found.has(name) || found.size >= programsMax || !isProgram(join(folder, file))) continue;
      found.set(name, join(folder, file));
    }
  }
  return [...found].map(([name, path]) => ({ name, path }));
}
