/**
 * Questions for a terminal that nothing may be drawn over, and for one that is read aloud: each is a line, and so is its answer. The
 * terminal itself edits the line, so no escape code is written.
 */
import type { Io } from "../io.ts";
import type { Choice, Outcome, Question } from "./questions.ts";
import { removeControls } from "./theme.ts";

const choicesShown = 20;
const lineMax = 100_000;
const idPartMin = 4;
const leaveKeys = process.platform === "win32" ? "Ctrl-Z and enter leave" : "Ctrl-D leaves";

const write = (io: Io, text: string): void => {
  (io.stderr.isTTY ? io.stderr : io.stdout).write(text);
};

/** Ask for one line. The end of the input leaves; what was typed after the line stays for the next question. */
export function readLine(io: Io, prompt: string): Promise<Outcome<string>> {
  const { stdin, signal } = io;
  write(io, prompt);
  return new Promise((resolve) => {
    let typed = Buffer.alloc(0);
    const settle = (outcome: Outcome<string>): void => {
      stdin.off("data", readPart);
      stdin.off("end", leave);
      stdin.off("error", leave);
      signal.removeEventListener("abort", stop);
      stdin.pause();
      // The person sees where the answer ended, whether or not a line was ended by a key.
      if (typeof outcome === "string") write(io, "\n");
      resolve(outcome);
    };
    const readPart = (part: Buffer | string): void => {
      typed = Buffer.concat([typed, Buffer.from(part)]).subarray(0, lineMax);
      const end = typed.indexOf("\n");
      if (end < 0) return;
      const value = typed.subarray(0, end).toString("utf8").replace(/\r$/, "");
      const rest = typed.subarray(end + 1);
      settle({ value });
      if (rest.length > 0) stdin.unshift(rest);
    };
    const leave = (): void => settle("left");
    const stop = (): void => settle("interrupted");
    if (signal.aborted) return stop();
    signal.addEventListener("abort", stop, { once: true });
    stdin.on("data", readPart);
    stdin.on("end", leave);
    stdin.on("error", leave);
    // A question before it has let go of the terminal, and a process that waits for nothing ends before the answer.
    stdin.ref?.();
    stdin.resume();
  });
}

const isSame = (text: string, typed: string): boolean => text.toLowerCase() === typed.toLowerCase();
/** Whether a choice is meant: by a part of what is shown of it, or by enough of its id. */
const isMatch = ({ label, value }: Choice, typed: string): boolean =>
  (typed.length < idPartMin ? label : `${label} ${value}`).toLowerCase().includes(typed.toLowerCase());
/** Whether a text is the whole name, with which the label begins, or the id. */
const isExact = ({ label, value }: Choice, typed: string): boolean =>
  isSame(value, typed) || isSame(label.trimEnd(), typed) || label.toLowerCase().startsWith(`${typed.toLowerCase()}  `);

/** Ask for one of several, by its number in the list or by a part of its name. A number means what was listed last. */
export async function promptChoice(io: Io, title: string, choices: Choice[]): Promise<Outcome<string>> {
  let listed = choices;
  write(io, `${removeControls(title)}\n`);
  for (;;) {
    const shown = listed.slice(0, choicesShown);
    for (const [index, { label }] of shown.entries()) write(io, `  ${index + 1}  ${removeControls(label).trimEnd()}\n`);
    if (listed.length > shown.length) write(io, `  … ${listed.length - shown.length} more: type a part of the name\n`);
    const answer = await readLine(io, `Number, or part of the name (${leaveKeys}): `);
    if (typeof answer === "string") return answer;
    const typed = answer.value.trim();
    const chosen = /^\d+$/.test(typed) ? shown[Number(typed) - 1] : undefined;
    if (chosen) return { value: chosen.value };
    const found = typed === "" ? [] : choices.filter((choice) => isMatch(choice, typed));
    const exact = found.filter((choice) => isExact(choice, typed));
    for (const [only, ...others] of [exact, found]) if (only && others.length === 0) return { value: only.value };
    if (found.length > 0) listed = found;
    else write(io, `Nothing matches. Type a number from 1 to ${shown.length}.\n`);
  }
}

/** The choice that a text means, by its name or a beginning that no other has; undefined where it means none. */
function findChoice(choices: string[], typed: string): string | undefined {
  const exact = choices.find((one) => isSame(one, typed));
  const begun = choices.filter((one) => one.toLowerCase().startsWith(typed.toLowerCase()));
  return exact ?? (begun.length === 1 ? begun[0] : undefined);
}

/** Ask one question until its answer is right. */
async function promptOne(io: Io, { label, hint, choices, before, check }: Question): Promise<Outcome<string>> {
  if (before) write(io, `${removeControls(`${label}: ${before.text}: ${before.fault}`)}\n`);
  const [first] = choices ?? [];
  const notes = [hint, choices && `${choices.join(", ")}; enter takes ${first}`].filter(Boolean).join("; ");
  for (;;) {
    const answer = await readLine(io, removeControls(notes ? `${label} (${notes}): ` : `${label}: `));
    if (typeof answer === "string") return answer;
    const typed = choices && answer.value.trim() === "" ? (first ?? "") : answer.value;
    const value = choices ? findChoice(choices, typed.trim()) : typed;
    const fault = value === undefined ? `is one of ${choices?.join(", ")}` : check(value);
    if (value !== undefined && fault === undefined) return { value };
    write(io, `${removeControls(`${label}: ${fault}`)}\n`);
  }
}

/** Ask for several texts, one after the other. */
export async function promptForm(
  io: Io,
  title: string,
  questions: Question[],
): Promise<Outcome<Record<string, string>>> {
  write(io, `${removeControls(title)} (${leaveKeys})\n`);
  const answers: Record<string, string> = {};
  for (const question of questions) {
    const answer = await promptOne(io, question);
    if (typeof answer === "string") return answer;
    answers[question.name] = answer.value;
  }
  return { value: answers };
}
