/** For changes that really happen at the same time: one embedded connection would put them in a row. */
import { type Floe, type FloeOptions, start } from "./floe.ts";
import { createPostgresDatabase } from "./postgres-database.ts";

export async function startOnPostgres(options: Omit<FloeOptions, "databaseUrl"> = {}): Promise<Floe> {
  return start({ ...options, databaseUrl: await createPostgresDatabase() });
}

/** Do one thing so many times at once. */
export const atOnce = <T>(times: number, work: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: times }, (_, index) => work(index)));

/** How often each outcome came. */
export function tally(outcomes: (string | number)[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const one of outcomes) counts[one] = (counts[one] ?? 0) + 1;
  return counts;
}
