import type { IncomingHttpHeaders } from "node:http";
import { and, eq, gt, isNull, lte, ne, or } from "drizzle-orm";
import type { Config } from "../../../platform/config.ts";
import type { Deps, Identity } from "../../../platform/context.ts";
import { openSignedText } from "../../../platform/crypto/secrets.ts";
import { viewerPrefix } from "../../../platform/crypto/viewers.ts";
import { decodeText, parseCookies } from "../../../platform/http/cookies.ts";
import { organization } from "../../organizations/tables.ts";
import { listScopeNames } from "../device/protocol.ts";
import { listOrigins, reading } from "../http/origins.ts";
import { createKeyIdentifier } from "../keys/identify.ts";
import { hashSecret } from "../storage.ts";
import { member, session, user } from "../tables.ts";
import { type AskedRole, limitIdentity, readAsRole } from "./as-role.ts";
import { limitMemberships, memberships, readMemberships } from "./memberships.ts";
import { getCookieName, writeSessionCookie } from "./session-cookie.ts";
import { createSessionRenewal } from "./sessions-renewal.ts";
import { identifyViewer } from "./viewers.ts";

const lastUsedEveryMs = 5000;
/** Printable ASCII: anything else cannot be one of ours (TOK-13). */
const tokenShape = /^[\x21-\x7e]{1,512}$/;

const getBearer = (headers: IncomingHttpHeaders): string | undefined => {
  const [, scheme = "", token = ""] = /^(\S+)\s*(.*)$/.exec(headers.authorization ?? "") ?? [];
  // SDK 1.x without a token sends "Bearer undefined".
  if (scheme.toLowerCase() !== "bearer" || token === "" || token === "undefined") return undefined;
  return token;
};

/**
 * The session token of a signed cookie, when its signature is ours. A browser sends it along for any page, so it counts
 * only when the page is one of ours.
 */
function readCookieToken({ method, headers }: Shown, config: Config, origins: string[]): string | undefined {
  const { origin } = headers;
  // Browsers send no origin with what only reads; they say there in other words whether it comes from elsewhere. What
  // changes something says where it comes from, or is of nobody.
  const site = headers["sec-fetch-site"] ?? (reading.has(method) ? "none" : undefined);
  if (origin === undefined ? site !== "none" && site !== "same-origin" : !origins.includes(origin)) return undefined;
  const wanted = getCookieName(config, "session_token");
  for (const [name, value] of parseCookies(headers.cookie)) {
    const token = name === wanted ? openSignedText(config.secrets, value) : undefined;
    if (token !== undefined) return token;
  }
  return undefined;
}

/** What a browser tells of a request beside its body. */
type Shown = { method: string; headers: IncomingHttpHeaders };

/** What a request shows to say who it is: a token that it names, or the session of its cookie, known to be signed by us. */
export type Credential = {
  from: "header" | "cookie";
  text: string;
  /** Whether it is looked up again for a request that goes on, such as a stream: that is no further use of a key. */
  isRecheck?: boolean;
  /** The role that the request asks to be limited to. */
  asRole?: AskedRole;
};

export type Identifier = {
  /** What there is to ask about, without asking. */
  credentialOf(request: Shown): Credential | undefined;
  /** Who that is, in one query. */
  whoIs(credential: Credential | undefined): Promise<Identity>;
  /** Both. */
  identify(request: Shown): Promise<Identity>;
  /** Write down which keys were used since the last time. */
  flush(): Promise<void>;
  stop(): Promise<void>;
};

/** Whose customer session a token is; undefined for what is no such token. */
export type IdentifyCustomer = (deps: Deps, token: string) => Promise<Identity | undefined>;

/** Who a request says it is, in one query. When a key was last used is noted later, in batches, out of the request's way. */
export function createIdentifier(deps: Deps, identifyCustomer: IdentifyCustomer): Identifier {
  const keys = createKeyIdentifier(deps);
  const origins = listOrigins(deps.config);
  const { isDue, renew } = createSessionRenewal(deps);
  const timer = setInterval(() => {
    keys.flush().catch((error: unknown) => deps.log.warn({ err: error }, "The last use of API keys was not noted."));
  }, lastUsedEveryMs);
  timer.unref();

  /** Whose session it is. Used once it is due, it lasts longer; a browser is to have its cookie again then. */
  async function identifySession(token: string, from: Credential["from"]): Promise<Identity> {
    const [row] = await deps.db
      .select({
        user_id: session.userId,
        session_id: session.id,
        active_organization_id: session.activeOrganizationId,
        impersonated_by: session.impersonatedBy,
        scope: session.scope,
        expiresAt: session.expiresAt,
        createdAt: session.createdAt,
        provenAt: session.provenAt,
        remembered: session.remembered,
        memberships,
      })
      .from(session)
      .innerJoin(user, eq(user.id, session.userId))
      .leftJoin(member, eq(member.userId, session.userId))
      .leftJoin(organization, eq(organization.id, member.organizationId))
      .where(
        and(
          eq(session.token, hashSecret(token)),
          gt(session.expiresAt, deps.clock.now()),
          or(ne(user.banned, true), isNull(user.banned), lte(user.banExpires, deps.clock.now())),
        ),
      )
      .groupBy(session.id);
    if (!row) return { kind: "invalid" };
    const { scope, expiresAt, createdAt, provenAt, remembered, ...person } = row;
    const all = readMemberships(row.memberships);
    const until = isDue({ expiresAt, createdAt, remembered }) ? await renew(row.session_id) : undefined;
    const cookie = until && from === "cookie" ? writeSessionCookie(deps.config, token, until) : undefined;
    return {
      kind: "user",
      ...person,
      ...(cookie === undefined ? {} : { set_cookie: cookie }),
      limited: scope !== null,
      proven_at: provenAt ?? createdAt,
      memberships: scope === null ? all : limitMemberships(all, listScopeNames(scope)),
    };
  }

  function getCredential(request: Shown): Credential | undefined {
    const { headers } = request;
    const asRole = readAsRole(headers);
    const limit = asRole === undefined ? {} : { asRole };
    const bearer = getBearer(headers) ?? (typeof headers["x-api-key"] === "string" ? headers["x-api-key"] : undefined);
    if (bearer !== undefined) return { from: "header", text: bearer, ...limit };
    const token = readCookieToken(request, deps.config, origins);
    return token === undefined ? undefined : { from: "cookie", text: token, ...limit };
  }

  async function identifyCredential(credential: Credential | undefined): Promise<Identity> {
    const identity = await identifyWhole(credential);
    return credential?.asRole === undefined ? identity : limitIdentity(deps.db, identity, credential.asRole);
  }

  async function identifyWhole(credential: Credential | undefined): Promise<Identity> {
    if (!credential) return { kind: "anonymous" };
    const { from, text, isRecheck } = credential;
    if (from === "header") {
      if (!tokenShape.test(text)) return { kind: "invalid" };
      const byKey = keys.identify(text, isRecheck);
      if (byKey) return byKey;
      if (text.startsWith(viewerPrefix)) return identifyViewer(deps, text);
      const customer = await identifyCustomer(deps, text);
      if (customer) return customer;
      // Signing in answers the token bare in its body, and signed in the header `set-auth-token`; either is sent back.
      const token = text.includes(".") ? openSignedText(deps.config.secrets, decodeText(text)) : text;
      return token === undefined ? { kind: "invalid" } : identifySession(token, from);
    }
    const identity = await identifySession(text, from);
    // A cookie that has run out is what a visitor of a public page may still carry: nobody, not an intruder.
    return identity.kind === "invalid" ? { kind: "anonymous" } : identity;
  }

  return {
    credentialOf: getCredential,
    whoIs: identifyCredential,
    identify: (request) => identifyCredential(getCredential(request)),
    flush: keys.flush,
    async stop() {
      clearInterval(timer);
      await keys.flush();
    },
  };
}
