import { APIError } from "better-auth/api";
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

const unique_violation = "23505";
/** Text that cannot be encoded, an index entry that is too long, a number out of range. */
const unusable = new Set(["22021", "22P05", "54000", "22003"]);

/** What better-auth did not expect: the request's fault becomes a 4xx, the rest a 500 whose reason is in the log. */
export const answerUnexpected = (log: Log) => (error: unknown) => {
  if (error instanceof APIError && error.statusCode < 500) return;
  const state = stateOf(error) ?? "";
  // Two requests asked for the same name at once: the second is told what it would have been told a moment later.
  if (state === unique_violation) throw new APIError("CONFLICT", { code: "ALREADY_EXISTS", message: "Already exists" });
  if (unusable.has(state)) throw new APIError("BAD_REQUEST", invalidBody);
  log.error({ err: error }, "An account request failed.");
};
