/** A screen of its own, which the terminal takes away again however the program ends. */
import { type Instance, render } from "ink";
import type { ReactElement } from "react";
import type { Io } from "../io.ts";

/** Escape codes: to the alternate screen and back, and an empty screen with the cursor in its corner. */
const [enter, leave, blank] = ["\u001b[?1049h", "\u001b[?25h\u001b[?1049l", "\u001b[2J\u001b[H"];
const [resize_ms, frames_max, hang_up_code] = [30, 15, 129];

/** Show an element on the whole terminal until `end` settles. It is mounted again when the size changes. */
export async function runFullScreen<T>(io: Io, element: ReactElement, end: Promise<T>): Promise<T> {
  const screen = io.stdout as NodeJS.WriteStream;
  let instance: Instance | undefined;
  let timer: NodeJS.Timeout | undefined;
  const mount = (): void => {
    screen.write(blank);
    instance = render(element, {
      stdin: io.stdin as NodeJS.ReadStream,
      stdout: screen,
      stderr: io.stderr as NodeJS.WriteStream,
      exitOnCtrlC: false,
      patchConsole: false,
      // Ink 6.8 draws each changed line one row too low when it draws only what has changed.
      incrementalRendering: false,
      maxFps: frames_max,
    });
  };
  const drop = (): void => {
    // Waited for from before the end: asked afterwards, Ink leaves a listener behind for each screen.
    instance?.waitUntilExit().catch(() => undefined);
    instance?.unmount();
    instance = undefined;
  };
  const mountAgain = (): void => {
    drop();
    mount();
  };
  const scheduleMount = (): void => {
    clearTimeout(timer);
    timer = setTimeout(mountAgain, resize_ms);
  };
  const restore = (): void => {
    clearTimeout(timer);
    screen.off("resize", scheduleMount);
    drop();
    screen.write(leave);
  };
  // The terminal was closed, or a multiplexer ends its window: Node would die of it at once.
  const endByHangUp = (): void => process.exit(hang_up_code);
  screen.write(enter);
  // A crash ends here, too: the last thing that the process does.
  process.once("exit", restore);
  process.once("SIGHUP", endByHangUp);
  try {
    mount();
    screen.on("resize", scheduleMount);
    return await end;
  } finally {
    process.off("exit", restore);
    process.off("SIGHUP", endByHangUp);
    restore();
  }
}
