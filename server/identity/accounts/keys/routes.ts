import { and, asc, desc, eq, inArray, lt, or } from "drizzle-orm";
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { z } from "zod";
import { allows } from "../../../../shared/permissions.ts";
import { expandScopes, isKeyScope, isScope, type Scope } from "../../../../shared/scopes.ts";
import type { Deps, Tx } from "../../../platform/context.ts";
import { hashToken } from "../../../platform/crypto/secrets.ts";
import { transact } from "../../../platform/db/unit-of-work.ts";
import { type AuditEntry, record } from "../../../platform/events/audit.ts";
import { createToken } from "../../../platform/ids.ts";
import {
  checkProof,
  createInvalidBody,
  guardRoute,
  type Identify,
  type Person,
  parseBody,
  parseQuery,
  Refusal,
  requireMembership,
  requirePerson,
  requireProof,
} from "../http/own-routes.ts";
import { sendSecurityMail } from "../people/security-mails.ts";
import { apikey } from "../tables.ts";
import { keyPrefixes, readScopes } from "./identify.ts";
import { Create, Delete, Get, type KeyRow, List, Rotate, readAskedScopes, serializeKey, Update } from "./shapes.ts";
import { insertKey, isWiderKey, type Owner, startLength } from "./store.ts";

type Action = "create" | "read" | "update" | "delete";
type Held = { owner: Owner; held: ReadonlySet<Scope> };

const rejectUnknownKey = () => new Refusal(404, "API Key not found", "KEY_NOT_FOUND");
const matchOwner = (owner: Owner) =>
  owner.organizationId === null ? eq(apikey.userId, owner.userId) : eq(apikey.organizationId, owner.organizationId);

/** A person for themselves: all that any of their organizations lets them do. */
const getPersonalOwner = (person: Person): Held => ({
  owner: { organizationId: null, userId: person.user_id },
  held: new Set(person.memberships.flatMap(({ scopes }) => [...scopes])),
});

function requireOrganizationKeys(person: Person, organizationId: string, action: Action): Held {
  const { scopes } = requireMembership(person, organizationId, "apiKey", action);
  return { owner: { organizationId, userId: null }, held: scopes };
}

/** Whose keys are meant: who is named, or else the organization that is active or the only one. */
function resolveTarget(
  person: Person,
  asked: { configId?: "organization" | "default" | undefined; organizationId?: string | undefined },
  action: Action,
): Held {
  const { memberships, active_organization_id } = person;
  if (asked.configId === "default") {
    if (asked.organizationId !== undefined) throw createInvalidBody("organizationId: a personal key has none.");
    return getPersonalOwner(person);
  }
  const only = memberships.length === 1 ? memberships[0]?.organization_id : undefined;
  const organizationId = asked.organizationId ?? active_organization_id ?? only;
  if (organizationId !== undefined) return requireOrganizationKeys(person, organizationId, action);
  if (asked.configId === undefined && memberships.length === 0) return getPersonalOwner(person);
  throw new Refusal(400, "Organization ID is required for organization-owned API keys.", "ORGANIZATION_ID_REQUIRED");
}

/** A key that the person may act on, under its lock. To a stranger it does not exist. */
async function lockTarget(
  tx: Tx,
  person: Person,
  asked: { keyId: string; configId?: string | undefined },
  action: Action,
): Promise<Held & { row: KeyRow }> {
  const [row] = await tx.select().from(apikey).where(eq(apikey.id, asked.keyId)).for("update");
  return { ...requireReachable(person, row, asked.configId, action), row: row as KeyRow };
}

function requireReachable(person: Person, row: KeyRow | undefined, configId: string | undefined, action: Action): Held {
  if (!row || (configId !== undefined && configId !== row.configId)) throw rejectUnknownKey();
  if (row.organizationId === null) {
    if (row.userId !== person.user_id) throw rejectUnknownKey();
    return getPersonalOwner(person);
  }
  if (!person.memberships.some((one) => one.organization_id === row.organizationId)) throw rejectUnknownKey();
  return requireOrganizationKeys(person, row.organizationId, action);
}

/** Scopes that exist and that the person holds, or a refusal. */
function checkScopes(wanted: readonly string[], held: ReadonlySet<Scope>): void {
  const unknown = wanted.find((one) => !isScope(one));
  if (unknown !== undefined) throw createInvalidBody(`scopes: "${unknown}" is not a scope.`);
  const beyond = [...expandScopes(wanted)].find((one) => !held.has(one));
  if (beyond !== undefined) throw new Refusal(403, `You do not hold the scope ${beyond} yourself.`, "FORBIDDEN");
}

/** What a key allows is set, changed and undone together: half a limit is none. */
function checkLimits(row: Partial<KeyRow>): void {
  if ((row.refillAmount ?? null) !== null && (row.refillInterval ?? null) === null)
    throw new Refusal(400, "refillInterval is required when refillAmount is provided");
  if ((row.refillInterval ?? null) !== null && (row.refillAmount ?? null) === null)
    throw new Refusal(400, "refillAmount is required when refillInterval is provided");
  if (row.rateLimitEnabled && !(row.rateLimitMax && row.rateLimitTimeWindow))
    throw createInvalidBody("rateLimitMax: a rate limit has rateLimitMax and rateLimitTimeWindow.");
}

type Limits = Pick<
  z.output<typeof Create>,
  "remaining" | "refillAmount" | "refillInterval" | "rateLimitEnabled" | "rateLimitMax" | "rateLimitTimeWindow"
>;
/** A refill that begins counts from its amount, unless it is said how much remains; null: no end. */
const startRefill = <T extends Limits>(sent: T): T =>
  sent.remaining === undefined ? { ...sent, remaining: sent.refillAmount } : sent;
/** The limits that were sent. Naming a rate turns it on. */
const pickLimits = ({ rateLimitEnabled, ...sent }: Limits) => ({
  ...Object.fromEntries(Object.entries(sent).filter(([name, value]) => value !== undefined && name in limitFields)),
  ...(rateLimitEnabled === undefined && sent.rateLimitMax === undefined
    ? {}
    : { rateLimitEnabled: rateLimitEnabled ?? sent.rateLimitMax !== null }),
});
const limitFields = { remaining: 1, refillAmount: 1, refillInterval: 1, rateLimitMax: 1, rateLimitTimeWindow: 1 };

/**
 * Keys of an organization, and of a person. Here, only who is signed in makes, sees and revokes them; by `tokens.ts` also a key
 * that was given the scope.
 * The key is shown once and kept as a hash (TOK-03). The calls are those of the published API key client.
 */
export function addApiKeyRoutes(scope: FastifyInstance, deps: Deps, identify: Identify): void {
  const buildPath = (path: string) => `/api/auth/api-key/${path}`;
  const addSeconds = (seconds: number) => new Date(deps.clock.now().getTime() + seconds * 1000);

  /** A key is made and changed for who is signed in: naming a user is how one was once made without signing in. */
  function rejectOtherUser(person: Person, userId: unknown): void {
    if (userId === undefined || userId === person.user_id) return;
    throw new Refusal(401, "Unauthorized or invalid session", "UNAUTHORIZED_SESSION");
  }
  const emitChange = async (
    tx: Tx,
    request: FastifyRequest,
    person: Person,
    verb: string,
    row: KeyRow,
    details = {},
  ) => {
    const entry: AuditEntry = {
      action: `api_key.${verb}`,
      actor: { kind: "user", user_id: person.user_id, key_id: null, impersonated_by: person.impersonated_by },
      subject: { type: "api_key", id: row.id },
      organization_id: row.organizationId,
      details: { name: row.name, configId: row.configId, ...details },
      ip_address: request.ip,
      user_agent: request.headers["user-agent"] ?? null,
    };
    await record(tx, deps, entry);
    await sendSecurityMail(tx, deps, entry);
  };

  scope.post(
    buildPath("create"),
    guardRoute(async (request) => {
      const person = await requireProof(identify, request, deps.clock.now());
      const body = parseBody(request, Create);
      rejectOtherUser(person, body.userId);
      const { owner, held } = resolveTarget(person, body, "create");
      const scopes = readAskedScopes(body);
      checkScopes(scopes ?? [], held);
      const limits = pickLimits(startRefill(body));
      checkLimits(limits);
      return transact(deps, async (tx) => {
        const { row: made, key } = await insertKey(tx, deps, deps.clock.now(), {
          owner,
          createdBy: person.user_id,
          name: body.name ?? null,
          // To make further keys is given by name alone (TOK-05).
          scopes: scopes ?? [...held].filter((scope) => !isKeyScope(scope)),
          expiresIn: body.expiresIn ?? null,
          more: { metadata: body.metadata ? JSON.stringify(body.metadata) : null, ...limits },
        });
        await emitChange(tx, request, person, "created", made, { scopes: readScopes(made.permissions) });
        return { ...serializeKey(made), key };
      });
    }),
  );

  scope.get(
    buildPath("get"),
    guardRoute(async (request) => {
      const person = await requirePerson(identify, request);
      const { id, configId } = parseQuery(request, Get);
      const [row] = await deps.db.select().from(apikey).where(eq(apikey.id, id));
      requireReachable(person, row, configId, "read");
      return serializeKey(row as KeyRow);
    }),
  );

  scope.get(
    buildPath("list"),
    guardRoute(async (request) => {
      const person = await requirePerson(identify, request);
      const { limit, offset, sortBy, sortDirection, ...asked } = parseQuery(request, List);
      const of = matchOwner(resolveTarget(person, asked, "read").owner);
      const order = sortDirection === "asc" ? asc : desc;
      const found = deps.db.select().from(apikey).where(of).orderBy(order(apikey[sortBy]), order(apikey.id));
      const rows = await (limit === undefined ? found : found.limit(limit)).offset(offset ?? 0);
      return { apiKeys: rows.map(serializeKey), total: await deps.db.$count(apikey, of), limit, offset };
    }),
  );

  scope.post(
    buildPath("update"),
    guardRoute(async (request) => {
      const person = await requirePerson(identify, request);
      const { keyId, configId, userId, ...body } = parseBody(request, Update);
      rejectOtherUser(person, userId);
      return transact(deps, async (tx) => {
        const { row, held } = await lockTarget(tx, person, { keyId, configId }, "update");
        const scopes = readAskedScopes(body);
        checkScopes(scopes ?? [], held);
        const { name, enabled, expiresIn, metadata } = body;
        if (isWiderKey(row, { scopes, enabled })) checkProof(person, deps.clock.now());
        const patch = {
          ...pickLimits(row.remaining === null && row.refillAmount === null ? startRefill(body) : body),
          ...(name !== undefined && { name }),
          ...(enabled !== undefined && { enabled }),
          ...(expiresIn !== undefined && { expiresAt: expiresIn === null ? null : addSeconds(expiresIn) }),
          ...(metadata !== undefined && { metadata: metadata && JSON.stringify(metadata) }),
          ...(scopes && { permissions: JSON.stringify({ scopes }) }),
        };
        const fields = Object.keys(patch);
        if (fields.length === 0) throw new Refusal(400, "No values to update.", "NO_VALUES_TO_UPDATE");
        checkLimits({ ...row, ...patch });
        const [changed] = await tx
          .update(apikey)
          .set({ ...patch, updatedAt: deps.clock.now() })
          .where(eq(apikey.id, row.id))
          .returning();
        if (!changed) throw rejectUnknownKey();
        await emitChange(tx, request, person, "updated", changed, {
          fields: fields.map((field) => (field === "permissions" ? "scopes" : field)),
          ...(scopes && { scopes }),
          ...(enabled !== undefined && { enabled }),
        });
        return serializeKey(changed);
      });
    }),
  );

  scope.post(
    buildPath("rotate"),
    guardRoute(async (request) => {
      const person = await requireProof(identify, request, deps.clock.now());
      const { keyId, configId, expiresPreviousIn } = parseBody(request, Rotate);
      return transact(deps, async (tx) => {
        const { row, held } = await lockTarget(tx, person, { keyId, configId }, "update");
        // Whoever renews a key comes to know it, so it may not be able to do more than they.
        if (row.organizationId !== null) checkScopes(readScopes(row.permissions).filter(isScope), held);
        const key = createToken(keyPrefixes[row.organizationId === null ? "default" : "organization"]);
        const stays = expiresPreviousIn > 0;
        const [changed] = await tx
          .update(apikey)
          .set({
            key: hashToken(deps.config.secret, key),
            start: key.slice(0, startLength),
            previousKey: stays ? row.key : null,
            previousKeyExpiresAt: stays ? addSeconds(expiresPreviousIn) : null,
            updatedAt: deps.clock.now(),
          })
          .where(eq(apikey.id, row.id))
          .returning();
        if (!changed) throw rejectUnknownKey();
        await emitChange(tx, request, person, "rotated", changed, { expiresPreviousIn });
        return { ...serializeKey(changed), key };
      });
    }),
  );

  scope.post(
    buildPath("delete"),
    guardRoute(async (request) => {
      const person = await requirePerson(identify, request);
      const asked = parseBody(request, Delete);
      return transact(deps, async (tx) => {
        const { row } = await lockTarget(tx, person, asked, "delete");
        await tx.delete(apikey).where(eq(apikey.id, row.id));
        await emitChange(tx, request, person, "deleted", row);
        return { success: true };
      });
    }),
  );

  scope.post(
    buildPath("delete-all-expired-api-keys"),
    guardRoute(async (request) => {
      const person = await requirePerson(identify, request);
      const managed = person.memberships
        .filter(({ permissions }) => allows(permissions, "apiKey", "delete"))
        .map((one) => one.organization_id);
      const own = or(eq(apikey.userId, person.user_id), inArray(apikey.organizationId, managed));
      return transact(deps, async (tx) => {
        const gone = await tx
          .delete(apikey)
          .where(and(own, lt(apikey.expiresAt, deps.clock.now())))
          .returning();
        for (const row of gone) await emitChange(tx, request, person, "deleted", row, { expired: true });
        return { success: true, error: null };
      });
    }),
  );
}
