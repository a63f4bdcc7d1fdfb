/** `floe commands`: every command as data, for programs and agents that choose one. */
import type { Command } from "commander";
import type { CommandTree } from "../command-description.ts";
import type { Context } from "../context.ts";
import { Fault } from "../fault.ts";
import { checkAskedFields, showList, showOne } from "../resource/show.ts";

const fields = ["schema_version", "groups.*", "global_flags.*", "exit_codes.*", "commands.*"];

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
  if (context.json) showOne(context, { ...tree, commands }, asked);
  else showList(context, commands, ["path:name", "summary"]);
}
