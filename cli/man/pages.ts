/** The pages of the manual, made from the list of commands: one for floe, and one for each group of commands. */
import type { ArgumentDescription, CommandDescription, CommandTree, FlagDescription } from "../command-description.ts";
import { environment } from "./environment.ts";
import type { Block, Item, Page } from "./page.ts";

const headings: [string, string][] = [
  ["start", "Start"],
  ["sell", "Sell"],
  ["catalog", "Catalog as a file"],
  ["people", "People"],
  ["develop", "Develop"],
];

const files: Item[] = [
  { term: "~/.config/floe", text: "profiles, sign-ins, aliases and extensions, or where FLOE_CONFIG_DIR says" },
  { term: "~/.cache/floe", text: "names for completion and the compiled program" },
  { term: ".floe/config", text: "the profile of a folder" },
  { term: "floe.yaml", text: "the catalog as a file" },
];

const describeChoices = ({ choices }: { choices?: string[] }): string =>
  choices && choices.length > 0 ? `One of: ${choices.join(", ")}.` : "";

const endSentence = (text: string): string => (text === "" || /[.!?:]$/.test(text) ? text : `${text}.`);

const formatFlag = ({ name, short, value }: FlagDescription): string =>
  `${short ? `${short}, ` : ""}${name}${value ? ` ${value}` : ""}`;

function describeFlag(flag: FlagDescription): Item {
  const parts = [
    endSentence(flag.description),
    flag.description.includes("choices") ? "" : describeChoices(flag),
    flag.required ? "Required." : "",
    flag.repeatable ? "May be repeated." : "",
  ];
  return { term: formatFlag(flag), text: parts.filter(Boolean).join(" ") };
}

function describeArgument(argument: ArgumentDescription): Item {
  const dots = argument.repeatable ? "..." : "";
  const term = argument.required ? `<${argument.name}${dots}>` : `[${argument.name}${dots}]`;
  const refers = argument.refers ? `The name or id of one of \`floe ${argument.refers} list\`.` : "";
  const about = endSentence(argument.description);
  return { term, text: [about, refers, describeChoices(argument)].filter(Boolean).join(" ") };
}

/** The flags of this command, without those that a shorter one says as well. */
const listOwnFlags = ({ flags }: CommandDescription): FlagDescription[] => flags.filter(({ hidden }) => !hidden);

function listNotes({ scopes = [], needs = [], signed_in, fields = [] }: CommandDescription): Block[] {
  const shown = fields.filter((field) => !field.includes("."));
  const notes = [
    signed_in ? "A person has to be signed in." : "",
    scopes.length > 0 ? `${scopes.length > 1 ? "Any of these scopes suffices" : "Scope"}: ${scopes.join(", ")}.` : "",
    needs.length > 0 ? `Also needed: ${needs.join(", ")}.` : "",
    shown.length > 0 ? `Fields for --json: ${shown.join(", ")}.` : "",
  ];
  return notes.filter(Boolean).map((text) => ({ kind: "text", text }));
}

function describeCommand(command: CommandDescription): Block[] {
  const items = [...command.arguments.map(describeArgument), ...listOwnFlags(command).map(describeFlag)];
  return [
    { kind: "command", title: `floe ${command.path}` },
    { kind: "text", text: endSentence(command.summary) },
    { kind: "code", lines: [command.usage] },
    ...(items.length > 0 ? [{ kind: "items" as const, items }] : []),
    ...listNotes(command),
    ...(command.examples.length > 0 ? [{ kind: "code" as const, lines: command.examples }] : []),
  ];
}

const listExits = ({ exit_codes }: CommandTree, commands: CommandDescription[]): Item[] =>
  exit_codes
    .filter(({ code }) => commands.some((one) => one.exit_codes.includes(code)))
    .map(({ code, meaning }) => ({ term: String(code), text: endSentence(meaning) }));

const getPageName = (group: string): string => `floe-${group}`;

function buildGroupPage(tree: CommandTree, { name, summary }: CommandTree["groups"][number]): Page {
  const commands = tree.commands.filter(({ path }) => path.split(" ")[0] === name);
  return {
    name: getPageName(name),
    summary,
    blocks: [
      { kind: "section", title: "Synopsis" },
      { kind: "code", lines: commands.map(({ usage }) => usage) },
      { kind: "section", title: "Commands" },
      ...commands.flatMap(describeCommand),
      { kind: "section", title: "Exit status" },
      { kind: "items", items: listExits(tree, commands) },
      { kind: "section", title: "See also" },
      { kind: "text", text: "The flags that every command takes are in the page of floe." },
      { kind: "pages", names: ["floe"] },
    ],
  };
}

function buildMainPage(tree: CommandTree): Page {
  const groups = headings.flatMap(([heading, title]): Block[] => {
    const items = tree.groups
      .filter((group) => group.heading === heading)
      .map(({ name, summary }) => ({ term: `floe ${name}`, text: endSentence(summary) }));
    return items.length > 0
      ? [
          { kind: "command", title },
          { kind: "items", items },
        ]
      : [];
  });
  return {
    name: "floe",
    summary: "sell digital products from the terminal",
    blocks: [
      { kind: "section", title: "Synopsis" },
      { kind: "code", lines: ["floe <command> [flags]", "floe <command> --help", "floe help <topic>"] },
      { kind: "section", title: "Description" },
      {
        kind: "text",
        text: "floe makes and changes all that you sell, from a terminal or a pipeline. Results go to stdout: a table on a terminal, JSON in a pipe. All else goes to stderr.",
      },
      { kind: "section", title: "Commands" },
      ...groups,
      { kind: "section", title: "Flags of every command" },
      { kind: "items", items: tree.global_flags.map(describeFlag) },
      { kind: "section", title: "Environment" },
      { kind: "items", items: environment },
      { kind: "section", title: "Files" },
      { kind: "items", items: files },
      { kind: "section", title: "Exit status" },
      { kind: "items", items: listExits(tree, tree.commands) },
      { kind: "section", title: "See also" },
      { kind: "pages", names: tree.groups.map(({ name }) => getPageName(name)) },
    ],
  };
}

/** Every page, that of floe first. */
export const buildManual = (tree: CommandTree): Page[] => [
  buildMainPage(tree),
  ...tree.groups.map((group) => buildGroupPage(tree, group)),
];
