import { lt } from "drizzle-orm";
import type { Deps } from "../lib/context.ts";
import { sweepAttempts } from "./limits.ts";
import { deviceCode, session, verification } from "./tables.ts";

const kept_ms = 24 * 60 * 60 * 1000;

/** Forget device codes, verifications and sessions that ran out a day ago, and counts of tries: nothing else does. */
export async function sweepDeviceCodes(deps: Deps): Promise<number> {
  const old = new Date(deps.clock.now().getTime() - kept_ms);
  let gone = await sweepAttempts(deps);
  for (const table of [deviceCode, verification, session]) {
    gone += (await deps.db.delete(table).where(lt(table.expiresAt, old)).returning({ id: table.id })).length;
  }
  return gone;
}
