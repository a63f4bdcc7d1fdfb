/** Every command as data: what `floe commands`, completion, man pages and the web reference are made from. Run by the build. */
import type { Command, Option } from "commander";
import { api } from "../shared/api/index.ts";
import type { Operation } from "../shared/contract.ts";
import type { CommandDescription, CommandTree, FlagDescription, ValueDescription } from "./command-description.ts";
import { listRequests } from "./command-map.ts";
import { handScopes, ofPeople } from "./command-scopes.ts";
import { commands } from "./commands/all.ts";
import { editableGroups } from "./edit/kinds.ts";
import type { FaultKind } from "./fault.ts";
import type { GroupEntry, Manifest, OperationEntry } from "./manifest.ts";
import { buildWholeProgram, createGlobalOptions } from "./program.ts";
import { type Flag, listFlags } from "./resource/flags.ts";
import { addShorthands } from "./resource/shorthands.ts";

const exampleLines = /(?:^|\n)Examples?:\n((?: {2,}.*(?:\n|$))+)/;
/** Commands whose exit code says whether something differs. */
const comparing = new Set(["plan", "drift", "diff", "pull"]);
/** Commands that ask no server anything. */
const local = new Set([
  "completion",
  "commands",
  "schema",
  "init",
  "validate",
  "profiles",
  "serve",
  "help",
  "skills",
  "alias",
  "extension",
  "man",
]);
/** Arguments and flags of commands written by hand that name things of a group. */
const handReferences: Record<string, string> = {
  "orders invoice <id>": "orders",
  "orders receipt <id>": "orders",
  "refunds credit-note <id>": "refunds",
  "meters watch <id>": "meters",
  "metrics show --product": "products",
  "metrics show --customer": "customers",
  "orders invoices --customer": "customers",
  "orders invoices --product": "products",
  "events tail --customer": "customers",
  "events stream --customer": "customers",
  "events stream --product": "products",
  "events stream --subscription": "subscriptions",
  "usage recount --customer": "customers",
  "usage recount --meter": "meters",
};

/** What a placeholder says of the values that stand for it. */
function readPlaceholder(placeholder: string, description: string): ValueDescription {
  const inner = placeholder.replace(/^[<[]|[>\]]$/g, "").replace(/\.\.\.$/, "");
  const choices = inner.split("|");
  if (/^(file|plan|output)$|file/.test(inner)) return { type: "file" };
  if (inner === "true|false") return { type: "boolean" };
  if (choices.length > 1 && choices.every((one) => /^[\w.-]+$/.test(one))) return { type: "text", choices };
  if (/^(number|count|seconds)$/.test(inner)) return { type: "integer" };
  if (inner === "a,b" || inner === "names" || inner === "fields") return { type: "list" };
  if (inner === "key=value") return { type: "map" };
  if (inner === "amount") return { type: "amount" };
  const listed = inner === "format" ? /^(\w+), (\w+) or (\w+)$/.exec(description) : null;
  return listed ? { type: "text", choices: listed.slice(1) } : { type: "text" };
}

/**
 * The scopes that a command written by hand needs: those of its main request, and what others of its requests need besides.
 * `plan` needs the scopes of a rehearsal only with a flag, so requests that offer a choice of scopes add nothing.
 */
function listHandScopes(path: string): Pick<CommandDescription, "scopes" | "needs"> {
  const contract: Record<string, Record<string, Operation>> = api;
  const [first, ...others] = listRequests(path).map((name) => {
    const [resource = "", operation = ""] = name.split(".");
    const found = contract[resource]?.[operation];
    if (!found) throw new Error(`The contract has no ${name}.`);
    return found.access;
  });
  if (!first || first.scopes.length === 0) return {};
  const further = others.flatMap(({ scopes }) => (scopes.length === 1 ? scopes : []));
  const needs = [...new Set([...(first.needs ?? []), ...further])].filter((scope) => !first.scopes.includes(scope));
  return { scopes: first.scopes, ...(needs.length > 0 && { needs }) };
}

const pickNeeded = ({ scopes, needs }: OperationEntry): Pick<CommandDescription, "scopes" | "needs"> => ({
  ...(scopes && { scopes }),
  ...(needs && { needs }),
});

/** An editor changes what an update changes: `products edit` one group, `edit` any of them. */
function listEditScopes(path: string, manifest: Manifest): Pick<CommandDescription, "scopes"> | undefined {
  const [group = "", verb] = path.split(" ");
  if (group !== "edit" && verb !== "edit") return undefined;
  const updates = (verb === "edit" ? [group] : editableGroups).flatMap(
    (name) => manifest.group(name)?.operations.find((one) => one.name === "update")?.scopes ?? [],
  );
  return { scopes: [...new Set(updates)] };
}

function describeFlag(option: Option, path: string, own: Flag | undefined): FlagDescription {
  const value = option.flags.replace(/^.*?--[\w-]+\s*/, "");
  const refers = own?.short?.refers ?? own?.entry.refers ?? handReferences[`${path} ${option.long}`];
  const isAmount = own !== undefined && own.kind === "integer" && own.entry.money === true;
  const read: ValueDescription = own
    ? { type: isAmount ? "amount" : own.kind }
    : value === ""
      ? { type: "boolean" }
      : readPlaceholder(value, option.description);
  const choices = option.argChoices ?? own?.choices ?? read.choices;
  return {
    name: option.long ?? option.flags,
    ...(option.short && { short: option.short }),
    ...(value !== "" && { value }),
    type: read.type,
    ...(choices && { choices }),
    ...(refers && { refers }),
    ...(option.optional && { optional: true as const }),
    ...((option.mandatory || (own?.entry.required && !own.entry.shorts?.length)) && { required: true as const }),
    ...((own?.short?.many || option.variadic || own?.kind === "map" || own?.kind === "list") && {
      repeatable: true as const,
    }),
    ...(option.hidden && { hidden: true as const }),
    description: option.description,
  };
}

/** The examples in the help of a command. */
const readExamples = (help: string): string[] =>
  (exampleLines.exec(help)?.[1] ?? "")
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line.includes("floe"));

function listExitCodes(path: string, op: OperationEntry | undefined, confirms: boolean, codes: Codes): number[] {
  const [first = ""] = path.split(" ");
  const kinds: FaultKind[] = ["ok", "error", "usage", "interrupted", "terminated"];
  if (confirms) kinds.push("cancelled");
  if (!local.has(first)) kinds.push("signed_out", "not_permitted", "rate_limited", "unreachable");
  if (!local.has(first) && (!op || op.params.length > 0 || op.method !== "GET")) kinds.push("not_found");
  if (!local.has(first) && op?.method !== "GET") kinds.push("conflict");
  if (comparing.has(first)) kinds.push("changes");
  return kinds.map((kind) => codes[kind][0]).sort((a, b) => a - b);
}
type Codes = Record<FaultKind, readonly [number, string]>;

function describeCommand(
  command: Command,
  words: string[],
  group: GroupEntry | undefined,
  manifest: Manifest,
  codes: Codes,
  help: string,
): CommandDescription {
  const path = words.join(" ");
  const name = words.slice(1).join(" ");
  const op = group?.operations.find((one) => one.name === name);
  const body = op?.body?.some(({ shorthands }) => shorthands) ? addShorthands(op.body) : (op?.body ?? []);
  const own = new Map([...(op?.query ?? []), ...body].flatMap(listFlags));
  const which = group?.within ?? group?.name;
  const flags = command.options.map((option) =>
    describeFlag(option, path, own.get((option.long ?? "").replace(/^--/, ""))),
  );
  const confirms = flags.some((flag) => flag.name === "--yes");
  const examples = readExamples(help).filter((line) => line.includes(`floe ${path}`));
  const fields = group && manifest.fields(group.name, name);
  return {
    path,
    summary: command.description(),
    usage: `floe ${path} ${command.usage()}`.trimEnd(),
    arguments: command.registeredArguments.map((argument) => {
      const refers = op && argument.name() === "id" && which ? which : handReferences[`${path} <${argument.name()}>`];
      return {
        name: argument.name(),
        ...readPlaceholder(argument.name(), argument.description),
        ...(argument.argChoices && { choices: argument.argChoices }),
        required: argument.required,
        ...(argument.variadic && { repeatable: true as const }),
        ...(refers && { refers }),
        description: argument.description,
      };
    }),
    flags,
    examples,
    exit_codes: listExitCodes(path, op, confirms, codes),
    ...(op && { method: op.method, endpoint: op.path }),
    ...(op ? pickNeeded(op) : (handScopes[path] ?? listEditScopes(path, manifest) ?? listHandScopes(path))),
    ...(ofPeople.has(words[0] ?? "") && { signed_in: "person" as const }),
    ...(op && op.method !== "GET" && { writes: true as const }),
    ...(confirms && { confirms: true as const }),
    ...(op?.list && { list: true as const }),
    ...(fields && fields.length > 0 && { fields }),
  };
}

/** Describe every command, in the order of `floe --help`. */
export async function buildCommandTree(manifest: Manifest): Promise<CommandTree> {
  const { exitCodes } = await import("./fault.ts");
  let help = "";
  const root = await buildWholeProgram(manifest, (text) => {
    help += text;
  });
  const described: CommandDescription[] = [];
  const visitCommand = (command: Command, words: string[]): void => {
    const group = manifest.group(words[0] ?? "");
    const isGroup = command.commands.length > 0;
    // What holds others and does something by itself, as `floe orgs`, has no action of its own.
    if (!isGroup) {
      help = "";
      command.outputHelp();
      described.push(describeCommand(command, words, group, manifest, exitCodes, help));
    }
    for (const child of command.commands) visitCommand(child, [...words, child.name()]);
  };
  for (const command of root.commands) visitCommand(command, [command.name()]);
  const entries = Object.entries(commands).map(([name, { summary, heading }]) => ({ name, summary, heading }));
  const groups = manifest.index().groups.map((group) => ({ ...group, heading: "sell" }));
  const isFirst = ({ heading }: { heading: string }): boolean => heading === "start";
  return {
    schema_version: 1,
    groups: [...entries.filter(isFirst), ...groups, ...entries.filter((entry) => !isFirst(entry))],
    global_flags: createGlobalOptions().map((option) => describeFlag(option, "", undefined)),
    exit_codes: Object.entries(exitCodes).map(([name, [code, meaning]]) => ({ code, name, meaning })),
    commands: described,
  };
}
