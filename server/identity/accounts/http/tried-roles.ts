import type { FastifyInstance } from "fastify";
import { asRoleHeader } from "../../../../shared/as-role.ts";
import { accountBase, findCall } from "../calls.ts";
import { mapError } from "./error-mapping.ts";

/** What a role does not decide, or is not done in its name. */
export const notAsRole = {
  code: "NOT_DONE_AS_A_ROLE",
  message: "Not done as a role",
  detail: "This is done without naming a role: people, teams, roles, keys and one's own account.",
};

/** Our own routes beside better-auth's that only read, by what the role leaves of a membership. */
const ownReads = /^\/(?:audit|api-key)\/(?:list|get)$/;

/**
 * Refuse, of requests that try a role, what no role decides: to leave, to change a password, to sign out. Someone who tries what
 * members may do must not lose their own account or organization by it. What a role decides goes on to its guard.
 */
export function rejectUntried(scope: FastifyInstance): void {
  scope.addHook("preHandler", async (request, reply) => {
    if (request.headers[asRoleHeader] === undefined || !request.url.startsWith(`${accountBase}/`)) return;
    const path = request.url.slice(accountBase.length).split("?")[0]?.replace(/\/+$/, "") ?? "";
    const { needs, tried } = findCall(path);
    if (needs !== undefined || tried || (request.method === "GET" && ownReads.test(path))) return;
    request.refusal = notAsRole.code;
    await reply.code(400).send(mapError(400, notAsRole));
  });
}
