/** Extensions that were installed: what is kept of each in `extensions.json` of the settings, and the program that it means. */
import { accessSync, closeSync, constants, lstatSync, openSync, readdirSync, readSync, realpathSync } from "node:fs";
import { extname, isAbsolute, join, relative, sep } from "node:path";
import { findSettingsFolder } from "../cache-folder.ts";
import { listEndings } from "../find-program.ts";
import { readSettingsFile } from "../settings.ts";

type Env = Record<string, string | undefined>;

export const extensionsFile = "extensions.json";
export const extensionsMax = 100;
/** What an installed extension may be called: small letters, for systems that take no notice of case. */
export const installedName = /^[a-z0-9][a-z0-9_-]{0,63}$/;
/** The folder of one installation: its name, the process that made it, and a number of its own. */
export const installedFolder = /^([a-z0-9][a-z0-9_-]{0,63})\.(\d+)\.[0-9a-f]{8}$/;

export type SourceKind = "folder" | "git" | "npm";
/** What is kept of one extension. */
export type Installed = {
  kind: SourceKind;
  /** The folder, the address of the repository, or the name of the package. */
  source: string;
  /** A folder of `extensions` in the settings; of a folder of the person, its path. */
  folder: string;
  /** The program, from the folder on. */
  program: string;
  version?: string;
  commit?: string;
  /** The tag, commit or version at which it stays. */
  pin?: string;
  installed_at: string;
};
export type Extensions = Record<string, Installed>;

const isText = (value: unknown): value is string => typeof value === "string" && value !== "";

/** Whether an entry of the file is one that floe wrote: a file may be changed by hand. */
function isInstalled(value: unknown): value is Installed {
  if (typeof value !== "object" || value === null) return false;
  const { kind, source, folder, program } = value as Partial<Installed>;
  if (![source, folder, program].every(isText)) return false;
  if (kind === "folder") return isAbsolute(folder ?? "");
  return (kind === "git" || kind === "npm") && installedFolder.test(folder ?? "");
}

export function readInstalled(env: Env): Extensions {
  const kept = Object.entries(readSettingsFile(env, extensionsFile));
  return Object.fromEntries(
    kept.filter((entry): entry is [string, Installed] => installedName.test(entry[0]) && isInstalled(entry[1])),
  );
}

/** Where floe keeps what it installs. */
export const findExtensionsFolder = (env: Env): string => join(findSettingsFolder(env), "extensions");

/** The folder in which an extension is. */
export const locateInstalled = (env: Env, { kind, folder }: Installed): string =>
  kind === "folder" ? folder : join(findExtensionsFolder(env), folder);

/** How to start a program: by itself, or by the Node that runs floe. */
export type Start = { command: string; args: string[]; path: string };

const scripts = new Set([".mjs", ".cjs", ".js"]);
const shebangBytes = 100;

/** Whether a file is for Node: by its name, or by its first line as npm's programs have it. */
function isForNode(path: string): boolean {
  if (scripts.has(extname(path).toLowerCase())) return true;
  const file = openSync(path, "r");
  try {
    const first = Buffer.alloc(shebangBytes);
    const length = readSync(file, first, 0, shebangBytes, 0);
    return /^#!.*\bnode\b/.test(first.toString("latin1", 0, length).split("\n", 1)[0] ?? "");
  } finally {
    closeSync(file);
  }
}

/**
 * How the program of a folder is started; undefined where it is no file of its own, leads out of the folder, or may not be
 * run. What is for Node needs no right to be run, and starts on every system.
 */
export function planProgram(folder: string, program: string, platform = process.platform): Start | undefined {
  const path = join(folder, program);
  try {
    const [inside, whole] = [realpathSync(path), realpathSync(folder)];
    const way = relative(whole, inside);
    if (isAbsolute(way) || way === ".." || way.startsWith(`..${sep}`) || !lstatSync(path).isFile()) return undefined;
    if (isForNode(path)) return { command: process.execPath, args: [path], path };
    if (platform !== "win32") accessSync(path, constants.X_OK);
    return { command: path, args: [], path };
  } catch {
    // It is not there, or this user may not read or run it.
    return undefined;
  }
}

/** The file of a folder that is the program `floe-NAME`; a script for Node also with its ending. */
export function findOwnProgram(
  env: Env,
  folder: string,
  name: string,
  platform = process.platform,
): string | undefined {
  const files = new Set(readdirSync(folder));
  const endings = [...listEndings(env, platform), ...scripts];
  return endings
    .map((ending) => `floe-${name}${ending}`)
    .find((file) => files.has(file) && planProgram(folder, file, platform) !== undefined);
}

/** How to start an installed extension. */
export const planInstalled = (env: Env, one: Installed): Start | undefined =>
  planProgram(locateInstalled(env, one), one.program);
