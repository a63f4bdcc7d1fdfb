import type { BetterAuthPlugin } from "better-auth";
import { APIError, createAuthMiddleware } from "better-auth/api";
import { eq } from "drizzle-orm";
import type { Deps } from "../../../platform/context.ts";
import { openSignedText } from "../../../platform/crypto/secrets.ts";
import { parseCookies } from "../../../platform/http/cookies.ts";
import { type Backoff, createLimiter } from "../../../platform/limits/attempts.ts";
import type { Limit } from "../../../platform/limits/limits.ts";
import { redactError } from "../../../platform/loggable.ts";
import { findCall, matchRule } from "../calls.ts";
import { findKnownDevice, setKnownBrowser } from "../identity/known-browsers.ts";
import { sendNewBrowserMail } from "../people/new-browsers.ts";
import { user } from "../tables.ts";
import { tooMany } from "./by-address.ts";

/** Wrong passwords in a row for one account: five are free, then each waits twice as long, up to a quarter of an hour. */
const guessing: Backoff = { free: 5, longest_seconds: 15 * 60 };
/** Mails of one kind that strangers can have sent to one address. */
const mailing: Limit = { max: 20, window_seconds: 60 * 60 };

/** What counts the wrong passwords of an account; start anew when its password has been reset. */
export const getPasswordKey = (user_id: string): string => `password:${user_id}`;

/**
 * Slows down whoever guesses passwords or has mails sent to others. It looks at the account that is named, from any
 * address, and does the same for accounts that do not exist. A browser that the account knows counts by itself, so that
 * nobody is locked out by a stranger's guesses.
 */
export function createGuessingLimits(deps: Deps) {
  const { hit, guess, forget } = createLimiter(deps);
  const { secret, secrets } = deps.config;

  /** What the account is called, whether it exists or not: an address, a name. */
  async function getAccount(field: "email" | "username", body: Record<string, unknown>): Promise<string | undefined> {
    const given = body[field];
    if (typeof given !== "string" || given === "") return undefined;
    const name = given.toLowerCase();
    const [found] = await deps.db.select({ id: user.id }).from(user).where(eq(user[field], name));
    return found?.id ?? `${field} ${name}`;
  }
  const wait = (seconds: number) => {
    if (seconds > 0) throw new APIError("TOO_MANY_REQUESTS", tooMany, { "Retry-After": String(seconds) });
  };

  /** The person is signed in by now: a mail that cannot be written does not undo that. */
  const sendNewBrowser = (user_id: string, headers: Headers | undefined) =>
    sendNewBrowserMail(deps, {
      user_id,
      ip_address: headers?.get("x-client-ip") ?? null,
      user_agent: headers?.get("user-agent") ?? null,
    }).catch((error: unknown) =>
      deps.log.error({ error: redactError(error) }, "The mail about a sign-in from a new browser was not written."),
    );

  const before = createAuthMiddleware(async (ctx) => {
    const { path } = ctx;
    const { mails, signs_in, confirms } = findCall(path);
    const body: unknown = ctx.body;
    if (!ctx.request || typeof body !== "object" || body === null) return;
    const fields = body as Record<string, unknown>;
    /** The browser, where the account knows it. */
    const getDevice = (account: string) => findKnownDevice(ctx, secret, account);
    const receiver = mails && fields[mails];
    if (typeof receiver === "string") {
      const to = receiver.toLowerCase();
      const account = await getAccount("email", { email: to });
      // Each kind by itself: by how many of one are left nobody learns that there was one of another.
      wait(await hit(`mail-to:${path} ${to}`, mailing, account && (await getDevice(account))));
    }
    if (signs_in) {
      const account = await getAccount(signs_in, fields);
      if (account === undefined) return;
      wait(await guess(getPasswordKey(account), guessing, await getDevice(account)));
    }
    if (confirms && (typeof fields.password === "string" || typeof fields.currentPassword === "string")) {
      const session = readSessionToken(ctx.request.headers, ctx.context.authCookies.sessionToken.name, secrets);
      if (session !== undefined) wait(await guess(`password-of-session:${session}`, guessing));
    }
  });

  const after = createAuthMiddleware(async (ctx) => {
    const { signs_in, confirms, enters } = findCall(ctx.path);
    if (!ctx.request) return;
    if (confirms && !(ctx.context.returned instanceof Error)) {
      const session = readSessionToken(ctx.request.headers, ctx.context.authCookies.sessionToken.name, secrets);
      if (session !== undefined) await forget(`password-of-session:${session}`);
    }
    // The password was right, and only then is it said that the address waits to be confirmed.
    if (signs_in && getCode(ctx.context.returned) === "EMAIL_NOT_VERIFIED") {
      const account = await getAccount(signs_in, (ctx.body ?? {}) as Record<string, unknown>);
      if (account !== undefined) await forget(getPasswordKey(account));
    }
    if (!enters) return;
    const entered = ctx.context.newSession?.user.id;
    if (entered !== undefined) {
      const device = await findKnownDevice(ctx, secret, entered);
      if (signs_in) await forget(getPasswordKey(entered), device);
      if (device === undefined) await sendNewBrowser(entered, ctx.headers);
    }
    // A sign-up without a session answers a person, too; for a taken address that person is made up.
    const account = entered ?? findNewPerson(ctx.path, ctx.context.returned);
    if (account !== undefined) await setKnownBrowser(ctx, secret, account);
  });

  return {
    id: "floe-guessing",
    hooks: {
      before: [{ matcher: matchRule("signs_in", "confirms", "mails"), handler: before }],
      after: [{ matcher: matchRule("confirms", "enters"), handler: after }],
    },
  } satisfies BetterAuthPlugin;
}

const getCode = (returned: unknown): unknown =>
  returned instanceof APIError && typeof returned.body === "object" ? returned.body?.code : undefined;

/** The person that a sign-up answers. */
function findNewPerson(path: string | undefined, returned: unknown): string | undefined {
  if (path !== "/sign-up/email" || typeof returned !== "object" || returned === null) return undefined;
  const { user: person } = returned as { user?: { id?: unknown } };
  return typeof person?.id === "string" ? person.id : undefined;
}

/** The token of the session that asks, without looking whether there is one. */
function readSessionToken(headers: Headers, cookie: string, secrets: readonly string[]): string | undefined {
  const [, bearer] = /^bearer\s+(\S+)$/i.exec(headers.get("authorization") ?? "") ?? [];
  if (bearer) return bearer.split(".")[0];
  for (const [name, value] of parseCookies(headers.get("cookie")))
    if (name === cookie) return openSignedText(secrets, value);
  return undefined;
}
