/** Names that were fetched, kept for a few minutes in files of this user alone. */
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { findCacheFolder } from "../cache-folder.ts";
import type { Candidate } from "./complete.ts";

type Env = Record<string, string | undefined>;
/** `whole`: there are no more than these. */
export type NameList = { candidates: Candidate[]; whole: boolean };

const freshMs = 5 * 60_000;
/** Where the server does not answer, older names are better than none. */
const keptMs = 24 * 3_600_000;
const filesMax = 100;

const findFolder = (env: Env): string | undefined => {
  const folder = findCacheFolder(env);
  return folder && join(folder, "names");
};

function readKept(path: string): { ageMs: number; list: NameList } | undefined {
  try {
    const ageMs = Date.now() - statSync(path).mtimeMs;
    const list = JSON.parse(readFileSync(path, "utf8")) as NameList;
    return ageMs >= 0 && ageMs < keptMs && Array.isArray(list.candidates) ? { ageMs, list } : undefined;
  } catch {
    // There is none yet, or half of one: it is fetched.
    return undefined;
  }
}

function writeKept(folder: string, name: string, list: NameList): void {
  const path = join(folder, name);
  const fresh = `${path}.${process.pid}.new`;
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    writeFileSync(fresh, JSON.stringify(list), { mode: 0o600 });
    renameSync(fresh, path);
    removeOld(folder);
  } catch {
    // A folder that cannot be written, or a full disk: the names are fetched again the next time.
    rmSync(fresh, { force: true });
  }
}

/** Remove what is older than a day, and of too many the oldest. */
function removeOld(folder: string): void {
  const files = readdirSync(folder)
    .map((name) => ({ path: join(folder, name), at: statSync(join(folder, name)).mtimeMs }))
    .sort((a, b) => b.at - a.at);
  for (const [index, { path, at }] of files.entries())
    if (index >= filesMax || Date.now() - at > keptMs) rmSync(path, { force: true });
}

/** The names kept under `key`, or those that `load` fetches. A failure of `load` is thrown only where none are kept. */
export async function loadThroughCache(env: Env, key: string, load: () => Promise<NameList>): Promise<NameList> {
  const folder = findFolder(env);
  const kept = folder ? readKept(join(folder, key)) : undefined;
  if (kept && kept.ageMs < freshMs) return kept.list;
  try {
    const list = await load();
    if (folder) writeKept(folder, key, list);
    return list;
  } catch (error) {
    if (kept) return kept.list;
    throw error;
  }
}

/** Forget every name that was kept. */
export function clearNames(env: Env): void {
  const folder = findFolder(env);
  if (folder) rmSync(folder, { recursive: true, force: true });
}
