import { eq } from "drizzle-orm";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import type { Deps } from "../../../platform/context.ts";
import { transact } from "../../../platform/db/unit-of-work.ts";
import { record } from "../../../platform/events/audit.ts";
import { accountBase } from "../calls.ts";
import { guardRoute, parseBody, Refusal } from "../http/own-routes.ts";
import { session } from "../tables.ts";
import { endGivenOut } from "./credentials.ts";
import { redeemSecurityLink } from "./security-mails.ts";

const tokenLengthMax = 200;
const EndSessions = z.object({ token: z.string().min(1).max(tokenLengthMax) });

/** `POST /api/auth/end-sessions`: what the button behind the link of a security mail does. */
export function addEndSessionsRoute(scope: FastifyInstance, deps: Deps): void {
  scope.post(
    `${accountBase}/end-sessions`,
    guardRoute(async (request) => {
      const { token } = parseBody(request, EndSessions);
      return transact(deps, async (tx) => {
        const person = await redeemSecurityLink(tx, deps, token);
        if (person === null) throw new Refusal(400, "Invalid token", "INVALID_TOKEN");
        await endGivenOut(tx, deps, person, null);
        const ended = await tx.delete(session).where(eq(session.userId, person)).returning({ id: session.id });
        await record(tx, deps, {
          action: "user.sessions_ended",
          actor: { kind: "user", user_id: person, key_id: null },
          subject: { type: "user", id: person },
          organization_id: null,
          details: { sessions: ended.length },
          ip_address: request.ip,
          user_agent: request.headers["user-agent"] ?? null,
        });
        return { success: true };
      });
    }),
  );
}
