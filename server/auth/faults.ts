import { APIError, isAPIError } from "better-auth/api";
import type { Log } from "../lib/context.ts";
import { invalidBody } from "./mapper.ts";

type Coded = { code?: unknown; cause?: unknown };

/** The database's own name for what went wrong, from wherever the driver put it. */
function stateOf(error: unknown): string | undefined {
  for (let inner = error; typeof inner === "object" && inner !== null; inner = (inner as Coded).cause) {
    const { code } = inner as Coded;
    if (typeof code === "string" && /^[0-9A-Z]{5}$/.test(code)) return code;
  }
  return undefined;
}

/** An error for the log: where and what, without the values of the query, which may be passwords, tokens or addresses. */
export function loggable(error: unknown): object {
  if (!(error instanceof Error)) return { message: String(error) };
  const frames = (error.stack ?? "").split("\n").filter((line) => /^\s+at /.test(line));
  const cause = error.cause instanceof Error ? { cause: error.cause.message } : {};
  return { name: error.name, message: error.message.split("\nparams:")[0], state: stateOf(error), ...cause, stack: frames.join("\n") };
}

const unique_violation = "23505";
/** Nothing where something must be; text that cannot be encoded or read; an index entry too long; a number out of range. */
const unusable = new Set(["23502", "22021", "22P02", "22P05", "54000", "22003"]);

/** What better-auth did not expect: the request's fault becomes a 4xx, the rest a 500 whose reason is in the log. */
export const answerUnexpected = (log: Log) => (error: unknown) => {
  if (isAPIError(error) && error.statusCode < 500) return;
  const state = stateOf(error) ?? "";
  // Two requests asked for the same name at once: the second is told what it would have been told a moment later.
  if (state === unique_violation) throw new APIError("CONFLICT", { code: "ALREADY_EXISTS", message: "Already exists" });
  if (unusable.has(state)) throw new APIError("BAD_REQUEST", invalidBody);
  log.error({ error: loggable(error) }, "An account request failed.");
};

/** better-auth calls a caller's mistake an error too; what failed in here comes with the error that was caught. */
export const relayLog = (log: Log) => (_level: unknown, message: string, ...details: unknown[]) => {
  const failure = details.find((one) => one instanceof Error && !isAPIError(one) && one.name !== "BetterAuthError");
  if (failure) log.error({ error: loggable(failure) }, message);
  else log.info({}, message);
};
