import type { preParsingAsyncHookHandler } from "fastify";
import { ApiError } from "../../../shared/errors.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** True if the body is a file, which has no time limit. */
    isFile?: true;
  }
}

const arrivalMsStandard = 30_000;

/**
 * Respond to clients that take too long to send a body, and close the connection, because the received part occupies memory.
 */
export const limitArrival =
  (arrival_ms_max = arrivalMsStandard): preParsingAsyncHookHandler =>
  async (request, reply, payload) => {
    const { "content-length": length, "transfer-encoding": encoding } = request.headers;
    if ((length === undefined && encoding === undefined) || request.routeOptions.config.isFile) return payload;
    const late = setTimeout(() => {
      reply.header("Connection", "close");
      reply.send(new ApiError("RequestTimeout", `The body took longer than ${arrival_ms_max / 1000} s to arrive.`));
    }, arrival_ms_max);
    for (const over of ["end", "close"]) request.raw.once(over, () => clearTimeout(late));
    return payload;
  };
