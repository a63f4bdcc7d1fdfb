import type { FastifyInstance } from "fastify";
import { person } from "../../../shared/contract.ts";
import { notFound, notPermitted } from "../../../shared/errors.ts";
import type { Deps } from "../../platform/context.ts";
import type { Identify } from "../../platform/http/actor.ts";
import { rejectRateLimited } from "../../platform/http/limits.ts";
import { authenticate, createRequestContext } from "../../platform/http/mount.ts";
import { createLimiter } from "../../platform/limits/attempts.ts";
import { sendTestMail } from "../../platform/mail-transport/mail.ts";
import { isOperator } from "./service.ts";
import { findUserEmail } from "./store.ts";

const operation = { access: person(), path: "/v1/diagnostics/mail" };
const testMails = { max: 5, window_seconds: 60 * 60 };

/**
 * `POST /v1/diagnostics/mail`: sends a test message to the operator's own address, and answers what the mail server said. It is
 * the operator's and of no organization, so it is not a part of the contract.
 */
export function routeTestMail(app: FastifyInstance, deps: Deps, identify: Identify): void {
  app.post(operation.path, async (request) => {
    const actor = await authenticate(request, identify, operation);
    const { user_id } = actor;
    if (user_id === null || !(await isOperator(createRequestContext(deps, request, actor))))
      throw notPermitted("Only a platform admin, signed in with floe login, can send a test message.");
    const to = await findUserEmail(deps.db, user_id);
    if (to === undefined) throw notFound();
    rejectRateLimited(await createLimiter(deps).hit(`test-mail:${user_id}`, testMails), "Too many test messages.");
    const started = deps.clock.now().getTime();
    const error = await sendTestMail(deps, to);
    return { to, sent: error === null, error, duration_ms: deps.clock.now().getTime() - started };
  });
}
