/** `floe alias`: names of your own for commands. */
import type { Command } from "commander";
import { listBuiltIn } from "../built-in.ts";
import type { Context } from "../context.ts";
import { type Aliases, aliasesMax, aliasFile, extensionName, readAliases, splitLine } from "../extensions/aliases.ts";
import { Fault } from "../fault.ts";
import { addExamples } from "../help.ts";
import { checkAskedFields, showList } from "../resource/show.ts";
import { removeControls } from "../ui/theme.ts";

type ContextOf = (command: Command) => Context;

export function add(root: Command, contextOf: ContextOf): void {
  const group = root.command("alias").description("Names of your own for commands").helpCommand(false);
  const set = group
    .command("set")
    .description("Give a command line a name of yours")
    .argument("<name>", "what you will type after floe")
    .argument("<line>", "the command line, in quotation marks; $1 is the first argument");
  addExamples(
    set,
    "floe alias set paid 'orders list --status paid'",
    "floe alias set who 'customers get $1 --json id,email'",
  );
  set.action((name: string, line: string) => setAlias(contextOf(set), name, line));
  const list = group.command("list").description("List your aliases");
  addExamples(list, "floe alias list");
  list.action(() => listAliases(contextOf(list)));
  const remove = group.command("delete").description("Forget an alias").argument("<name>");
  addExamples(remove, "floe alias delete paid");
  remove.action((name: string) => deleteAlias(contextOf(remove), name));
}

async function setAlias(context: Context, name: string, line: string): Promise<void> {
  const { env } = context.io;
  if (!extensionName.test(name))
    throw new Fault("usage", `"${removeControls(name)}" is no name of an alias`, {
      hint: "A name has letters, digits, hyphens and underscores, 64 at most.",
    });
  const builtIn = listBuiltIn(context.manifest);
  if (builtIn.has(name))
    throw new Fault("usage", `${name} is a command of floe, which an alias cannot replace`, {
      hint: "Choose another name.",
    });
  const [first] = splitLine(line);
  if (first === undefined || !builtIn.has(first))
    throw new Fault("usage", "an alias begins with a command of floe", {
      hint: `Written as: \`floe alias set ${name} 'orders list --status paid'\``,
    });
  const aliases = readAliases(env);
  if (!Object.hasOwn(aliases, name) && Object.keys(aliases).length >= aliasesMax)
    throw new Fault("error", `there are ${aliasesMax} aliases already`, {
      hint: "Delete one: `floe alias delete NAME`",
    });
  await write(context, { ...aliases, [name]: line });
  context.say(`floe ${name} now means: floe ${removeControls(line)}\n`);
}

function listAliases(context: Context): void {
  const asked = checkAskedFields(context.globals.json, ["name", "line"]);
  const rows = Object.entries(readAliases(context.io.env))
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, line]) => ({ name, line }));
  showList(
    context,
    rows,
    ["name:name", "line"],
    asked,
    "There are none yet. Make one: `floe alias set NAME 'COMMAND'`\n",
  );
}

async function deleteAlias(context: Context, name: string): Promise<void> {
  const { [name]: line, ...others } = readAliases(context.io.env);
  if (line === undefined)
    throw new Fault("not_found", `there is no alias ${removeControls(name)}`, { hint: "See: `floe alias list`" });
  await write(context, others);
  context.say(`Deleted the alias ${name}.\n`);
}

async function write(context: Context, aliases: Aliases): Promise<void> {
  const { writePrivate } = await import("../settings-write.ts");
  writePrivate(context.io.env, aliasFile, aliases);
}
