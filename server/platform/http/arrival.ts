import type { preParsingAsyncHookHandler } from "fastify";
import { ApiError } from "../../../shared/errors.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** True where what is sent is a file, which takes as long as it takes. */
    isFile?: true;
  }
}

const arrivalMsStandard = 30_000;

/** Answers whoever takes too long to send a body, and closes their connection: what came of it is held meanwhile. */
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
