import { and, getTableName, isNull, lt, or } from "drizzle-orm";
import { attempts, refusedCalls } from "../../platform/db/tables.ts";
import { forgetRows, type Sweep } from "../../platform/jobs/sweeps.ts";
import { deviceCode, session, verification } from "./tables.ts";

const every_ms = 10 * 60 * 1000;
const kept_ms = 24 * 60 * 60 * 1000;
/** Refused calls are in the audit log for 90 days. */
const refused_kept_ms = 90 * 24 * 60 * 60 * 1000;
const dayBefore = (now: Date): Date => new Date(now.getTime() - kept_ms);

/**
 * Device codes, verifications and sessions that ran out a day ago are forgotten, and counts of tries whose window and lock
 * are over: nothing else does so.
 */
export const accountCleaning: readonly Sweep[] = [
  ...[deviceCode, verification, session].map((table) =>
    forgetRows(`${getTableName(table)}.forget`, every_ms, table, (now) => lt(table.expiresAt, dayBefore(now))),
  ),
  forgetRows("refused_calls.forget", every_ms, refusedCalls, (now) =>
    lt(refusedCalls.created_at, new Date(now.getTime() - refused_kept_ms)),
  ),
  forgetRows("attempts.forget", every_ms, attempts, (now) =>
    and(lt(attempts.window_ends_at, now), or(isNull(attempts.locked_until), lt(attempts.locked_until, now))),
  ),
];
