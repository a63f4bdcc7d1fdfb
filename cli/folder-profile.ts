/** The profile of a folder: `.floe/config`, in this folder or above it, up to the root of the repository or the home folder. */
import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { Fault } from "./fault.ts";

type Env = Record<string, string | undefined>;

const bytesMax = 4096;
const getPath = (folder: string): string => join(folder, ".floe", "config");

/** The folders in which the file is looked for. Outside a repository and the home folder it is the current one alone. */
function listFolders(env: Env, from: string): string[] {
  const home = env.HOME ?? process.getBuiltinModule("node:os").homedir();
  const folders: string[] = [];
  for (let folder = from; ; folder = dirname(folder)) {
    folders.push(folder);
    if (folder === home || existsSync(join(folder, ".git"))) return folders;
    if (dirname(folder) === folder) return [from];
  }
}

/** Read the name of a profile. A cloned repository may bring the file: it can name a profile of yours, and nothing else. */
function readProfileName(path: string): string {
  const createFault = (what: string): Fault =>
    new Fault("error", `${path} ${what}`, {
      hint: 'It holds {"profile": "NAME"}. Write it by: `floe profiles pin NAME`',
    });
  const found = statSync(path);
  // A link to a device, as /dev/zero, would be read without end.
  if (!found.isFile()) throw createFault("is not a file");
  if (found.size > bytesMax) throw createFault("is too long");
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(path, "utf8"));
  } catch {
    throw createFault("is not JSON");
  }
  const { profile, ...others } = (typeof value === "object" && value !== null ? value : {}) as Record<string, unknown>;
  const [other] = Object.keys(others);
  if (other !== undefined)
    throw createFault("may name a profile, and nothing else: no server, no key, no organization");
  if (typeof profile !== "string" || !/^[\w.-]{1,100}$/.test(profile)) throw createFault("names no profile");
  return profile;
}

/** The profile that the current folder is pinned to, and the file that says so. */
export function findFolderProfile(env: Env, from = process.cwd()): { profile: string; path: string } | undefined {
  const path = listFolders(env, from)
    .map(getPath)
    .find((one) => existsSync(one));
  return path === undefined ? undefined : { profile: readProfileName(path), path };
}
