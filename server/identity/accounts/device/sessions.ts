import {
  APIError,
  createAuthEndpoint,
  createAuthMiddleware,
  getSessionFromCtx,
  sensitiveSessionMiddleware,
} from "better-auth/api";
import { and, desc, eq, gt, isNotNull } from "drizzle-orm";
import { z } from "zod";
import type { Deps } from "../../../platform/context.ts";
import { transact } from "../../../platform/db/unit-of-work.ts";
import { record } from "../../../platform/events/audit.ts";
import { findCall } from "../calls.ts";
import { session } from "../tables.ts";
import { getClientName } from "./protocol.ts";

/** The answer to a limited session that asks for more. */
export const limitedSession = {
  code: "INSUFFICIENT_SCOPE",
  message: "This session is limited to scopes of the API. Sign in without scopes to manage the account.",
};

/** The devices that a person has approved, to see and to end. */
export function createDeviceSessionEndpoints(deps: Deps) {
  const { db, clock } = deps;
  const listed = createAuthEndpoint(
    "/device/list",
    { method: "GET", use: [sensitiveSessionMiddleware], requireHeaders: true },
    async (ctx) => {
      const own = ctx.context.session;
      const rows = await db
        .select()
        .from(session)
        .where(and(eq(session.userId, own.user.id), isNotNull(session.clientId), gt(session.expiresAt, clock.now())))
        .orderBy(desc(session.createdAt));
      return ctx.json(
        rows.map(({ id, clientId, scope, createdAt, updatedAt, expiresAt, ipAddress, userAgent }) => ({
          id,
          clientId,
          clientName: getClientName(clientId),
          scope,
          createdAt,
          updatedAt,
          expiresAt,
          ipAddress,
          userAgent,
          current: id === own.session.id,
        })),
      );
    },
  );
  const revoked = createAuthEndpoint(
    "/device/revoke",
    { method: "POST", use: [sensitiveSessionMiddleware], requireHeaders: true, body: z.object({ id: z.string() }) },
    async (ctx) => {
      const { user, session: own } = ctx.context.session;
      const by: unknown = own.impersonatedBy;
      await transact(deps, async (tx) => {
        const [gone] = await tx
          .delete(session)
          .where(and(eq(session.id, ctx.body.id), eq(session.userId, user.id), isNotNull(session.clientId)))
          .returning({ id: session.id, clientId: session.clientId });
        if (!gone) throw new APIError("NOT_FOUND", { code: "DEVICE_NOT_FOUND", message: "Device not found" });
        await record(tx, deps, {
          action: "device.revoked",
          actor: { kind: "user", user_id: user.id, key_id: null, impersonated_by: typeof by === "string" ? by : null },
          subject: { type: "session", id: gone.id },
          organization_id: null,
          details: { clientId: gone.clientId },
          ip_address: ctx.headers.get("x-client-ip"),
          user_agent: ctx.headers.get("user-agent"),
        });
      });
      return ctx.json({ status: true });
    },
  );
  return { deviceList: listed, deviceRevoke: revoked };
}

/** Keeps a session that is limited to scopes away from the account. The others find the session that it has read. */
export const limitedSessionsGuard = {
  matcher: ({ path }: { path?: string | undefined }) => findCall(path).limited !== "unseen",
  handler: createAuthMiddleware(async (ctx) => {
    if (!ctx.headers?.has("cookie") && !ctx.headers?.has("authorization")) return;
    const signedIn = await getSessionFromCtx(ctx);
    if (signedIn?.session.scope && findCall(ctx.path).limited !== "open")
      throw new APIError("FORBIDDEN", limitedSession);
  }),
};
