import type { FastifyInstance } from "fastify";
import { ApiError } from "../../shared/errors.ts";
import type { Deps } from "../lib/context.ts";

type Notice = NonNullable<Awaited<ReturnType<NonNullable<Deps["processor"]["readNotice"]>>>>;

/** Notices carry whole objects of the processor's, and come without a token: only their signature says whose they are. */
const notice_bytes_max = 1024 * 1024;

/**
 * `POST /v1/integrations/stripe/webhook`: the processor's notices. The signature covers the bytes as they were sent, so
 * nothing is parsed before it is verified. A notice is written down by `hear` and answered at once; the work follows.
 * One that could not be written is answered 500, so that it is sent again.
 */
export function processorNotices(
  app: FastifyInstance,
  deps: Deps,
  hear: (deps: Deps, notice: Notice) => Promise<void>,
): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", { parseAs: "buffer" }, (_request, body, done) => done(null, body));
  app.post("/v1/integrations/stripe/webhook", { bodyLimit: notice_bytes_max }, async (request, reply) => {
    const { readNotice } = deps.processor;
    const signature = request.headers["stripe-signature"];
    if (!readNotice || typeof signature !== "string" || !Buffer.isBuffer(request.body))
      throw new ApiError("NotPermitted", "Not permitted");
    const notice = await readNotice(request.body, signature).catch((error: unknown) => {
      deps.log.warn({ err: error }, "A notice that is not the processor's was refused.");
      throw new ApiError("NotPermitted", "The signature does not match.");
    });
    if (notice) await hear(deps, notice);
    return reply.send({ received: true });
  });
}
