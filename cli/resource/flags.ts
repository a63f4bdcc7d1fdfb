/** Fields of the wire as flags, and back. */
import { type Command, Option } from "commander";
import { Fault } from "../fault.ts";
import type { FlagEntry, OperationEntry } from "../manifest.ts";
import { nestEntries } from "./maps.ts";
import { type DefaultValue, type Kind, readIdOrName, type Shorthand } from "./shorthand.ts";
import { findPlaces, join, type TypedInput } from "./typed.ts";
import { readValue } from "./values.ts";

const toKebabCase = (name: string): string => name.replaceAll("_", "-");

/** The flag of a field, as it is typed: the first shorthand that always writes it, or its own. */
export const getFlagName = (entry: FlagEntry): string =>
  `--${entry.shorts?.find(({ writes }) => writes[0] === entry.name)?.flag ?? toKebabCase(entry.name)}`;

const placeholders: Record<FlagEntry["kind"], string> = {
  text: "<text>",
  integer: "<number>",
  number: "<number>",
  boolean: "[true|false]",
  list: "<a,b>",
  map: "<key=value>",
  json: "<json>",
};

const formatUsd: DefaultValue = () => "usd";
const formatYen: DefaultValue = () => "jpy";

/** What one text of a shorthand says, under the wire's own names. */
function readShort(short: Shorthand, text: string, standard: DefaultValue): Record<string, unknown> {
  const [place] = short.writes;
  if (short.nullable && text === "none") return nestEntries(place.split("."), null);
  if (short.read) return short.read(text, standard);
  const { kind = "text", choices, refers } = short;
  const value = readValue({ name: place, kind, ...(choices && { choices }) }, text);
  return nestEntries(place.split("."), readIdentifier(value, refers));
}

const readIdentifier = (value: unknown, group: string | undefined): unknown => {
  if (!group) return value;
  if (Array.isArray(value)) return value.map((one) => readIdentifier(one, group));
  return typeof value === "string" ? readIdOrName(group, value) : value;
};

/** A flag of a command, by what it is called. */
export type Flag = {
  entry: FlagEntry;
  short?: Shorthand;
  kind: Kind;
  choices?: string[];
  description: string;
  /** Where it writes. */
  place: string[];
};

/** Every flag that writes a field: the shorthands and its own. */
export function listFlags(entry: FlagEntry): [name: string, flag: Flag][] {
  const { name, kind, choices } = entry;
  const own: Flag = { entry, kind, place: [name], description: describeSubject(entry), ...(choices && { choices }) };
  return [
    ...(entry.shorts ?? []).map((short): [string, Flag] => {
      const { flag, kind = "text", choices, description, writes } = short;
      return [flag, { entry, short, kind, place: writes[0].split("."), description, ...(choices && { choices }) }];
    }),
    [toKebabCase(name), own],
  ];
}

/** The flag of this name, which the command has. */
export function findFlag(op: OperationEntry, name: string): Flag {
  const flag = (op.body ?? []).flatMap(listFlags).find(([one]) => one === name)?.[1];
  if (!flag) throw new Error(`There is no flag --${name}.`);
  return flag;
}

/** The same, and what is wrong with it under the name of the flag. */
function readShortTold(short: Shorthand, text: string, standard: DefaultValue): Record<string, unknown> {
  try {
    return readShort(short, text, standard);
  } catch (error) {
    throw error instanceof Fault ? new Fault(error.kind, `--${short.flag}: ${error.message}`, error.parts) : error;
  }
}

/** What one text of a flag says. */
export const readFlag = (
  { entry, short }: Flag,
  text: string,
  standard: DefaultValue = formatUsd,
): Record<string, unknown> =>
  short ? readShort(short, text, standard) : { [entry.name]: readIdentifier(readValue(entry, text), entry.refers) };

/** Choices stand where the value does, unless that would push the descriptions off the screen. */
const isShort = (flag: string, choices: string[]): boolean => {
  const { length } = choices.join("|");
  return length <= 45 && flag.length + length <= 53;
};
/** What stands for the value of a field in help. */
const getPlaceholder = ({ name, kind, choices, money }: FlagEntry): string =>
  money && kind === "integer" ? "<amount>" : formatFlag(toKebabCase(name), kind, choices);
const formatFlag = (flag: string, kind: Kind, choices: string[] | undefined): string =>
  kind !== "list" && choices && isShort(flag, choices) ? `<${choices.join("|")}>` : placeholders[kind];

/** What is said of a field wherever it is asked for. */
const describeSubject = ({ kind, description, refers }: FlagEntry): string =>
  [description, refers && (kind === "list" ? "By name or id, several with commas." : "By name or id.")]
    .filter(Boolean)
    .join(" ");

const valuesMax = 60;
/** The values that there are; of very many, such as currencies, the first. */
const getValues = (choices: string[]): string =>
  choices.length > valuesMax ? `${choices.slice(0, 6).join(", ")}, … (${choices.length} in all)` : choices.join(", ");

/** What help says of a flag. */
const getHelp = (entry: FlagEntry): string => {
  const { kind, choices, required, shorts, nullable } = entry;
  const isTold = choices && (kind === "list" || !isShort(toKebabCase(entry.name), choices));
  return [
    describeSubject(entry),
    isTold && `${kind === "list" ? "Of" : "One of"}: ${getValues(choices)}.`,
    nullable && "Or none.",
    required && !shorts?.length && "(required)",
  ]
    .filter(Boolean)
    .join(" ");
};

function addShort(command: Command, short: Shorthand, heading: string): void {
  const { flag, kind = "text", choices, of } = short;
  const description = of ? `${of.join(", ")}: ${short.description}` : short.description;
  const option = new Option(
    `--${flag} ${short.placeholder ? `<${short.placeholder}>` : formatFlag(flag, kind, choices)}`,
    description,
  ).helpGroup(heading);
  option.argParser((text: string, before: string[] | undefined) => {
    // The currency may not be known yet: some have two decimals, the others none.
    try {
      readShortTold(short, text, formatYen);
    } catch {
      readShortTold(short, text, formatUsd);
    }
    return [...(before ?? []), text];
  });
  command.addOption(option);
}

/** The parser of the command line takes null for a flag without a value. */
const cleared = Symbol("null");

/** Give a command one flag per field, and the shorthands; one that is named as its field stands for it. */
export function addFlags(command: Command, entries: FlagEntry[], heading: string): void {
  const written = new Set(entries.flatMap(({ shorts = [] }) => shorts.flatMap(({ writes }) => writes)));
  for (const entry of entries) {
    const shorts = entry.shorts ?? [];
    for (const short of shorts) addShort(command, short, heading);
    if (shorts.some(({ flag }) => flag === toKebabCase(entry.name))) continue;
    const option = new Option(`--${toKebabCase(entry.name)} ${getPlaceholder(entry)}`, getHelp(entry));
    option.helpGroup(heading);
    // What a shorter flag says as well would only take room; --help --all shows it.
    if (written.has(entry.name)) option.hideHelp();
    command.addOption(option.argParser((text: string, before: unknown) => readValue(entry, text, before) ?? cleared));
  }
}

const attribute = (flag: string): string => flag.replace(/-([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());

/** What the flags of `entries` say, under the wire's own names, and which flag said what. */
export function readTyped(
  entries: FlagEntry[],
  options: Record<string, unknown>,
  standard: DefaultValue = formatUsd,
): { said: Record<string, unknown>; typed: TypedInput[] } {
  let said: Record<string, unknown> = {};
  const typed: TypedInput[] = [];
  const readTypedFlag = (
    flag: string,
    text: string | undefined,
    fields: Record<string, unknown>,
    short?: Shorthand,
  ): void => {
    const one = {
      flag,
      places: findPlaces(fields, said),
      ...(text !== undefined && { text }),
      ...(short && { short }),
    };
    said = join(said, fields, one);
    typed.push(one);
  };
  for (const entry of entries) {
    const shorts = entry.shorts ?? [];
    const value = options[attribute(toKebabCase(entry.name))];
    if (value !== undefined && !shorts.some(({ flag }) => flag === toKebabCase(entry.name)))
      readTypedFlag(`--${toKebabCase(entry.name)}`, undefined, {
        [entry.name]: value === cleared ? null : readIdentifier(value, entry.refers),
      });
    for (const short of shorts) {
      const given = options[attribute(short.flag)];
      if (given === undefined) continue;
      // A flag without a value is one that may stand without.
      const texts = Array.isArray(given) ? (given as string[]) : [""];
      for (const text of short.many ? texts : texts.slice(-1))
        readTypedFlag(`--${short.flag}`, text, readShortTold(short, text, standard), short);
    }
  }
  return { said, typed };
}

/** A fault for flags that are missing where nobody can be asked, with the example that is nearest to what is meant. */
export function describeMissing(op: OperationEntry, names: string[], given: Record<string, unknown> = {}): Fault {
  const { examples = [] } = op;
  const example = examples.find((line) => line.includes(`--type ${String(given.type)} `)) ?? examples[0];
  return new Fault("usage", `${names.length === 1 ? "a flag is" : "flags are"} missing: ${names.join(", ")}`, {
    asks: true,
    ...(example && { hint: `For example: \`${example.replace(/\s+#.*$/, "")}\`` }),
  });
}

/** Parse the seconds of `--watch`; an empty text is the flag without a value. */
function parseSeconds(text: string): number | true {
  const value = Number(text);
  if (text === "") return true;
  if (!(value >= 1 && value <= 3600)) throw new Fault("usage", "--watch is a number of seconds, from 1 to 3600");
  return value;
}

/** Add `--watch` to a command that reads. */
export const addWatchFlag = (command: Command): Command =>
  command.option("--watch [seconds]", "look again every few seconds (5)", parseSeconds);

/** The flags that may stand without a value, each with what a value of it looks like. */
export function findOptionalValues(entries: FlagEntry[]): Map<string, RegExp> {
  return new Map([
    // A list of fields has no dash in it; an id has. `get --json ID` therefore means what it says.
    ["--json", /^[a-z_][a-z0-9_.*]*(,[a-z_][a-z0-9_.*]*)*$/i],
    ["--watch", /^[\d.]+$/],
    ...entries
      .flatMap((entry) => [{ flag: toKebabCase(entry.name), kind: entry.kind }, ...(entry.shorts ?? [])])
      .filter(({ kind }) => kind === "boolean")
      .map(({ flag }): [string, RegExp] => [`--${flag}`, /^(true|false)$/]),
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
