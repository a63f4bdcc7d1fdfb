/** `--watch` of every command that reads: the same request again and again, shown where its answer has changed. */
import type { Context } from "../context.ts";
import { Fault } from "../fault.ts";
import { pause } from "../pause.ts";
import { removeControls } from "../ui/theme.ts";

const standard_seconds = 5;

/** What one run of the command wrote: its answer, and what it said besides. */
type Written = { answer: string; said: string };

/** Run a command once and keep what it writes. */
async function collect(context: Context, work: (context: Context) => Promise<void>): Promise<Written> {
  const written = { answer: "", said: "" };
  const add = (to: keyof Written) => (text: string) => {
    written[to] += text;
  };
  await work({ ...context, print: add("answer"), page: add("answer"), say: add("said") });
  return written;
}

/** Whether a failure may pass: what is shown stays, and the command is run again. */
const canPass = (error: unknown): error is Fault =>
  error instanceof Fault && ["unreachable", "rate_limited"].includes(error.kind);

/** Run it until the signal ends it. The first run must succeed. */
async function runUntilEnd(
  read: () => Promise<Written>,
  wait_ms: number,
  signal: AbortSignal,
  show: (written: Written) => void,
): Promise<void> {
  let last: Written | undefined;
  while (!signal.aborted) {
    try {
      const written = await read();
      if (signal.aborted) return;
      last = written;
      show(written);
    } catch (error) {
      if (signal.aborted) return;
      if (!last || !canPass(error)) throw error;
      show({ ...last, said: `${error.message}\n` });
    }
    await pause(wait_ms, signal);
  }
}

/** An answer as one line: JSON without its line breaks. */
const joinLines = (answer: string): string => `${JSON.stringify(JSON.parse(answer))}\n`;

/** Watch what a command answers: drawn again on a terminal, a line for each change in a pipe. */
export async function watch(
  context: Context,
  every: unknown,
  work: (context: Context) => Promise<void>,
): Promise<void> {
  const { signal, stdout } = context.io;
  const seconds = typeof every === "number" ? every : standard_seconds;
  const wait_ms = seconds * 1000;
  const read = (): Promise<Written> => collect(context, work);
  const createStop = (): Fault =>
    new Fault(signal.reason === "SIGTERM" ? "terminated" : "interrupted", "stopped watching");
  if (context.json || !context.interactive || !stdout.rows) {
    let before: Written | undefined;
    await runUntilEnd(read, wait_ms, signal, (written) => {
      if (written.answer !== before?.answer) context.print(context.json ? joinLines(written.answer) : written.answer);
      if (written.said !== before?.said) context.say(written.said);
      before = written;
    });
    throw createStop();
  }
  const ui = await import("../ui/index.ts");
  const outcome = await ui.drawFrames(context.io, `Every ${seconds} s; q ends it.`, (draw, ended) =>
    runUntilEnd(read, wait_ms, ended, ({ answer, said }) => {
      const lines = [...answer.trimEnd().split("\n"), ...said.trimEnd().split("\n").map(removeControls)];
      // A frame as high as the terminal would be drawn by clearing it each time.
      const room = Math.max(1, (stdout.rows ?? 0) - 3);
      draw(lines.length > room ? [...lines.slice(0, room - 1), `… ${lines.length - room + 1} more lines`] : lines);
    }),
  );
  if (outcome === "interrupted") throw createStop();
  if (outcome !== "left" && outcome.value.error !== undefined) throw outcome.value.error;
}
