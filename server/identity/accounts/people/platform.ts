import type { BetterAuthPlugin, GenericEndpointContext } from "better-auth";
import { APIError, createAuthMiddleware, getSessionFromCtx, isAPIError } from "better-auth/api";
import { deleteSessionCookie, expireCookie } from "better-auth/cookies";
import { parseUserOutput } from "better-auth/db";
import { admin } from "better-auth/plugins";
import { createAccessControl } from "better-auth/plugins/access";
import { eq } from "drizzle-orm";
import { readRoles } from "../../../../shared/permissions.ts";
import type { Config } from "../../../platform/config.ts";
import type { Deps } from "../../../platform/context.ts";
import { matchPath, matchRule } from "../calls.ts";
import { removePrototype } from "../identity/permissions-guard.ts";
import { session } from "../tables.ts";
import { deletePerson, type HasFinancialRecords, rejectDeletion } from "./deletion.ts";

const everything = {
  user: ["create", "list", "set-role", "ban", "impersonate", "delete", "set-password", "get", "update"],
  session: ["list", "revoke", "delete"],
} as const;
const platform = createAccessControl(everything);
const roles = {
  admin: platform.newRole(removePrototype({ user: [...everything.user], session: [...everything.session] })),
  user: platform.newRole(removePrototype({ user: [], session: [] })),
};

/** Platform admins, with exactly the roles of section 6: without better-auth's `set-email`. */
export function createAdministration({ admin_user_ids }: Config) {
  const plugin = admin({ ac: platform, roles, defaultRole: "user", adminUserIds: admin_user_ids });
  const { fields } = plugin.schema.user;
  // The user that sign-up invents for an address that is taken has the fields' standards: as every new user has them.
  const role = { ...fields.role, defaultValue: "user" };
  return { ...plugin, schema: { ...plugin.schema, user: { fields: { ...fields, role } } } };
}

/** Why this cannot be done in somebody else's name. */
export const notWhileImpersonating = {
  code: "NOT_WHILE_IMPERSONATING",
  message: "This cannot be done while impersonating. Only the person themselves can.",
};

/** The cookie in which better-auth keeps an administrator's own session while they impersonate somebody. */
const adminCookie = "admin_session";
type Visit = { token: string; impersonatedBy?: string | null; impersonatorSessionId?: string | null };

/** The token of the administrator's own session, while it lives. */
async function findAdminToken(ctx: GenericEndpointContext): Promise<string | undefined> {
  const cookie = await ctx.getSignedCookie(ctx.context.createAuthCookie(adminCookie).name, ctx.context.secret);
  const [token = ""] = (cookie || "").split(":");
  const found = token === "" ? null : await ctx.context.internalAdapter.findSession(token);
  return found ? token : undefined;
}

/** Guards of what platform admins do to people, and of the ways to delete a person that better-auth guards by nothing. */
export const createPlatformGuards = (deps: Deps, hasFinancialRecords: HasFinancialRecords) => {
  const { db, config } = deps;
  const canDelete = ({ id, role }: { id: string; role?: unknown }) =>
    config.admin_user_ids.includes(id) ||
    readRoles(typeof role === "string" ? role : "").some(
      (name) => Object.hasOwn(roles, name) && roles[name as keyof typeof roles].authorize({ user: ["delete"] }).success,
    );
  return {
    id: "floe-platform",
    hooks: {
      before: [
        {
          matcher: matchRule("personal"),
          handler: createAuthMiddleware(async (ctx) => {
            const signedIn = await getSessionFromCtx(ctx);
            if (signedIn?.session.impersonatedBy) throw new APIError("FORBIDDEN", notWhileImpersonating);
          }),
        },
        {
          // Before a mail asks whether to delete what will not be deleted.
          matcher: matchPath("/delete-user"),
          handler: createAuthMiddleware(async (ctx) => {
            if (ctx.body?.password !== undefined || ctx.body?.token !== undefined) return;
            const signedIn = await getSessionFromCtx(ctx);
            if (signedIn) await rejectDeletion(deps, hasFinancialRecords, signedIn.user.id);
          }),
        },
        {
          matcher: matchPath("/delete-anonymous-user"),
          handler: createAuthMiddleware(async (ctx) => {
            const signedIn = await getSessionFromCtx(ctx);
            const isAnonymous = (signedIn?.user as { isAnonymous?: unknown } | undefined)?.isAnonymous === true;
            if (!signedIn || !isAnonymous) return undefined;
            await deletePerson(deps, hasFinancialRecords, signedIn.user.id);
            deleteSessionCookie(ctx);
            return ctx.json({ success: true });
          }),
        },
        {
          // Without the administrator's cookie, as by a token, better-auth would fail and let the visit go on.
          matcher: matchPath("/admin/stop-impersonating"),
          handler: createAuthMiddleware(async (ctx) => {
            const signedIn = await getSessionFromCtx(ctx, { disableCookieCache: true });
            const visit: Visit | undefined = signedIn?.session;
            if (!visit?.impersonatedBy || (await findAdminToken(ctx))) return undefined;
            const { internalAdapter, adapter, options } = ctx.context;
            const admin = await internalAdapter.findUserById(visit.impersonatedBy);
            const own = visit.impersonatorSessionId
              ? await adapter.findOne<{ token: string }>({
                  model: "session",
                  where: [{ field: "id", value: visit.impersonatorSessionId }],
                })
              : null;
            await internalAdapter.deleteSession(visit.token);
            deleteSessionCookie(ctx);
            const { token: _, ...session } = own ?? { token: "" };
            return ctx.json({ session: own && session, user: admin && parseUserOutput(options, admin) });
          }),
        },
        {
          // Who signs out while impersonating is nobody afterwards: neither the person nor the administrator.
          matcher: matchPath("/sign-out"),
          handler: createAuthMiddleware(async (ctx) => {
            const signedIn = await getSessionFromCtx(ctx, { disableCookieCache: true });
            const visit: Visit | undefined = signedIn?.session;
            const { internalAdapter, adapter } = ctx.context;
            const token = await findAdminToken(ctx);
            if (visit?.impersonatedBy) await internalAdapter.deleteSession(visit.token);
            if (visit?.impersonatorSessionId)
              await adapter.deleteMany({
                model: "session",
                where: [{ field: "id", value: visit.impersonatorSessionId }],
              });
            if (token) await internalAdapter.deleteSession(token);
            if (ctx.getCookie(ctx.context.createAuthCookie(adminCookie).name))
              expireCookie(ctx, ctx.context.createAuthCookie(adminCookie));
          }),
        },
        {
          matcher: matchPath("/admin/remove-user"),
          handler: createAuthMiddleware(async (ctx) => {
            const signedIn = await getSessionFromCtx(ctx);
            const userId: unknown = ctx.body?.userId;
            // Whom the endpoint refuses it refuses in its own words.
            if (!signedIn || typeof userId !== "string" || userId === signedIn.user.id || !canDelete(signedIn.user))
              return undefined;
            if (!(await ctx.context.internalAdapter.findUserById(userId))) return undefined;
            await deletePerson(deps, hasFinancialRecords, userId);
            return ctx.json({ success: true });
          }),
        },
      ],
      after: [
        {
          // An admin's visits in others' names end with the power to make them.
          matcher: matchPath("/admin/ban-user", "/admin/set-role", "/admin/update-user"),
          handler: createAuthMiddleware(async (ctx) => {
            const userId: unknown = ctx.body?.userId;
            if (typeof userId === "string" && !isAPIError(ctx.context.returned))
              await db.delete(session).where(eq(session.impersonatedBy, userId));
          }),
        },
      ],
    },
  } satisfies BetterAuthPlugin;
};
