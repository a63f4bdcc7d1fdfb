import type { Clock } from "../clock.ts";

/** So many of something in so long; who goes beyond is blocked for the rest of the window, or for as long as is said. */
export type Limit = { max: number; window_seconds: number; block_seconds?: number };

const entriesMax = 50_000;

/**
 * Counts of this process alone, for what must be cheap to refuse; the oldest go first when there are too many. Answers the
 * seconds to wait; 0 lets the caller go on. A count of -1 takes one back.
 */
export function countInMemory(clock: Clock): (key: string, limit: Limit, by?: 1 | -1) => number {
  const counts = new Map<string, { count: number; ends: number }>();
  return (key, { max, window_seconds, block_seconds }, by = 1) => {
    const now = clock.now().getTime();
    let entry = counts.get(key);
    if (!entry || entry.ends <= now) {
      counts.delete(key);
      entry = { count: 0, ends: now + window_seconds * 1000 };
      counts.set(key, entry);
      // In the order of their windows: what is over stands first.
      for (const [old, { ends }] of counts) {
        if (ends > now && counts.size <= entriesMax) break;
        counts.delete(old);
      }
    }
    entry.count = Math.max(0, entry.count + by);
    if (block_seconds !== undefined && by > 0 && entry.count === max + 1) {
      entry.ends = now + block_seconds * 1000;
      counts.delete(key);
      counts.set(key, entry);
    }
    const left = entry.ends - now;
    return entry.count > max ? (left - (left % 1000)) / 1000 + 1 : 0;
  };
}
