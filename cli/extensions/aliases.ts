/** Aliases: names of the person's own for commands with their flags, kept in `aliases.json` of the settings. */
import { parseBashLine } from "../completion/words.ts";
import { Fault } from "../fault.ts";
import { readSettingsFile } from "../settings.ts";

type Env = Record<string, string | undefined>;
/** Name → the command line that it means, without `floe`. */
export type Aliases = Record<string, string>;

export const aliasFile = "aliases.json";
export const aliasesMax = 100;
const lineMax = 1000;
const placeholder = /\$([1-9])/g;

/** What an alias and an extension may be called. */
export const extensionName = /^[a-z0-9][a-z0-9_-]{0,63}$/i;

export function readAliases(env: Env): Aliases {
  const kept = Object.entries(readSettingsFile(env, aliasFile));
  return Object.fromEntries(
    kept.filter((entry): entry is [string, string] => typeof entry[1] === "string" && extensionName.test(entry[0])),
  );
}

/** The words of a line, as a shell would see them. */
export function splitLine(line: string): string[] {
  if (line.length > lineMax) throw new Fault("usage", `an alias has at most ${lineMax} characters`);
  const { words, last } = parseBashLine(`${line} `);
  if (last.quote !== "") throw new Fault("usage", "a quotation mark of the alias is not closed");
  return words[0] === "floe" ? words.slice(1) : words;
}

/** The words that an alias means, with the arguments that were given: `$1` is the first, and what is left over follows. */
export function expandAlias(name: string, line: string, given: readonly string[]): string[] {
  const used = new Set<number>();
  const words = splitLine(line).map((word) =>
    word.replace(placeholder, (_, digit: string) => {
      const value = given[Number(digit) - 1];
      if (value === undefined)
        throw new Fault("usage", `the alias ${name} needs ${digit} arguments or more`, {
          hint: `It means: floe ${line}`,
        });
      used.add(Number(digit) - 1);
      return value;
    }),
  );
  return [...words, ...given.filter((_, index) => !used.has(index))];
}
