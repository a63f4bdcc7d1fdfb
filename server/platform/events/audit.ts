import { inArray, type SQLWrapper } from "drizzle-orm";
import { getServerClock } from "../clock.ts";
import type { Actor, Database, Deps } from "../context.ts";
import { auditLog } from "../db/tables.ts";
import { getUnit } from "../db/unit-of-work.ts";
import { createId } from "../ids.ts";
import { getTrace } from "../telemetry/trace.ts";

/** An entry of the audit log: an action with its actor, subject, organization and client address. */
/** Who did what no person and no key asked for. */
export const systemActor = { kind: "system", user_id: null, key_id: null } as const;

export type AuditEntry = {
  /** `product.created`, `member.role_updated`. */
  action: string;
  actor: Pick<Actor, "kind" | "user_id" | "key_id" | "impersonated_by">;
  subject: { type: string; id: string | null } | null;
  organization_id: string | null;
  /** Names of what changed and harmless values; never a secret. */
  details?: Record<string, unknown>;
  ip_address: string | null;
  user_agent: string | null;
};

const textLengthMax = 500;

/**
 * Write entries of the audit log, by the server's clock. In a transaction they are written at its end, otherwise
 * immediately.
 */
export async function record(db: Database, { clock }: Pick<Deps, "clock">, ...entries: AuditEntry[]): Promise<void> {
  if (entries.length === 0) return;
  const created_at = getServerClock(clock).now();
  const request_id = getTrace()?.request_id ?? null;
  const rows = entries.map(({ actor, subject, ...entry }) => ({
    id: createId(created_at),
    organization_id: entry.organization_id,
    actor_kind: actor.kind,
    user_id: actor.user_id,
    key_id: actor.key_id,
    impersonated_by: actor.impersonated_by ?? null,
    action: entry.action,
    subject_type: subject?.type ?? null,
    subject_id: subject?.id ?? null,
    details: entry.details ?? {},
    ip_address: entry.ip_address,
    user_agent: entry.user_agent?.slice(0, textLengthMax) ?? null,
    request_id,
    created_at,
  }));
  const unit = getUnit(db);
  if (unit) unit.entries.push(...rows);
  else await db.insert(auditLog).values(rows);
}

/** Delete entries whose seal says that they are removed. A trigger refuses every other, and the role of servers all. */
export async function deleteEntries(tx: Database, ids: SQLWrapper): Promise<number> {
  const gone = await tx.delete(auditLog).where(inArray(auditLog.id, ids)).returning({ id: auditLog.id });
  return gone.length;
}
