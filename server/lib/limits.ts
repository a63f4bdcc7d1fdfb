import type { Clock } from "./clock.ts";

/** So many of something in so long. */
export type Limit = { max: number; window_seconds: number };

const entries_max = 50_000;

/**
 * Counts of this process alone, for what must be cheap to refuse; the oldest go first when there are too many. Answers the
 * seconds to wait; 0 lets the caller go on.
 */
export function countInMemory(clock: Clock): (key: string, limit: Limit) => number {
  const counts = new Map<string, { count: number; ends: number }>();
  return (key, { max, window_seconds }) => {
    const now = clock.now().getTime();
    let entry = counts.get(key);
    if (!entry || entry.ends <= now) {
      counts.delete(key);
      entry = { count: 0, ends: now + window_seconds * 1000 };
      counts.set(key, entry);
      // In the order of their windows: what is over stands first.
      for (const [old, { ends }] of counts) {
        if (ends > now && counts.size <= entries_max) break;
        counts.delete(old);
      }
    }
    entry.count += 1;
    const left = entry.ends - now;
    return entry.count > max ? (left - (left % 1000)) / 1000 + 1 : 0;
  };
}
