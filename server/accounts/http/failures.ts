import { APIError, isAPIError } from "better-auth/api";
import { getCode } from "../../../shared/errors.ts";
import type { Log } from "../../lib/context.ts";
import { readSqlState, redactError } from "../../lib/loggable.ts";
import { findOutage } from "../../lib/unreachable.ts";
import { invalidBody } from "./error-mapping.ts";

const unique_violation = "23505";
/** Nothing where something must be; text that cannot be encoded or read; an index entry too long; a number out of range. */
const unusable = new Set(["23502", "22021", "22P02", "22P05", "54000", "22003"]);

/** What better-auth did not expect: the request's fault becomes a 4xx, the rest a 500 whose reason is in the log. */
export const answerUnexpected = (log: Log) => (error: unknown) => {
  if (isAPIError(error) && error.statusCode < 500) return;
  const state = readSqlState(error) ?? "";
  // Two requests asked for the same name at once: the second is told what it would have been told a moment later.
  if (state === unique_violation) throw new APIError("CONFLICT", { code: "ALREADY_EXISTS", message: "Already exists" });
  if (unusable.has(state)) throw new APIError("BAD_REQUEST", invalidBody);
  const outage = findOutage(error);
  if (outage) {
    const { headers, message } = outage;
    throw new APIError("SERVICE_UNAVAILABLE", { code: getCode(message), message }, headers);
  }
  log.error({ error: redactError(error) }, "An account request failed.");
  // Answered here: what is left to the router it prints whole, the values of the failed query included.
  if (!isAPIError(error)) throw new APIError("INTERNAL_SERVER_ERROR", { message: "Internal server error" });
};

/** better-auth calls a caller's mistake an error too; what failed in here comes with the error that was caught. */
export const relayLog =
  (log: Log) =>
  (_level: unknown, message: string, ...details: unknown[]) => {
    const failure = details.find((one) => one instanceof Error && !isAPIError(one) && one.name !== "BetterAuthError");
    if (failure) log.error({ error: redactError(failure) }, message);
    else log.info({}, message);
  };
