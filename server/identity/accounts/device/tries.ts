import { and, eq, gt, isNull, lte, or, sql } from "drizzle-orm";
import type { Clock } from "../../../platform/clock.ts";
import type { Config } from "../../../platform/config.ts";
import type { Database } from "../../../platform/context.ts";
import { hashToken } from "../../../platform/crypto/secrets.ts";
import { attempts } from "../../../platform/db/tables.ts";

/** Wrong codes after which no code is looked at for a while, right or wrong. */
const wrongMax = 5;
const lockedMs = 30 * 60 * 1000;

/**
 * Counts wrong user codes by account and by address. A try is counted as wrong before the code is looked at, and taken
 * back when it was right; so of any number of tries at once, on any number of servers, five are let through.
 */
export function createCodeTries({ db, clock, config }: { db: Database; clock: Clock; config: Config }) {
  const getKey = (kind: string, value: string) => `${kind}:${hashToken(config.secret, value).slice(0, 32)}`;

  /** Seconds to wait; 0 lets the try through. */
  async function countTry(key: string): Promise<number> {
    const now = clock.now();
    const ends = new Date(now.getTime() + lockedMs);
    const tries = sql`case when ${attempts.window_ends_at} <= ${now.toISOString()}::timestamptz then 1
      else ${attempts.count} + 1 end`;
    const [through] = await db
      .insert(attempts)
      .values({ key, count: 1, window_ends_at: ends })
      .onConflictDoUpdate({
        target: attempts.key,
        set: {
          count: tries,
          window_ends_at: sql`excluded.window_ends_at`,
          locked_until: sql`case when ${tries} >= ${wrongMax} then excluded.window_ends_at end`,
        },
        setWhere: or(isNull(attempts.locked_until), lte(attempts.locked_until, now)),
      })
      .returning({ key: attempts.key });
    if (through) return 0;
    const [row] = await db.select({ until: attempts.locked_until }).from(attempts).where(eq(attempts.key, key));
    return computeSecondsUntil(row?.until ?? now, now);
  }

  const revertTry = (key: string) =>
    db
      .update(attempts)
      .set({
        count: sql`${attempts.count} - 1`,
        locked_until: sql`case when ${attempts.count} - 1 >= ${wrongMax} then ${attempts.locked_until} end`,
      })
      .where(and(eq(attempts.key, key), gt(attempts.count, 0)));

  const getKeys = (user_id: string, address: string) => [
    getKey("device-account", user_id),
    getKey("device-address", address),
  ];
  return {
    /** Count a try. Answers seconds to wait; 0 lets it through. */
    async take(user_id: string, address: string): Promise<number> {
      const [account = "", place = ""] = getKeys(user_id, address);
      const wait = await countTry(account);
      if (wait > 0) return wait;
      const waitHere = await countTry(place);
      if (waitHere > 0) await revertTry(account);
      return waitHere;
    },
    /** The code was right: the try does not count. */
    async giveBack(user_id: string, address: string): Promise<void> {
      for (const key of getKeys(user_id, address)) await revertTry(key);
    },
  };
}

const computeSecondsUntil = (time: Date, now: Date): number => {
  const ms = time.getTime() - now.getTime();
  return ms <= 0 ? 1 : (ms - (ms % 1000)) / 1000 + (ms % 1000 === 0 ? 0 : 1);
};
