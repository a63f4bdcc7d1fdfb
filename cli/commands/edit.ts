/** `floe edit KIND NAME`, and `edit` of each group: one thing as YAML in the editor. The editing itself is loaded when it begins. */
import type { Command } from "commander";
import { quote } from "../../shared/shell.ts";
import type { Context } from "../context.ts";
import { editableGroups, getEditableGroup } from "../edit/kinds.ts";
import { Fault } from "../fault.ts";
import { addExamples } from "../help.ts";
import type { GroupEntry } from "../manifest.ts";
import { readIdOrName } from "../resource/shorthand.ts";

type ContextOf = (command: Command) => Context;
type Options = { yes?: boolean };

async function editNamed(context: Context, kind: string, name: string | undefined, options: Options): Promise<void> {
  const group = getEditableGroup(context.manifest, kind);
  if (!context.interactive) {
    const which = group.entry.name === "organization" ? "" : ` ${name === undefined ? "ID" : quote(name)}`;
    throw new Fault("usage", "an editor needs a terminal, and there is none", {
      asks: true,
      hint: `Use: \`floe ${group.entry.name} update${which} --data -\`   (or its flags: \`floe ${group.entry.name} update --help\`)`,
    });
  }
  const { edit } = await import("./catalog.ts");
  await edit(context, group, await findId(context, group.entry, name), options);
}

/** Which one is meant; undefined where there is only the one in use. */
async function findId(context: Context, group: GroupEntry, named: string | undefined): Promise<string | undefined> {
  if (group.operations.some(({ current }) => current)) return undefined;
  if (named === undefined) return (await import("../resource/pick.ts")).pickOne(context, group, "id");
  const found = group.namedBy ? readIdOrName(group.name, named) : named;
  return typeof found === "string" ? found : (await import("../resource/names.ts")).findId(context, found);
}

const addYes = (command: Command): Command => command.option("-y, --yes", "write what changes without asking");

export function add(root: Command, contextOf: ContextOf): void {
  const command = root
    .command("edit")
    .description("Change something as YAML in your editor (VISUAL, EDITOR)")
    .argument("<kind>", editableGroups.join(", "))
    .argument("[name]", "its id or name");
  addYes(command);
  addExamples(command, "floe edit product Pro", "floe edit customer ada@example.com", "floe edit organization");
  command.action((kind: string, name: string | undefined, options: Options) =>
    editNamed(contextOf(command), kind, name, options),
  );
}

/** `edit` within a group, as in `floe products edit Pro`. */
export const addToGroup = (parent: Command, contextOf: ContextOf): void => {
  const group = parent.name();
  const command = parent.command("edit").description("Change one as YAML in your editor (VISUAL, EDITOR)");
  const isOne = group === "organization";
  if (!isOne) command.argument("[id]", "its id or name");
  addYes(command);
  addExamples(command, isOne ? `floe ${group} edit` : `floe ${group} edit ID`);
  command.action((...args: unknown[]) =>
    editNamed(contextOf(command), group, isOne ? undefined : (args[0] as string | undefined), command.opts<Options>()),
  );
};
