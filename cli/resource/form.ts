/** Asking for the required fields that were not given, from the same description that the flags are made of. */
import { InvalidArgumentError } from "commander";
import { askForm } from "../ask.ts";
import type { Context } from "../context.ts";
import { Fault } from "../fault.ts";
import type { FlagEntry } from "../manifest.ts";
import { readValue } from "./flags.ts";
import { shorthands } from "./shorthands.ts";

const read = (entry: FlagEntry, text: string): Record<string, unknown> => {
  const short = entry.shorthand ? shorthands[entry.shorthand] : undefined;
  return short ? short.read(text.split(/\s*,\s*/).filter(Boolean)) : { [entry.name]: readValue(entry, text) };
};

/** Ask for these fields; the answer is under the wire's names. */
export async function askFields(
  context: Context,
  title: string,
  entries: FlagEntry[],
): Promise<Record<string, unknown>> {
  const answers = await askForm(
    context,
    title,
    entries.map((entry) => ({
      name: entry.name,
      label: (entry.shorthand ? shorthands[entry.shorthand]?.flag : undefined) ?? entry.name.replaceAll("_", " "),
      hint: (entry.shorthand ? shorthands[entry.shorthand]?.description : undefined) ?? entry.description ?? "",
      ...(entry.choices && entry.kind === "text" && { choices: entry.choices }),
      ...(entry.kind === "boolean" && { choices: ["true", "false"] }),
      check: (text: string) => {
        if (text.trim() === "") return "is required";
        try {
          read(entry, text);
          return undefined;
        } catch (error) {
          if (error instanceof InvalidArgumentError || error instanceof Fault) return error.message;
          throw error;
        }
      },
    })),
  );
  return Object.assign({}, ...entries.map((entry) => read(entry, answers[entry.name] ?? ""))) as Record<
    string,
    unknown
  >;
}
