/** What is no command of floe's own: an alias of the person, an extension that was installed, or a program on the PATH. */
import { join } from "node:path";
import { Fault } from "../fault.ts";
import { findProgram, listPrograms } from "../find-program.ts";
import type { Io } from "../io.ts";
import { expandAlias, extensionName, readAliases } from "./aliases.ts";
import { locateInstalled, planInstalled, readInstalled, type Start } from "./installed.ts";

const prefix = "floe-";
/** Names that only a program of floe's own makes sense of. */
const isExtensionName = (name: string): boolean => extensionName.test(name);

/** The programs on the PATH that are commands of floe. */
export const listPathExtensions = (env: Io["env"]): { name: string; path: string }[] =>
  listPrograms(env, prefix).filter(({ name }) => isExtensionName(name));

/** All programs that are commands of floe. One that was installed comes before one of the same name on the PATH. */
export function listExtensions(env: Io["env"]): { name: string; path: string }[] {
  const installed = Object.entries(readInstalled(env)).map(([name, one]) => ({
    name,
    path: join(locateInstalled(env, one), one.program),
  }));
  const names = new Set(installed.map(({ name }) => name));
  return [...installed, ...listPathExtensions(env).filter(({ name }) => !names.has(name))];
}

/** How to start the extension of this name; undefined where there is none. */
function findExtension(env: Io["env"], name: string): Start | undefined {
  const installed = readInstalled(env);
  const one = Object.hasOwn(installed, name) ? installed[name] : undefined;
  if (one) {
    const start = planInstalled(env, one);
    if (start) return start;
    throw new Fault("error", `the program of the extension ${name} is gone`, {
      hint: `Look: \`floe extension list\`. Install it again, or \`floe extension remove ${name}\``,
    });
  }
  const path = findProgram(env, prefix + name);
  return path === undefined ? undefined : { command: path, args: [], path };
}

/** The command line in place of an alias, or the exit code of an extension; undefined where there is neither. */
export async function resolveOther(
  argv: string[],
  [name = ""]: string[],
  io: Io,
): Promise<string[] | number | undefined> {
  if (!isExtensionName(name)) return undefined;
  const at = argv.indexOf(name);
  const aliases = readAliases(io.env);
  const line = Object.hasOwn(aliases, name) ? aliases[name] : undefined;
  // Flags before the name belong to floe, and stay before the command.
  if (line !== undefined) return [...argv.slice(0, at), ...expandAlias(name, line, argv.slice(at + 1))];
  const start = at === 0 ? findExtension(io.env, name) : undefined;
  if (start === undefined) return undefined;
  const code = await io.runProgram(start.command, [...start.args, ...argv.slice(1)]);
  if (code === undefined)
    throw new Fault("error", `${start.path} cannot be started`, {
      hint: "Check that it is a program for this machine.",
    });
  return code;
}
