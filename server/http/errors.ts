import type { FastifyError, FastifyReply, FastifyRequest } from "fastify";
import type { z } from "zod";
import { ApiError, type Fault } from "../../shared/errors.ts";
import type { Log } from "../lib/context.ts";

/** The names that published clients know for the usual faults; others keep the validator's own. */
function typeOf(issue: z.core.$ZodIssue, input: unknown): string {
  if (issue.code === "invalid_type" && input === undefined) return "missing";
  if (issue.code === "invalid_value") return "enum";
  if (issue.code === "too_small")
    return issue.origin === "number" || issue.origin === "int" ? "greater_than_equal" : "too_short";
  if (issue.code === "too_big")
    return issue.origin === "number" || issue.origin === "int" ? "less_than_equal" : "too_long";
  if (issue.code === "invalid_format" && issue.format === "uuid") return "uuid_parsing";
  if (issue.code === "custom") return typeof issue.params?.type === "string" ? issue.params.type : "value_error";
  return issue.code;
}

const valueAt = (value: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce<unknown>(
    (inner, key) =>
      typeof inner === "object" && inner !== null ? (inner as Record<PropertyKey, unknown>)[key] : undefined,
    value,
  );

/** A validator's issues as the wire's list of faults: every one, with its place (API-21). */
export function faultsOf(
  where: "body" | "query" | "path",
  issues: readonly z.core.$ZodIssue[],
  value: unknown,
): Fault[] {
  return issues.flatMap((issue) => {
    // Of a union, the branch that got furthest says most; the whole list would repeat each fault once a branch.
    if (issue.code === "invalid_union" && issue.errors.length > 0) {
      const furthest = [...issue.errors].sort((a, b) => depthOf(b) - depthOf(a) || a.length - b.length)[0] ?? [];
      // Of two that failed at once, the one of the right type knows what is wrong with the value.
      const best =
        depthOf(furthest) > 0
          ? furthest
          : issue.errors.find((branch) => branch.every(({ code }) => code !== "invalid_type"));
      if (best) {
        const inner = best.map((one) => ({ ...one, path: [...issue.path, ...one.path] }));
        return faultsOf(where, inner, value);
      }
    }
    const input = valueAt(value, issue.path);
    const type = typeOf(issue, input);
    const loc = [where, ...issue.path.map((key) => (typeof key === "number" ? key : String(key)))];
    const shown = input === undefined || typeof input === "object" ? {} : { input };
    return [{ type, loc, msg: type === "missing" ? "Field required" : issue.message, ...shown }];
  });
}
const depthOf = (issues: readonly z.core.$ZodIssue[]): number =>
  Math.max(0, ...issues.map((issue) => issue.path.length));

/** The wire form of an error: `{ error, detail }`, with OAuth's own words for token faults (API-20, API-25). */
export function errorBody(error: ApiError): Record<string, unknown> {
  const oauth = error.error === "invalid_token" || error.error === "insufficient_scope";
  return { error: error.error, ...(oauth ? { error_description: error.detail } : {}), detail: error.detail };
}

const named: Record<string, ApiError["error"]> = {
  FST_ERR_CTP_BODY_TOO_LARGE: "RequestBodyTooLarge",
  FST_ERR_CTP_INVALID_MEDIA_TYPE: "UnsupportedMediaType",
};

/** Turn whatever was thrown into an answer: what we meant as it is, a fault in the request as 4xx, the rest as a bare 500. */
export function answerError(log: Log) {
  return (thrown: FastifyError | ApiError, request: FastifyRequest, reply: FastifyReply) => {
    const error = thrown instanceof ApiError ? thrown : fromFastify(thrown);
    if (error) return reply.code(error.status).headers(error.headers).send(errorBody(error));
    log.error(
      { err: thrown, request_id: request.id, method: request.method, path: request.routeOptions.url },
      "A request failed.",
    );
    return reply
      .code(500)
      .send({ error: "InternalServerError", detail: `Internal server error. Request ${request.id}.` });
  };
}

function fromFastify(thrown: FastifyError): ApiError | undefined {
  const name = named[thrown.code];
  if (name) return new ApiError(name, thrown.message);
  if (thrown.statusCode === undefined || thrown.statusCode >= 500 || thrown.statusCode < 400) return undefined;
  return new ApiError("RequestValidationError", [{ loc: ["body"], msg: thrown.message, type: "json_invalid" }]);
}
