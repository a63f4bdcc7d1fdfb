import { and, desc, eq, inArray, lt } from "drizzle-orm";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import { expandScopes, isScope, type Scope } from "../../shared/scopes.ts";
import type { Deps, Identity } from "../lib/context.ts";
import { newId, newToken } from "../lib/ids.ts";
import { hashToken } from "../lib/secrets.ts";
import { key_prefix, scopesIn } from "./identify.ts";
import { originsOf } from "./origins.ts";
import { apikey } from "./tables.ts";

type Identify = (headers: FastifyRequest["headers"]) => Promise<Identity>;

const managers = ["owner", "admin"];
const start_length = key_prefix.length + 4;
const expires_in_seconds_max = 5 * 365 * 24 * 60 * 60;

const Create = z.object({
  name: z.string().trim().min(1).max(100),
  /** Absent: the organization that is active, or the only one. */
  organizationId: z.string().min(1).optional(),
  /** Seconds from now; absent: it does not expire. */
  expiresIn: z.int().min(60).max(expires_in_seconds_max).nullish(),
  scopes: z.array(z.string()).min(1).optional(),
});
const List = z.object({ organizationId: z.string().min(1).optional() });
const Delete = z.object({ keyId: z.string().min(1), configId: z.string().optional() });

/** A refusal in the account side's shape. */
class Refusal extends Error {
  readonly status: number;
  readonly code: string;
  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}
const invalidBody = (detail: string) => new Refusal(400, "VALIDATION_ERROR", `Invalid body parameters: ${detail}`);
const issuesIn = (error: z.ZodError) =>
  error.issues.map((issue) => `${issue.path.join(".") || "body"}: ${issue.message}`).join("; ");

type Person = Extract<Identity, { kind: "user" }>;
const manages = ({ role }: { role: string }): boolean => managers.some((one) => role.split(",").includes(one));

type Row = typeof apikey.$inferSelect;
const shown = (row: Row) => ({
  id: row.id,
  name: row.name,
  start: row.start,
  organizationId: row.organizationId,
  scopes: scopesIn(row.permissions),
  enabled: row.enabled ?? true,
  expiresAt: row.expiresAt,
  lastRequest: row.lastRequest,
  createdAt: row.createdAt,
  updatedAt: row.updatedAt,
});

/**
 * Keys that an organization owns. Only a person who is signed in, and is its owner or admin, makes, sees and revokes
 * them; a key itself cannot. The key is shown once and kept as a hash (TOK-03).
 */
export function apiKeyRoutes(scope: FastifyInstance, deps: Deps, identify: Identify): void {
  const own = (row: { organization_id: string }) => eq(apikey.organizationId, row.organization_id);

  async function personOf(request: FastifyRequest): Promise<Person> {
    const identity = await identify(request.headers);
    if (identity.kind !== "user")
      throw new Refusal(401, "UNAUTHORIZED", "Sign in to manage the keys of an organization.");
    return identity;
  }
  /** The organization that is meant, and the scopes its signed-in manager holds; refuses everyone else. */
  function managedBy(person: Person, named: string | undefined): { organizationId: string; held: ReadonlySet<Scope> } {
    const { memberships, active_organization_id } = person;
    const organizationId =
      named ?? active_organization_id ?? (memberships.length === 1 ? memberships[0]?.organization_id : undefined);
    if (organizationId === undefined) throw invalidBody("organizationId: say which organization is meant.");
    const membership = memberships.find((one) => one.organization_id === organizationId);
    if (!membership) throw new Refusal(404, "ORGANIZATION_NOT_FOUND", "Organization not found");
    if (!manages(membership))
      throw new Refusal(403, "FORBIDDEN", "Only an owner or admin manages the keys of an organization.");
    return { organizationId, held: membership.scopes };
  }
  const guarded =
    (work: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>) =>
    async (request: FastifyRequest, reply: FastifyReply) => {
      reply.header("Cache-Control", "no-store");
      try {
        checkOrigin(request, deps);
        return await work(request, reply);
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        return reply.code(error.status).send({ code: error.code, message: error.message });
      }
    };

  scope.post(
    "/api/auth/api-key/create",
    guarded(async (request, reply) => {
      const result = Create.safeParse(jsonOf(request));
      if (!result.success) throw invalidBody(issuesIn(result.error));
      const { name, expiresIn, scopes } = result.data;
      const person = await personOf(request);
      const { organizationId, held } = managedBy(person, result.data.organizationId);
      const unknown = scopes?.find((one) => !isScope(one));
      if (unknown !== undefined) throw invalidBody(`scopes: "${unknown}" is not a scope.`);
      const beyond = [...expandScopes(scopes ?? [])].find((one) => !held.has(one));
      if (beyond !== undefined) throw new Refusal(403, "FORBIDDEN", `You do not hold the scope ${beyond} yourself.`);
      const key = newToken(key_prefix);
      const now = deps.clock.now();
      const row = {
        id: newId(),
        configId: "organization",
        name,
        start: key.slice(0, start_length),
        prefix: key_prefix,
        key: hashToken(deps.config.secret, key),
        organizationId,
        createdBy: person.user_id,
        expiresAt: expiresIn ? new Date(now.getTime() + expiresIn * 1000) : null,
        permissions: JSON.stringify({ scopes: scopes ?? [...held] }),
        createdAt: now,
        updatedAt: now,
      };
      const [made] = await deps.db.insert(apikey).values(row).returning();
      if (!made) throw new Error("The key was not written.");
      return reply.send({ ...shown(made), key });
    }),
  );

  scope.get<{ Querystring: { organizationId?: string } }>(
    "/api/auth/api-key/list",
    guarded(async (request) => {
      const result = List.safeParse(request.query);
      if (!result.success)
        throw new Refusal(400, "VALIDATION_ERROR", `Invalid query parameters: ${issuesIn(result.error)}`);
      const { organizationId } = managedBy(await personOf(request), result.data.organizationId);
      const rows = await deps.db
        .select()
        .from(apikey)
        .where(own({ organization_id: organizationId }))
        .orderBy(desc(apikey.createdAt), desc(apikey.id));
      return { apiKeys: rows.map(shown), total: rows.length };
    }),
  );

  scope.post(
    "/api/auth/api-key/delete",
    guarded(async (request) => {
      const result = Delete.safeParse(jsonOf(request));
      if (!result.success) throw invalidBody(issuesIn(result.error));
      const unknownKey = new Refusal(404, "KEY_NOT_FOUND", "API key not found");
      const [row] = await deps.db
        .select()
        .from(apikey)
        .where(and(eq(apikey.id, result.data.keyId), eq(apikey.configId, "organization")));
      const person = await personOf(request);
      // To a stranger a key of another organization does not exist.
      if (!row?.organizationId || !person.memberships.some((one) => one.organization_id === row.organizationId))
        throw unknownKey;
      managedBy(person, row.organizationId);
      await deps.db.delete(apikey).where(eq(apikey.id, row.id));
      return { success: true };
    }),
  );

  scope.post(
    "/api/auth/api-key/delete-all-expired-api-keys",
    guarded(async (request) => {
      const { memberships } = await personOf(request);
      const managed = memberships.filter(manages).map((one) => one.organization_id);
      const expired = and(
        inArray(apikey.organizationId, managed),
        eq(apikey.configId, "organization"),
        lt(apikey.expiresAt, deps.clock.now()),
      );
      if (managed.length > 0) await deps.db.delete(apikey).where(expired);
      return { success: true, error: null };
    }),
  );
}

const jsonOf = (request: FastifyRequest): unknown => {
  if (!Buffer.isBuffer(request.body)) return request.body;
  try {
    return JSON.parse(request.body.toString("utf8"));
  } catch {
    throw invalidBody("not valid JSON.");
  }
};

/** A cookie travels by itself, so a call that carries one must come from our own pages. */
function checkOrigin(request: FastifyRequest, deps: Deps): void {
  if (request.headers.cookie === undefined || request.headers.authorization !== undefined || request.method === "GET")
    return;
  if (originsOf(deps.config).includes(request.headers.origin ?? "")) return;
  throw new Refusal(403, "INVALID_ORIGIN", "Invalid origin");
}
