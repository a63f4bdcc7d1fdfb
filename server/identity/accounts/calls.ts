/**
 * One call under /api/auth, and what floe holds of it beside what better-auth does. What is done for a call in particular
 * stands in the file of its subject; which calls there are, and by which rule each goes, stands here alone.
 */
export type AccountCall = {
  /** As what it is counted for the address that makes it, by all servers together (limits-rules.ts). */
  limit?: "sign-in" | "sign-up" | "mail" | "account" | "device";
  /** Without a body it is refused, and so are texts without end in it. */
  body?: true;
  /** A password is tried, of the account that this field names. */
  signs_in?: "email" | "username";
  /** A browser that has made it is known to the account from then on. */
  enters?: true;
  /** A mail is sent to the address in this field. */
  mails?: "email" | "newEmail";
  /** It takes the same time whether there is such an account or not. */
  even?: true;
  /** The password of the signed-in person is tried. */
  confirms?: true;
  /** A password is set, to what this field has. */
  sets?: "password" | "newPassword";
  /** The person whose password is set comes with it. */
  makes_person?: true;
  /** What it does outlasts an admin's visit in somebody's name, or they could not undo it afterwards. */
  personal?: true;
  /** To a session that is limited to scopes it is open, or the session is not looked at; the others are closed to it. */
  limited?: "open" | "unseen";
  /** It asks for a recent proof of who the person is (identity/step-up.ts). */
  proves?: true;
  /** What the caller must be permitted in the organization. */
  needs?: readonly [resource: string, action: string];
  /** It only reads what a member sees, and is answered to a request that tries a role, too (identity/as-role.ts). */
  tried?: true;
  /** Published clients name the account by its provider, where a row's id is wanted now. */
  by_provider?: true;
  /** It gives a provider's tokens. */
  gives_tokens?: true;
  /** A GET that is also made by POST: its body becomes the query. */
  posted?: true;
  /** It takes an address: who lost it to somebody at the same moment is told as if they had asked later. */
  contested?: true;
};

/** Where they begin. */
export const accountBase = "/api/auth";

/** Every call that better-auth answers here; it does not start with one that has no row (auth.ts). */
export const accountCalls = {
  "/account-info": { by_provider: true, posted: true },
  "/admin/ban-user": {},
  "/admin/create-user": { body: true, sets: "password", makes_person: true },
  "/admin/get-user": {},
  "/admin/has-permission": {},
  "/admin/impersonate-user": {},
  "/admin/list-user-sessions": {},
  "/admin/list-users": {},
  "/admin/remove-user": {},
  "/admin/revoke-user-session": {},
  "/admin/revoke-user-sessions": {},
  "/admin/set-role": {},
  "/admin/set-user-password": { sets: "newPassword" },
  "/admin/stop-impersonating": {},
  "/admin/unban-user": {},
  "/admin/update-user": {},
  "/callback/:id": { enters: true },
  "/change-email": { limit: "mail", body: true, mails: "newEmail", personal: true, proves: true, contested: true },
  "/change-password": { limit: "account", confirms: true, sets: "newPassword", personal: true },
  "/delete-anonymous-user": { personal: true },
  "/delete-user": { limit: "account", body: true, confirms: true, personal: true },
  "/delete-user/callback": { personal: true },
  "/device": {},
  "/device/approve": { personal: true },
  "/device/code": { limit: "device" },
  "/device/deny": {},
  "/device/list": {},
  "/device/revoke": {},
  "/device/token": {},
  "/error": { limited: "unseen" },
  "/get-access-token": { by_provider: true, gives_tokens: true },
  "/get-session": { limited: "unseen", tried: true },
  "/is-username-available": { limit: "account" },
  "/link-social": { personal: true, proves: true },
  "/list-accounts": {},
  "/list-sessions": {},
  "/methods": {},
  "/ok": { limited: "unseen" },
  "/organization/accept-invitation": {},
  "/organization/add-team-member": { needs: ["member", "update"] },
  "/organization/cancel-invitation": { needs: ["invitation", "cancel"] },
  "/organization/check-slug": { tried: true },
  "/organization/create": {},
  "/organization/create-role": { needs: ["ac", "create"] },
  "/organization/create-team": { needs: ["team", "create"] },
  "/organization/delete": { personal: true, needs: ["organization", "delete"] },
  "/organization/delete-role": { needs: ["ac", "delete"] },
  "/organization/get-active-member": {},
  "/organization/get-active-member-role": {},
  "/organization/get-full-organization": { tried: true },
  "/organization/get-invitation": {},
  "/organization/get-organization": { tried: true },
  "/organization/get-role": { needs: ["ac", "read"], tried: true },
  "/organization/has-permission": { tried: true },
  "/organization/invite-member": { mails: "email", needs: ["invitation", "create"] },
  "/organization/leave": {},
  "/organization/list": { limited: "open", tried: true },
  "/organization/list-invitations": { tried: true },
  "/organization/list-members": { tried: true },
  "/organization/list-roles": { needs: ["ac", "read"], tried: true },
  "/organization/list-team-members": {},
  "/organization/list-teams": { tried: true },
  "/organization/list-user-invitations": {},
  "/organization/list-user-teams": {},
  "/organization/reject-invitation": {},
  "/organization/remove-member": { needs: ["member", "delete"] },
  "/organization/remove-team": { needs: ["team", "delete"] },
  "/organization/remove-team-member": { needs: ["member", "update"] },
  "/organization/set-active": {},
  "/organization/set-active-team": {},
  "/organization/update": { needs: ["organization", "update"] },
  "/organization/update-member-role": { needs: ["member", "update"] },
  "/organization/update-role": { needs: ["ac", "update"] },
  "/organization/update-team": { needs: ["team", "update"] },
  "/refresh-token": { by_provider: true, gives_tokens: true },
  "/request-password-reset": { limit: "mail", body: true, mails: "email", even: true },
  "/reset-password": { limit: "account", sets: "newPassword" },
  "/reset-password/:token": {},
  "/revoke-other-sessions": {},
  "/revoke-session": {},
  "/revoke-sessions": {},
  "/send-verification-email": { limit: "mail", mails: "email" },
  "/sign-in/anonymous": { limit: "sign-in", enters: true },
  "/sign-in/email": { limit: "sign-in", body: true, signs_in: "email", enters: true },
  "/sign-in/social": { limit: "sign-in", enters: true },
  "/sign-in/username": { limit: "sign-in", signs_in: "username", enters: true },
  "/sign-out": { limited: "unseen" },
  "/sign-up/email": {
    limit: "sign-up",
    body: true,
    enters: true,
    mails: "email",
    sets: "password",
    makes_person: true,
  },
  "/unlink-account": { personal: true, by_provider: true },
  "/update-session": {},
  "/update-user": { body: true },
  "/verify-email": { posted: true, contested: true },
  "/verify-password": { limit: "sign-in", confirms: true },
} as const satisfies Record<`/${string}`, AccountCall>;

export type AccountPath = keyof typeof accountCalls;

/** What older clients call them. */
const aliases: Readonly<Record<string, AccountPath>> = { "/forget-password": "/request-password-reset" };

const rows: ReadonlyMap<string, AccountCall> = new Map(Object.entries(accountCalls));
const none: AccountCall = {};

/** The path as it is now, of one that older clients call. */
export const resolvePath = (path: string): string => (Object.hasOwn(aliases, path) ? (aliases[path] ?? path) : path);

/** By which rules a call goes; by none when there is no such call. */
export const findCall = (path: string | undefined): AccountCall => rows.get(resolvePath(path ?? "")) ?? none;

type Asked = { path?: string | undefined };

/** Fits calls that have one of the rules. */
export const matchRule =
  (...rules: (keyof AccountCall)[]) =>
  ({ path }: Asked): boolean => {
    const call = findCall(path);
    return rules.some((rule) => call[rule] !== undefined);
  };

/** Fits these calls. */
export const matchPath = (...paths: AccountPath[]) => {
  const named: ReadonlySet<string | undefined> = new Set(paths);
  return ({ path }: Asked): boolean => named.has(path);
};

/** The paths of endpoints that have no row. */
export const findUnlisted = (endpoints: readonly Asked[]): string[] =>
  endpoints.flatMap(({ path }) => (path === undefined || rows.has(path) ? [] : [path]));
