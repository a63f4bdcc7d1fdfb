import { setTimeout as sleep } from "node:timers/promises";

/** How long a test waits for one thing to happen. Machines of others are slower, and run several tests at once. */
export const patienceMs = 60_000;

/** What a look finds, once it finds something. */
export async function eventually<T>(
  look: () => Promise<T | undefined>,
  what: string,
  forMs: number = patienceMs,
): Promise<T> {
  const ends = Date.now() + forMs;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (Date.now() > ends) throw new Error(`In vain: ${what}.`);
    await sleep(20);
  }
}
