import type { BetterAuthPlugin } from "better-auth";
import { APIError, createAuthMiddleware } from "better-auth/api";
import { username } from "better-auth/plugins";
import { matchPath } from "../calls.ts";

/**
 * Signing in by a name, where passwords are on at all. Of somebody who has a name and no password better-auth says so at once, without the time that
 * checking a password takes, by which a stranger would know that the name is somebody's.
 */
export function createUsernamePlugin() {
  const plugin = username();
  return {
    ...plugin,
    hooks: {
      before: [
        ...plugin.hooks.before,
        {
          matcher: matchPath("/sign-in/username"),
          handler: createAuthMiddleware(async (ctx) => {
            const { username: name, password }: { username?: unknown; password?: unknown } = ctx.body ?? {};
            if (typeof name !== "string" || typeof password !== "string" || password === "") return;
            const { adapter, internalAdapter, options } = ctx.context;
            if (!options.emailAndPassword?.enabled)
              throw new APIError("BAD_REQUEST", {
                code: "EMAIL_PASSWORD_DISABLED",
                message: "Email and password is not enabled",
              });
            const owner = await adapter.findOne<{ id: string }>({
              model: "user",
              where: [{ field: "username", value: name.toLowerCase() }],
            });
            if (!owner || (await internalAdapter.findCredentialAccount(owner.id))?.password) return;
            await ctx.context.password.hash(password);
            throw APIError.from("UNAUTHORIZED", plugin.$ERROR_CODES.INVALID_USERNAME_OR_PASSWORD);
          }),
        },
      ],
    },
  } satisfies BetterAuthPlugin;
}
