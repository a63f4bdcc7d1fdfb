import type { FastifyInstance } from "fastify";
import { ApiError } from "../../shared/errors.ts";
import type { Deps } from "../lib/context.ts";
import type { ProcessorEvent } from "../processors/processor.ts";

/** Events carry whole objects of the processor's, and come without a token: only their signature says whose they are. */
const event_bytes_max = 1024 * 1024;

/**
 * `POST /v1/integrations/stripe/webhook`: the processor's events. The signature covers the bytes as they were sent, so
 * nothing is parsed before it is verified. An event is written down and answered at once; the work follows. One that could
 * not be written is answered 500, so that it is sent again.
 */
export function stripeWebhook(
  app: FastifyInstance,
  deps: Deps,
  recordEvent: (deps: Deps, event: ProcessorEvent) => Promise<void>,
): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", { parseAs: "buffer" }, (_request, body, done) => done(null, body));
  app.post("/v1/integrations/stripe/webhook", { bodyLimit: event_bytes_max }, async (request, reply) => {
    const { readEvent } = deps.processor;
    const signature = request.headers["stripe-signature"];
    if (!readEvent || typeof signature !== "string" || !Buffer.isBuffer(request.body))
      throw new ApiError("NotPermitted", "Not permitted");
    const event = await readEvent(request.body, signature).catch((error: unknown) => {
      if (!(error instanceof ApiError)) throw error;
      deps.log.warn({ err: error }, "An event that is not the processor's was refused.");
      throw new ApiError("NotPermitted", "The signature does not match.");
    });
    if (event) await recordEvent(deps, event);
    return reply.send({ received: true });
  });
}
