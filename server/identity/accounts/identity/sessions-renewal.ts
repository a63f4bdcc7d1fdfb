import type { BetterAuthPlugin } from "better-auth";
import { createAuthMiddleware } from "better-auth/api";
import { setSessionCookie } from "better-auth/cookies";
import { and, eq, gt, lt, lte, sql } from "drizzle-orm";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Deps, Identity } from "../../../platform/context.ts";
import { session } from "../tables.ts";

const daySeconds = 24 * 60 * 60;
/** How long a session lasts, and after how long a use of it makes it last that long again. */
export const sessionSeconds = 7 * daySeconds;
const sessionUpdateSeconds = daySeconds;
/** What may pass between the two times that better-auth reads for one session. */
const slackMs = 60_000;

type Held = { expiresAt: Date | string; createdAt: Date | string; remembered?: unknown };

/**
 * How sessions are made to last longer by use. Not left to better-auth, which does it on its own calls alone, and asks a
 * cookie whether the person wanted to be remembered: here every use counts, and the session itself knows.
 */
export function createSessionRenewal({ db, clock, config }: Pick<Deps, "db" | "clock" | "config">) {
  const max_seconds = config.FLOE_SESSION_MAX_DAYS * daySeconds;
  /** When a session ends however much it is used. */
  const computeExpiry = (createdAt: Date | string) => new Date(new Date(createdAt).getTime() + max_seconds * 1000);
  const getDueTime = () => new Date(clock.now().getTime() + (sessionSeconds - sessionUpdateSeconds) * 1000);
  return {
    lastsUntil: computeExpiry,
    isDue: ({ expiresAt, createdAt, remembered }: Held): boolean =>
      remembered !== false && new Date(expiresAt) <= getDueTime() && new Date(expiresAt) < computeExpiry(createdAt),
    /** Make a session last from now on, and answer until when; undefined when it does not, or another use just has. */
    async renew(id: string): Promise<Date | undefined> {
      const now = clock.now();
      const until = new Date(now.getTime() + sessionSeconds * 1000).toISOString();
      const last = sql`${session.createdAt} + ${max_seconds} * interval '1 second'`;
      const [renewed] = await db
        .update(session)
        .set({ expiresAt: sql`least(${until}::timestamptz, ${last})`, updatedAt: now })
        .where(
          and(
            eq(session.id, id),
            eq(session.remembered, true),
            gt(session.expiresAt, now),
            lte(session.expiresAt, getDueTime()),
            lt(session.expiresAt, last),
          ),
        )
        .returning({ expiresAt: session.expiresAt });
      return renewed?.expiresAt;
    },
  };
}

/** Renewal by use of better-auth's calls. Listed last: what it sets is no sign-in, which other plugins would take it for. */
export function createRenewalPlugin(deps: Deps) {
  const { isDue, renew, lastsUntil } = createSessionRenewal(deps);
  const own = { required: false, input: false } as const;
  return {
    id: "floe-sessions",
    schema: {
      session: {
        fields: {
          remembered: { type: "boolean", ...own },
          impersonatorSessionId: { type: "string", returned: false, ...own },
          provenAt: { type: "date", returned: false, ...own },
        },
      },
    },
    init: () => ({
      options: {
        databaseHooks: {
          session: {
            create: {
              // better-auth says whether somebody wants to be remembered by the time that it gives the session alone.
              before: async ({ expiresAt, createdAt, ...made }, ctx) => {
                const before: (Held & { id: string }) | undefined = ctx?.context.session?.session;
                const ends = [expiresAt, lastsUntil(createdAt)];
                // A new token for who was not to be remembered does not last longer than the one before.
                const isForgotten = ctx?.path === "/change-password" && before?.remembered === false;
                const isVisit = typeof made.impersonatedBy === "string" && before !== undefined;
                if (before && (isForgotten || isVisit)) ends.push(new Date(before.expiresAt));
                const remembered =
                  !isForgotten && expiresAt.getTime() - createdAt.getTime() >= sessionSeconds * 1000 - slackMs;
                return {
                  data: {
                    ...made,
                    createdAt,
                    expiresAt: new Date(Math.min(...ends.map((end) => end.getTime()))),
                    remembered,
                    ...(isVisit && { impersonatorSessionId: before.id }),
                  },
                };
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

/**
 * Whether the cookie of a request is that of a session. For documents that hold nothing of the person: a link on another site
 * may lead to them, so it does not matter which page the request comes from.
 */
export const createSignInCheck =
  ({ identify }: { identify: (request: Pick<FastifyRequest, "method" | "headers">) => Promise<Identity> }) =>
  async ({ headers: { cookie } }: FastifyRequest, reply: FastifyReply): Promise<boolean> => {
    const identity = await identify({ method: "GET", headers: cookie === undefined ? {} : { cookie } });
    if (identity.kind !== "user") return false;
    if (identity.set_cookie !== undefined) reply.header("set-cookie", identity.set_cookie);
    return true;
  };
