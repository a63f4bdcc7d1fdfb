/** How far something large is: a bar that is drawn anew on a terminal, a line now and then in a pipe. */
import { bytesReadable } from "../../shared/bytes.ts";
import type { Context } from "../context.ts";
import { plain } from "./theme.ts";

const bar_width = 24;
/** In a pipe, a line for each tenth. */
const line_steps = 10;

/** Begin to show the progress of `name`, which is over at `total` bytes. */
export function progress(context: Context, name: string, total: number): { add(bytes: number): void; end(): void } {
  const terminal = context.io.stderr.isTTY === true;
  let done = 0;
  let steps = 0;
  const far = (): string => `${Math.floor((done / total) * 100)} % of ${bytesReadable(total)}`;
  const draw = (): void => {
    const filled = Math.floor((done / total) * bar_width);
    const bar = "█".repeat(filled) + "░".repeat(bar_width - filled);
    context.say(`\r\u001b[2K${bar} ${far()}  ${plain(name)}`);
  };
  if (terminal) draw();
  return {
    add(bytes) {
      done += bytes;
      if (terminal) return draw();
      const reached = Math.floor((done / total) * line_steps);
      if (reached > steps) context.say(`${plain(name)}: ${far()}\n`);
      steps = reached;
    },
    end() {
      if (terminal) context.say("\r\u001b[2K");
    },
  };
}
