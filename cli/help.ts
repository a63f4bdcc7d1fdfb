/** How help is laid out: it fits the terminal however long the flags are, and says what every command takes and answers. */
import type { Command, Help } from "commander";
import type { Manifest } from "./manifest.ts";

/** Longer flags stand on a line of their own, so that they leave room to what is said of the others. */
const termWidthMax = 28;
const indent = "  ";

/** A text in lines of at most so many columns; a word that is longer is broken. */
function splitLines(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(/\s+/).flatMap((one) => one.match(new RegExp(`.{1,${width}}`, "g")) ?? [])) {
    if (line !== "" && line.length + 1 + word.length > width) {
      lines.push(line);
      line = "";
    }
    line = line === "" ? word : `${line} ${word}`;
  }
  return line === "" ? lines : [...lines, line];
}

const getWidth = (helper: Help): number => Math.max(40, helper.helpWidth ?? 80);

/** What commander asks for its layout. */
export const layout = {
  showGlobalOptions: false,
  padWidth: (command: Command, helper: Help): number =>
    Math.min(
      termWidthMax,
      Math.max(
        helper.longestOptionTermLength(command, helper),
        helper.longestSubcommandTermLength(command, helper),
        helper.longestArgumentTermLength(command, helper),
      ),
    ),
  formatItem(term: string, termWidth: number, description: string, helper: Help): string {
    const width = getWidth(helper);
    const left = " ".repeat(indent.length + termWidth + 2);
    const text = splitLines(description, width - left.length).join(`\n${left}`);
    const head = indent + term;
    if (text === "") return head;
    return term.length > termWidth ? `${head}\n${left}${text}` : `${head.padEnd(left.length)}${text}`;
  },
  boxWrap: (text: string, width: number): string =>
    text
      .split("\n")
      .map((line) => (line.length <= width ? line : splitLines(line, width).join("\n")))
      .join("\n"),
};

const beginning = `Try it, without an account:
  floe try

Start:
  floe login
  floe products create --name Pro --price 19.00
  floe checkout-links create --products Pro
  floe orders list --json id,total_amount
  floe listen --forward-to http://localhost:3000/hooks`;

/** The help of floe itself: what to type first, then the commands, and last the flags that every command takes. */
export function composeRootHelp(help: string): string {
  const [usage = "", about = "", ...sections] = help.trimEnd().split("\n\n");
  const isFlags = (section: string): boolean => section.startsWith("Options:");
  const [flags, groups] = [sections.filter(isFlags), sections.filter((section) => !isFlags(section))];
  const named = flags.map((section) => section.replace("Options:", commonHeading));
  return `${[usage, about, beginning, ...groups, ...named].join("\n\n")}\n`;
}

/** Show examples in the help of a command, where the list of commands finds them too. */
export const addExamples = (command: Command, ...examples: string[]): Command =>
  command.addHelpText("after", `\nExamples:\n${examples.map((example) => `  ${example}`).join("\n")}`);

/** Under which the flags that every command takes stand. */
export const commonHeading = "Flags of every command:";

/** What stands beneath the help of a command: what `--json` can pick of its answer, and that there are more flags. */
export function describeBeneath(command: Command, manifest: Manifest, columns: number): string {
  if (!command.parent || command.commands.length > 0) return "";
  const path = [command.name()];
  let group = command.parent;
  for (; group.parent?.parent; group = group.parent) path.unshift(group.name());
  const fields = manifest.fields(group.name(), path.join(" "))?.filter((one) => !one.includes(".")) ?? [];
  const lines = splitLines(fields.join(", "), columns - indent.length).map((line) => indent + line);
  const more = command.options.some(({ hidden }) => hidden);
  return [
    ...(fields.length > 0 ? ["", "JSON fields:", ...lines] : []),
    ...(more ? ["", "More flags, under the API's own names: --help --all"] : []),
  ].join("\n");
}

/** Show what is hidden because a shorter flag says the same. */
export function showTwins(command: Command): void {
  for (const option of command.options) option.hidden = false;
  for (const child of command.commands) showTwins(child);
}
