import { eq, isNull, like, lte, or, sql } from "drizzle-orm";
import type { Clock } from "../clock.ts";
import type { Config } from "../config.ts";
import type { Database } from "../context.ts";
import { hashToken } from "../crypto/secrets.ts";
import { attempts } from "../db/tables.ts";
import type { Limit } from "./limits.ts";

/**
 * How long a guesser has to wait: not at all for the first `free` tries, then doubling from one second to
 * `longest_seconds`; a day from the hundredth in a row (NIST SP 800-63B, 5.2.2: no more than 100).
 */
export type Backoff = { free: number; longest_seconds: number };
type Parts = { db: Database; clock: Clock; config: Config };

/** After this pause, the count of wrong guesses starts from zero. */
const forgottenAfterMs = 7 * 24 * 60 * 60 * 1000;
const inARowMax = 100;
const countMax = 1_000_000;

/**
 * Counts tries in the database, so that every server on it counts together, and by our clock. Each check is one
 * statement: of any number of requests at once, no more than allowed get through. A key's second part (an address, an
 * account) is kept as a hash. Answers are seconds to wait; 0 lets the caller go on.
 */
export function createLimiter({ db, clock, config }: Parts) {
  const getKey = (key: string, device?: string): string => {
    const [kind = "", ...rest] = key.split(":");
    const hash = hashToken(config.secret, rest.join(":")).slice(0, 32);
    return `${kind}:${hash}${device === undefined ? "" : `:${device}`}`;
  };
  return {
    /** Count a try against a limit. `key` is a kind and a value: `sign-in:192.0.2.1`. A `device` has a count of its own. */
    async hit(key: string, { max, window_seconds, block_seconds }: Limit, device?: string): Promise<number> {
      const now = clock.now();
      const ends = new Date(now.getTime() + window_seconds * 1000);
      const kept =
        block_seconds === undefined
          ? sql`${attempts.window_ends_at}`
          : sql`case when ${attempts.count} = ${max} then ${new Date(now.getTime() + block_seconds * 1000).toISOString()}::timestamptz
              else ${attempts.window_ends_at} end`;
      const isOver = sql`${attempts.window_ends_at} <= ${now.toISOString()}::timestamptz`;
      const [row] = await db
        .insert(attempts)
        .values({ key: getKey(key, device), count: 1, window_ends_at: ends })
        .onConflictDoUpdate({
          target: attempts.key,
          set: {
            count: sql`case when ${isOver} then 1 else least(${attempts.count} + 1, ${countMax}) end`,
            window_ends_at: sql`case when ${isOver} then excluded.window_ends_at else ${kept} end`,
          },
        })
        .returning({ count: attempts.count, ends: attempts.window_ends_at });
      return row && row.count > max ? computeSecondsUntil(row.ends, now) : 0;
    },

    /** Take back a counted attempt. */
    async takeBack(key: string): Promise<void> {
      await db
        .update(attempts)
        .set({ count: sql`greatest(${attempts.count} - 1, 0)` })
        .where(eq(attempts.key, getKey(key)));
    },

    /**
     * Ask to guess a secret. A guess that is let through counts as wrong until `forget` says that it was right; while one
     * has to wait, nothing counts. A `device` has a count of its own.
     */
    async guess(key: string, { free, longest_seconds }: Backoff, device?: string): Promise<number> {
      const now = clock.now();
      const at = sql`${now.toISOString()}::timestamptz`;
      const tries = sql`case when ${attempts.window_ends_at} <= ${at} then 1 else least(${attempts.count} + 1, ${countMax}) end`;
      const doublings = sql`least(${tries} - ${free}, 30)`;
      const [through] = await db
        .insert(attempts)
        .values({
          key: getKey(key, device),
          count: 1,
          window_ends_at: new Date(now.getTime() + forgottenAfterMs),
          locked_until: free <= 1 ? new Date(now.getTime() + 1000) : null,
        })
        .onConflictDoUpdate({
          target: attempts.key,
          set: {
            count: tries,
            window_ends_at: sql`excluded.window_ends_at`,
            locked_until: sql`case when ${tries} < ${free} then null
              when ${tries} >= ${inARowMax} then ${at} + interval '1 day'
              else ${at} + least(power(2, ${doublings}), ${longest_seconds}) * interval '1 second' end`,
          },
          setWhere: or(isNull(attempts.locked_until), lte(attempts.locked_until, now)),
        })
        .returning({ key: attempts.key });
      if (through) return 0;
      const [row] = await db
        .select({ until: attempts.locked_until })
        .from(attempts)
        .where(eq(attempts.key, getKey(key, device)));
      return row?.until ? Math.max(computeSecondsUntil(row.until, now), 1) : 1;
    },

    /** Reset the count after a correct guess. */
    async forget(key: string, device?: string): Promise<void> {
      await db.delete(attempts).where(eq(attempts.key, getKey(key, device)));
    },

    /** Reset all counts after the secret has changed, those of devices included. */
    async forgetAll(key: string): Promise<void> {
      await db.delete(attempts).where(or(eq(attempts.key, getKey(key)), like(attempts.key, `${getKey(key)}:%`)));
    },
  };
}

const computeSecondsUntil = (time: Date, now: Date): number => {
  const ms = Math.max(time.getTime() - now.getTime(), 0);
  return (ms - (ms % 1000)) / 1000 + (ms % 1000 === 0 ? 0 : 1);
};
