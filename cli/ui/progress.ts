/** How far something large is: a bar that is drawn anew on a terminal, a line now and then in a pipe. */
import { formatBytes } from "../../shared/bytes.ts";
import type { Context } from "../context.ts";
import { canRedraw } from "../io.ts";
import { truncateCell } from "./table.ts";
import { removeControls } from "./theme.ts";

const barWidth = 24;
/** In a pipe, a line for each tenth. */
const lineSteps = 10;

/** Sooner than this, how fast it is would be a guess, and nobody waits for it. */
const rateAfterMs = 1000;

/** How long something still takes, to the unit that a person plans by. */
export function formatRemaining(ms: number): string {
  const seconds = Math.ceil(ms / 1000);
  if (seconds < 60) return `${seconds} s left`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return `${minutes} min left`;
  const rest = minutes % 60;
  return `${Math.floor(minutes / 60)} h${rest > 0 ? ` ${rest} min` : ""} left`;
}

type Phase = {
  /** Begin to count, from nothing or from so many; `what` is said beside the bar. */
  start(what: string, from?: number): void;
  /** `note` stands in place of the name, on a terminal. */
  add(more: number, note?: string): void;
  /** Take the bar away. */
  end(): void;
};

/**
 * Show the progress of `name`, which is over at `total` bytes (or what `say` makes of them), through one or several phases. A `say`
 * that takes no number counts nothing whose rate would tell a person anything.
 */
export function showProgress(
  context: Context,
  name: string,
  total: number,
  say: (count: number) => string = formatBytes,
): Phase {
  const { columns = 80 } = context.io.stderr;
  const isDrawn = canRedraw(context.io);
  let phase = "";
  let shown = name;
  let done = 0;
  let steps = 0;
  let first = 0;
  let started_at = performance.now();
  const formatRate = (): string => {
    const ms = performance.now() - started_at;
    const rate = (done - first) / ms;
    if (ms < rateAfterMs || rate <= 0 || done >= total) return "";
    const speed = say.length > 0 ? [`${say(Math.round(rate * 1000))}/s`] : [];
    return `, ${[...speed, formatRemaining((total - done) / rate)].join(", ")}`;
  };
  const computeDistance = (): string => `${Math.floor((done / total) * 100)} % of ${say(total)}${formatRate()}`;
  const draw = (): void => {
    const filled = Math.floor((done / total) * barWidth);
    const bar = "█".repeat(filled) + "░".repeat(barWidth - filled);
    // A line that is broken by the terminal could not be drawn over; its last column stays free.
    context.say(
      `\r\u001b[2K${truncateCell(`${bar} ${computeDistance()}  ${phase}${removeControls(shown)}`, columns - 1)}`,
    );
  };
  return {
    start(what, from = 0) {
      [phase, done, steps] = [what && `${what} `, from, 0];
      [first, started_at] = [from, performance.now()];
      if (isDrawn) draw();
    },
    add(more, note = name) {
      done += more;
      shown = note;
      if (isDrawn) return draw();
      const reached = Math.floor((done / total) * lineSteps);
      if (reached > steps) context.say(`${removeControls(name)}: ${computeDistance()}\n`);
      steps = reached;
    },
    end() {
      if (isDrawn) context.say("\r\u001b[2K");
    },
  };
}
