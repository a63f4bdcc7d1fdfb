import { and, getTableName, isNull, lt, or } from "drizzle-orm";
import { attempts, refusedCalls } from "../../platform/db/tables.ts";
import { createCleanupWorker, type Worker } from "../../platform/jobs/workers.ts";
import { ciExchanges, deviceCode, session, verification } from "./tables.ts";

const everyMs = 10 * 60 * 1000;
const keptMs = 24 * 60 * 60 * 1000;
/** Refused calls are in the audit log for 90 days. */
const refusedKeptMs = 90 * 24 * 60 * 60 * 1000;
const getDayBefore = (now: Date): Date => new Date(now.getTime() - keptMs);

/**
 * Device codes, verifications and sessions that ran out a day ago are forgotten, and counts of tries whose window and lock
 * are over: nothing else does so. Tokens of CI jobs are remembered until they end.
 */
export const accountCleanup: readonly Worker[] = [
  ...[deviceCode, verification, session].map((table) =>
    createCleanupWorker(`${getTableName(table)}.forget`, everyMs, table, (now) =>
      lt(table.expiresAt, getDayBefore(now)),
    ),
  ),
  createCleanupWorker("ci_exchanges.forget", everyMs, ciExchanges, (now) => lt(ciExchanges.expires_at, now)),
  createCleanupWorker("refused_calls.forget", everyMs, refusedCalls, (now) =>
    lt(refusedCalls.created_at, new Date(now.getTime() - refusedKeptMs)),
  ),
  createCleanupWorker("attempts.forget", everyMs, attempts, (now) =>
    and(lt(attempts.window_ends_at, now), or(isNull(attempts.locked_until), lt(attempts.locked_until, now))),
  ),
];
