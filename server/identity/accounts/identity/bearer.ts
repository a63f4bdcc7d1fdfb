import { createAuthMiddleware } from "better-auth/api";
import { bearer } from "better-auth/plugins";

/**
 * better-auth's bearer tokens, known to guards too. By itself the plugin tells only the endpoint whose session a token is;
 * a guard listed after this one would take the caller for signed out, and let pass what it guards.
 */
export function createGuardedBearer() {
  const plugin = bearer();
  const before = plugin.hooks.before.map(({ matcher, handler }) => ({
    matcher,
    handler: createAuthMiddleware(async (ctx) => {
      const changed = await handler({ ...ctx, returnHeaders: false });
      const cookie = changed?.context.headers.get("cookie");
      if (cookie) ctx.headers?.set("cookie", cookie);
      return changed;
    }),
  }));
  return { ...plugin, hooks: { ...plugin.hooks, before } };
}
