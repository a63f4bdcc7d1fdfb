import type { FastifyReply, FastifyRequest } from "fastify";
import type { z } from "zod";
import type { Permissions } from "../../../../shared/permissions.ts";
import type { Identity, Membership } from "../../../platform/context.ts";
import { limitedSession } from "../device/sessions.ts";
import { requirePermissions } from "../identity/permissions-guard.ts";
import { confirmationRequired, isProofOld } from "../identity/step-up.ts";
import { notWhileImpersonating } from "../people/platform.ts";
import { mapError } from "./error-mapping.ts";

export type Identify = (request: FastifyRequest) => Promise<Identity>;
export type Person = Extract<Identity, { kind: "user" }>;

/** A refusal in the account side's shape; its code is its message in capitals where none is given. */
export class Refusal extends Error {
  readonly status: number;
  readonly more: { code?: string; detail?: string };
  constructor(status: number, message: string, code?: string, detail?: string) {
    super(message);
    this.status = status;
    this.more = { ...(code === undefined ? {} : { code }), ...(detail === undefined ? {} : { detail }) };
  }
}

/** Answer a route of our own beside better-auth's, with the same guards and the same shape of errors. */
export const guardRoute =
  (work: (request: FastifyRequest) => Promise<unknown>) => async (request: FastifyRequest, reply: FastifyReply) => {
    reply.header("Cache-Control", "no-store");
    try {
      return await work(request);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      const refusal = mapError(error.status, { message: error.message, ...error.more });
      request.refusal = String(refusal.code);
      return reply.code(error.status).send(refusal);
    }
  };

/** Who is signed in; a key is nobody here. */
export async function requirePerson(identify: Identify, request: FastifyRequest): Promise<Person> {
  const identity = await identify(request);
  if (identity.kind !== "user") throw new Refusal(401, "Unauthorized or invalid session", "UNAUTHORIZED_SESSION");
  if (identity.limited) throw new Refusal(403, limitedSession.message, limitedSession.code);
  return identity;
}

/** Who is signed in, and is themselves: what is made outlasts an admin's visit in somebody else's name. */
async function requirePersonThemselves(identify: Identify, request: FastifyRequest): Promise<Person> {
  const person = await requirePerson(identify, request);
  if (person.impersonated_by === null) return person;
  throw new Refusal(403, notWhileImpersonating.message, notWhileImpersonating.code);
}

/** The same, who has shown so within the hour: what is made would outlast a session that somebody has stolen. */
export async function requireProof(identify: Identify, request: FastifyRequest, now: Date): Promise<Person> {
  const person = await requirePersonThemselves(identify, request);
  checkProof(person, now);
  return person;
}

/** Refuse who has not shown within the hour who they are. */
export function checkProof({ proven_at }: Person, now: Date): void {
  if (!isProofOld(proven_at, now)) return;
  throw new Refusal(403, confirmationRequired.message, confirmationRequired.code, confirmationRequired.detail);
}

/** The person's membership, which must give what is asked for. To a stranger the organization does not exist. */
export function requireMembership(
  person: Person,
  organizationId: string,
  resource: Parameters<typeof requirePermissions>[1],
  action: string,
): Membership {
  const membership = person.memberships.find((one) => one.organization_id === organizationId);
  if (!membership) throw new Refusal(404, "Organization not found");
  requireDemanded(membership.permissions, resource, action);
  return membership;
}

/** Refuse who does not hold a permission, in the catalogue's words. */
function requireDemanded(
  permissions: Permissions,
  resource: Parameters<typeof requirePermissions>[1],
  action: string,
): void {
  const denial = requirePermissions(permissions, resource, action);
  if (denial !== undefined) throw new Refusal(403, denial);
}

const listIssues = (error: z.ZodError) =>
  error.issues.map((issue) => `${issue.path.join(".") || "body"}: ${issue.message}`).join("; ");

/** A refusal of something in the body. */
export const createInvalidBody = (detail: string) =>
  new Refusal(400, "Invalid body parameters", "VALIDATION_ERROR", detail);

/** The body as it must be. */
export function parseBody<S extends z.ZodType>(request: FastifyRequest, schema: S): z.output<S> {
  const result = schema.safeParse(getJson(request));
  if (result.success) return result.data;
  throw createInvalidBody(listIssues(result.error));
}

/** The query as it must be. */
export function parseQuery<S extends z.ZodType>(request: FastifyRequest, schema: S): z.output<S> {
  const result = schema.safeParse(request.query);
  if (result.success) return result.data;
  throw new Refusal(400, "Invalid query parameters", "VALIDATION_ERROR", listIssues(result.error));
}

function getJson(request: FastifyRequest): unknown {
  if (!Buffer.isBuffer(request.body)) return request.body;
  try {
    return JSON.parse(request.body.toString("utf8"));
  } catch {
    throw createInvalidBody("not valid JSON.");
  }
}
