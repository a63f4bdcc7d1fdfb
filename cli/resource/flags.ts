/** Fields of the wire as flags, and back. */
import { readFileSync } from "node:fs";
import { type Command, InvalidArgumentError, Option } from "commander";
import type { FlagEntry } from "../manifest.ts";
import { shorthands } from "./shorthands.ts";

const kebab = (name: string): string => name.replaceAll("_", "-");
/** The flag of a field, as it is typed. */
export const flagName = (entry: FlagEntry): string =>
  `--${entry.shorthand ? (shorthands[entry.shorthand]?.flag ?? entry.name) : kebab(entry.name)}`;

/** Text, the content of `@file`, or of standard input (`-`), as JSON. */
export function readJson(text: string, readStdin: () => string = () => readFileSync(0, "utf8")): unknown {
  let source = text;
  try {
    if (text === "-") source = readStdin();
    else if (text.startsWith("@")) source = readFileSync(text.slice(1), "utf8");
  } catch (error) {
    throw new InvalidArgumentError(`cannot read ${text} (${(error as NodeJS.ErrnoException).code}).`);
  }
  try {
    return JSON.parse(source) as unknown;
  } catch (error) {
    throw new InvalidArgumentError(`is not JSON: ${(error as Error).message}.`);
  }
}

const scalar = (text: string): unknown =>
  /^(true|false|-?\d{1,15}(\.\d+)?)$/.test(text) ? (JSON.parse(text) as unknown) : text;

/** Two objects, the second over the first at every depth. */
export function laidOver(below: unknown, above: unknown): unknown {
  const isMap = (value: unknown) => typeof value === "object" && value !== null && !Array.isArray(value);
  if (!isMap(below) || !isMap(above)) return above;
  const whole: Record<string, unknown> = { ...(below as object) };
  for (const [key, value] of Object.entries(above as object)) whole[key] = laidOver(whole[key], value);
  return whole;
}

/** `key=value`, several of them, or one JSON object. */
function readMap({ keys }: FlagEntry, text: string, before: Record<string, unknown> = {}): Record<string, unknown> {
  if (text.startsWith("{") || text.startsWith("@")) {
    const value = readJson(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return { ...before, ...value };
    throw new InvalidArgumentError("is not a JSON object.");
  }
  const at = text.indexOf("=");
  if (at < 1) throw new InvalidArgumentError("is written as key=value, or as a JSON object.");
  const [key, value] = [text.slice(0, at), text.slice(at + 1)];
  if (!keys) return { ...before, [key]: scalar(value) };
  const kind = keys[key];
  if (!kind) throw new InvalidArgumentError(`has no ${key}. There are: ${Object.keys(keys).join(", ")}.`);
  const read = readValue({ name: key, kind: kind === "map" ? "json" : kind }, value);
  // From the inside out: subscription.pause=true is { subscription: { pause: true } }.
  const nested = key.split(".").reduceRight<unknown>((inner, name) => ({ [name]: inner }), read);
  return laidOver(before, nested) as Record<string, unknown>;
}

function readNumber(text: string, integer: boolean): number {
  if (!(integer ? /^-?\d{1,15}$/ : /^-?\d+(\.\d+)?$/).test(text)) {
    throw new InvalidArgumentError(integer ? "is not a whole number." : "is not a number.");
  }
  return Number(text);
}

function readChoice(text: string, choices: string[] | undefined): string {
  if (!choices || choices.includes(text)) return text;
  const shown = choices.length > 20 ? `${choices.slice(0, 20).join(", ")}, …` : choices.join(", ");
  throw new InvalidArgumentError(`is none of ${shown}.`);
}

function readBoolean(text: string): boolean {
  if (text === "" || text === "true") return true;
  if (text === "false") return false;
  throw new InvalidArgumentError("is true or false.");
}

const placeholders: Record<FlagEntry["kind"], string> = {
  text: "<text>",
  integer: "<number>",
  number: "<number>",
  boolean: "[true|false]",
  list: "<a,b>",
  map: "<key=value>",
  json: "<json>",
};

/** One value of a flag as it goes on the wire; `before` is what the same flag said earlier on the line. */
export function readValue(entry: FlagEntry, text: string, before?: unknown): unknown {
  switch (entry.kind) {
    case "integer":
    case "number":
      return readNumber(text, entry.kind === "integer");
    case "boolean":
      return readBoolean(text);
    case "list":
      return [
        ...((before as string[] | undefined) ?? []),
        ...text
          .split(",")
          .filter(Boolean)
          .map((one) => readChoice(one, entry.choices)),
      ];
    case "map":
      return readMap(entry, text, before as Record<string, unknown> | undefined);
    case "json":
      return readJson(text);
    default:
      return readChoice(text, entry.choices);
  }
}

function optionOf(entry: FlagEntry): Option {
  const few = entry.choices && entry.choices.length <= 8 ? `<${entry.choices.join("|")}>` : placeholders[entry.kind];
  const keys = entry.keys && `Keys: ${Object.keys(entry.keys).join(", ")}; may be repeated.`;
  const option = new Option(
    `--${kebab(entry.name)} ${entry.kind === "list" ? placeholders.list : few}`,
    [entry.description, keys].filter(Boolean).join(" "),
  );
  return option.argParser((text: string, before: unknown) => readValue(entry, text, before));
}

/** Give a command one flag per field, and the shorthands. */
export function addFlags(command: Command, entries: FlagEntry[], heading: string): void {
  for (const entry of entries) {
    const short = entry.shorthand ? shorthands[entry.shorthand] : undefined;
    if (short) {
      const option = new Option(`--${short.flag} <${short.placeholder}>`, short.description).helpGroup(heading);
      command.addOption(
        option.argParser((text: string, before: string[] | undefined) => {
          short.read([text]);
          return [...(before ?? []), text];
        }),
      );
    }
    const required = entry.required && !short ? " (required)" : "";
    const option = optionOf(entry).helpGroup(heading);
    option.description = `${option.description ?? ""}${required}`.trim();
    command.addOption(option);
  }
}

const attribute = (flag: string): string => flag.replace(/-([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());

/** What the flags of `entries` say, under the wire's own names. */
export function readFlags(entries: FlagEntry[], options: Record<string, unknown>): Record<string, unknown> {
  const said: Record<string, unknown> = {};
  for (const entry of entries) {
    const value = options[attribute(kebab(entry.name))];
    if (value !== undefined) said[entry.name] = value;
    const short = entry.shorthand ? shorthands[entry.shorthand] : undefined;
    const texts = short && (options[attribute(short.flag)] as string[] | undefined);
    if (short && texts) Object.assign(said, short.read(texts));
  }
  return said;
}

/** The flags that may stand without a value, each with what a value of it looks like. */
export function optionalValues(entries: FlagEntry[]): Map<string, RegExp> {
  return new Map([
    // A list of fields has no dash in it; an id has. `get --json ID` therefore means what it says.
    ["--json", /^[a-z_][a-z0-9_.*]*(,[a-z_][a-z0-9_.*]*)*$/i],
    ...entries
      .filter(({ kind }) => kind === "boolean")
      .map(({ name }): [string, RegExp] => [`--${kebab(name)}`, /^(true|false)$/]),
  ]);
}

/** Bind optional values with `=`, so that a flag without one does not swallow the id that follows it. */
export function bindOptionalValues(argv: string[], flags: Map<string, RegExp>): string[] {
  const bound: string[] = [];
  for (let at = 0; at < argv.length; at++) {
    const word = argv[at] ?? "";
    if (word === "--") return [...bound, ...argv.slice(at)];
    const looks = flags.get(word);
    const next = argv[at + 1];
    if (looks && next !== undefined && !next.startsWith("-")) {
      if (looks.test(next)) {
        bound.push(`${word}=${next}`);
        at++;
      } else bound.push(`${word}=`);
    } else bound.push(word);
  }
  return bound;
}
