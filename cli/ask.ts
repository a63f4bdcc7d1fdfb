/** Questions to the person at the terminal. */
import type { Context } from "./context.ts";
import { Fault } from "./fault.ts";

/** Ask for a yes. Without a terminal the flag that stands for it must be there. */
export async function confirm(context: Context, question: string, yes: boolean | undefined): Promise<void> {
  if (yes) return;
  if (!context.interactive)
    throw new Fault("usage", `this asks: ${question}`, { hint: "Nobody is there to answer. Give --yes to go ahead." });
  const { createInterface } = await import("node:readline/promises");
  const lines = createInterface({ input: context.io.stdin, output: context.io.stderr as NodeJS.WriteStream });
  try {
    const answer = await lines.question(`${question} [y/N] `, { signal: context.io.signal });
    if (!/^y(es)?$/i.test(answer.trim())) throw new Fault("cancelled", "nothing was changed");
  } catch (error) {
    if (error instanceof Fault) throw error;
    throw new Fault(context.io.signal.reason === "SIGTERM" ? "terminated" : "interrupted", "nothing was changed");
  } finally {
    lines.close();
  }
}
