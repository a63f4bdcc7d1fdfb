import type { BetterAuthPlugin } from "better-auth";
import { createAuthMiddleware } from "better-auth/api";
import { setSessionCookie } from "better-auth/cookies";
import { and, eq, gt, lte } from "drizzle-orm";
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Deps, Identity } from "../../lib/context.ts";
import { session } from "../tables.ts";

const day_seconds = 24 * 60 * 60;
/** How long a session lasts, and after how long a use of it makes it last that long again. */
export const session_seconds = 7 * day_seconds;
const session_update_seconds = day_seconds;
/** What may pass between the two times that better-auth reads for one session. */
const slack_ms = 60_000;

type Held = { expiresAt: Date | string; remembered?: unknown };

/**
 * How sessions are made to last longer by use. Not left to better-auth, which does it on its own calls alone, and asks a
 * cookie whether the person wanted to be remembered: here every use counts, and the session itself knows.
 */
export function createSessionRenewal({ db, clock }: Pick<Deps, "db" | "clock">) {
  const dueBy = () => new Date(clock.now().getTime() + (session_seconds - session_update_seconds) * 1000);
  return {
    isDue: ({ expiresAt, remembered }: Held): boolean => remembered !== false && new Date(expiresAt) <= dueBy(),
    /** Make a session last from now on, and answer until when; undefined when it does not, or another use just has. */
    async renew(id: string): Promise<Date | undefined> {
      const now = clock.now();
      const [renewed] = await db
        .update(session)
        .set({ expiresAt: new Date(now.getTime() + session_seconds * 1000), updatedAt: now })
        .where(
          and(
            eq(session.id, id),
            eq(session.remembered, true),
            gt(session.expiresAt, now),
            lte(session.expiresAt, dueBy()),
          ),
        )
        .returning({ expiresAt: session.expiresAt });
      return renewed?.expiresAt;
    },
  };
}

/** Renewal by use of better-auth's calls. Listed last: what it sets is no sign-in, which other plugins would take it for. */
export function createRenewalPlugin(deps: Deps) {
  const { isDue, renew } = createSessionRenewal(deps);
  return {
    id: "floe-sessions",
    schema: { session: { fields: { remembered: { type: "boolean", required: false, input: false } } } },
    init: () => ({
      options: {
        databaseHooks: {
          session: {
            create: {
              // better-auth says whether somebody wants to be remembered by the time that it gives the session alone.
              before: async ({ expiresAt, createdAt, ...made }, ctx) => {
                const before: (Held & { userId: string }) | undefined = ctx?.context.session?.session;
                // A new token for who was not to be remembered does not last longer than the one before.
                if (ctx?.path === "/change-password" && before?.remembered === false)
                  return { data: { ...made, createdAt, expiresAt: new Date(before.expiresAt), remembered: false } };
                const remembered = expiresAt.getTime() - createdAt.getTime() >= session_seconds * 1000 - slack_ms;
                return { data: { ...made, createdAt, expiresAt, remembered } };
              },
            },
          },
        },
      },
    }),
    hooks: {
      after: [
        {
          matcher: () => true,
          handler: createAuthMiddleware(async (ctx) => {
            const held = ctx.context.session;
            const { newSession, returned } = ctx.context;
            if (!held || ctx.query?.disableRefresh || !isDue(held.session)) return;
            // They have signed in to another one.
            if (newSession && newSession.session.id !== held.session.id) return;
            const expiresAt = await renew(held.session.id);
            if (!expiresAt) return;
            await setSessionCookie(ctx, { ...held, session: { ...held.session, expiresAt } }, false);
            const isAnswer = ctx.path === "/get-session" && typeof returned === "object" && returned !== null;
            if (isAnswer && "session" in returned)
              ctx.context.returned = { ...returned, session: { ...(returned.session as object), expiresAt } };
          }),
        },
      ],
    },
  } satisfies BetterAuthPlugin;
}

/** Says who makes a request. */
type Identify = (request: FastifyRequest) => Promise<Identity>;

/** Sends a renewed session's cookie along with the answer, so that the browser keeps it for as long as we do. */
export function sendRenewed(scope: FastifyInstance, identify: Identify): Identify {
  const cookies = new WeakMap<FastifyRequest, string>();
  scope.addHook("onSend", async (request, reply) => {
    const cookie = cookies.get(request);
    if (cookie !== undefined) reply.header("set-cookie", cookie);
  });
  return async (request) => {
    const identity = await identify(request);
    if (identity.kind === "user" && identity.set_cookie !== undefined) cookies.set(request, identity.set_cookie);
    return identity;
  };
}
