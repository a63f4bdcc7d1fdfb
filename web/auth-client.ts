import { type Failure, type Result, requestApi } from "./api.ts";
import { openOverlay } from "./overlay.ts";

const base = "/api/auth";
/** After a call, this long until what it may have changed is asked for again, so that its cookies are set by then. */
const signalFlipDelayMs = 10;

export type User = {
  id: string;
  name: string;
  email: string;
  emailVerified: boolean;
  image?: string | null;
  username?: string | null;
  isAnonymous?: boolean | null;
};
export type Session = { user: User; session: { id: string; activeOrganizationId?: string | null } };
export type Organization = { id: string; name: string; slug: string };
type Member = { id: string; organizationId: string; userId: string; role: string };

/** What is known of something on the server. `value` is null where there is none, and while `pending`. */
export type KnownError<T> = { pending: boolean; value: T | null; failure: Failure | null };

/** Something on the server that pages show: asked for when the first one looks, and again when told. */
export type Store<T> = {
  get(): KnownError<T>;
  subscribe(listener: () => void): () => void;
  refetch(): Promise<void>;
  /** Says that it may have changed: asked for at once where someone is looking, else when someone does. */
  flip(): void;
};

function storeOf<T>(path: string): Store<T> {
  let known: KnownError<T> = { pending: true, value: null, failure: null };
  let stale = true;
  let latest = 0;
  const listeners = new Set<() => void>();
  const refetch = async (): Promise<void> => {
    stale = false;
    latest += 1;
    const asked = latest;
    const answer = await requestApi<T | null>("GET", base + path);
    // Answers may overtake each other; the last question counts.
    if (asked !== latest) return;
    if (answer.ok) known = { pending: false, value: answer.value, failure: null };
    else
      known = {
        pending: false,
        value: answer.failure.status === 401 ? null : known.value,
        failure: answer.failure,
      };
    for (const listener of listeners) listener();
  };
  return {
    get: () => known,
    refetch,
    subscribe(listener) {
      listeners.add(listener);
      if (stale) void refetch();
      return () => listeners.delete(listener);
    },
    flip() {
      if (listeners.size > 0) void refetch();
      else stale = true;
    },
  };
}

/** Who is signed in here: the database says, for the browser's own copy does not know of a session that was ended. */
export const session = storeOf<Session>("/get-session?disableCookieCache=true");
/** The organizations of whoever is signed in. */
export const organizations = storeOf<Organization[]>("/organization/list");
/** The membership in the active organization. */
export const activeMember = storeOf<Member>("/organization/get-active-member");
/** That membership's role. */
export const activeMemberRole = storeOf<{ role: string }>("/organization/get-active-member-role");

/** Which calls, once they have succeeded, make what be asked for again. */
const refetches: [RegExp, Store<unknown>[]][] = [
  [
    /^\/(sign-in\/.+|sign-up\/.+|sign-out|update-user|delete-user|end-sessions|verify-email|organization\/set-active)$/,
    [session],
  ],
  [/^\/organization\/(create|update|delete)$/, [organizations]],
  [/^\/organization\/update-member-role$/, [activeMember, activeMemberRole]],
];

/** One call to the authentication service, by its path there. */
export async function requestAuth<T>(method: "GET" | "POST", path: string, body?: object): Promise<Result<T>> {
  const answer = await requestApi<T>(method, base + path, body);
  if (!answer.ok) return answer;
  for (const [paths, stores] of refetches) {
    if (!paths.test(path.replace(/\?.*/, ""))) continue;
    for (const store of stores) setTimeout(store.flip, signalFlipDelayMs);
  }
  return answer;
}

/** A refused call, raised. */
export class AuthError extends Error {
  override readonly name = "AuthError";
  readonly failure: Failure;
  constructor(failure: Failure) {
    super(failure.detail);
    this.failure = failure;
  }
}

/** The value of a result; raises the error of one that is none. */
export function unwrapResult<T>(result: Result<T>): T {
  if (result.ok) return result.value;
  throw new AuthError(result.failure);
}

export type CheckoutRequest = {
  products?: string | string[];
  slug?: string;
  referenceId?: string;
  customFieldData?: Record<string, string | number | boolean>;
  metadata?: Record<string, string | number | boolean>;
  allowDiscountCodes?: boolean;
  discountId?: string;
};

/** Starts a paid checkout for whoever is signed in and opens it over this page; raises the server's message otherwise. */
export async function startCheckout(request: CheckoutRequest, options?: Parameters<typeof openOverlay>[1]) {
  const body = { ...request, redirect: false, embedOrigin: location.origin };
  const { url } = unwrapResult(await requestAuth<{ url: string }>("POST", "/checkout", body));
  return openOverlay(url, options);
}

type SignedIn = { token: string | null; user: User };
type Redirect = { url?: string; redirect: boolean };

/** The calls of the sign-in pages. */
export const signing = {
  methods: () => requestAuth<Methods>("GET", "/methods"),
  inByEmail: (body: { email: string; password: string; rememberMe: boolean }) =>
    requestAuth<SignedIn>("POST", "/sign-in/email", body),
  inByUsername: (body: { username: string; password: string; rememberMe: boolean }) =>
    requestAuth<SignedIn>("POST", "/sign-in/username", body),
  inBySocial: (provider: string, callbackURL: string) =>
    requestAuth<Redirect>("POST", "/sign-in/social", { provider, callbackURL }),
  inAsGuest: () => requestAuth<SignedIn>("POST", "/sign-in/anonymous", {}),
  up: (body: { name: string; email: string; password: string; callbackURL: string } & ServerData) =>
    requestAuth<SignedIn>("POST", "/sign-up/email", body),
  out: () => requestAuth<unknown>("POST", "/sign-out", {}),
  sendVerification: (email: string, callbackURL: string) =>
    requestAuth<unknown>("POST", "/send-verification-email", { email, callbackURL }),
  endSessions: (token: string) => requestAuth<unknown>("POST", "/end-sessions", { token }),
  /** Confirms an address. A browser that has never entered the account revokes all earlier access, and gets a token to choose a password with. */
  verify: (token: string) =>
    requestAuth<{ resetToken?: string | null }>("POST", "/verify-email", { token, revokeUnproven: true }),
  requestReset: (email: string) =>
    requestAuth<unknown>("POST", "/request-password-reset", { email, redirectTo: "/reset-password" }),
  reset: (token: string, newPassword: string) =>
    requestAuth<unknown>("POST", "/reset-password", { token, newPassword }),
};

export type ServerData = Record<string, string | number | boolean | null>;

/** A field that whoever runs this server has given to people, beside their name. */
export type OwnField = {
  name: string;
  label: string;
  type: "string" | "number" | "boolean";
  required: boolean;
  default: string | number | boolean | null;
};

/** Which ways of signing in this server has, and what it asks of people. */
export type Methods = {
  password: boolean;
  username: boolean;
  anonymous: boolean;
  providers: { id: string; name: string }[];
  /** By which of them a new account can be made. */
  signUp: { password: boolean; providers: boolean };
  fields: OwnField[];
};
