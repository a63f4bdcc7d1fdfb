/** What a person is told to type stands between backticks in hints and talk, and is shown so that it can be typed as it is. */
import { quote } from "../shared/shell.ts";
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
