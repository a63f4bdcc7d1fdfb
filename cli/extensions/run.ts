/** What is no command of floe's own: an alias of the person, or a program `floe-NAME` on the PATH. */
import { Fault } from "../fault.ts";
import { findProgram, listPrograms } from "../find-program.ts";
import type { Io } from "../io.ts";
import { expandAlias, extensionName, readAliases } from "./aliases.ts";

const prefix = "floe-";
/** Names that only a program of floe's own makes sense of. */
const isExtensionName = (name: string): boolean => extensionName.test(name);

/** The programs that are commands of floe. */
export const listExtensions = (env: Io["env"]): { name: string; path: string }[] =>
  listPrograms(env, prefix).filter(({ name }) => isExtensionName(name));

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
  const path = at === 0 ? findProgram(io.env, prefix + name) : undefined;
  if (path === undefined) return undefined;
  const code = await io.runProgram(path, argv.slice(1));
  if (code === undefined)
    throw new Fault("error", `${path} cannot be started`, { hint: "Check that it is a program for this machine." });
  return code;
}
