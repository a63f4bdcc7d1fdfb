import { and, asc, eq, isNotNull, isNull, lt, sql } from "drizzle-orm";
import { apikey, user } from "../../identity/accounts/tables.ts";
import { oldestWaiting, waitingCount } from "../../messaging/webhooks/backlog.ts";
import { isRepeated, webhookEndpoints, webhookEvents } from "../../messaging/webhooks/tables.ts";
import type { Database } from "../../platform/context.ts";
import { isDeadLetter } from "../../platform/db/due.ts";
import { failedWork, mails } from "../../platform/db/tables.ts";
import type { EndpointFacts, KeyFacts } from "./rules.ts";

/** A report of more would be read by nobody. */
const endpointsMax = 20;
const outcomesMax = 10;
const keysMax = 1000;

/** How many migrations the database has. */
export async function countMigrations(db: Database): Promise<number> {
  const [row] = await db.select({ count: sql<number>`count(*)::int` }).from(sql`drizzle.__drizzle_migrations`);
  return row?.count ?? 0;
}

/** Whether a user administers the platform by the role of their account. */
export async function hasAdminRole(db: Database, user_id: string): Promise<boolean> {
  const [row] = await db.select({ role: user.role }).from(user).where(eq(user.id, user_id));
  return (row?.role ?? "").split(",").some((role) => role.trim() === "admin");
}

export async function findUserEmail(db: Database, user_id: string): Promise<string | undefined> {
  const [row] = await db.select({ email: user.email }).from(user).where(eq(user.id, user_id));
  return row?.email;
}

/** When a key ends; null if it does not. */
export async function findKeyEnd(db: Database, id: string): Promise<Date | null> {
  const [row] = await db.select({ expires_at: apikey.expiresAt }).from(apikey).where(eq(apikey.id, id));
  return row?.expires_at ?? null;
}

/** The enabled keys of an organization, the first to end first. */
export const listKeys = (db: Database, organization_id: string): Promise<KeyFacts[]> =>
  db
    .select({ name: apikey.name, start: apikey.start, expires_at: apikey.expiresAt })
    .from(apikey)
    .where(and(eq(apikey.organizationId, organization_id), eq(apikey.enabled, true)))
    .orderBy(sql`${apikey.expiresAt} asc nulls last`, asc(apikey.id))
    .limit(keysMax);

/** The oldest endpoints of an organization, with how their latest events went and what waits. */
export async function listEndpointFacts(db: Database, organization_id: string): Promise<EndpointFacts[]> {
  const own = sql`${webhookEvents.organization_id} = ${webhookEndpoints.organization_id}
    and ${webhookEvents.endpoint_id} = ${webhookEndpoints.id}`;
  return db
    .select({
      id: webhookEndpoints.id,
      url: webhookEndpoints.url,
      enabled: webhookEndpoints.enabled,
      events: webhookEndpoints.events,
      outcomes: sql<(boolean | null)[]>`coalesce((select json_agg(latest.succeeded order by latest.seq desc) from (
        select ${webhookEvents.succeeded} as succeeded, ${webhookEvents.seq} as seq from ${webhookEvents}
        where ${own} and ${webhookEvents.succeeded} is not null order by ${webhookEvents.seq} desc limit ${outcomesMax}
      ) latest), '[]'::json)`,
      retried: sql<EndpointFacts["retried"]>`(select json_build_object('count', count(*)::int,
          'last_http_code', (array_agg(${webhookEvents.last_http_code} order by ${webhookEvents.attempted_at} desc))[1])
        from ${webhookEvents} where ${own} and ${isRepeated(webhookEvents)})`,
      pending: waitingCount,
      oldest: oldestWaiting,
    })
    .from(webhookEndpoints)
    .where(and(eq(webhookEndpoints.organization_id, organization_id), isNull(webhookEndpoints.deleted_at)))
    .orderBy(asc(webhookEndpoints.created_at), asc(webhookEndpoints.id))
    .limit(endpointsMax);
}

/** How many jobs have been given up, of one organization or of all, and by which workers. */
export async function countDeadLetters(
  db: Database,
  organization_id?: string,
): Promise<{ count: number; kinds: string[] }> {
  const rows = await db
    .select({ kind: failedWork.kind, count: sql<number>`count(*)::int` })
    .from(failedWork)
    .where(
      and(isDeadLetter, organization_id === undefined ? undefined : eq(failedWork.organization_id, organization_id)),
    )
    .groupBy(failedWork.kind)
    .orderBy(asc(failedWork.kind));
  return { count: rows.reduce((sum, row) => sum + row.count, 0), kinds: rows.map(({ kind }) => kind) };
}

/** How many mails have waited since before a time. */
export const countLateMails = (db: Database, before: Date): Promise<number> =>
  db.$count(mails, and(isNotNull(mails.next_attempt_at), lt(mails.created_at, before)));
