import type { BetterAuthPlugin, GenericEndpointContext } from "better-auth";
import { createAuthMiddleware, createEmailVerificationToken, getSessionFromCtx, isAPIError } from "better-auth/api";
import { and, eq } from "drizzle-orm";
import type { Database, Deps } from "../../../platform/context.ts";
import { openSignedText } from "../../../platform/crypto/secrets.ts";
import { transact } from "../../../platform/db/unit-of-work.ts";
import { matchPath } from "../calls.ts";
import { postedHeader } from "../http/requests.ts";
import { findKnownDevice } from "../identity/known-browsers.ts";
import { writeVerificationMail } from "../mails.ts";
import { user } from "../tables.ts";
import type { AccountWork } from "../work.ts";
import { endGivenOut } from "./credentials.ts";
import { confirmWithoutAccess } from "./unproven-access.ts";

const linkSeconds = 60 * 60;

type Person = { id: string; email: string };
type Claims = { email?: string; updateTo?: string; userId?: string; version?: number; exp?: number };

/** The claims of a mailed link's token that we signed; undefined of any other. */
export function readClaims(token: unknown, secret: string): Claims | undefined {
  const signed = typeof token === "string" ? openSignedText([secret], token, "base64url") : undefined;
  return signed && JSON.parse(Buffer.from(signed.split(".")[1] ?? "", "base64url").toString("utf8"));
}

/** The person as they are now, while they still have the address that a link is for. */
async function findHolder(db: Database, { id, email }: Person): Promise<{ version: number } | undefined> {
  const [row] = await db
    .select({ version: user.credentialsVersion })
    .from(user)
    .where(and(eq(user.id, id), eq(user.email, email)));
  return row;
}

/** Whether a mail may still go to a person's address: another request may have changed it meanwhile. */
export const isHolder = async (db: Database, person: Person): Promise<boolean> =>
  (await findHolder(db, person)) !== undefined;

/**
 * A link of better-auth's with a token that names the account and what was last changed of its credentials; null where
 * the person has the address no more. With `newEmail` the link replaces the address, and the new one is then to be confirmed
 * itself: better-auth's own would ask at the new address first, and count that as its confirmation.
 */
export async function signLink(
  db: Database,
  secret: string,
  person: Person,
  url: string,
  newEmail?: string,
): Promise<string | null> {
  const holder = await findHolder(db, person);
  if (!holder) return null;
  const claims = { userId: person.id, version: holder.version };
  const link = new URL(url);
  link.searchParams.set(
    "token",
    await createEmailVerificationToken(secret, person.email, newEmail, linkSeconds, claims),
  );
  return link.href;
}

/** Whether a link is what it was when it was mailed: for this account, at this address, with these credentials. */
async function isCurrent(db: Database, { userId, email, version = 0 }: Claims): Promise<boolean> {
  if (userId === undefined || email === undefined) return false;
  return (await findHolder(db, { id: userId, email }))?.version === version;
}

/** The page that asks before a link does what it is for: programs that follow the links of a mail press no button. */
function findPage(ctx: GenericEndpointContext, page: string, more: Record<string, string> = {}): string {
  const { token = "", callbackURL } = ctx.query ?? {};
  const asked = new URLSearchParams({ token, ...(callbackURL ? { callbackURL } : {}), ...more });
  return `${new URL(ctx.context.baseURL).origin}${page}?${asked}`;
}
const isPosted = (ctx: GenericEndpointContext): boolean => ctx.headers?.has(postedHeader) ?? false;
const isNavigation = (ctx: GenericEndpointContext): boolean =>
  ctx.headers?.get("accept")?.includes("text/html") ?? false;

/** Mailed links: each is for one account as it was when the mail was written, and is followed by its owner or by a click. */
export function createLinkGuards(deps: Deps, { here, mail }: AccountWork) {
  const { config, db } = deps;
  const guardVerification = createAuthMiddleware(async (ctx) => {
    const claims = readClaims(ctx.query?.token, ctx.context.secret);
    // A token that is none, or is too old, the endpoint refuses in its own words.
    if (!claims || (claims.exp ?? 0) * 1000 <= deps.clock.now().getTime()) return;
    const query: Record<string, unknown> = ctx.query ?? {};
    const { email, updateTo, userId } = claims;
    const isTaken = async (address: string) => (await ctx.context.internalAdapter.findUserByEmail(address)) !== null;
    // That there is no such person it says too.
    if (userId === undefined && !(await isTaken(email ?? ""))) return;
    const isOver =
      !(await isCurrent(db, claims)) || (updateTo !== undefined && updateTo !== email && (await isTaken(updateTo)));
    if (isOver) {
      query.token = "ended";
      return;
    }
    if (userId === undefined || email === undefined) return;
    const signedIn = await getSessionFromCtx(ctx, { disableCookieCache: true });
    // That a link to another address is somebody else's the endpoint says itself.
    if (signedIn?.user.id === userId || (signedIn && updateTo !== undefined)) return;
    const isKnown = (await findKnownDevice(ctx, config.secret, userId)) !== undefined;
    if (!isPosted(ctx)) throw ctx.redirect(findPage(ctx, "/verify-email", isKnown ? { known: "1" } : {}));
    if (query.revokeUnproven !== "true" || isKnown || updateTo !== undefined) return;
    const answer = await confirmWithoutAccess(ctx, deps, { id: userId, email, version: claims.version ?? 0 });
    return answer && ctx.json(answer);
  });
  /** A deletion's token is used up by its owner alone: whoever else tries it leaves it as it was. */
  const guardDeletion = createAuthMiddleware(async (ctx) => {
    const token: unknown = ctx.path === "/delete-user" ? ctx.body?.token : ctx.query?.token;
    const signedIn = typeof token === "string" ? await getSessionFromCtx(ctx, { disableCookieCache: true }) : null;
    if (!signedIn) return;
    const kept = await ctx.context.internalAdapter.findVerificationValue(`delete-account-${token}`);
    if (kept && kept.value !== signedIn.user.id)
      throw ctx.error("NOT_FOUND", { code: "INVALID_TOKEN", message: "Invalid token" });
    if (kept && ctx.path === "/delete-user/callback" && isNavigation(ctx))
      throw ctx.redirect(findPage(ctx, `/account/delete`));
  });
  /** Ending one's sessions also ends what waits to become a session or an address. */
  const endWaiting = createAuthMiddleware(async (ctx) => {
    if (isAPIError(ctx.context.returned)) return;
    const { session: own } = ctx.context;
    const userId: unknown = ctx.path === "/admin/revoke-user-sessions" ? ctx.body?.userId : own?.user.id;
    if (typeof userId !== "string") return;
    await transact(deps, (tx) => endGivenOut(tx, deps, userId, own?.session.id ?? null));
  });
  return {
    id: "floe-links",
    init: () => ({
      options: {
        databaseHooks: {
          account: {
            create: {
              // In the transaction that makes the account, so that neither exists without the other.
              before: async ({ userId, providerId }, ctx) => {
                if (
                  ctx?.path !== "/sign-up/email" ||
                  providerId !== "credential" ||
                  config.FLOE_EMAIL_VERIFICATION === "off"
                )
                  return;
                const callbackURL: unknown = ctx.body?.callbackURL;
                const [person] = await here()
                  .select({ id: user.id, email: user.email })
                  .from(user)
                  .where(eq(user.id, userId));
                const to = encodeURIComponent(
                  typeof callbackURL === "string" && callbackURL !== "" ? callbackURL : "/",
                );
                const url = `${ctx.context.baseURL}/verify-email?token=&callbackURL=${to}`;
                const link = person && (await signLink(here(), config.secret, person, url));
                if (person && link) await mail(writeVerificationMail(person.email, link));
              },
            },
          },
        },
      },
    }),
    hooks: {
      before: [
        { matcher: matchPath("/verify-email"), handler: guardVerification },
        { matcher: matchPath("/delete-user", "/delete-user/callback"), handler: guardDeletion },
      ],
      after: [
        {
          matcher: matchPath("/revoke-sessions", "/revoke-other-sessions", "/admin/revoke-user-sessions"),
          handler: endWaiting,
        },
      ],
    },
  } satisfies BetterAuthPlugin;
}
