import { and, eq } from "drizzle-orm";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Deps } from "../../../platform/context.ts";
import { openSignedText } from "../../../platform/crypto/secrets.ts";
import { transact } from "../../../platform/db/unit-of-work.ts";
import { record } from "../../../platform/events/audit.ts";
import { decodeText } from "../../../platform/http/cookies.ts";
import { hashSecret } from "../storage.ts";
import { session } from "../tables.ts";
import { createOAuthFault, findRevocationFault } from "./protocol.ts";

type Fields = Record<string, unknown>;

/**
 * `POST /api/auth/device/token/revoke` (RFC 7009): ends the session that the device flow gave to a client. A token that is
 * unknown, has ended, or is not of this flow is answered alike, so that nobody learns which tokens there are.
 */
export async function revokeToken(
  deps: Deps,
  request: FastifyRequest,
  reply: FastifyReply,
  fields: Fields | undefined,
): Promise<FastifyReply> {
  reply.header("Cache-Control", "no-store");
  const fault = fields
    ? findRevocationFault(fields)
    : createOAuthFault("invalid_request", "The body is neither JSON nor a form.");
  if (fault || !fields) return reply.code(400).send(fault);
  const text = String(fields.token);
  const token = text.includes(".") ? openSignedText(deps.config.secrets, decodeText(text)) : text;
  if (token !== undefined) await endDeviceSession(deps, request, token, String(fields.client_id));
  return reply.code(200).send();
}

const endDeviceSession = (deps: Deps, request: FastifyRequest, token: string, client_id: string): Promise<void> =>
  transact(deps, async (tx) => {
    const [ended] = await tx
      .delete(session)
      .where(and(eq(session.token, hashSecret(token)), eq(session.clientId, client_id)))
      .returning({ id: session.id, userId: session.userId });
    if (!ended) return;
    await record(tx, deps, {
      action: "device.revoked",
      actor: { kind: "user", user_id: ended.userId, key_id: null },
      subject: { type: "session", id: ended.id },
      organization_id: null,
      details: { clientId: client_id, via: "token" },
      ip_address: request.ip,
      user_agent: request.headers["user-agent"] ?? null,
    });
  });
