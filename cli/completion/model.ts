/** The commands as completion needs them: one small file that the build writes. */
import { organizationRoles } from "../../shared/permissions.ts";
import type { ArgumentDescription, CommandTree, FlagDescription, ValueDescription } from "../command-description.ts";
import { openedGroups } from "../commands/open.ts";
import { editableGroups } from "../edit/kinds.ts";

/** Where the values of a flag or an argument come from. */
export type ValueSource =
  /** A number is the place of the values in `values` of the model. */
  | { from: "values"; values: number }
  | { from: "names"; group: string }
  /** Names of the group that the word before says: `floe open order …`. */
  | { from: "kinds"; groups: Record<string, string> }
  | { from: "profiles" | "organizations" | "extensions" | "topics" | "files" | "none" };
export type CompletedValue = ValueSource & {
  /** Several stand between commas. */
  list?: true;
  /** The flag may stand without it. */
  optional?: true;
};
export type CompletedFlag = { about: string; value?: CompletedValue; repeatable?: true; hidden?: true };
export type CompletedCommand = {
  about: string;
  commands?: Record<string, CompletedCommand>;
  flags?: Record<string, CompletedFlag>;
  arguments?: (CompletedValue & { repeatable?: true })[];
};
export type CompletionModel = {
  root: CompletedCommand;
  /** Flags of every command. */
  flags: Record<string, CompletedFlag>;
  values: string[][];
};

const roleNames = Object.keys(organizationRoles);
const aboutMax = 70;
/** A description in one short line. */
function truncateText(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length <= aboutMax ? line : `${line.slice(0, aboutMax - 1).trimEnd()}…`;
}

/** The words by which `floe edit` takes what it changes, one thing of each group. */
const editedGroups = Object.fromEntries(editableGroups.map((group) => [group.replace(/s$/, ""), group]));

/** Values of commands written by hand, by flag or by command and argument. */
const handSources: Record<string, ValueSource> = {
  "--profile": { from: "profiles" },
  "--org": { from: "organizations" },
  "orgs use [slug]": { from: "organizations" },
  "profiles use [name]": { from: "profiles" },
  "profiles remove [name]": { from: "profiles" },
  "promote [from]": { from: "profiles" },
  "promote [to]": { from: "profiles" },
  "diff --from": { from: "profiles" },
  "diff --to": { from: "profiles" },
  "open [name]": { from: "kinds", groups: openedGroups },
  "edit [name]": { from: "kinds", groups: editedGroups },
  "files upload [file]": { from: "files" },
  "extension upgrade [name]": { from: "extensions" },
  "extension remove [name]": { from: "extensions" },
  "extension install [source]": { from: "files" },
  "sandbox restore [name]": { from: "names", group: "sandbox" },
  "sandbox delete [name]": { from: "names", group: "sandbox" },
};

/** Turn the tree of commands into the model of completion; `scopes` are the values of `--scopes`, wherever it stands. */
export function buildCompletion(tree: CommandTree, scopes: readonly string[]): CompletionModel {
  const values: string[][] = [];
  const places = new Map<string, number>();
  const addValues = (choices: readonly string[]): number => {
    const key = choices.join("\n");
    const known = places.get(key) ?? values.push([...choices]) - 1;
    places.set(key, known);
    return known;
  };
  const findSource = (key: string, name: string, value: ValueDescription & { value?: string }): ValueSource => {
    const known = handSources[key] ?? handSources[name];
    if (known) return known;
    if (key === "edit [kind]") return { from: "values", values: addValues(Object.keys(editedGroups)) };
    if (name === "--as" && value.value === "<role>") return { from: "values", values: addValues(roleNames) };
    if (name === "--scopes") return { from: "values", values: addValues(scopes) };
    if (value.choices) return { from: "values", values: addValues(value.choices) };
    if (value.refers) return { from: "names", group: value.refers };
    if (value.type === "boolean") return { from: "values", values: addValues(["true", "false"]) };
    return { from: value.type === "file" ? "files" : "none" };
  };
  const completeFlag = (path: string, flag: FlagDescription): CompletedFlag => ({
    about: truncateText(flag.description),
    ...(flag.value !== undefined && {
      value: {
        ...findSource(`${path} ${flag.name}`, flag.name, flag),
        ...((flag.type === "list" || flag.name === "--scopes") && { list: true as const }),
        ...(flag.optional && { optional: true as const }),
      },
    }),
    ...(flag.repeatable && { repeatable: true as const }),
    ...(flag.hidden && { hidden: true as const }),
  });
  const completeArgument = (path: string, argument: ArgumentDescription) => ({
    ...findSource(`${path} [${argument.name}]`, argument.name, argument),
    ...(argument.repeatable && { repeatable: true as const }),
  });
  const completeFlags = (path: string, flags: FlagDescription[]): Record<string, CompletedFlag> =>
    Object.fromEntries(
      flags.flatMap((flag) => {
        const made = completeFlag(path, flag);
        return [[flag.name, made], ...(flag.short ? [[flag.short, { ...made, hidden: true as const }]] : [])];
      }),
    );
  const root: CompletedCommand = { about: "", commands: {} };
  for (const { name, summary } of tree.groups) root.commands = { ...root.commands, [name]: { about: summary } };
  for (const command of tree.commands) {
    let at = root;
    for (const word of command.path.split(" ")) {
      at.commands ??= {};
      const child: CompletedCommand = at.commands[word] ?? { about: "" };
      at.commands[word] = child;
      at = child;
    }
    at.about = truncateText(command.summary);
    at.flags = completeFlags(command.path, command.flags);
    if (command.arguments.length > 0)
      at.arguments = command.arguments.map((argument) => completeArgument(command.path, argument));
  }
  root.commands = {
    ...root.commands,
    help: { about: "Explain a command or a topic", arguments: [{ from: "topics" }] },
  };
  return { root, flags: completeFlags("", tree.global_flags), values };
}
