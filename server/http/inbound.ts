import type { FastifyInstance } from "fastify";
import { ApiError } from "../../shared/errors.ts";
import type { Deps } from "../lib/context.ts";
import type { Settle } from "./payment-processor.ts";

/**
 * `POST /v1/integrations/stripe/webhook`: the processor's notices. A notice is verified and settled before it is
 * answered, so one that is cut off is sent again; settling twice changes nothing. What it says of a payment that is not
 * ours is none of our business, and is accepted so that it is not sent for ever.
 */
export function processorNotices(app: FastifyInstance, deps: Deps, settle: Settle): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", { parseAs: "buffer" }, (_request, body, done) => done(null, body));
  app.post("/v1/integrations/stripe/webhook", async (request, reply) => {
    const { readNotice } = deps.processor;
    const signature = request.headers["stripe-signature"];
    if (!readNotice || typeof signature !== "string" || !Buffer.isBuffer(request.body)) throw new ApiError("NotPermitted", "Not permitted");
    const notice = await readNotice(request.body, signature).catch((error: unknown) => {
      deps.log.warn({ err: error }, "A notice that is not the processor's was refused.");
      throw new ApiError("NotPermitted", "The signature does not match.");
    });
    if (notice?.intent.payment_id) await settle(deps, notice.intent.payment_id, notice.intent);
    return reply.send({ received: true });
  });
}
