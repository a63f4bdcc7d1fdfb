/** `floe commands`: every command as data, for programs and agents that choose one. */
import type { Command } from "commander";
import { listBuiltIn } from "../built-in.ts";
import type { CommandTree } from "../command-description.ts";
import type { Context } from "../context.ts";
import { readAliases } from "../extensions/aliases.ts";
import { listExtensions } from "../extensions/run.ts";
import { Fault } from "../fault.ts";
import { checkAskedFields, showList, showOne } from "../resource/show.ts";

const fields = [
  "schema_version",
  "groups.*",
  "global_flags.*",
  "exit_codes.*",
  "commands.*",
  "aliases.*",
  "extensions.*",
];

export function add(root: Command, contextOf: (command: Command) => Context): void {
  const command = root
    .command("commands")
    .description("List every command: with --json its flags, types, scopes, exit codes and examples")
    .argument("[words...]", "only those that begin with these words");
  command.addHelpText(
    "after",
    "\nExamples:\n  floe commands orders\n  floe commands --json commands.path,commands.scopes\n  floe commands products create --json",
  );
  command.action((words: string[]) => listCommands(contextOf(command), words));
}

function listCommands(context: Context, words: string[]): void {
  const asked = checkAskedFields(context.globals.json, fields);
  const tree = context.manifest.read("commands") as CommandTree | undefined;
  if (!tree) throw new Fault("error", "the list of commands is missing", { hint: "Install floe again." });
  const matchWords = (path: string): boolean => words.every((word, index) => path.split(" ")[index] === word);
  const commands = tree.commands.filter(({ path }) => matchWords(path));
  if (commands.length === 0)
    throw new Fault("not_found", `no command begins with "${words.join(" ")}"`, { hint: "See: `floe commands`" });
  const isAll = words.length === 0;
  const aliases = Object.entries(isAll ? readAliases(context.io.env) : {}).map(([name, line]) => ({ name, line }));
  const extensions = isAll ? listExtensions(context.io.env) : [];
  if (context.json) {
    showOne(context, { ...tree, commands, aliases, extensions }, asked);
    return;
  }
  const builtIn = listBuiltIn(context.manifest);
  const others = [
    ...aliases.map(({ name, line }) => ({ path: name, summary: `Alias of: floe ${line}` })),
    ...extensions.map(({ name, path }) => ({ path: name, summary: `Program: ${path}` })),
  ];
  showList(context, [...commands, ...others.filter(({ path }) => !builtIn.has(path))], ["path:name", "summary"]);
}
