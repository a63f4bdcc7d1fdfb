/** Questions to the person at the terminal, and what becomes of the command when there is no answer. */
import type { Context } from "./context.ts";
import { Fault } from "./fault.ts";
import type { Choice, Outcome, Question } from "./ui/questions.ts";

const buildEndedFault = (context: Context): Fault =>
  new Fault(context.io.signal.reason === "SIGTERM" ? "terminated" : "interrupted", "nothing was changed");

const buildLeftFault = (): Fault => new Fault("cancelled", "nothing was changed");

function getAnswer<T>(context: Context, outcome: Outcome<T>): T {
  if (outcome === "left") throw buildLeftFault();
  if (outcome === "interrupted") throw buildEndedFault(context);
  return outcome.value;
}

/** Questions that are drawn, or where nothing can be, questions line by line. */
const loadPrompts = (context: Context) => (context.canDraw ? import("./ui/index.ts") : import("./ui/lines.ts"));

/** Ask for several texts, under their names. */
export async function promptForm(
  context: Context,
  title: string,
  questions: Question[],
): Promise<Record<string, string>> {
  const ui = await loadPrompts(context);
  return getAnswer(context, await ui.promptForm(context.io, title, questions));
}

/** Ask for one of several. */
export async function promptChoice(context: Context, title: string, choices: Choice[]): Promise<string> {
  const ui = await loadPrompts(context);
  return getAnswer(context, await ui.promptChoice(context.io, title, choices));
}

/** Wait for something, with a turning wheel where somebody watches. */
export async function wait<T>(context: Context, label: string, work: () => Promise<T>): Promise<T> {
  if (!context.canDraw || context.globals.quiet) {
    context.say(`${label} …\n`);
    return work();
  }
  const ui = await import("./ui/index.ts");
  const working = work();
  const outcome = await ui.runWithSpinner(context.io, label, working);
  // An error is had from the work itself; only Ctrl-C leaves it without an end.
  if (outcome !== "interrupted") return getAnswer(context, outcome);
  return Promise.race([working, Promise.resolve().then(() => Promise.reject(buildEndedFault(context)))]);
}

const isYes = (answer: string): boolean => /^y(es)?$/i.test(answer.trim());

/** Ask for a yes. Without a terminal the flag that stands for it must be there. */
export async function confirm(context: Context, question: string, yes: boolean | undefined): Promise<void> {
  if (yes) return;
  if (!context.interactive)
    throw new Fault("usage", `not confirmed: ${question}`, {
      hint: "There is no terminal to answer at. Give --yes to go ahead.",
      consent: "--yes",
    });
  if (!context.canDraw) {
    const { readLine } = await import("./ui/lines.ts");
    if (!isYes(getAnswer(context, await readLine(context.io, `${question} [y/N] `)))) throw buildLeftFault();
    return;
  }
  const { createInterface } = await import("node:readline/promises");
  // A picker before it has let go of the terminal, and a process that waits for nothing ends before the answer.
  context.io.stdin.ref?.();
  const lines = createInterface({ input: context.io.stdin, output: context.io.stderr as NodeJS.WriteStream });
  const interrupted = new AbortController();
  // The terminal is in raw mode while it is read, so Ctrl-C comes to the reader and not as a signal.
  lines.once("SIGINT", () => interrupted.abort());
  try {
    const signal = AbortSignal.any([context.io.signal, interrupted.signal]);
    const answer = await lines.question(`${question} [y/N] `, { signal });
    if (!isYes(answer)) throw buildLeftFault();
  } catch (error) {
    if (error instanceof Fault) throw error;
    context.say("\n");
    // Ctrl-D ends the input, and with it the question.
    if (!context.io.signal.aborted && !interrupted.signal.aborted) throw buildLeftFault();
    throw buildEndedFault(context);
  } finally {
    lines.close();
  }
}
