import { DrizzleQueryError } from "drizzle-orm";
import { readSqlState } from "../loggable.ts";

/** How the driver and the system say that there is no connection, or none any more. */
const unconnectedCodes = new Set([
  "CONNECTION_CLOSED",
  "CONNECTION_DESTROYED",
  "CONNECTION_ENDED",
  "CONNECT_TIMEOUT",
  "ECONNREFUSED",
  "ECONNRESET",
  "EPIPE",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOTFOUND",
  "EAI_AGAIN",
]);
/** How the database does: a broken connection, ended by its keeper, starting or stopping, no place for one more. */
const goneStates = /^(08...|57P0[1-3]|53300)$/;
/** And that its disk, its memory or what else it is given is used up. */
const fullStates = /^53...$/;
/** The database has ended a statement at its time limit, or a wait for a lock. */
const slowStates = /^(55P03|57014)$/;
/** How the system says so of a disk of ours. */
const fullCodes = new Set(["ENOSPC", "EDQUOT"]);

/** There was no connection to be had, or the transaction's has ended. */
export class ConnectionLostError extends Error {
  override readonly name = "Unconnected";
}

/** All connections stayed in use for as long as a statement may wait for one. */
export class PoolBusyError extends Error {
  override readonly name = "PoolBusyError";
}

/** The database took too long for a statement, which was canceled. */
export class StatementTimeoutError extends Error {
  override readonly name = "StatementTimeoutError";
}

/** What is answered, with 503, while something cannot be done. */
export type Outage = { message: string; headers: { "Retry-After": string } };

export const unreachable: Outage = {
  message: "The database cannot be reached. Try again in a moment.",
  headers: { "Retry-After": "1" },
};
export const full: Outage = {
  message: "The server is out of room, so nothing was kept. Try again in a minute.",
  headers: { "Retry-After": "60" },
};

export const busy: Outage = {
  message: "The server is too busy for this. Try again in a moment.",
  headers: { "Retry-After": "2" },
};

const slow: Outage = {
  message: "The database took too long for this, and was stopped. Ask for less at once, or try again in a minute.",
  headers: { "Retry-After": "60" },
};

/**
 * Why something failed, if that has nothing to do with what was asked: the database cannot be reached now, as while it
 * restarts, or there is no room for what is to be kept. What was asked may be asked again. But for disks it looks at failed
 * queries alone, since other servers are out of reach in the same words.
 */
export function findOutage(error: unknown): Outage | undefined {
  for (let inner = error; inner instanceof Error; inner = inner.cause) {
    if (inner instanceof ConnectionLostError) return unreachable;
    if (inner instanceof StatementTimeoutError) return slow;
    if (inner instanceof PoolBusyError) return busy;
    if (fullCodes.has(String((inner as NodeJS.ErrnoException).code))) return full;
    if (!(inner instanceof DrizzleQueryError)) continue;
    if (isConnectionLost(inner.cause)) return unreachable;
    const state = readSqlState(inner) ?? "";
    if (fullStates.test(state)) return full;
    if (slowStates.test(state)) return slow;
  }
  return undefined;
}

/** Whether an error of the driver says that there is no connection, or none any more. */
export function isConnectionLost(error: unknown): boolean {
  if (goneStates.test(readSqlState(error) ?? "")) return true;
  const code = (error as { code?: unknown } | undefined)?.code;
  return typeof code === "string" && unconnectedCodes.has(code);
}
