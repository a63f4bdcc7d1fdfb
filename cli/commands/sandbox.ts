/** `floe sandbox save` and `floe sandbox diff`: keep a sandbox as it is, and see what became of it. */
import type { Command } from "commander";
import { formatMoney } from "../../shared/money.ts";
import * as routes from "../../shared/routes.ts";
import type { Context } from "../context.ts";
import { Fault } from "../fault.ts";
import { request } from "../request.ts";
import { showOne } from "../resource/show.ts";
import { wrap } from "../ui/table.ts";
import { removeControls } from "../ui/theme.ts";

type Add = (group: Command, contextOf: (command: Command) => Context) => void;
type Item = { id: string; change: "added" | "removed" | "changed"; text: string; fields: string[] };
type Kind = {
  kind: string;
  added: number;
  removed: number;
  changed: number;
  totals: { currency: string; before: number; after: number }[];
  items: Item[];
};

export const addSave: Add = (group, contextOf) => {
  const command = group
    .command("save")
    .description("Save the sandbox as it is, every row of it")
    .argument("<name>", "what it is called")
    .addHelpText("after", "\nExamples:\n  floe sandbox save start");
  command.action(async (name: string) => {
    const context = contextOf(command);
    const made = await request(context, routes.sandbox.saveSnapshot, { body: { name } });
    if (context.json) return showOne(context, made as Record<string, unknown>);
    const { rows, created_at } = made as { rows: number; created_at: string };
    context.say(
      `Saved ${removeControls(name)}: ${rows} rows, as of ${created_at.slice(0, 16).replace("T", " ")} UTC.\n`,
    );
  });
};

export const addDiff: Add = (group, contextOf) => {
  const command = group
    .command("diff")
    .description("Show what is different in two things that were saved, or in one and the present")
    .argument("<from>", "what was saved")
    .argument("[to]", "what else was saved; the sandbox as it is")
    .addHelpText("after", "\nExamples:\n  floe sandbox diff start\n  floe sandbox diff year-at-19 year-at-29");
  command.action(async (name: string, to: string | undefined) => {
    const context = contextOf(command);
    const query = to === undefined ? {} : { to };
    const diff = await request(context, routes.sandbox.diffSnapshots, { params: { name }, query }).catch(
      (error: unknown) => {
        if (!(error instanceof Fault) || error.kind !== "not_found") throw error;
        const which = [name, to].filter((one) => one !== undefined).join(" or ");
        throw new Fault("not_found", `nothing was saved as ${which}`, {
          ...error.parts,
          hint: "See: `floe sandbox list`",
        });
      },
    );
    if (context.json) return context.print(`${JSON.stringify(diff, null, 2)}\n`);
    if (diff.kinds.length === 0) return context.say("They are the same.\n");
    for (const kind of diff.kinds) print(context, kind);
  });
};

/** Of each kind; JSON has more. */
const shownMax = 10;
/** What goes on in a further line stands below what it belongs to. */
const indent = "    ";
const signs = { added: "+", removed: "-", changed: "~" } as const;

function print(context: Context, { kind, added, removed, changed, totals, items }: Kind): void {
  const paint = context.paint.out();
  const tones = { added: paint.good, removed: paint.bad, changed: paint.warn } as const;
  const counts = Object.entries({ added, removed, changed }).filter(([, count]) => count > 0);
  context.print(
    `${paint.strong(kind.replaceAll("_", " "))}  ${counts.map(([word, count]) => `${count} ${word}`).join(", ")}\n`,
  );
  for (const { currency, before, after } of totals.filter((one) => one.before !== one.after))
    context.print(`  ${formatMoney(before, currency)} → ${formatMoney(after, currency)}\n`);
  const room = Math.max(20, (context.io.stdout.columns ?? 80) - indent.length);
  for (const { change, id, text, fields } of items.slice(0, shownMax)) {
    const name = removeControls(text) || removeControls(id);
    const what = fields.map(removeControls).join(", ");
    const isOneLine = [...name].length + what.length < room;
    const lines = [...wrap(name, room), ...wrap(what, room).map((line) => paint.dim(line))];
    const said = what === "" ? wrap(name, room) : isOneLine ? [`${name} ${paint.dim(what)}`] : lines;
    context.print(`  ${tones[change](signs[change])} ${said.join(`\n${indent}`)}\n`);
  }
  const more = added + removed + changed - Math.min(items.length, shownMax);
  if (more > 0) context.print(paint.dim(`  … and ${more} more\n`));
}
