import { isAPIError } from "better-auth/api";
import { getCode } from "../../../../shared/errors.ts";
import type { Log } from "../../../platform/context.ts";
import { findOutage } from "../../../platform/db/unreachable.ts";
import { readSqlState, redactError } from "../../../platform/loggable.ts";
import { invalidBody } from "./error-mapping.ts";

const uniqueViolation = "23505";
const internalError = { code: "INTERNAL_SERVER_ERROR", message: "Internal server error" };
/** Nothing where something must be; text that cannot be encoded or read; an index entry too long; a number out of range. */
const unusable = new Set(["23502", "22021", "22P02", "22P05", "54000", "22003"]);

type Handler = (request: Request) => Promise<Response>;
type Fault = { status: number; code: string; message: string; headers?: Record<string, string> };

/** The answer to a failure that is the request's fault, or that has nothing to do with the request; undefined of any other. */
export function findFault(error: unknown): Fault | undefined {
  const state = readSqlState(error) ?? "";
  // Two requests asked for the same name at once: the second is told what it would have been told a moment later.
  if (state === uniqueViolation) return { status: 409, code: "ALREADY_EXISTS", message: "Already exists" };
  if (unusable.has(state)) return { status: 400, ...invalidBody };
  const outage = findOutage(error);
  return outage && { status: 503, code: getCode(outage.message), ...outage };
}

/** What better-auth itself said of a failure in this process. */
const getRefusal = (error: unknown): Fault =>
  isAPIError(error) && error.body
    ? { ...(error.body as Omit<Fault, "status">), status: error.statusCode }
    : { ...internalError, status: 500 };

/**
 * A handler that answers what better-auth did not expect: the request's fault becomes a 4xx, the rest a 500 whose reason is
 * in the log. Done here because better-auth's router prints a failed query with its values, hashes and tokens among them.
 */
export const sendFailures =
  (log: Log, handle: Handler): Handler =>
  async (request) => {
    try {
      const response = await handle(request);
      if (response.status >= 500)
        log.error({ status: response.status, answer: await response.clone().text() }, "An account request failed.");
      return response;
    } catch (error) {
      const fault = findFault(error);
      if (!fault) log.error({ error: redactError(error) }, "An account request failed.");
      const { status, headers = {}, ...body } = fault ?? getRefusal(error);
      return Response.json(body, { status, headers });
    }
  };

/** better-auth calls a caller's mistake an error too; what failed in here comes with the error that was caught. */
export const createAuthLog =
  (log: Log) =>
  (_level: unknown, message: string, ...details: unknown[]) => {
    const failure = details.find((one) => one instanceof Error && !isAPIError(one) && one.name !== "BetterAuthError");
    if (failure) log.error({ error: redactError(failure) }, message);
    else log.info({}, message);
  };
