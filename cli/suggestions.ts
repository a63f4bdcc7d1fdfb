/** What a person is told to type stands between backticks in hints and talk, and is shown so that it can be typed as it is. */
import { quote } from "../shared/shell.ts";
import { getWidth, wrap } from "./ui/table.ts";
import { removeControls } from "./ui/theme.ts";

const commandIn = /`(floe [^`]+)`/g;
/** What was named on the command line of where it works. */
export type HintContext = { profile?: string; server?: string; org?: string };
const flags = { profile: "--profile", server: "--server", org: "--org" } as const;

/** A command with what was just made in it, marked as one to type; among `NAMES` by commas its own commas are marked. */
export const completeNamedCommand = (command: string, name: string): string =>
  `\`${command.replace(/NAMES?/, (place) => quote(place === "NAMES" ? removeControls(name).replaceAll(",", "\\,") : removeControls(name)))}\``;

/** The same command in the same place: with the profile, server and organization that were named on the command line. */
export function completeCommand(command: string, place: HintContext): string {
  if (/^floe (serve|help)\b|--help\b/.test(command)) return command;
  const missing = Object.entries(flags).flatMap(([name, flag]) => {
    const value = place[name as keyof typeof flags];
    return value === undefined || command.includes(` ${flag} `) ? [] : [`${flag} ${quote(value)}`];
  });
  return [command, ...missing].join(" ");
}

/** A text with its commands as they are to be typed. */
export const insertCommands = (
  text: string,
  place: HintContext,
  paint: (text: string) => string = (plain) => plain,
): string => text.replace(commandIn, (_, command: string) => paint(completeCommand(command, place)));

/** Stands for a blank at which no line is broken. */
const joint = "\ue000";
const columnsMin = 20;

/** A text in lines of at most `width` columns with its commands as they are to be typed, each kept whole: it is copied by the line. */
export function wrapCommands(
  text: string,
  width: number,
  place: HintContext,
  paint: (text: string) => string = (plain) => plain,
): string[] {
  const painted = new Map<string, string>();
  const glued = text.replace(commandIn, (_, command: string) => {
    const whole = completeCommand(command, place);
    const kept = whole.replaceAll(" ", joint);
    painted.set(kept, paint(whole));
    return kept;
  });
  return wrap(glued, Math.max(columnsMin, width)).map((line) =>
    [...painted].reduce((done, [kept, shown]) => done.replace(kept, () => shown), line),
  );
}

/** `insertCommands` for a terminal of so many columns: a line that would break within a command is broken before it. */
export function insertWholeCommands(
  text: string,
  columns: number | undefined,
  place: HintContext,
  paint: (text: string) => string = (plain) => plain,
): string {
  const insertInLine = (line: string): string => {
    const isLong = columns !== undefined && getWidth(insertCommands(line, place)) > columns;
    if (!isLong || line.match(commandIn) === null) return insertCommands(line, place, paint);
    const indent = /^ */.exec(line)?.[0] ?? "";
    return wrapCommands(line.trimStart(), columns - indent.length, place, paint)
      .map((part) => indent + part)
      .join("\n");
  };
  return text.split("\n").map(insertInLine).join("\n");
}
