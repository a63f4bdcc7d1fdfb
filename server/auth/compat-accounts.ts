import { APIError, createAuthMiddleware, getSessionFromCtx } from "better-auth/api";
import { deleteSessionCookie } from "better-auth/cookies";
import type { Clock } from "../lib/clock.ts";

/** Paths that published clients call with a provider's name and its id of the account, where a row's id is wanted now. */
const byProvider = new Set(["/unlink-account", "/get-access-token", "/refresh-token", "/account-info"]);

export const translateAccount = {
  matcher: ({ path }: { path?: string }) => byProvider.has(path ?? ""),
  handler: createAuthMiddleware(async (ctx) => {
    const given: unknown = ctx.path === "/account-info" ? ctx.query : ctx.body;
    if (typeof given !== "object" || given === null) return;
    const fields = given as Record<string, unknown>;
    const { providerId, accountId } = fields;
    if (providerId === undefined && accountId === undefined) return;
    const session = await getSessionFromCtx(ctx);
    if (!session) throw new APIError("UNAUTHORIZED");
    const accounts = await ctx.context.internalAdapter.findAccounts(session.user.id);
    const found = accounts.find(
      (one) =>
        (providerId === undefined || one.providerId === providerId) &&
        (accountId === undefined || one.accountId === accountId || one.id === accountId),
    );
    if (!found) throw new APIError("BAD_REQUEST", { code: "ACCOUNT_NOT_FOUND", message: "Account not found" });
    delete fields.providerId;
    fields.accountId = found.id;
  }),
};

/** Taking an address that somebody has is told, as the page for it expects; to a signed-in person only. */
export const refuseTakenAddress = {
  matcher: ({ path }: { path?: string }) => path === "/change-email",
  handler: createAuthMiddleware(async (ctx) => {
    const wanted: unknown = ctx.body?.newEmail;
    const session = await getSessionFromCtx(ctx);
    if (!session || typeof wanted !== "string" || wanted.toLowerCase() === session.user.email) return;
    if (!(await ctx.context.internalAdapter.findUserByEmail(wanted.toLowerCase()))) return;
    throw new APIError("BAD_REQUEST", { code: "COULDNT_UPDATE_YOUR_EMAIL", message: "Couldn't update your email" });
  }),
};

/** With the password an account is deleted at once, and only from a fresh session; without it a mail asks first. */
export const deleteAtOnce = (clock: Clock) => ({
  matcher: ({ path }: { path?: string }) => path === "/delete-user",
  handler: createAuthMiddleware(async (ctx) => {
    const password: unknown = ctx.body?.password;
    if (typeof password !== "string" || ctx.body.token !== undefined) return;
    const session = await getSessionFromCtx(ctx, { disableCookieCache: true });
    if (!session) throw new APIError("UNAUTHORIZED");
    const { context } = ctx;
    const age_seconds = (clock.now().getTime() - new Date(session.session.createdAt).getTime()) / 1000;
    if (age_seconds >= context.sessionConfig.freshAge) {
      throw new APIError("BAD_REQUEST", {
        code: "SESSION_EXPIRED",
        message: "Session expired. Re-authenticate to perform this action.",
      });
    }
    const account = await context.internalAdapter.findCredentialAccount(session.user.id);
    if (!account?.password)
      throw new APIError("BAD_REQUEST", {
        code: "CREDENTIAL_ACCOUNT_NOT_FOUND",
        message: "Credential account not found",
      });
    if (!(await context.password.verify({ hash: account.password, password }))) {
      throw new APIError("BAD_REQUEST", { code: "INVALID_PASSWORD", message: "Invalid password" });
    }
    await context.options.user?.deleteUser?.beforeDelete?.(session.user, ctx.request);
    await context.internalAdapter.deleteUser(session.user.id);
    await context.internalAdapter.deleteUserSessions(session.user.id);
    deleteSessionCookie(ctx);
    return ctx.json({ success: true, message: "User deleted" });
  }),
});
