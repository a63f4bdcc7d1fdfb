import { and, desc, eq, like, lt, or, type SQL } from "drizzle-orm";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import type { Deps } from "../../lib/context.ts";
import { auditLog } from "../../lib/tables.ts";
import { account_base } from "../calls.ts";
import { guardRoute, type Identify, parseQuery, requireMembership, requirePerson } from "../http/own-routes.ts";
import { apikey, user } from "../tables.ts";

const limit_standard = 50;
const limit_max = 100;
const length_max = 100;

const List = z.object({
  /** Absent: what was done by, and to, one's own account. */
  organizationId: z.string().min(1).max(length_max).optional(),
  /** One action; `member.` stands for all that begins so. */
  action: z.string().min(1).max(length_max).optional(),
  /** The id of a user or of a key. */
  actor: z.string().min(1).max(length_max).optional(),
  before: z.uuid().optional(),
  limit: z.coerce
    .number()
    .int()
    .min(1)
    .default(limit_standard)
    .transform((limit) => Math.min(limit, limit_max)),
});

/** `GET /api/auth/audit/list`: an organization's log for those who may read it, or the log of one's own account. */
export function auditRoutes(scope: FastifyInstance, deps: Deps, identify: Identify): void {
  scope.get(
    `${account_base}/audit/list`,
    guardRoute(async (request) => {
      const person = await requirePerson(identify, request);
      const { organizationId, action, actor, before, limit } = parseQuery(request, List);
      if (organizationId !== undefined) requireMembership(person, organizationId, "audit", "read");
      const of =
        organizationId === undefined
          ? or(eq(auditLog.user_id, person.user_id), eq(auditLog.subject_id, person.user_id))
          : eq(auditLog.organization_id, organizationId);
      const rows = await find(deps, limit + 1, [
        of,
        action?.endsWith(".") ? like(auditLog.action, `${action.replace(/[\\%_]/g, "\\$&")}%`) : undefined,
        action === undefined || action.endsWith(".") ? undefined : eq(auditLog.action, action),
        actor === undefined ? undefined : or(eq(auditLog.user_id, actor), eq(auditLog.key_id, actor)),
        before === undefined ? undefined : lt(auditLog.id, before),
      ]);
      const shown = rows.slice(0, limit);
      return {
        entries: shown.map((row) => entryOf(row, organizationId === undefined ? person.user_id : undefined)),
        next: rows.length > limit ? (shown.at(-1)?.log.id ?? null) : null,
      };
    }),
  );
}

const find = (deps: Deps, count: number, where: (SQL | undefined)[]) =>
  deps.db
    .select({ log: auditLog, user: { name: user.name, email: user.email }, keyName: apikey.name })
    .from(auditLog)
    .leftJoin(user, eq(user.id, auditLog.user_id))
    .leftJoin(apikey, eq(apikey.id, auditLog.key_id))
    .where(and(...where))
    // Ids are in the order of time.
    .orderBy(desc(auditLog.id))
    .limit(count);

type Found = Awaited<ReturnType<typeof find>>[number];

/** The entry as it is answered; `reader` is the person who reads their own account's. */
function entryOf({ log, user: person, keyName }: Found, reader: string | undefined) {
  // Where an administrator sat is no business of the person whose account it was done to.
  const placed = reader === undefined || log.user_id === null || log.user_id === reader;
  return {
    id: log.id,
    action: log.action,
    actor: {
      kind: log.actor_kind,
      userId: log.user_id,
      name: person?.name ?? null,
      email: person?.email ?? null,
      keyId: log.key_id,
      keyName,
      impersonatedBy: log.impersonated_by,
    },
    subject: log.subject_type === null ? null : { type: log.subject_type, id: log.subject_id },
    organizationId: log.organization_id,
    details: log.details,
    ipAddress: placed ? log.ip_address : null,
    userAgent: placed ? log.user_agent : null,
    createdAt: log.created_at,
  };
}
