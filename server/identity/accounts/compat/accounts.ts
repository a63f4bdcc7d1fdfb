import { APIError, createAuthMiddleware, getSessionFromCtx, isAPIError } from "better-auth/api";
import { deleteSessionCookie, expireCookie } from "better-auth/cookies";
import { parseUserOutput } from "better-auth/db";
import type { Clock } from "../../../platform/clock.ts";
import { findCall, matchPath, matchRule } from "../calls.ts";
import { readClaims } from "../people/links.ts";

/** Of calls that published clients make with a provider's name and its id of the account, where a row's id is wanted now. */
export const translateAccount = {
  matcher: matchRule("by_provider"),
  handler: createAuthMiddleware(async (ctx) => {
    const given: unknown = ctx.path === "/account-info" ? ctx.query : ctx.body;
    if (typeof given !== "object" || given === null) return;
    const fields = given as Record<string, unknown>;
    const { providerId, accountId, userId } = fields;
    if (!ctx.request && !ctx.headers) return;
    const session = await getSessionFromCtx(ctx);
    if (!session) {
      // Naming a user is for calls within the server; from outside only the session counts.
      if (!findCall(ctx.path).gives_tokens || userId !== undefined) throw new APIError("UNAUTHORIZED");
      throw new APIError("BAD_REQUEST", { message: "Either userId or session is required" });
    }
    if (providerId === undefined && accountId === undefined) return;
    const isKnown = ctx.context.socialProviders.some(({ id }) => id === providerId);
    if (typeof providerId === "string" && !isKnown && ctx.path !== "/unlink-account") {
      const withoutTokens = providerId === "credential" ? "does not support token refreshing" : "not found";
      const fault = ctx.path === "/refresh-token" ? withoutTokens : "is not supported";
      throw new APIError("BAD_REQUEST", { message: `Provider ${providerId} ${fault}.` });
    }
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

/**
 * Taking an address that somebody has is refused, as the page for it expects; to a signed-in person only. Asked before,
 * and again afterwards: of one that was taken in between better-auth says that all went well.
 */
export const rejectTakenAddress = {
  matcher: matchPath("/change-email"),
  handler: createAuthMiddleware(async (ctx) => {
    const wanted: unknown = ctx.body?.newEmail;
    const session = await getSessionFromCtx(ctx);
    if (!session || typeof wanted !== "string" || wanted.toLowerCase() === session.user.email) return;
    if (isAPIError(ctx.context.returned)) return;
    const owner = await ctx.context.internalAdapter.findUserByEmail(wanted.toLowerCase());
    if (owner && owner.user.id !== session.user.id)
      throw new APIError("BAD_REQUEST", { message: "Couldn't update your email" });
  }),
};

/** With the password an account is deleted at once, without it a mail asks first; both only from a fresh session. */
export const deleteAtOnce = (clock: Clock) => ({
  matcher: matchPath("/delete-user"),
  handler: createAuthMiddleware(async (ctx) => {
    const password: unknown = ctx.body?.password;
    if (ctx.context.options.user?.deleteUser?.enabled !== true)
      throw new APIError("NOT_FOUND", { message: "Delete user disabled" });
    if (ctx.body.token !== undefined) return;
    const session = await getSessionFromCtx(ctx, { disableCookieCache: true });
    if (!session) throw new APIError("UNAUTHORIZED");
    const { context } = ctx;
    const age_seconds = (clock.now().getTime() - new Date(session.session.createdAt).getTime()) / 1000;
    if (age_seconds >= context.sessionConfig.freshAge) {
      throw new APIError("BAD_REQUEST", { message: "Session expired. Re-authenticate to perform this action." });
    }
    if (typeof password !== "string") return;
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

/** Scopes are answered as a list, wherever a set of tokens is. */
export const listScopes = {
  matcher: matchPath("/refresh-token"),
  handler: createAuthMiddleware(async (ctx) => {
    const tokens: unknown = ctx.context.returned;
    if (typeof tokens !== "object" || tokens === null || !("scope" in tokens)) return;
    const { scope, ...rest } = tokens;
    ctx.context.returned = { ...rest, scopes: typeof scope === "string" ? scope.split(",").filter(Boolean) : [] };
  }),
};

/** Whether linking began well is said also when the browser is to go elsewhere for the rest of it. */
export const reportLinking = {
  matcher: matchPath("/link-social"),
  handler: createAuthMiddleware(async (ctx) => {
    const answer: unknown = ctx.context.returned;
    if (typeof answer === "object" && answer !== null && "redirect" in answer)
      ctx.context.returned = { status: true, ...answer };
  }),
};

/** What a provider knows of a person is answered with its id of them. */
export const nameAccount = {
  matcher: matchPath("/account-info"),
  handler: createAuthMiddleware(async (ctx) => {
    const info: unknown = ctx.context.returned;
    if (typeof info !== "object" || info === null || !("user" in info) || !("account" in info)) return;
    const { accountId } = info.account as { accountId: string };
    ctx.context.returned = { ...info, user: { id: accountId, image: null, ...(info.user as object) } };
  }),
};

/** Who has confirmed an address is to be seen so at once: the browser's copy of the session knows nothing of it. */
export const deleteCopy = {
  matcher: matchPath("/verify-email"),
  handler: createAuthMiddleware(async (ctx) => {
    expireCookie(ctx, ctx.context.authCookies.sessionData);
    // Without a page to go to, the answer says who was confirmed (product.md 2); the token was checked before.
    const answer: unknown = ctx.context.returned;
    if (typeof answer !== "object" || answer === null || !("user" in answer) || answer.user !== null) return;
    const { email, updateTo } = readClaims(ctx.query?.token, ctx.context.secret) ?? {};
    const found = await ctx.context.internalAdapter.findUserByEmail((updateTo ?? email ?? "").toLowerCase());
    if (found) ctx.context.returned = { ...answer, user: parseUserOutput(ctx.context.options, found.user) };
  }),
};

/** What is not for people to set of themselves is refused, where better-auth would leave it out without a word. */
export const rejectClosedFields = {
  matcher: matchPath("/sign-up/email", "/update-user"),
  handler: createAuthMiddleware(async (ctx) => {
    const body: unknown = ctx.body;
    const fields = ctx.context.tables.user?.fields ?? {};
    const closed = Object.keys(typeof body === "object" && body !== null ? body : {}).find(
      (name) => fields[name]?.input === false,
    );
    if (closed === undefined || (ctx.path === "/update-user" && !(await getSessionFromCtx(ctx)))) return;
    throw new APIError("BAD_REQUEST", { message: `${closed} is not allowed to be set` });
  }),
};

/** Flags in a query are text, and every text counts as true: those that say no are taken out. */
export const readFlags = {
  matcher: matchPath("/get-session"),
  handler: createAuthMiddleware(async (ctx) => {
    const query: unknown = ctx.query;
    if (typeof query !== "object" || query === null) return;
    const flags = query as Record<string, unknown>;
    for (const flag of ["disableCookieCache", "disableRefresh"])
      if (flags[flag] === "false" || flags[flag] === "0") delete flags[flag];
  }),
};

/** Under which better-auth keeps states. */
const statePrefix = "auth-state:";

/**
 * Who comes back from a provider with a state that is not kept (any more) took too long, or came twice: starting again
 * helps. A state that is kept, and not this browser's, is a mismatch.
 */
export const rejectUnknownState = (clock: Clock) => ({
  matcher: matchPath("/callback/:id"),
  handler: createAuthMiddleware(async (ctx) => {
    const state: unknown = ctx.query?.state;
    // Anything given twice is no answer of a provider's, and refused as such.
    const isPlain = Object.values(ctx.query ?? {}).every((value) => typeof value === "string");
    if (ctx.method !== "GET" || !isPlain || typeof state !== "string" || state === "") return;
    const { internalAdapter, options } = ctx.context;
    const kept = await internalAdapter.findVerificationValue(`${statePrefix}${state}`);
    const { expiresAt, errorURL } = kept ? endOf(kept.value) : {};
    const isOver = kept !== null && expiresAt !== undefined && expiresAt < clock.now().getTime();
    if (kept && !isOver) return;
    const page = errorURL ?? options.onAPIError?.errorURL ?? "/error";
    throw ctx.redirect(`${page}${page.includes("?") ? "&" : "?"}error=please_restart_the_process`);
  }),
});

/** When a kept state ends, and where its errors go. One that cannot be read is left to whoever reads it next. */
function endOf(value: string): { expiresAt?: number; errorURL?: string } {
  try {
    return JSON.parse(value);
  } catch {
    return {};
  }
}
