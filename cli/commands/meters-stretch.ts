/** Which stretch of time `floe meters quantities` is about where flags leave it open. */
import { readClock } from "../clock.ts";
import type { Context } from "../context.ts";

const dayMs = 24 * 60 * 60 * 1000;
/** How many days are looked at without a start, by the length of the pieces. */
const days: Record<string, number> = { hour: 1, day: 30, week: 84, month: 365, year: 1825 };
/** The length of the pieces, by how many days there are at most. */
const pieces: [number, string][] = [
  [2, "hour"],
  [92, "day"],
  [1460, "month"],
];

/** The last days until now, in pieces of which there are some dozens. */
export async function fill(context: Context, said: Record<string, unknown>): Promise<Record<string, unknown>> {
  const { start_timestamp, end_timestamp, interval } = said;
  const end = end_timestamp === undefined ? (await readClock(context))() : Date.parse(String(end_timestamp));
  const start =
    start_timestamp === undefined
      ? end - (days[String(interval ?? "day")] ?? 1) * dayMs
      : Date.parse(String(start_timestamp));
  // What is no time is refused by the server, with its place.
  const formatIso = (time: number, typed: unknown) => (Number.isNaN(time) ? typed : new Date(time).toISOString());
  const length = pieces.find(([most]) => end - start <= most * dayMs)?.[1] ?? "year";
  return {
    start_timestamp: start_timestamp ?? formatIso(start, undefined),
    end_timestamp: end_timestamp ?? formatIso(end, undefined),
    interval: interval ?? length,
  };
}
