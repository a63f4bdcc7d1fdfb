/** Whether a word is a command of floe. Such a word never means an alias or a program of the person. */
import type { CommandTree } from "./command-description.ts";
import { Fault } from "./fault.ts";
import type { Manifest } from "./manifest.ts";

/** Words that are commands without an entry in the list of commands. */
export const reservedWords: readonly string[] = ["help", "version"];

/** The words that are commands of floe, from the list that the build wrote. */
export function listBuiltIn(manifest: Manifest): ReadonlySet<string> {
  const tree = manifest.read("commands") as CommandTree | undefined;
  if (!tree) throw new Fault("error", "the list of commands is missing", { hint: "Install floe again." });
  return new Set([...tree.groups.map(({ name }) => name), ...reservedWords]);
}
