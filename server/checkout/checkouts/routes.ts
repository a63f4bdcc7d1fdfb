import type { FastifyInstance } from "fastify";
import { CheckoutRequest } from "../../../shared/api/buyer-requests.ts";
import { ApiError } from "../../../shared/errors.ts";
import { anonymous, type Deps } from "../../platform/context.ts";
import { checkIdentity, type Identify } from "../../platform/http/actor.ts";
import type { CheckoutRateLimit } from "../../platform/http/checkout-limits.ts";
import { sendAccountError } from "../../platform/http/errors.ts";
import { createRequestContext } from "../../platform/http/mount.ts";
import { readFaults } from "../../platform/http/validation-errors.ts";
import { createForUser } from "./user-checkouts.ts";

/** `POST /api/auth/checkout`: answers `{ url, redirect }`, or the account side's error shape, `{ code, message }`. */
export function routeOwnCheckouts(
  app: FastifyInstance,
  deps: Deps,
  identify: Identify,
  count: CheckoutRateLimit,
  create: typeof createForUser = createForUser,
): void {
  // Also what is refused before the handler runs, such as a body that is too large.
  const errorHandler = sendAccountError(deps.log);
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
    const { url } = await create(createRequestContext(deps, request, actor), body.data, requester);
    return reply.send({ url, redirect: body.data.redirect });
  });
}
