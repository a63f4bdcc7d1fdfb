import type { Log } from "../context.ts";
import { readSqlState } from "../loggable.ts";
import { recordOutage } from "../telemetry/metrics.ts";
import { busy, findOutage, unreachable } from "./unreachable.ts";

/** An outage is over when the database has answered, and no connection has been lost for this long. */
const steadyMs = 2000;
/** How often the log says that no connection is free. */
const busyEveryMs = 60_000;

/**
 * A log with two lines for an outage of the database: one when it begins, one when it ends. What else is logged meanwhile for
 * the same reason is left out. That no connection is free has one line a minute. `recordOutcome` receives what the connections experience.
 */
export function createOutageLog(log: Log): { log: Log; recordOutcome(error?: unknown): void } {
  let busySaidAt = Number.NEGATIVE_INFINITY;
  let outage: { beganAt: number; lastAt: number } | undefined;
  function recordOutcome(error?: unknown): void {
    const now = performance.now();
    if (error !== undefined) {
      if (outage) outage.lastAt = now;
      else {
        outage = { beganAt: now, lastAt: now };
        recordOutage(true);
        log.error(
          { outage: "database", cause: describeCause(error), state: readSqlState(error) },
          "The database cannot be reached. Requests receive 503 until it answers.",
        );
      }
    } else if (outage && now - outage.lastAt > steadyMs) {
      const ms = now - outage.beganAt;
      outage = undefined;
      recordOutage(false);
      log.warn({ outage: "database", ms }, "The database answers again.");
    }
  }
  function recordBusy(): void {
    const now = performance.now();
    if (outage || now - busySaidAt < busyEveryMs) return;
    busySaidAt = now;
    log.warn({}, "No connection to the database is free. Reduce the load, or raise FLOE_DATABASE_CONNECTIONS.");
  }
  const filter =
    (write: Log["error"]): Log["error"] =>
    (fields, text) => {
      const { err } = fields as { err?: unknown };
      const reason = err === undefined ? undefined : findOutage(err);
      if (reason === unreachable) recordOutcome(err);
      else if (reason === busy) recordBusy();
      else write.call(log, fields, text);
    };
  return { log: { info: filter(log.info), warn: filter(log.warn), error: filter(log.error) }, recordOutcome };
}

/** The innermost words: those around it are the statement. */
function describeCause(error: unknown): string {
  let inner = error;
  while (inner instanceof Error && inner.cause instanceof Error) inner = inner.cause;
  const { message, code } = inner as NodeJS.ErrnoException;
  return message || code || String(inner);
}
