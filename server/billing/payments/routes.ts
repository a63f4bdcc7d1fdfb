import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { ApiError, notFound } from "../../../shared/errors.ts";
import { testProcessorPaths } from "../../../shared/test-processor-paths.ts";
import { findClockOf } from "../../identity/organizations/store.ts";
import type { Deps } from "../../platform/context.ts";
import { limitCards } from "../../platform/http/checkout-limits.ts";
import { readFaults } from "../../platform/http/validation-errors.ts";
import type { ProcessorAnswer, TestControls } from "../../platform/processors/processor.ts";
import { stripeWebhookPath } from "../../platform/processors/stripe-event-types.ts";
import { recordProcessorEvent } from "./notices.ts";
import { settlePayment } from "./settlement.ts";
import { settleSetup } from "./setups.ts";

/** Events carry whole objects of the processor's, and come without a token: only their signature says whose they are. */
const eventBytesMax = 1024 * 1024;

/**
 * `POST /v1/integrations/stripe/webhook`: the processor's events. The signature covers the bytes as they were sent, so
 * nothing is parsed before it is verified. An event is written down and answered at once; the work follows. One that could
 * not be written is answered 500, so that it is sent again.
 */
export function routeStripeEvents(app: FastifyInstance, deps: Deps): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", { parseAs: "buffer" }, (_request, body, done) => done(null, body));
  app.post(stripeWebhookPath, { bodyLimit: eventBytesMax }, async (request, reply) => {
    const { readEvent } = deps.processor;
    const signature = request.headers["stripe-signature"];
    if (!readEvent || typeof signature !== "string" || !Buffer.isBuffer(request.body))
      throw new ApiError("NotPermitted", "Not permitted");
    const event = await readEvent(request.body, signature).catch((error: unknown) => {
      if (!(error instanceof ApiError)) throw error;
      deps.log.warn({ err: error }, "An event that is not the processor's was refused.");
      throw new ApiError("NotPermitted", "The signature does not match.");
    });
    if (event) await recordProcessorEvent(deps, event);
    return reply.send({ received: true });
  });
}

const CardForm = z.object({
  card: z.object({
    number: z.string().min(1).max(40),
    exp_month: z.coerce.number().int(),
    exp_year: z.coerce
      .number()
      .int()
      .transform((year) => (year < 100 ? 2000 + year : year)),
    cvc: z.string().min(1).max(8),
  }),
  billing_name: z.string().max(256).nullish(),
});
const Decision = z.object({ approved: z.boolean() });

const read = <T extends z.ZodType>(schema: T, body: unknown): z.output<T> => {
  const result = schema.safeParse(body);
  if (result.success) return result.data;
  // What was typed into a card's form is never repeated: it may be somebody's real card.
  throw new ApiError(
    "RequestValidationError",
    readFaults(["body"], result.error.issues, body).map(({ input: _, ...fault }) => fault),
  );
};

/** Finishes a payment or a set-up by what became of its challenge. */
async function settle(deps: Deps, { kind, outcome }: ProcessorAnswer): Promise<{ status: string }> {
  const { organization_id } = outcome;
  const ctx = await findClockOf(deps, organization_id);
  return kind === "payment"
    ? settlePayment(ctx, { organization_id, id: outcome.payment_id }, outcome)
    : settleSetup(ctx, { organization_id, id: outcome.setup_id }, outcome);
}

/** What stands in for the card processor's own pages when the test processor is in use: the card form and the bank's question. */
export function routeTestCards(app: FastifyInstance, deps: Deps, controls: TestControls): void {
  const count = limitCards(deps);
  app.post(testProcessorPaths.tokens, async (request, reply) => {
    count(request);
    const { card } = read(CardForm, request.body);
    return reply.code(201).send({ id: await controls.tokenize(card) });
  });
  app.post<{ Params: { client_secret: string } }>(testProcessorPaths.authenticate, async (request, reply) => {
    const { approved } = read(Decision, request.body);
    const answered = await controls.authenticate(request.params.client_secret, approved);
    if (!answered) throw notFound();
    const { status } = await settle(deps, answered);
    return reply.send({ status });
  });
}
