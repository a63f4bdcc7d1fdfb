/** What may stand next on a command line. */
import type { CompletedCommand, CompletedFlag, CompletedValue, CompletionModel } from "./model.ts";

/** One value that may stand there, with what it means. */
export type Candidate = { value: string; about?: string };
/** `files`: names of files on this machine may stand there. `open`: more of the same word follows. */
export type Completion = { candidates: Candidate[]; files?: true; open?: true };
/** Where values come from that are not in the model. */
export type NameSource = {
  names(group: string, prefix: string): Promise<Candidate[]>;
  organizations(): Promise<Candidate[]>;
  profiles(): Candidate[];
  extensions(): Candidate[];
  topics(): Candidate[];
};
/** Flags that say where names are looked up: the server, the organization and the profile of the line. */
export type LineGlobals = { server?: string; org?: string; profile?: string; apiKeyFile?: string };

type Position = {
  command: CompletedCommand;
  /** The flag whose value stands next. */
  pending?: CompletedFlag;
  /** The arguments that have been given. */
  given: string[];
  /** No flag follows `--`. */
  ended: boolean;
  used: Set<string>;
};

const globalNames = {
  "--server": "server",
  "--org": "org",
  "--profile": "profile",
  "--api-key-file": "apiKeyFile",
} as const;

const findFlag = (model: CompletionModel, command: CompletedCommand, name: string): CompletedFlag | undefined =>
  (command.flags && Object.hasOwn(command.flags, name) ? command.flags[name] : undefined) ??
  (Object.hasOwn(model.flags, name) ? model.flags[name] : undefined);

/** Follow the words of a line to the place where the next one stands. */
function findPosition(model: CompletionModel, words: readonly string[]): Position {
  const position: Position = { command: model.root, given: [], ended: false, used: new Set() };
  for (const word of words) {
    if (position.pending) {
      const { value } = position.pending;
      delete position.pending;
      if (!value?.optional || (value.from === "values" && model.values[value.values]?.includes(word))) continue;
    }
    if (position.ended || !word.startsWith("-")) {
      const { commands } = position.command;
      const child =
        position.given.length === 0 && commands && Object.hasOwn(commands, word) ? commands[word] : undefined;
      if (child) position.command = child;
      else position.given.push(word);
      continue;
    }
    if (word === "--") {
      position.ended = true;
      continue;
    }
    const name = word.split("=", 1)[0] ?? "";
    const flag = findFlag(model, position.command, name);
    position.used.add(name);
    if (flag?.value && !word.includes("=")) position.pending = flag;
  }
  return position;
}

/** The flags among these words that say where names are looked up. */
export function readLineGlobals(words: readonly string[]): LineGlobals {
  const found: LineGlobals = {};
  for (const [at, word] of words.entries()) {
    const [name = "", inline] = word.split(/=(.*)/s);
    const value = inline ?? words[at + 1];
    if (Object.hasOwn(globalNames, name) && value !== undefined)
      found[globalNames[name as keyof typeof globalNames]] = value;
  }
  return found;
}

function listFlags(model: CompletionModel, { command, used }: Position, typed: string): Candidate[] {
  const own = Object.entries(command.flags ?? {});
  // In a group, and before a command, the flags of every command would only hide its commands.
  const all = [...own, ...Object.entries(model.flags).filter(([name]) => !command.flags?.[name])];
  const fitting = all.filter(
    ([name, flag]) => name.startsWith(typed) && (!used.has(name) || flag.repeatable) && name.startsWith("--"),
  );
  const shown = fitting.filter(([, flag]) => !flag.hidden);
  return (shown.length > 0 ? shown : fitting).map(([value, { about }]) => ({ value, about }));
}

async function listValues(
  model: CompletionModel,
  source: CompletedValue,
  typed: string,
  names: NameSource,
): Promise<Completion> {
  if (source.from === "files") return { candidates: [], files: true };
  // Of a list the last one is completed; a comma that is part of a name has a backslash before it.
  const before = source.list ? (/^(?:\\.|[^\\])*,/s.exec(typed)?.[0] ?? "") : "";
  const before_names = before.split(",").slice(0, -1);
  const prefix = typed.slice(before.length).replaceAll("\\,", ",");
  const found = await findValues(model, source, prefix, names);
  const candidates = found.flatMap(({ value, about }) => {
    const written = source.list ? value.replaceAll(",", "\\,") : value;
    if (!value.startsWith(prefix) || before_names.includes(written)) return [];
    return [{ value: before + written, ...(about && { about }) }];
  });
  return { candidates, ...(source.list && { open: true as const }) };
}

async function findValues(
  model: CompletionModel,
  source: CompletedValue,
  prefix: string,
  names: NameSource,
): Promise<Candidate[]> {
  if (source.from === "values") return (model.values[source.values] ?? []).map((value) => ({ value }));
  if (source.from === "names") return names.names(source.group, prefix);
  if (source.from === "organizations") return names.organizations();
  if (source.from === "profiles") return names.profiles();
  if (source.from === "extensions") return names.extensions();
  return source.from === "topics" ? names.topics() : [];
}

/** Names of a kind are those of the group that the word before says. */
function findKind(source: CompletedValue, before: string): CompletedValue {
  if (source.from !== "kinds") return source;
  const group = Object.hasOwn(source.groups, before) ? source.groups[before] : undefined;
  return group === undefined ? { from: "none" } : { from: "names", group };
}

/** What may stand in place of `typed`, after these words. */
export async function complete(
  model: CompletionModel,
  words: readonly string[],
  typed: string,
  names: NameSource,
): Promise<Completion> {
  const position = findPosition(model, words);
  const { pending } = position;
  if (pending?.value && !pending.value.optional) return listValues(model, pending.value, typed, names);
  const optional = pending?.value ? (await listValues(model, pending.value, typed, names)).candidates : [];
  if (!position.ended && typed.startsWith("-")) {
    const [name = "", value] = typed.split(/=(.*)/s);
    if (value === undefined) return { candidates: listFlags(model, position, typed) };
    const flag = findFlag(model, position.command, name);
    if (!flag?.value) return { candidates: [] };
    const { candidates, ...more } = await listValues(model, flag.value, value, names);
    return { ...more, candidates: candidates.map((one) => ({ ...one, value: `${name}=${one.value}` })) };
  }
  const { commands = {}, arguments: taken = [] } = position.command;
  const beneath = position.given.length === 0 ? Object.entries(commands) : [];
  const candidates = [
    ...optional,
    ...beneath.filter(([name]) => name.startsWith(typed)).map(([value, { about }]): Candidate => ({ value, about })),
  ];
  const last = taken.at(-1);
  const described = taken[position.given.length] ?? (last?.repeatable ? last : undefined);
  const argument = described && findKind(described, position.given.at(-1) ?? "");
  if (!argument) return { candidates };
  const { candidates: values, ...more } = await listValues(model, argument, typed, names);
  return { ...more, candidates: [...candidates, ...values] };
}
