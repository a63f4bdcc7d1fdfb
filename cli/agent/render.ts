/** What an agent reads: short JSON with text of other people marked, and refusals that name the command that works. */

import { quote } from "../../shared/shell.ts";
import { exitCodes, type Fault } from "../fault.ts";
import { completeCommand, type HintContext } from "../suggestions.ts";
import { maskAnswer } from "./mask.ts";

type Next = { command: string; when: string };

/** An answer in JSON as an agent reads it; other text as it is. */
export function formatForAgent(text: string): string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return text;
  }
  // A secret that a command was made to show, such as that of a new endpoint, is shown.
  return `${JSON.stringify(maskAnswer(value, { showSecrets: true }))}\n`;
}

/** What can be typed next: the same command with the consent of a person, or the commands of the hint. */
function listNext(fault: Fault, argv: string[], place: HintContext): Next[] {
  const { hint = "", consent } = fault.parts;
  if (consent) {
    const command = ["floe", ...argv.map(quote), consent].join(" ");
    return [{ command, when: `a person has read the question and agrees: ${fault.message}` }];
  }
  const choices = listMeant(fault, argv, place);
  if (choices.length > 0) return choices;
  const commands = [...hint.matchAll(/`(floe [^`]+)`/g)].map(([, command = ""]) => completeCommand(command, place));
  const when = fault.kind === "signed_out" ? "a person can open the address that it prints" : fault.message;
  return commands.map((command) => ({ command, when }));
}

/** The command line with one word in place of another, also where it is a part of a list or stands after a flag's `=`. */
const replaceWord = (argv: string[], word: string, by: string): string[] =>
  argv.map((one) =>
    one.replace(/^(--[\w-]+=)?(.*)$/s, (_, flag: string | undefined, value: string) => {
      const parts = value.split(",").map((part) => (part === word ? by : part));
      return (flag ?? "") + parts.join(",");
    }),
  );

/** What was meant by a word that is misspelt, or that may mean several things: the same command line with each of them. */
function listMeant({ message, parts }: Fault, argv: string[], place: HintContext): Next[] {
  const [, amount = "", first = "", second = ""] = /"([^"]+)" .*may mean (\S+?) or (\S+?)[:.]/.exec(message) ?? [];
  const meant = parts.meant ?? (amount ? { word: amount, by: [first, second] } : undefined);
  return (meant?.by ?? []).map((by) => ({
    command: completeCommand(["floe", ...replaceWord(argv, meant?.word ?? "", by).map(quote)].join(" "), place),
    when: `${meant?.word} means ${by}`,
  }));
}

/** Whether a person would have been asked here. */
export const isQuestion = ({ kind, parts }: Fault): boolean =>
  kind === "signed_out" || parts.asks === true || parts.consent !== undefined;

/** The fault as one JSON object of the parts that `renderFault` gives. */
export function formatFaultForAgent(fault: Fault, rendered: string, argv: string[], place: HintContext): string {
  const { hint, ...envelope } = JSON.parse(rendered) as { hint?: string; message: string };
  const next = listNext(fault, argv, place);
  const shown = fault.parts.quotesNames && hint !== undefined ? { untrusted: hint } : hint;
  return `${JSON.stringify({
    status: isQuestion(fault) ? "action_required" : "error",
    ...envelope,
    ...(shown !== undefined && { hint: shown }),
    ...(next.length > 0 && { next }),
    meaning: exitCodes[fault.kind][1],
  })}\n`;
}
