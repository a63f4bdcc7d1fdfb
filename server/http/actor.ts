import type { FastifyRequest } from "fastify";
import { ApiError, fault, invalid, notFound } from "../../shared/errors.ts";
import { expandScopes, type Scope } from "../../shared/scopes.ts";
import { type Actor, anonymous, type Identity, type Membership } from "../lib/context.ts";

/** Says who makes a request, or refuses who asks too often. */
export type Identify = (request: FastifyRequest) => Promise<Identity>;
type Asked = Pick<FastifyRequest, "headers" | "query" | "body" | "params"> & { organizationInPath: boolean };

/** Matches no organization: a filter by a foreign one answers an empty list, not an error (API-11). */
const nowhere = "00000000-0000-0000-0000-000000000000";

const unauthorized = () => new ApiError("Unauthorized", "Unauthorized", { "WWW-Authenticate": 'Bearer realm="floe"' });
const text = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);
const fieldOf = (value: unknown, key: string): unknown =>
  typeof value === "object" && value !== null ? (value as Record<string, unknown>)[key] : undefined;

const readOnly = (held: Set<Scope>): Set<Scope> => new Set([...held].filter((scope) => scope.endsWith(":read")));

/** Refuse a credential that is no good, even where none is needed (API-25). */
export function checkIdentity(identity: Identity): void {
  if (identity.kind === "limited") {
    const headers = { "Retry-After": String(identity.retry_after) };
    throw new ApiError("TooManyRequests", "This API key has been used as often as it may be for now.", headers);
  }
  if (identity.kind !== "invalid") return;
  throw new ApiError("invalid_token", "The access token is malformed, expired, revoked or unknown.", {
    "WWW-Authenticate": 'Bearer realm="floe", error="invalid_token"',
  });
}

/** Refuse who shows no credential at all. */
export function checkKnown(identity: Identity): void {
  if (identity.kind === "anonymous") throw unauthorized();
}

/**
 * Who acts, and for which one organization. Its own key speaks for it. A user, or their key, names it (the `Polar-Organization` header,
 * the path, `organization_id` in query or body), or it is the session's active one, or the only one.
 */
export function actorOf(identity: Identity, asked: Asked): Actor {
  if (identity.kind === "anonymous" || identity.kind === "invalid" || identity.kind === "limited") return anonymous;
  const inHeader = text(asked.headers["polar-organization"]);
  const inBody = text(fieldOf(asked.body, "organization_id"));
  if (identity.kind === "key") {
    if (inBody !== undefined && inBody !== identity.organization_id) {
      const msg = "Setting organization_id is disallowed when using an organization token.";
      throw invalid(fault(["organization_id"], msg, "organization_token", inBody));
    }
    // Ignored, it would have a program work on another organization than the one it names.
    if (inHeader !== undefined && inHeader !== identity.organization_id) {
      const msg = `This API key speaks for the organization ${identity.organization_id} alone.`;
      throw invalid({ loc: ["header", "polar-organization"], msg, type: "organization_token", input: inHeader });
    }
    return {
      kind: "key",
      organization_id: identity.organization_id,
      clock_offset_ms: identity.clock_offset_ms,
      scopes: expandScopes(identity.scopes),
      user_id: null,
      key_id: identity.key_id,
    };
  }
  const { memberships } = identity;
  const member = (id: string) => memberships.find((membership) => membership.organization_id === id);
  const speakFor = (organization_id: string | null, scopes: ReadonlySet<Scope>, clock_offset_ms = 0): Actor => ({
    kind: identity.kind === "user" ? "user" : "key",
    organization_id,
    clock_offset_ms,
    scopes,
    user_id: identity.user_id,
    key_id: identity.kind === "user" ? null : identity.key_id,
    impersonated_by: identity.kind === "user" ? identity.impersonated_by : null,
    limited: identity.kind !== "user" || identity.limited,
    memberships,
  });
  const as = (found: Membership) => speakFor(found.organization_id, found.scopes, found.clock_offset_ms);
  const everywhere = () => new Set(memberships.flatMap(({ scopes }) => [...scopes]));

  if (inHeader !== undefined) {
    const found = member(inHeader);
    if (!found) throw notFound();
    return as(found);
  }
  if (asked.organizationInPath) {
    const found = member(text(fieldOf(asked.params, "id")) ?? "");
    return found ? as(found) : speakFor(nowhere, everywhere());
  }
  if (inBody !== undefined) {
    const found = member(inBody);
    if (!found) throw invalid(fault(["organization_id"], "Organization not found.", "value_error", inBody));
    return as(found);
  }
  const inQuery = fieldOf(asked.query, "organization_id");
  if (inQuery !== undefined) {
    const found = [inQuery]
      .flat()
      .map((id) => member(String(id)))
      .find((one) => one !== undefined);
    // Reading nothing is an empty list; writing there is refused for want of a scope.
    return found ? as(found) : speakFor(nowhere, readOnly(everywhere()));
  }
  const standing =
    (identity.active_organization_id && member(identity.active_organization_id)) ||
    (memberships.length === 1 && memberships[0]);
  return standing ? as(standing) : speakFor(null, everywhere());
}

/** Let the actor through to an operation, or say what is missing: a credential, a scope, an organization. */
export function admit(actor: Actor, scopes: readonly Scope[], anyOrganization: boolean, method: string): void {
  if (scopes.length === 0) return;
  if (actor.kind === "anonymous") throw unauthorized();
  if (actor.organization_id === null && !anyOrganization) {
    const where = method === "POST" || method === "PATCH" ? "body" : "query";
    throw new ApiError("PolarRequestValidationError", [
      {
        loc: [where, "organization_id"],
        type: "missing",
        msg: "organization_id is required. Send it, or the Polar-Organization header, or choose an active organization.",
      },
    ]);
  }
  // A person without any membership has no scope, and still sees an empty list of organizations, and may create the first:
  // but with a sign-in that is limited to scopes, only if they say so.
  const { memberships = [], limited } = actor;
  const lists = anyOrganization && method === "GET";
  const isFree = anyOrganization && actor.kind === "user" && (lists ? memberships.length === 0 : !limited);
  const isHeld = (scope: Scope): boolean =>
    actor.scopes.has(scope) || (lists && memberships.some((membership) => membership.scopes.has(scope)));
  if (!isFree && !scopes.some(isHeld)) {
    throw new ApiError("insufficient_scope", `This needs one of the scopes: ${scopes.join(", ")}.`, {
      "WWW-Authenticate": `Bearer realm="floe", error="insufficient_scope", scope="${scopes.join(" ")}"`,
    });
  }
}
