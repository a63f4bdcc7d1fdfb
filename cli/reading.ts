/** Commands that only read, so that they can be run again and again: written by hand, where others follow from the contract. */
import type { Command } from "commander";
import type { Context } from "./context.ts";
import { addWatchFlag } from "./resource/flags.ts";

/** Say what a command does, which reads; `--watch` does it again and again. */
export function addReading<Args extends unknown[]>(
  command: Command,
  contextOf: (command: Command) => Context,
  work: (context: Context, ...args: Args) => Promise<void> | void,
): void {
  addWatchFlag(command);
  command.action(async (...args: unknown[]) => {
    const context = contextOf(command);
    const runOnce = async (to: Context): Promise<void> => work(to, ...(args as Args));
    const { watch } = command.opts<{ watch?: number | true }>();
    if (watch === undefined) return runOnce(context);
    return (await import("./resource/watch.ts")).watch(context, watch, runOnce);
  });
}
