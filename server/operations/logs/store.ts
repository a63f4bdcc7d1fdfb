import { and, asc, desc, eq, gte, inArray, isNotNull, isNull, lte, type SQL, sql } from "drizzle-orm";
import type { PgColumn } from "drizzle-orm/pg-core";
import { orders } from "../../billing/orders/tables.ts";
import { payments } from "../../billing/payments/tables.ts";
import { apikey, user } from "../../identity/accounts/tables.ts";
import { webhookDeliveries, webhookEndpoints, webhookEvents } from "../../messaging/webhooks/tables.ts";
import type { Database } from "../../platform/context.ts";
import { joinByKey } from "../../platform/db/rows.ts";
import { events, failedWork, mails } from "../../platform/db/tables.ts";
import { requestLog } from "./tables.ts";

export type LogRange = {
  organization_id: string;
  since: Date;
  until: Date;
  request_id?: string | undefined;
  /** Null where both outcomes are asked for. */
  failed: boolean | null;
  limit: number;
};

/** More of one request is read by nobody. */
const traceMax = 100;

const isWithin = (time: PgColumn, { since, until }: LogRange): SQL | undefined =>
  and(gte(time, since), lte(time, until));

export async function listRequests(
  db: Database,
  range: LogRange,
  { method, path }: { method?: string | undefined; path?: string | undefined },
) {
  const { organization_id, request_id, failed, limit } = range;
  return db
    .select({ row: requestLog, user_name: user.name, key_name: apikey.name })
    .from(requestLog)
    .leftJoin(user, eq(user.id, requestLog.user_id))
    .leftJoin(apikey, eq(apikey.id, requestLog.key_id))
    .where(
      and(
        eq(requestLog.organization_id, organization_id),
        isWithin(requestLog.created_at, range),
        request_id === undefined ? undefined : eq(requestLog.request_id, request_id),
        failed === null ? undefined : failed ? gte(requestLog.status, 400) : sql`${requestLog.status} < 400`,
        method === undefined ? undefined : eq(requestLog.method, method),
        path === undefined ? undefined : sql`starts_with(${requestLog.path}, ${path})`,
      ),
    )
    .orderBy(desc(requestLog.created_at), desc(requestLog.id))
    .limit(limit);
}
export type RequestRow = Awaited<ReturnType<typeof listRequests>>[number];

export async function listDeliveries(db: Database, range: LogRange) {
  const { organization_id, request_id, failed, limit } = range;
  return db
    .select({
      row: webhookDeliveries,
      type: webhookEvents.type,
      url: webhookEndpoints.url,
      request_id: events.request_id,
    })
    .from(webhookDeliveries)
    .innerJoin(webhookEvents, joinByKey(webhookDeliveries.webhook_event_id, webhookEvents))
    .innerJoin(webhookEndpoints, joinByKey(webhookDeliveries.endpoint_id, webhookEndpoints))
    .leftJoin(events, joinByKey(webhookEvents.event_id, events))
    .where(
      and(
        eq(webhookDeliveries.organization_id, organization_id),
        isWithin(webhookDeliveries.created_at, range),
        request_id === undefined ? undefined : eq(events.request_id, request_id),
        failed === null ? undefined : eq(webhookDeliveries.succeeded, !failed),
      ),
    )
    .orderBy(desc(webhookDeliveries.created_at), desc(webhookDeliveries.id))
    .limit(limit);
}
export type DeliveryRow = Awaited<ReturnType<typeof listDeliveries>>[number];

export const listMails = (db: Database, range: LogRange) =>
  db
    .select()
    .from(mails)
    .where(
      and(
        eq(mails.seller_id, range.organization_id),
        isWithin(mails.created_at, range),
        range.request_id === undefined ? undefined : eq(mails.request_id, range.request_id),
      ),
    )
    .orderBy(desc(mails.created_at), desc(mails.id))
    .limit(range.limit);

/** Failed jobs, which no request has. */
export const listJobs = (db: Database, range: LogRange) =>
  db
    .select()
    .from(failedWork)
    .where(
      and(
        eq(failedWork.organization_id, range.organization_id),
        isNull(failedWork.discarded_at),
        isWithin(failedWork.first_failed_at, range),
      ),
    )
    .orderBy(desc(failedWork.first_failed_at), asc(failedWork.kind), asc(failedWork.row_id))
    .limit(range.limit);

/** The events of a request, with the id of what each is about. */
export const listEventsOfRequest = (db: Database, organization_id: string, request_id: string) =>
  db
    .select({
      id: events.id,
      type: events.type,
      created_at: events.created_at,
      subject_id: sql<string | null>`${events.data} ->> 'id'`,
      order_id: sql<string | null>`${events.data} ->> 'order_id'`,
    })
    .from(events)
    .where(and(eq(events.organization_id, organization_id), eq(events.request_id, request_id)))
    .orderBy(asc(events.created_at), asc(events.seq))
    .limit(traceMax);

export const listOrdersById = (db: Database, organization_id: string, ids: string[]) =>
  db
    .select()
    .from(orders)
    .where(and(eq(orders.organization_id, organization_id), inArray(orders.id, ids)))
    .orderBy(asc(orders.created_at), asc(orders.id));

export const listPaymentsOfOrders = (db: Database, organization_id: string, ids: string[]) =>
  db
    .select()
    .from(payments)
    .where(
      and(eq(payments.organization_id, organization_id), isNotNull(payments.order_id), inArray(payments.order_id, ids)),
    )
    .orderBy(asc(payments.created_at), asc(payments.id))
    .limit(traceMax);
