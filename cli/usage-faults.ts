/** What is wrong with a command line that names no command, or a flag that there is not. */
import type { Command, CommanderError, Option } from "commander";
import { Fault } from "./fault.ts";
import { removeControls } from "./ui/theme.ts";

/** The command that was reached by these words, as far as there is one. */
function findReached(root: Command, called: string[]): { path: string; command: Command } {
  const path = [root.name()];
  let command = root;
  for (const word of called) {
    const next = command.commands.find((one) => one.name() === word);
    if (!next) break;
    command = next;
    path.push(word);
  }
  return { path: path.join(" "), command };
}

/** How many flags a hint names. */
const flagsNamed = 3;

/** A word that a command does not take: which one, and the flags that it may belong to. */
function describeExcess(
  { path, command }: { path: string; command: Command },
  everywhere: readonly Option[],
): { message: string; flags: string } {
  const word = command.args[command.registeredArguments.length] ?? "";
  const isOwn = ({ long }: Option): boolean => everywhere.every((other) => other.long !== long);
  const own = command.options.filter((one) => one.required && !one.hidden && isOwn(one)).map(({ flags }) => flags);
  const flags = own.slice(0, flagsNamed).join(", ");
  return {
    message: `"${removeControls(word)}" is more than ${path} takes`,
    flags: flags && `Give it to a flag: ${flags}${own.length > flagsNamed ? " …" : ""}`,
  };
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
  const reached = findReached(root, called);
  const see = `See: \`${reached.path} --help\``;
  if (error.code === "commander.excessArguments") {
    const excess = describeExcess(reached, root.options);
    return new Fault("usage", excess.message, { hint: [excess.flags, see].filter(Boolean).join("  ") });
  }
  const other = error.code === "commander.unknownCommand" ? findNearestCommand(root, called) : undefined;
  // gh gives -q this meaning, and other programs the other one.
  const isShort = /^option '-q,/.test(message) ? "-q is short for --jq, and --quiet has no short form." : undefined;
  const suggestion =
    other ??
    isShort ??
    more
      .join(" ")
      .trim()
      .replace(/^\((.*)\)$/, "$1");
  const [, word] = error.code === "commander.unknownCommand" ? (/'(.+)'/.exec(message) ?? []) : [];
  const [, by] = /^Did you mean (?:one of )?([\w-]+)/.exec(suggestion) ?? [];
  const hint = [suggestion, see].filter(Boolean).join("  ");
  return new Fault("usage", first ?? message, { hint, ...(word && by && { meant: { word, by: [by] } }) });
}
