import { and, desc, eq, like, lt, or, type SQL } from "drizzle-orm";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import type { Deps } from "../../../platform/context.ts";
import { auditLog, refusedCalls } from "../../../platform/db/tables.ts";
import { accountBase } from "../calls.ts";
import { guardRoute, type Identify, parseQuery, requireMembership, requirePerson } from "../http/own-routes.ts";
import { apikey, user } from "../tables.ts";
import { refusedAction } from "./refused-calls.ts";

const limitStandard = 50;
const limitMax = 100;
const lengthMax = 100;

const List = z.object({
  /** Absent: what was done by, and to, one's own account. */
  organizationId: z.string().min(1).max(lengthMax).optional(),
  /** One action; `member.` stands for all that begins so. */
  action: z.string().min(1).max(lengthMax).optional(),
  /** The id of a user or of a key. */
  actor: z.string().min(1).max(lengthMax).optional(),
  before: z.uuid().optional(),
  limit: z.coerce
    .number()
    .int()
    .min(1)
    .default(limitStandard)
    .transform((limit) => Math.min(limit, limitMax)),
});

/** `GET /api/auth/audit/list`: an organization's log for those who may read it, or the log of one's own account. */
export function auditRoutes(scope: FastifyInstance, deps: Deps, identify: Identify): void {
  scope.get(
    `${accountBase}/audit/list`,
    guardRoute(async (request) => {
      const person = await requirePerson(identify, request);
      const query = parseQuery(request, List);
      const { organizationId, limit } = query;
      if (organizationId !== undefined) requireMembership(person, organizationId, "audit", "read");
      const [entries, refused] = await Promise.all([
        findEntries(deps, person.user_id, query),
        findRefusedCalls(deps, person.user_id, query),
      ]);
      // Ids are in the order of time.
      const rows = [...entries, ...refused].toSorted((a, b) => (a.log.id < b.log.id ? 1 : -1));
      const shown = rows.slice(0, limit);
      return {
        entries: shown.map((row) => getEntry(row, organizationId === undefined ? person.user_id : undefined)),
        next: rows.length > limit ? (shown.at(-1)?.log.id ?? null) : null,
      };
    }),
  );
}

type Query = z.output<typeof List>;
/** More than is shown by one, which says that there are more. */
const countOf = ({ limit }: Query): number => limit + 1;

function findEntries(deps: Deps, reader: string, query: Query) {
  const { organizationId, action, actor, before } = query;
  const where: (SQL | undefined)[] = [
    organizationId === undefined
      ? or(eq(auditLog.user_id, reader), eq(auditLog.subject_id, reader))
      : eq(auditLog.organization_id, organizationId),
    action?.endsWith(".") ? like(auditLog.action, `${action.replace(/[\\%_]/g, "\\$&")}%`) : undefined,
    action === undefined || action.endsWith(".") ? undefined : eq(auditLog.action, action),
    actor === undefined ? undefined : or(eq(auditLog.user_id, actor), eq(auditLog.key_id, actor)),
    before === undefined ? undefined : lt(auditLog.id, before),
  ];
  return deps.db
    .select({ log: auditLog, user: { name: user.name, email: user.email }, keyName: apikey.name })
    .from(auditLog)
    .leftJoin(user, eq(user.id, auditLog.user_id))
    .leftJoin(apikey, eq(apikey.id, auditLog.key_id))
    .where(and(...where))
    .orderBy(desc(auditLog.id))
    .limit(countOf(query));
}

type Found = Awaited<ReturnType<typeof findEntries>>[number];

/** Refused calls, each group of them as one entry of the log. */
async function findRefusedCalls(deps: Deps, reader: string, query: Query): Promise<Found[]> {
  const { organizationId, action, actor, before } = query;
  if (action !== undefined && action !== refusedAction && action !== "call.") return [];
  const where: (SQL | undefined)[] = [
    organizationId === undefined ? eq(refusedCalls.user_id, reader) : eq(refusedCalls.organization_id, organizationId),
    actor === undefined ? undefined : or(eq(refusedCalls.user_id, actor), eq(refusedCalls.key_id, actor)),
    before === undefined ? undefined : lt(refusedCalls.id, before),
  ];
  const rows = await deps.db
    .select({ refused: refusedCalls, user: { name: user.name, email: user.email }, keyName: apikey.name })
    .from(refusedCalls)
    .leftJoin(user, eq(user.id, refusedCalls.user_id))
    .leftJoin(apikey, eq(apikey.id, refusedCalls.key_id))
    .where(and(...where))
    .orderBy(desc(refusedCalls.id))
    .limit(countOf(query));
  return rows.map(({ refused: { key: _, operation, reason, status, count, last_at, ...row }, ...beside }) => ({
    ...beside,
    log: {
      ...row,
      action: refusedAction,
      impersonated_by: null,
      request_id: null,
      subject_type: null,
      subject_id: null,
      details: { operation, reason, status, count, lastAt: last_at },
    },
  }));
}

/** The entry as it is answered; `reader` is the person who reads their own account's. */
function getEntry({ log, user: person, keyName }: Found, reader: string | undefined) {
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
