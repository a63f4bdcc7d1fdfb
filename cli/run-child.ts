/** Runs another program in the terminal of this process, such as an editor, and waits for its end. */
import { spawn } from "node:child_process";
import { planStart } from "./windows-start.ts";

export type Ended = {
  /** Undefined where it did not start. */
  code: number | undefined;
  /** This process was told to end, and has told the program. */
  isTerminated: boolean;
};

/** A program that a signal has ended answers as a shell says it. */
const signalCodes: Partial<Record<NodeJS.Signals, number>> = { SIGHUP: 129, SIGINT: 130, SIGKILL: 137, SIGTERM: 143 };

/** Run a program to its end. Ctrl-C is its own affair, and a signal to end is passed on to it. */
export async function runChild(command: string, args: string[], env: NodeJS.ProcessEnv, shell = false): Promise<Ended> {
  const start = shell ? { file: command, args } : planStart(command, args, env);
  const child = spawn(start.file, start.args, { stdio: "inherit", env, shell, ...start });
  let isTerminated = false;
  const ignore = (): void => undefined;
  const terminate = (): void => {
    isTerminated = true;
    child.kill("SIGTERM");
  };
  process.on("SIGINT", ignore);
  process.on("SIGTERM", terminate);
  try {
    const code = await new Promise<number | undefined>((resolve) => {
      child.on("error", () => resolve(undefined));
      child.on("close", (status, signal) => resolve(status ?? (signal && signalCodes[signal]) ?? 1));
    });
    return { code, isTerminated };
  } finally {
    process.off("SIGINT", ignore);
    process.off("SIGTERM", terminate);
  }
}
