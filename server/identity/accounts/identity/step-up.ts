import { APIError, createAuthMiddleware, getSessionFromCtx, isAPIError } from "better-auth/api";
import { eq } from "drizzle-orm";
import type { Deps } from "../../../platform/context.ts";
import { matchPath, matchRule } from "../calls.ts";
import { session } from "../tables.ts";

/** For how long after signing in, or giving the password, a person may do what outlasts a stolen session. */
const proofLastsMs = 60 * 60 * 1000;

export const confirmationRequired = {
  code: "PASSWORD_CONFIRMATION_REQUIRED",
  message: "Password confirmation required",
  detail:
    "You signed in more than an hour ago. Confirm your password (POST /api/auth/verify-password) or sign in again, in a browser first and then with floe login.",
};

export const isProofOld = (proven_at: Date, now: Date): boolean => now.getTime() - proven_at.getTime() >= proofLastsMs;

type Held = { id: string; createdAt: Date | string; provenAt?: unknown };
/** When the person of a session of better-auth's last showed who they are. */
const findProofTime = ({ createdAt, provenAt }: Held): Date =>
  provenAt === null || provenAt === undefined ? new Date(createdAt) : new Date(provenAt as Date | string);

/** Guards of calls that ask for a recent proof, and the call that gives one. */
export function createStepUp({ db, clock }: Pick<Deps, "db" | "clock">) {
  return {
    id: "floe-step-up",
    hooks: {
      before: [
        {
          matcher: matchRule("proves"),
          handler: createAuthMiddleware(async (ctx) => {
            const signedIn = await getSessionFromCtx(ctx, { disableCookieCache: true });
            if (signedIn && isProofOld(findProofTime(signedIn.session), clock.now()))
              throw new APIError("FORBIDDEN", confirmationRequired);
          }),
        },
      ],
      after: [
        {
          matcher: matchPath("/verify-password"),
          handler: createAuthMiddleware(async (ctx) => {
            const signedIn = isAPIError(ctx.context.returned) ? null : await getSessionFromCtx(ctx);
            if (signedIn)
              await db.update(session).set({ provenAt: clock.now() }).where(eq(session.id, signedIn.session.id));
          }),
        },
      ],
    },
  };
}
