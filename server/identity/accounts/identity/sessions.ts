import { createAuthEndpoint, sensitiveSessionMiddleware, sessionMiddleware } from "better-auth/api";
import { z } from "zod";
import { hashSecret } from "../storage.ts";

/**
 * The sessions of a person, to see and to end. In place of better-auth's own three: those refuse the list when one's
 * session is older than a day, and hand out every session's token, where here a hash names it.
 */
export const sessionEndpoints = {
  listSessions: createAuthEndpoint(
    "/list-sessions",
    { method: "GET", use: [sessionMiddleware], requireHeaders: true },
    async (ctx) => {
      const { internalAdapter, session } = ctx.context;
      const sessions = await internalAdapter.listSessions(session.user.id, { onlyActiveSessions: true });
      // One's own is named by its token, as clients compare it with the one that they hold.
      return ctx.json(
        sessions.map((one) => (one.id === session.session.id ? { ...one, token: session.session.token } : one)),
      );
    },
  ),
  revokeSession: createAuthEndpoint(
    "/revoke-session",
    { method: "POST", use: [sensitiveSessionMiddleware], requireHeaders: true, body: z.object({ token: z.string() }) },
    async (ctx) => {
      const { internalAdapter, adapter, session } = ctx.context;
      const { token } = ctx.body;
      const sessions = await internalAdapter.listSessions(session.user.id);
      const found = sessions.find((one) => one.token === token || one.token === hashSecret(token));
      if (found) await adapter.delete({ model: "session", where: [{ field: "id", value: found.id }] });
      return ctx.json({ status: true });
    },
  ),
  revokeOtherSessions: createAuthEndpoint(
    "/revoke-other-sessions",
    { method: "POST", use: [sensitiveSessionMiddleware], requireHeaders: true },
    async (ctx) => {
      const { adapter, session } = ctx.context;
      await adapter.deleteMany({
        model: "session",
        where: [
          { field: "userId", value: session.user.id },
          { field: "id", operator: "ne", value: session.session.id },
        ],
      });
      return ctx.json({ status: true });
    },
  ),
};
