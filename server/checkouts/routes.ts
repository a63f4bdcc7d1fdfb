import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { interval } from "../../shared/api/fields.ts";
import { ApiError } from "../../shared/errors.ts";
import { checkIdentity, type Identify } from "../http/actor.ts";
import type { CheckoutRateLimit } from "../http/checkout-limits.ts";
import { answerAccountError } from "../http/errors.ts";
import { createRequestContext } from "../http/mount.ts";
import { anonymous, type Deps } from "../lib/context.ts";
import { readFaults } from "../lib/validation-errors.ts";
import { createForUser } from "./service.ts";

const scalar = z.union([z.string(), z.number(), z.boolean()]);

/** An address, or a path on this server. */
const address = z
  .string()
  .max(2083)
  .refine(
    (text) => text.startsWith("/") || /^https?:/i.test(text),
    "An http or https address, or a path that begins with /.",
  )
  .optional();

/** What a product's own page sends to start a paid checkout for the person who is signed in there. */
const CheckoutRequest = z
  .object({
    products: z.union([z.uuid(), z.array(z.uuid()).min(1).max(100)]).optional(),
    slug: z.string().min(1).optional(),
    referenceId: z.string().min(1).max(500).optional(),
    customFieldData: z.record(z.string(), scalar).optional(),
    metadata: z.record(z.string().min(1).max(40), scalar).optional(),
    allowDiscountCodes: z.boolean().optional(),
    discountId: z.uuid().optional(),
    redirect: z.boolean().default(true),
    embedOrigin: z.url({ protocol: /^https?$/ }).optional(),
    successUrl: address,
    returnUrl: address,
    /** Terms of the seller: anyone else may only decline the trial. */
    allowTrial: z.boolean().optional(),
    trialInterval: interval.optional(),
    trialIntervalCount: z.int().min(1).max(1000).optional(),
  })
  .refine((body) => body.products !== undefined || body.slug !== undefined, {
    path: ["products"],
    message: "Name products or a slug.",
  });
/** `POST /api/auth/checkout`: answers `{ url, redirect }`, or the account side's error shape, `{ code, message }`. */
export function routeOwnCheckouts(
  app: FastifyInstance,
  deps: Deps,
  identify: Identify,
  count: CheckoutRateLimit,
): void {
  // Also what is refused before the handler runs, such as a body that is too large.
  const errorHandler = answerAccountError(deps.log);
  app.post("/api/auth/checkout", { errorHandler }, async (request, reply) => {
    const identity = await identify(request);
    checkIdentity(identity);
    const user = identity.kind === "user" ? identity : null;
    count(request, user?.user_id);
    const body = CheckoutRequest.safeParse(request.body);
    if (!body.success)
      throw new ApiError("RequestValidationError", readFaults(["body"], body.error.issues, request.body));
    const organization_id = user?.active_organization_id ?? null;
    const actor = user ? { ...anonymous, kind: "user" as const, user_id: user.user_id, organization_id } : anonymous;
    const requester = user && {
      user_id: user.user_id,
      seller_ids: user.memberships
        .filter(({ scopes }) => scopes.has("checkouts:write"))
        .map((membership) => membership.organization_id),
    };
    const { url } = await createForUser(createRequestContext(deps, request, actor), body.data, requester);
    return reply.send({ url, redirect: body.data.redirect });
  });
}
