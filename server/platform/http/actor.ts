import type { FastifyRequest } from "fastify";
import type { Operation } from "../../../shared/contract.ts";
import { ApiError, fault, invalid, notFound } from "../../../shared/errors.ts";
import { customerScopes, memberScopes, type Scope } from "../../../shared/scopes.ts";
import { type Actor, anonymous, type Identity, type Membership, type SellerTerms } from "../context.ts";

/** Says who makes a request, or refuses who asks too often. */
export type Identify = (request: FastifyRequest) => Promise<Identity>;
type Asked = Pick<FastifyRequest, "headers" | "query" | "body" | "params">;

/** Matches no organization: a filter by a foreign one answers an empty list, not an error (API-11). */
const nowhere = "00000000-0000-0000-0000-000000000000";

const rejectUnauthorized = () =>
  new ApiError("Unauthorized", "Unauthorized", { "WWW-Authenticate": 'Bearer realm="floe"' });
const readText = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);
const getField = (value: unknown, key: string): unknown =>
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
  if (identity.kind === "anonymous") throw rejectUnauthorized();
}

/**
 * What a request is about where a person names no organization: a list of what all of theirs have, a row of one of them,
 * what the products that are named belong to, one that it has to name, or the one that they stand in.
 */
type Reach = "list" | "row" | "products" | "named" | "standing";

export type ActorRequest = Pick<Operation, "access" | "path"> & Partial<Operation>;

function getReach({ path, method = "GET", query, access, ofProducts }: ActorRequest): Reach {
  // What is called by a name of its owner's choice may be in several: the name does not say whose it is.
  if (access.by === "person" || path.includes("/:name")) return "standing";
  if (path.includes("/:")) return "row";
  if (ofProducts) return "products";
  if (method !== "GET") return "named";
  return query && ("page" in query.shape || "organization_id" in query.shape) ? "list" : "standing";
}

const pickRole = ({ as_role }: Identity): { as_role?: string } => (as_role === undefined ? {} : { as_role });

/** An organization's own key: it speaks for that one alone. */
function createKeyActor(identity: Extract<Identity, { kind: "key" }>, asked: Asked, reach: Reach): Actor {
  const { organization_id, key_id } = identity;
  const { inHeader, inBody, inQuery } = findNamedOrganization(asked);
  if (inBody !== undefined && inBody !== organization_id) {
    const msg = "Setting organization_id is disallowed when using an organization token.";
    throw invalid(fault(["organization_id"], msg, "organization_token", inBody));
  }
  // Ignored, it would have a program work on another organization than the one it names.
  if (inHeader !== undefined && inHeader !== organization_id) {
    const msg = `This API key speaks for the organization ${organization_id} alone.`;
    throw invalid({ loc: ["header", "polar-organization"], msg, type: "organization_token", input: inHeader });
  }
  const isElsewhere = reach === "list" && inQuery !== undefined && !inQuery.includes(organization_id);
  return {
    kind: "key",
    organization_id,
    clock_offset_ms: identity.clock_offset_ms,
    sandbox: identity.sandbox,
    is_held: identity.is_held ?? false,
    is_money_held: identity.is_money_held ?? false,
    ...(isElsewhere ? { organization_ids: [nowhere] } : {}),
    scopes: identity.scopes,
    user_id: null,
    key_id,
    ...pickRole(identity),
  };
}

/** A customer session: it speaks for its customer alone. */
function createCustomerActor(identity: Extract<Identity, { kind: "customer" }>): Actor {
  const { kind, customer_id, session_id, member, token, ...owned } = identity;
  const scopes = new Set<Scope>(member?.role === "member" ? memberScopes : customerScopes);
  return {
    ...anonymous,
    kind,
    ...owned,
    scopes,
    customer: { customer_id, session_id, member, ...(token && { token }) },
  };
}

function findNamedOrganization({ headers, body, query }: Asked) {
  const inQuery = getField(query, "organization_id");
  return {
    inHeader: readText(headers["polar-organization"]),
    inBody: readText(getField(body, "organization_id")),
    // Of many things in one body, each says whose it is.
    inFirst: readText(getField(getField(getField(body, "events"), "0"), "organization_id")),
    inQuery: inQuery === undefined ? undefined : [inQuery].flat().map((id) => readText(id) ?? ""),
  };
}

/**
 * Who acts, and for which organization: an organization's key for its own, a person for the one that they name by the
 * `Polar-Organization` header, the path, the body or the query. Where they name none it is for the operation to say (API-09,
 * API-11), and several answers are those to be tried in turn; never none.
 */
export function createActors(identity: Identity, asked: Asked, op: ActorRequest): Actor[] {
  if (identity.kind === "anonymous" || identity.kind === "invalid" || identity.kind === "limited") return [anonymous];
  const reach = getReach(op);
  if (identity.kind === "key") return [createKeyActor(identity, asked, reach)];
  // What everybody may ask, a customer asks as everybody.
  if (identity.kind === "customer") return [op.access.by === "anyone" ? anonymous : createCustomerActor(identity)];
  const { memberships } = identity;
  const findMembership = (id: string) => memberships.find((membership) => membership.organization_id === id);
  const createActorFor = (
    organization_id: string | null,
    scopes: ReadonlySet<Scope>,
    { clock_offset_ms, sandbox, is_held = false, is_money_held = false }: SellerTerms = anonymous,
  ): Actor => ({
    kind: identity.kind === "user" ? "user" : "key",
    organization_id,
    clock_offset_ms,
    sandbox,
    is_held,
    is_money_held,
    scopes,
    user_id: identity.user_id,
    key_id: identity.kind === "user" ? null : identity.key_id,
    impersonated_by: identity.kind === "user" ? identity.impersonated_by : null,
    limited: identity.kind !== "user" || identity.limited,
    ...pickRole(identity),
    ...(identity.kind === "user" && { proven_at: identity.proven_at }),
    memberships,
  });
  const createActorAs = (found: Membership) => createActorFor(found.organization_id, found.scopes, found);
  const collectScopes = (some: readonly Membership[]) => new Set(some.flatMap(({ scopes }) => [...scopes]));

  const { inHeader, inFirst, inBody = inFirst, inQuery } = findNamedOrganization(asked);
  if (inHeader !== undefined) {
    const found = findMembership(inHeader);
    if (!found) throw notFound();
    return [createActorAs(found)];
  }
  if (op.path.startsWith("/v1/organizations/:id")) {
    const found = findMembership(readText(getField(asked.params, "id")) ?? "");
    return [found ? createActorAs(found) : createActorFor(nowhere, collectScopes(memberships))];
  }
  if (inBody !== undefined) {
    const found = findMembership(inBody);
    if (!found) throw invalid(fault(["organization_id"], "Organization not found.", "value_error", inBody));
    return [createActorAs(found)];
  }
  const pool = inQuery === undefined ? memberships : memberships.filter((one) => inQuery.includes(one.organization_id));
  // Reading nothing is an empty list; writing there is refused for want of a scope.
  if (inQuery !== undefined && pool.length === 0) {
    const held = collectScopes(memberships);
    return [createActorFor(nowhere, reach === "list" ? held : readOnly(held))];
  }
  const none = createActorFor(null, collectScopes(memberships));
  if (reach === "named")
    return inQuery !== undefined && pool[0] && pool.length === 1 ? [createActorAs(pool[0])] : [none];
  if (reach === "standing") {
    const active = identity.active_organization_id && findMembership(identity.active_organization_id);
    const one = inQuery === undefined && active ? active : pool.length === 1 ? pool[0] : undefined;
    return [one ? createActorAs(one) : none];
  }
  // Where they may not do it anywhere, the first refuses them.
  const { scopes: any, needs = [] } = op.access;
  const able = pool.filter(
    ({ scopes }) => any.some((scope) => scopes.has(scope)) && needs.every((scope) => scopes.has(scope)),
  );
  const [first, ...others] = able.length > 0 ? able : pool.slice(0, 1);
  if (!first) return [none];
  if (reach !== "list") return [first, ...others].map(createActorAs);
  if (others.length === 0) return [createActorAs(first)];
  return [{ ...none, scopes: collectScopes(able), organization_ids: able.map((one) => one.organization_id) }];
}

/** Let the actor through to an operation, or say what is missing: a credential, a scope, an organization. */
export function authorize(actor: Actor, { access: { by, scopes, needs = [] } }: ActorRequest, method: string): void {
  if (by === "anyone") return;
  if (actor.kind === "anonymous") throw rejectUnauthorized();
  const isNowhere = actor.organization_id === null && !actor.organization_ids && by !== "person";
  // A person without any membership has no scope, and still sees an empty list of organizations, and may create the first:
  // but with a sign-in that is limited to scopes, only if they say so.
  const { memberships = [], limited } = actor;
  const lists = by === "person" && method === "GET" && scopes.length > 0;
  const isFree = by === "person" && actor.kind === "user" && (lists ? memberships.length === 0 : !limited);
  const isHeld = (scope: Scope): boolean =>
    actor.scopes.has(scope) || (lists && memberships.some((membership) => membership.scopes.has(scope)));
  if (!isFree && !scopes.some(isHeld) && !(isNowhere && actor.scopes.size === 0)) {
    throw new ApiError("insufficient_scope", `This needs one of the scopes: ${scopes.join(", ")}.`, {
      "WWW-Authenticate": `Bearer realm="floe", error="insufficient_scope", scope="${scopes.join(" ")}"`,
    });
  }
  const missing = isNowhere ? [] : needs.filter((scope) => !isHeld(scope));
  if (missing.length > 0)
    throw new ApiError("insufficient_scope", `This also needs the scopes: ${missing.join(", ")}.`, {
      "WWW-Authenticate": `Bearer realm="floe", error="insufficient_scope", scope="${missing.join(" ")}"`,
    });
  if (isNowhere) {
    const where = method === "POST" || method === "PATCH" ? "body" : "query";
    const missing = { loc: [where, "organization_id"], type: "missing", msg: "organization_id is required." };
    throw new ApiError("PolarRequestValidationError", [missing]);
  }
}

/** Who acts by an identity that came another way than with the request, let through for one organization. */
export function admitIdentity(identity: Identity, organization_id: string, op: ActorRequest): Actor {
  checkIdentity(identity);
  const asked = { headers: { "polar-organization": organization_id }, query: {}, params: {}, body: undefined };
  const [actor = anonymous] = createActors(identity, asked, op);
  authorize(actor, op, op.method ?? "GET");
  return actor;
}
