/** Puts extensions into the settings and takes them out. An installation is there whole, or not at all. */
import { randomBytes } from "node:crypto";
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Context } from "../context.ts";
import { Fault } from "../fault.ts";
import { findProgram } from "../find-program.ts";
import { changePrivate } from "../settings-write.ts";
import { readAliases } from "./aliases.ts";
import { fetchGit, findGitRelease, type Release } from "./git.ts";
import {
  type Extensions,
  extensionsFile,
  extensionsMax,
  findExtensionsFolder,
  findOwnProgram,
  type Installed,
  installedFolder,
  planProgram,
  readInstalled,
} from "./installed.ts";
import { fetchNpm, findNpmProgram, findNpmRelease } from "./npm.ts";
import type { Tool } from "./run-tool.ts";
import type { Source } from "./source.ts";

/** How many seconds git or npm may take where --timeout does not say it. */
const limits = { look: 30, fetch: 180 };

const makeTool = ({ io, globals }: Context, kind: keyof typeof limits): Tool => ({
  env: io.env,
  signal: io.signal,
  limitMs: (globals.timeout ?? limits[kind]) * 1000,
});

/** Which state of a source would be installed; a folder has none. */
export async function findRelease(context: Context, { kind, source, pin }: Source): Promise<Release> {
  if (kind === "folder") return {};
  const tool = makeTool(context, "look");
  return kind === "git" ? findGitRelease(source, pin, tool) : findNpmRelease(source, pin, tool);
}

/** Refuse a name that already means something else. */
export function checkName({ io }: Context, builtIn: ReadonlySet<string>, name: string): void {
  if (builtIn.has(name))
    throw new Fault("conflict", `${name} is a command of floe, which an extension cannot replace`, {
      hint: "Ask its author for another name.",
    });
  if (Object.hasOwn(readAliases(io.env), name))
    throw new Fault("conflict", `${name} is an alias of yours`, {
      hint: `Delete it first: \`floe alias delete ${name}\``,
    });
  const path = findProgram(io.env, `floe-${name}`);
  if (path !== undefined)
    throw new Fault("conflict", `floe ${name} already runs ${path}`, { hint: "Remove that program first." });
}

const isRunning = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
};

/** Folders that this process fills. */
const filling = new Set<string>();

/** Remove what no installation uses: what a killed floe has left, and what was replaced. */
function removeLeftovers(env: Context["io"]["env"]): void {
  const folder = findExtensionsFolder(env);
  const used = new Set(Object.values(readInstalled(env)).map((one) => one.folder));
  for (const name of readdirSync(folder)) {
    const [, , pid] = installedFolder.exec(name) ?? [];
    const isFilled = Number(pid) === process.pid ? filling.has(name) : isRunning(Number(pid));
    if (pid !== undefined && !used.has(name) && !isFilled) rmSync(join(folder, name), { recursive: true, force: true });
  }
}

/** Fetch one state into a folder of its own; it is removed again where something is wrong with it. */
async function fetchInto(
  context: Context,
  source: Source,
  release: Release,
): Promise<{ folder: string; program: string }> {
  const { name, kind, source: from, pin } = source;
  const { env } = context.io;
  const all = findExtensionsFolder(env);
  mkdirSync(all, { recursive: true, mode: 0o700 });
  removeLeftovers(env);
  const folder = `${name}.${process.pid}.${randomBytes(4).toString("hex")}`;
  const path = join(all, folder);
  filling.add(folder);
  mkdirSync(path, { mode: 0o700 });
  try {
    const tool = makeTool(context, "fetch");
    if (kind === "git") await fetchGit(from, release, pin, path, tool);
    else await fetchNpm(from, release, path, tool);
    const program = kind === "git" ? findOwnProgram(env, path, name) : findNpmProgram(from, release, path, name);
    return { folder, program: requireProgram(path, name, program) };
  } catch (error) {
    filling.delete(folder);
    rmSync(path, { recursive: true, force: true });
    throw error;
  }
}

function requireProgram(folder: string, name: string, program: string | undefined): string {
  if (program !== undefined && planProgram(folder, program) !== undefined) return program;
  throw new Fault("error", `there is no program floe-${name} in it`, {
    hint: `An extension has a program floe-${name} that may be run, or floe-${name}.mjs. npm: as "bin" of package.json.`,
  });
}

/** Whether more extensions may be installed. */
function checkCount(before: Extensions, name: string): void {
  if (!Object.hasOwn(before, name) && Object.keys(before).length >= extensionsMax)
    throw new Fault("error", `there are ${extensionsMax} extensions already`, {
      hint: "Remove one: `floe extension remove NAME`",
    });
}

/** Fetch an extension and put it in place, at once. What was there before is removed afterwards. */
export async function putExtension(context: Context, source: Source, release: Release, now: Date): Promise<Installed> {
  const { env } = context.io;
  checkCount(readInstalled(env), source.name);
  const { name, kind, source: from, pin } = source;
  const place =
    kind === "folder"
      ? { folder: from, program: requireProgram(from, name, findOwnProgram(env, from, name)) }
      : await fetchInto(context, source, release);
  const installed: Installed = {
    kind,
    source: from,
    ...place,
    ...release,
    ...(pin !== undefined && { pin: release.version ?? pin }),
    installed_at: now.toISOString(),
  };
  await changePrivate<Extensions>(env, extensionsFile, (before) => ({ ...before, [name]: installed }));
  filling.delete(installed.folder);
  if (kind !== "folder") removeLeftovers(env);
  return installed;
}

/** Forget an extension, and then remove what was installed of it. A folder of the person stays as it is. */
export async function removeExtension(env: Context["io"]["env"], name: string): Promise<void> {
  await changePrivate<Extensions>(env, extensionsFile, ({ [name]: _, ...others }) => others);
  mkdirSync(findExtensionsFolder(env), { recursive: true, mode: 0o700 });
  removeLeftovers(env);
}
