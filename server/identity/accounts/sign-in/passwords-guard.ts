import type { BetterAuthPlugin, GenericEndpointContext } from "better-auth";
import { APIError, createAuthMiddleware, getSessionFromCtx } from "better-auth/api";
import { findCall } from "../calls.ts";

export const passwordLengthMin = 8;
export const passwordLengthMax = 128;

type Person = { email?: unknown; name?: unknown; username?: unknown };

let loaded: Promise<ReadonlySet<string>> | undefined;
/** The passwords that are found most in what was stolen elsewhere, in small letters; read when first asked for. */
const isBreachedPassword = (): Promise<ReadonlySet<string>> => {
  loaded ??= import("@zxcvbn-ts/language-common").then(
    ({ dictionary }) => new Set(dictionary["passwords-common"].filter(({ length }) => length >= passwordLengthMin)),
  );
  return loaded;
};

/** Capitals do not make such a password another, nor a sign put at its end. */
async function isBreached(password: string): Promise<boolean> {
  const list = await isBreachedPassword();
  const plain = password.trim().toLowerCase();
  return list.has(plain) || list.has(plain.replace(/[^\p{L}\p{N}]+$/u, ""));
}

/** Whether the password is what everybody knows of its owner. */
function isPersonal(password: string, { email, name, username }: Person): boolean {
  const plain = password.trim().toLowerCase();
  const known = [email, name, username].filter((text) => typeof text === "string").map((text) => text.toLowerCase());
  const variants = known.flatMap((text) => [text, text.replace(/\s+/g, ""), text.split("@")[0] ?? ""]);
  return variants.includes(plain);
}

/** Whose password is to be set; undefined when the call is not theirs to make, which will be said elsewhere. */
async function getPerson(ctx: GenericEndpointContext): Promise<Person | undefined> {
  const { path, body, query, context } = ctx;
  if (path === "/sign-up/email") return body;
  if (path === "/reset-password") {
    const token: unknown = body.token ?? query?.token;
    const kept =
      typeof token === "string" ? await context.internalAdapter.findVerificationValue(`reset-password:${token}`) : null;
    return (kept && (await context.internalAdapter.findUserById(kept.value))) ?? undefined;
  }
  const session = await getSessionFromCtx(ctx);
  if (!session) return undefined;
  if (findCall(path).makes_person) return body;
  if (path !== "/admin/set-user-password") return session.user;
  return (typeof body.userId === "string" && (await context.internalAdapter.findUserById(body.userId))) || undefined;
}

/** Refuses passwords that others try first. Listed before what sets them. */
export const createPasswordGuard = () =>
  ({
    id: "floe-passwords",
    hooks: {
      before: [
        {
          // Setting a first password is a call for this process alone: it has no path.
          matcher: ({ path }) => path === undefined || findCall(path).sets !== undefined,
          handler: createAuthMiddleware(async (ctx) => {
            const password: unknown = ctx.body?.[findCall(ctx.path).sets ?? "newPassword"];
            if (typeof password !== "string") return;
            const tooShort = password.length < passwordLengthMin;
            if (tooShort || password.length > passwordLengthMax) {
              // Said by better-auth, but where an admin makes a person.
              if (ctx.path !== "/admin/create-user" || !(await getSessionFromCtx(ctx))) return;
              throw new APIError("BAD_REQUEST", {
                code: tooShort ? "PASSWORD_TOO_SHORT" : "PASSWORD_TOO_LONG",
                message: tooShort ? "Password too short" : "Password too long",
              });
            }
            const person = await getPerson(ctx);
            if (!person) return;
            if (isPersonal(password, person))
              throw new APIError("BAD_REQUEST", {
                code: "PASSWORD_GUESSABLE",
                message: "This password is your name or address, which others know. Choose another.",
              });
            if (await isBreached(password))
              throw new APIError("BAD_REQUEST", {
                code: "PASSWORD_COMPROMISED",
                message:
                  "This password is on a list of stolen passwords, which are tried first. Choose another: a few random words are long and easy to keep.",
              });
          }),
        },
      ],
    },
  }) satisfies BetterAuthPlugin;
