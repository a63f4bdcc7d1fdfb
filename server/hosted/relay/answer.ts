import type { Operation } from "../../../shared/contract.ts";
import { ApiError, type ErrorName, type Fault, statusOf } from "../../../shared/errors.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Config } from "../../platform/config.ts";
import type { Log } from "../../platform/context.ts";
import { Relayed } from "../../platform/http/relayed.ts";
import { findShapeFault } from "./check.ts";
import { completeAnswer } from "./complete.ts";
import { isSandboxUrl, type Polar, type PolarReply } from "./polar.ts";

/** What crosses from Polar to the client, by the name that the client sees. */
const passedHeaders: Readonly<Record<string, string>> = {
  "content-disposition": "Content-Disposition",
  "content-language": "Content-Language",
  "retry-after": "Retry-After",
  link: "Link",
  "x-request-id": "X-Polar-Request-Id",
  "ratelimit-limit": "RateLimit-Limit",
  "ratelimit-remaining": "RateLimit-Remaining",
  "ratelimit-reset": "RateLimit-Reset",
};

function pickHeaders({ headers }: PolarReply): Record<string, string> {
  const picked = Object.entries(passedHeaders).flatMap(([name, as]) => {
    const value = headers[name];
    return typeof value === "string" ? [[as, value]] : [];
  });
  return Object.fromEntries(picked);
}

type Parts = {
  polar: Polar;
  config: Config;
  log: Log;
  clock: Clock;
  /** The organization at Polar, once it is known. */
  polar_id: string | undefined;
};

/** The answer to the client: a refusal as it came, and a success whose shape is the declared one. */
export function mapReply(
  { polar, config, log, clock, polar_id }: Parts,
  operation: string,
  op: Operation,
  reply: PolarReply,
  usesOwnToken: boolean,
): Relayed {
  const { status } = reply;
  const known = { now: clock.now(), polar_id, isSandbox: isSandboxUrl(polar.url) };
  const json = status < 300 ? completeAnswer(operation, op, reply.json, known) : reply.json;
  if (usesOwnToken) polar.noteToken(status === 401);
  // A bad access token is this server's fault, not the caller's.
  if (usesOwnToken && status === 401)
    throw new ApiError("ServiceUnavailable", "Polar could not be asked. Try again.", { "Retry-After": "1" });
  if (status === 429)
    throw new ApiError("TooManyRequests", "Polar's rate limit is reached.", {
      "Retry-After": String(reply.headers["retry-after"] ?? "1"),
    });
  const headers = pickHeaders(reply);
  if (status >= 400) return new Relayed(status, json ?? { error: "ResourceNotFound", detail: "Not found" }, headers);
  if (reply.stream) {
    const { "content-type": type } = reply.headers;
    return new Relayed(status, undefined, { ...headers, ...(type ? { "Content-Type": type } : {}) }, reply.stream);
  }
  // Accepted, and not done: there is nothing to show yet.
  const fault = json === undefined && (status === 202 || status === 204) ? undefined : findShapeFault(op, json);
  if (fault === undefined) return new Relayed(status, json, headers);
  log.warn({ operation, places: listPlaces(fault) }, "Polar answered with another shape than it publishes.");
  if (config.POLAR_CHECK === "report") return new Relayed(status, json, headers);
  return new Relayed(502, { error: "SDKValidationError", detail: fault }, headers);
}

/** Where an answer is wrong and how, without any of its values. */
const listPlaces = (fault: string): string[] =>
  [...fault.matchAll(/\[(<root>[^\]]*)\]: .* \((\w+)\)/g)].map(([, place, code]) => `${place} ${code}`);

const namesByStatus: Readonly<Record<number, ErrorName>> = {
  400: "BadRequest",
  401: "invalid_token",
  403: "NotPermitted",
  404: "ResourceNotFound",
  409: "ResourceAlreadyExists",
  410: "ResourceUnavailable",
  422: "RequestValidationError",
};

/** The answer as floe's own routes read one: its decoded value, or the refusal thrown. */
export function decodeRelayed({ response }: Operation, { status, json }: Relayed): unknown {
  if (status < 400) return response && json !== undefined ? response.decode(json as never) : undefined;
  const { error, detail } = (json ?? {}) as { error?: string; detail?: unknown };
  const isKnown = error !== undefined && error in statusOf && statusOf[error as ErrorName] === status;
  const name = isKnown ? (error as ErrorName) : (namesByStatus[status] ?? "ServiceUnavailable");
  if (name === "RequestValidationError" || name === "PolarRequestValidationError")
    throw new ApiError(name, Array.isArray(detail) ? (detail as Fault[]) : [createFault(detail)]);
  throw new ApiError(name as "BadRequest", typeof detail === "string" ? detail : "Polar refused the request.");
}

const createFault = (detail: unknown): Fault => ({
  loc: ["body"],
  msg: typeof detail === "string" ? detail : "Polar refused the request.",
  type: "value_error",
});
