import { APIError, createAuthEndpoint, freshSessionMiddleware } from "better-auth/api";
import { z } from "zod";
import type { Clock } from "../../../platform/clock.ts";

/**
 * In place of better-auth's own: of two requests at once each would see the other's account still there, and the person
 * would be left with no way to sign in. An account with a service that is no longer set up is no such way either.
 */
export const createLinkingEndpoints = (clock: Clock) => ({
  unlinkAccount: createAuthEndpoint(
    "/unlink-account",
    {
      method: "POST",
      use: [freshSessionMiddleware],
      requireHeaders: true,
      body: z.object({ accountId: z.string() }),
    },
    async (ctx) => {
      const { accountId } = ctx.body;
      const { adapter, session, socialProviders } = ctx.context;
      const services = new Set<string>(socialProviders.map(({ id }) => id));
      await adapter.transaction(async (tx) => {
        const mine = [{ field: "userId", value: session.user.id }];
        // Whoever writes the person's row makes the next one wait.
        await tx.update({
          model: "user",
          where: [{ field: "id", value: session.user.id }],
          update: { updatedAt: clock.now() },
        });
        const accounts = await tx.findMany<{ id: string; providerId: string }>({ model: "account", where: mine });
        if (!accounts.some(({ id }) => id === accountId))
          throw new APIError("BAD_REQUEST", { code: "ACCOUNT_NOT_FOUND", message: "Account not found" });
        const isWay = (providerId: string) => providerId === "credential" || services.has(providerId);
        if (!accounts.some(({ id, providerId }) => id !== accountId && isWay(providerId)))
          throw new APIError("BAD_REQUEST", {
            code: "FAILED_TO_UNLINK_LAST_ACCOUNT",
            message: "You can't unlink your last account",
          });
        await tx.delete({ model: "account", where: [{ field: "id", value: accountId }] });
      });
      return ctx.json({ status: true });
    },
  ),
});
