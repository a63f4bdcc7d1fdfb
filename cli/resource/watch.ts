/** `--watch` of every command that reads: the same request again and again, shown where its answer has changed. */
import type { Context } from "../context.ts";
import { Fault } from "../fault.ts";
import { pause } from "../pause.ts";
import { removeControls, stripLinks } from "../ui/theme.ts";
import { isQuiet } from "./show.ts";

/** So often the server is asked where nobody said how often, and so often when nothing has changed for a while. */
const [standard_ms, idle_ms, idle_after_ms] = [5_000, 30_000, 300_000];
/** After failures it is asked ever less often, up to this. A server may ask for more. */
const [backoff_max_ms, asked_max_ms] = [300_000, 3_600_000];
const resize_ms = 100;

/** What one run of the command wrote: its answer, and what it said besides. */
type Written = { answer: string; said: string };
/** How the looks so far went. */
type Course = { every_ms?: number; failures: number; retry_after?: number | undefined; unchanged_ms: number };

/** How long to wait before the next look. */
export function computeWait({ every_ms, failures, retry_after = 0, unchanged_ms }: Course): number {
  const usual = every_ms ?? (unchanged_ms < idle_after_ms ? standard_ms : idle_ms);
  if (failures === 0) return usual;
  const asked = Math.min(retry_after * 1000, asked_max_ms);
  return Math.max(usual, asked, Math.min(usual * 2 ** (failures - 1), backoff_max_ms));
}

/** Run a command, and keep what it writes and what the server answered. */
function createLooks(context: Context, work: (context: Context) => Promise<void>) {
  let answers = new Map<string, unknown>();
  const collect = async (call: Context["call"]): Promise<Written> => {
    const written = { answer: "", said: "" };
    const add = (to: keyof Written) => (text: string) => {
      written[to] += text;
    };
    await work({ ...context, call, print: add("answer"), page: add("answer"), say: add("said") });
    return written;
  };
  return {
    /** Ask the server; a failure is told at once, since the next look is soon enough to try again. */
    async ask(): Promise<Written & { isChanged: boolean }> {
      const got: typeof answers = new Map();
      const written = await collect(async (made) => {
        const body = await context.call({ ...made, isTriedOnce: true });
        got.set(JSON.stringify(made), body);
        return body;
      });
      const isChanged = JSON.stringify([...got]) !== JSON.stringify([...answers]);
      answers = got;
      return { ...written, isChanged };
    },
    /** The same answers for a terminal of another size. */
    drawAgain: (): Promise<Written> => collect(async (made) => answers.get(JSON.stringify(made))),
  };
}
type Looks = ReturnType<typeof createLooks>;

/** Whether a failure may pass: what is shown stays, and the command is run again. */
const canPass = (error: unknown): error is Fault =>
  error instanceof Fault && ["unreachable", "rate_limited"].includes(error.kind);

/** Run it until the signal ends it. The first run must succeed. */
async function runUntilEnd(
  looks: Looks,
  every_ms: number | undefined,
  signal: AbortSignal,
  show: (written: Written) => void,
): Promise<void> {
  let last: Written | undefined;
  let changed_at = Date.now();
  const course: Course = { ...(every_ms !== undefined && { every_ms }), failures: 0, unchanged_ms: 0 };
  while (!signal.aborted) {
    try {
      const written = await looks.ask();
      if (signal.aborted) return;
      if (written.isChanged) changed_at = Date.now();
      course.failures = 0;
      last = written;
      show(written);
    } catch (error) {
      if (signal.aborted) return;
      if (!last || !canPass(error)) throw error;
      course.failures += 1;
      course.retry_after = error.parts.retry_after;
      const seconds = Math.ceil(computeWait(course) / 1000);
      show({ ...last, said: `${removeControls(error.message)}; the next look is in ${seconds} s\n` });
    }
    course.unchanged_ms = Date.now() - changed_at;
    await pause(computeWait(course), signal);
  }
}

/** An answer as one line: JSON without its line breaks. */
const joinLines = (answer: string): string => `${JSON.stringify(JSON.parse(answer))}\n`;

/** What a terminal of so many rows shows. A frame as high as the terminal would be drawn by clearing it each time. */
function truncateRows({ answer, said }: Written, rows: number): string[] {
  const lines = [...stripLinks(answer).trimEnd().split("\n"), ...said.trimEnd().split("\n").map(removeControls)];
  const room = Math.max(1, rows - 3);
  return lines.length > room ? [...lines.slice(0, room - 1), `… ${lines.length - room + 1} more lines`] : lines;
}

/** Draw a terminal that has got another size again, when it has stopped changing; answers how to stop that. */
function followSize(stdout: Context["io"]["stdout"], drawAgain: () => void): () => void {
  const stream = stdout as NodeJS.WriteStream;
  let timer: NodeJS.Timeout | undefined;
  const schedule = (): void => {
    clearTimeout(timer);
    timer = setTimeout(drawAgain, resize_ms);
  };
  stream.on("resize", schedule);
  return () => {
    clearTimeout(timer);
    stream.off("resize", schedule);
  };
}

/** Watch what a command answers: drawn again on a terminal, a line for each change in a pipe. */
export async function watch(
  context: Context,
  every: unknown,
  work: (context: Context) => Promise<void>,
): Promise<void> {
  const { signal, stdout } = context.io;
  const every_ms = typeof every === "number" ? every * 1000 : undefined;
  const looks = createLooks(context, work);
  const createStop = (): Fault =>
    new Fault(signal.reason === "SIGTERM" ? "terminated" : "interrupted", "stopped watching");
  // Where nothing can be drawn over, and where it is read aloud, each change is told once.
  if (context.json || !context.canDraw || !stdout.rows) {
    let before: Written | undefined;
    await runUntilEnd(looks, every_ms, signal, (written) => {
      if (written.answer !== before?.answer)
        context.print(context.json && !isQuiet(context) ? joinLines(written.answer) : written.answer);
      if (written.said !== before?.said) context.say(written.said);
      before = written;
    });
    throw createStop();
  }
  const ui = await import("../ui/index.ts");
  const hint = `Every ${(every_ms ?? standard_ms) / 1000} s; q ends it.`;
  const outcome = await ui.drawFrames(context.io, hint, async (draw, ended) => {
    let said = "";
    const show = (written: Written): void => {
      said = written.said;
      draw(truncateRows(written, stdout.rows ?? 0));
    };
    const stop = followSize(stdout, () => {
      looks.drawAgain().then(
        ({ answer }) => show({ answer, said }),
        // The answers of a look that has not ended: the look itself draws, or tells what is wrong.
        () => undefined,
      );
    });
    await runUntilEnd(looks, every_ms, ended, show).finally(stop);
  });
  if (outcome === "interrupted") throw createStop();
  if (outcome !== "left" && outcome.value.error !== undefined) throw outcome.value.error;
}
