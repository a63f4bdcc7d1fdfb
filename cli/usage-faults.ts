/** What is wrong with a command line that names no command, or a flag that there is not. */
import type { Command, CommanderError } from "commander";
import { Fault } from "./fault.ts";

/** The command that was reached by these words, as far as there is one. */
function requireReachable(root: Command, called: string[]): string {
  const path = [root.name()];
  let command: Command | undefined = root;
  for (const word of called) {
    command = command?.commands.find((one) => one.name() === word);
    if (!command) break;
    path.push(word);
  }
  return path.join(" ");
}

/** What people call elsewhere what is done here under another name. */
const otherWords: Record<string, string[]> = {
  delete: ["delete", "remove", "archive", "revoke", "cancel"],
  show: ["get", "show"],
  list: ["list"],
  update: ["update"],
  create: ["create", "add"],
};
const alike: Record<string, string> = {
  ...{
    remove: "delete",
    rm: "delete",
    destroy: "delete",
    archive: "delete",
    view: "show",
    get: "show",
    describe: "show",
  },
  ...{ ls: "list", edit: "update", set: "update", change: "update", new: "create", add: "create", make: "create" },
};

/** What was meant by a command that is not there: a verb of its group by another word. */
function findNearestCommand(root: Command, called: string[]): string | undefined {
  const [name = "", verb = ""] = called;
  const group = root.commands.find((one) => one.name() === name);
  const words = otherWords[alike[verb] ?? verb] ?? [];
  const found = words.find((word) => group?.commands.some((one) => one.name() === word));
  return found && `Did you mean \`floe ${name} ${found}\`?`;
}

/** Help that was asked for is data; help that stands for an answer is a usage error. */
export function convertFault(error: CommanderError, root: Command, called: string[]): Fault {
  // What a flag says of its text begins in small letters: it is the end of this sentence.
  const message = error.message.replace(/^error: /, "").replace(/ is invalid\. (?=[a-z])/, " ");
  const [first, ...more] = message.split("\n");
  const see = `See: \`${requireReachable(root, called)} --help\``;
  const other = error.code === "commander.unknownCommand" ? findNearestCommand(root, called) : undefined;
  const suggestion =
    other ??
    more
      .join(" ")
      .trim()
      .replace(/^\((.*)\)$/, "$1");
  const [, word] = error.code === "commander.unknownCommand" ? (/'(.+)'/.exec(message) ?? []) : [];
  const [, by] = /^Did you mean (?:one of )?([\w-]+)/.exec(suggestion) ?? [];
  const hint = [suggestion, see].filter(Boolean).join("  ");
  return new Fault("usage", first ?? message, { hint, ...(word && by && { meant: { word, by: [by] } }) });
}
