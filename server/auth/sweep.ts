import { lt } from "drizzle-orm";
import type { Deps } from "../lib/context.ts";
import { deviceCode, session, verification } from "./tables.ts";

const kept_ms = 24 * 60 * 60 * 1000;

/** Forget device codes, verifications and sessions that ran out a day ago: nothing reads them, so nothing else does. */
export async function sweepDeviceCodes(deps: Deps): Promise<number> {
  const old = new Date(deps.clock.now().getTime() - kept_ms);
  let gone = 0;
  for (const table of [deviceCode, verification, session]) {
    gone += (await deps.db.delete(table).where(lt(table.expiresAt, old)).returning({ id: table.id })).length;
  }
  return gone;
}
