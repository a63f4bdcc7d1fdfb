import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** By how much the heap may grow beyond what was alive, in percent, before V8 collects. */
const heapGrowthPercent = 60;

/**
 * Collect garbage earlier. On a machine with gigabytes of memory V8 lets the heap of a busy server grow to four times what is
 * alive. A limit of the whole heap would end the process where a large archive needs more; this only makes it collect.
 */
export const limitHeapGrowth = (): void => setFlagsFromString(`--heap-growing-percent=${heapGrowthPercent}`);

/**
 * Give back what was needed for a start: V8 keeps the room that it grew to, and on a server that little is asked of it would
 * for minutes, a quarter of all that the process holds. It stops the process for some hundredths of a second.
 */
export function releaseMemory(): void {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
}
