import { DrizzleQueryError } from "drizzle-orm";
import { stateOf } from "./loggable.ts";

/** How the driver and the system say that there is no connection, or none any more. */
const unconnected_codes = new Set([
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
const gone_states = /^(08...|57P0[1-3]|53300)$/;

/** There was no connection to be had, or the transaction's has ended. */
export class Unconnected extends Error {
  override readonly name = "Unconnected";
}

/**
 * Whether something failed because the database cannot be reached now, as while it restarts: what was asked may be asked
 * again in a moment. Looks at failed queries alone, since other servers are out of reach in the same words.
 */
export function isUnreachable(error: unknown): boolean {
  for (let inner = error; inner instanceof Error; inner = inner.cause) {
    if (inner instanceof Unconnected) return true;
    if (!(inner instanceof DrizzleQueryError)) continue;
    const state = stateOf(inner);
    if (state !== undefined && gone_states.test(state)) return true;
    const code = (inner.cause as { code?: unknown } | undefined)?.code;
    if (typeof code === "string" && unconnected_codes.has(code)) return true;
  }
  return false;
}

/** What is then answered, with 503; the account side has codes. */
export const unreachable = {
  code: "DATABASE_UNREACHABLE",
  message: "The database cannot be reached. Try again in a moment.",
  headers: { "Retry-After": "1" },
};
