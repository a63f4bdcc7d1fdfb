import type { IncomingHttpHeaders } from "node:http";
import { and, eq, gt, inArray, isNull, lte, ne, or, sql } from "drizzle-orm";
import { permissionsOf, scopesOf } from "../../shared/permissions.ts";
import { expandScopes } from "../../shared/scopes.ts";
import type { Config } from "../config.ts";
import type { Deps, Identity } from "../lib/context.ts";
import { hashesOf, signedText } from "../lib/secrets.ts";
import { organization } from "../organizations/tables.ts";
import { originsOf } from "./origins.ts";
import { hashSecret } from "./storage.ts";
import { apikey, member, organizationRole, session, user } from "./tables.ts";

export const key_prefix = "floe_oat_";
export const cookie_prefix = "floe";
const last_used_every_ms = 5000;
/** Printable ASCII: anything else cannot be one of ours (TOK-13). */
const tokenShape = /^[\x21-\x7e]{1,512}$/;

const bearerOf = (headers: IncomingHttpHeaders): string | undefined => {
  const [, scheme = "", token = ""] = /^(\S+)\s*(.*)$/.exec(headers.authorization ?? "") ?? [];
  // SDK 1.x without a token sends "Bearer undefined".
  if (scheme.toLowerCase() !== "bearer" || token === "" || token === "undefined") return undefined;
  return token;
};

/**
 * The session token of a signed cookie, when its signature is ours. A browser sends it along for any page, so it counts
 * only when the page is one of ours.
 */
function cookieToken(headers: IncomingHttpHeaders, { secrets, url }: Config, origins: string[]): string | undefined {
  if (headers.origin !== undefined && !origins.includes(headers.origin)) return undefined;
  const wanted = `${url.startsWith("https:") ? "__Secure-" : ""}${cookie_prefix}.session_token`;
  for (const part of (headers.cookie ?? "").split(";")) {
    const [name = "", ...rest] = part.trim().split("=");
    if (name !== wanted) continue;
    const token = signedText(secrets, decodeText(rest.join("=")));
    if (token !== undefined) return token;
  }
  return undefined;
}

const decodeText = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
};

export type Identifier = {
  identify(headers: IncomingHttpHeaders): Promise<Identity>;
  /** Write down which keys were used since the last time. */
  flush(): Promise<void>;
  stop(): Promise<void>;
};

/** Who a request says it is, in one query. When a key was last used is noted later, in batches, out of the request's way. */
export function createIdentifier(deps: Deps): Identifier {
  const { secrets } = deps.config;
  const used = new Set<string>();
  /** Keys that were found by an earlier secret: what they are stored as, and what they shall be. */
  const renewed = new Map<string, string>();
  const origins = originsOf(deps.config);
  const flush = async () => {
    const keys = [...used];
    used.clear();
    const renewals = [...renewed];
    renewed.clear();
    if (keys.length > 0)
      await deps.db.update(apikey).set({ lastRequest: deps.clock.now() }).where(inArray(apikey.id, keys));
    for (const [from, to] of renewals) {
      await deps.db.update(apikey).set({ key: to }).where(eq(apikey.key, from));
      await deps.db.update(apikey).set({ previousKey: to }).where(eq(apikey.previousKey, from));
    }
  };
  const timer = setInterval(() => {
    flush().catch((error: unknown) => deps.log.warn({ err: error }, "The last use of API keys was not noted."));
  }, last_used_every_ms);
  timer.unref();

  // Asked by almost every request: built once, and prepared in the database.
  const keyQuery = deps.db
    .select({
      key_id: apikey.id,
      hash: apikey.key,
      organization_id: organization.id,
      permissions: apikey.permissions,
    })
    .from(apikey)
    .innerJoin(organization, eq(organization.id, apikey.organizationId))
    .where(
      and(
        inArray(
          apikey.key,
          secrets.map((_, index) => sql.placeholder(`key${index}`)),
        ),
        eq(apikey.configId, "organization"),
        eq(apikey.enabled, true),
        or(isNull(apikey.expiresAt), gt(apikey.expiresAt, sql.placeholder("now"))),
        isNull(organization.blocked_at),
      ),
    )
    .prepare("identify_key");

  async function byKey(token: string): Promise<Identity> {
    const hashes = hashesOf(secrets, token);
    const [row] = await keyQuery.execute({
      ...Object.fromEntries(hashes.map((hash, index) => [`key${index}`, hash])),
      now: deps.clock.now().toISOString(),
    });
    if (!row) return { kind: "invalid" };
    used.add(row.key_id);
    const [current = ""] = hashes;
    if (row.hash !== current) renewed.set(row.hash, current);
    const scopes = expandScopes(scopesIn(row.permissions));
    return { kind: "key", key_id: row.key_id, organization_id: row.organization_id, scopes };
  }

  // What the organization's own roles of a member permit, as they are stored.
  const ownRoles = sql`(select json_agg(${organizationRole.permission}) from ${organizationRole}
    where ${organizationRole.organizationId} = ${member.organizationId}
    and ${organizationRole.role} = any(string_to_array(${member.role}, ',')))`;

  async function bySession(token: string): Promise<Identity> {
    const [row] = await deps.db
      .select({
        user_id: session.userId,
        session_id: session.id,
        active_organization_id: session.activeOrganizationId,
        memberships: sql<{ organization_id: string; role: string; own: string[] | null }[]>`coalesce(
          json_agg(json_build_object(
            'organization_id', ${member.organizationId}, 'role', ${member.role}, 'own', ${ownRoles}) order by ${member.createdAt})
          filter (where ${member.id} is not null and ${organization.blocked_at} is null), '[]')`,
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
    const memberships = row.memberships.map(({ organization_id, role, own }) => {
      const permissions = permissionsOf(
        role,
        (own ?? []).map((text) => JSON.parse(text)),
      );
      return { organization_id, role, permissions, scopes: scopesOf(permissions) };
    });
    return { kind: "user", ...row, memberships };
  }

  return {
    async identify(headers) {
      const bearer = bearerOf(headers) ?? (typeof headers["x-api-key"] === "string" ? headers["x-api-key"] : undefined);
      if (bearer !== undefined) {
        if (!tokenShape.test(bearer)) return { kind: "invalid" };
        if (bearer.startsWith(key_prefix)) return byKey(bearer);
        // Signing in answers the token bare in its body, and signed in the header `set-auth-token`; either is sent back.
        const token = bearer.includes(".") ? signedText(deps.config.secrets, decodeText(bearer)) : bearer;
        return token === undefined ? { kind: "invalid" } : bySession(token);
      }
      const token = cookieToken(headers, deps.config, origins);
      if (token === undefined) return { kind: "anonymous" };
      const identity = await bySession(token);
      // A cookie that has run out is what a visitor of a public page may still carry: nobody, not an intruder.
      return identity.kind === "invalid" ? { kind: "anonymous" } : identity;
    },
    flush,
    async stop() {
      clearInterval(timer);
      await flush();
    },
  };
}

/** The scopes kept with a key. */
export function scopesIn(permissions: string | null): string[] {
  const kept: unknown = permissions === null ? null : JSON.parse(permissions);
  const scopes = typeof kept === "object" && kept !== null && "scopes" in kept ? kept.scopes : [];
  return Array.isArray(scopes) ? scopes.map(String) : [];
}
