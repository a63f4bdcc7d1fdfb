/** `floe schema`: the JSON Schema of what a command answers, or of a catalogue file. */
import type { Command } from "commander";
import type { Context } from "../context.ts";
import { Fault } from "../fault.ts";

const help = `
Examples:
  floe schema products list
  floe schema floe.yaml > floe.schema.json`;

export function add(root: Command, contextOf: (command: Command) => Context): void {
  const command = root
    .command("schema")
    .description("The JSON Schema of what a command answers with --json, or of floe.yaml")
    .argument("<words...>", "a command, or floe.yaml");
  command.addHelpText("after", help);
  command.action((words: string[]) => showSchema(contextOf(command), words));
}

function showSchema(context: Context, [first = "", ...more]: string[]): void {
  // A word of another form would name another file.
  const answers = /^[a-z-]+$/.test(first) ? context.manifest.read(`schema-${first}`) : undefined;
  const name = more.join(" ");
  const schema =
    first === "floe.yaml" && more.length === 0
      ? context.manifest.read("schema-catalog")
      : (answers as Record<string, unknown> | undefined)?.[name];
  if (schema) {
    context.page(`${JSON.stringify(schema, null, 2)}\n`);
    return;
  }
  const known = Object.keys(answers ?? {}).map((one) => `${first} ${one}`);
  throw new Fault("not_found", `there is no schema of "${[first, ...more].join(" ")}"`, {
    hint: known.length > 0 ? `There are: ${known.join(", ")}` : "See: `floe commands`   (or floe.yaml)",
  });
}
