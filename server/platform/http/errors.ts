import type { FastifyError, FastifyReply, FastifyRequest } from "fastify";
import { ApiError, getCode } from "../../../shared/errors.ts";
import type { Log } from "../context.ts";
import { findOutage } from "../db/unreachable.ts";

/** The wire form of an error: `{ error, detail }`, with OAuth's own words for token faults (API-20, API-25). */
export function serializeError(error: ApiError): Record<string, unknown> {
  const oauth = error.error === "invalid_token" || error.error === "insufficient_scope";
  return {
    ...error.beside,
    error: error.error,
    ...(oauth ? { error_description: error.detail } : {}),
    detail: error.detail,
  };
}

const named: Record<string, ApiError["error"]> = {
  FST_ERR_CTP_BODY_TOO_LARGE: "RequestBodyTooLarge",
  FST_ERR_CTP_INVALID_MEDIA_TYPE: "UnsupportedMediaType",
};

/** Turn whatever was thrown into an answer: what we meant as it is, a fault in the request as 4xx, the rest as a bare 500. */
export function sendError(log: Log) {
  return (thrown: FastifyError | ApiError, request: FastifyRequest, reply: FastifyReply) => {
    const error = readError(thrown);
    if (error) request.refusal = error.error;
    if (error) return reply.code(error.status).headers(error.headers).send(serializeError(error));
    log.error(
      { err: thrown, request_id: request.id, method: request.method, path: request.routeOptions.url },
      "A request failed.",
    );
    return reply
      .code(500)
      .send({ error: "InternalServerError", detail: `Internal server error. Request ${request.id}.` });
  };
}

/** What was thrown, where it is an answer that we meant or a fault in the request. */
export const readError = (thrown: FastifyError | ApiError): ApiError | undefined =>
  thrown instanceof ApiError ? thrown : (convertFastifyError(thrown) ?? convertOutage(thrown));

function convertOutage(thrown: unknown): ApiError | undefined {
  const outage = findOutage(thrown);
  return outage && new ApiError("ServiceUnavailable", outage.message, outage.headers);
}

function convertFastifyError(thrown: FastifyError): ApiError | undefined {
  const name = named[thrown.code];
  if (name) return new ApiError(name, thrown.message);
  if (thrown.statusCode === undefined || thrown.statusCode >= 500 || thrown.statusCode < 400) return undefined;
  return new ApiError("RequestValidationError", [{ loc: ["body"], msg: thrown.message, type: "json_invalid" }]);
}

/** An error as the account side answers it: a body of the wrong shape in fixed words, anything else in its own. */
function getRefusal({ error, detail, message }: ApiError): { code: string; message: string; detail?: string } {
  if (error === "RequestValidationError")
    return { code: "VALIDATION_ERROR", message: "Invalid body parameters", detail: message };
  if (error === "TooManyRequests") return { code: "TOO_MANY_REQUESTS", message: "Too many requests", detail: message };
  const said = typeof detail === "string" ? detail : (detail[0]?.msg ?? message);
  return { code: getCode(said), message: said };
}

/** Answers an error as the account side does. */
export const sendAccountError = (log: Log) => (thrown: FastifyError, request: FastifyRequest, reply: FastifyReply) => {
  const error = readError(thrown);
  if (!error) return sendError(log)(thrown, request, reply);
  request.refusal = error.error;
  return reply
    .code(error.status === 422 ? 400 : error.status)
    .headers(error.headers)
    .send(getRefusal(error));
};
