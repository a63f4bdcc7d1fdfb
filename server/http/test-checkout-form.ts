import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { ApiError, notFound } from "../../shared/errors.ts";
import type { Deps } from "../lib/context.ts";
import { faultsOf } from "../lib/faults.ts";
import type { Answered, TestControls } from "../processors/processor.ts";
import { limitCards } from "./opening.ts";

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
    faultsOf(["body"], result.error.issues, body).map(({ input: _, ...fault }) => fault),
  );
};

/** Finishes a payment or a set-up by what became of its challenge. */
export type Settle = (deps: Deps, answered: Answered) => Promise<{ status: string }>;

/** What stands in for the card processor's own pages when the test processor is in use: the card form and the bank's question. */
export function testCheckoutForm(app: FastifyInstance, deps: Deps, controls: TestControls, settle: Settle): void {
  const base = "/v1/payment-processor/test";
  const count = limitCards(deps);
  app.post(`${base}/confirmation-tokens`, async (request, reply) => {
    count(request);
    const { card } = read(CardForm, request.body);
    return reply.code(201).send({ id: await controls.tokenize(card) });
  });
  app.post<{ Params: { client_secret: string } }>(
    `${base}/intents/:client_secret/authenticate`,
    async (request, reply) => {
      const { approved } = read(Decision, request.body);
      const answered = await controls.authenticate(request.params.client_secret, approved);
      if (!answered) throw notFound();
      const { status } = await settle(deps, answered);
      return reply.send({ status });
    },
  );
}
