import type { LogEntry, LogKind, logs } from "../../../shared/api/logs.ts";
import { logKinds } from "../../../shared/api/logs.ts";
import type { Service } from "../../../shared/contract.ts";
import { notFound } from "../../../shared/errors.ts";
import { isUuid } from "../../../shared/uuid.ts";
import { computeTotals } from "../../billing/orders/rules.ts";
import { type Ctx, requireOrganization } from "../../platform/context.ts";
import { describeDelivery, describeJob, describeMail, describeRequest } from "./rules.ts";
import * as store from "./store.ts";

const defaultMs = 24 * 60 * 60 * 1000;
/** Rows have times of their own a little ahead of a clock that another server reads. */
const aheadMs = 60 * 60 * 1000;
const traceMax = 100;

export const logService: Service<typeof logs, Ctx> = {
  async list(ctx, { query }) {
    const { kind, status, method, path, request_id, bodies = false, limit } = query;
    const now = ctx.clock.now().getTime();
    const isAskedFor = (one: LogEntry["status"]) => status === undefined || status.includes(one);
    const range: store.LogRange = {
      organization_id: requireOrganization(ctx),
      since: query.since ?? new Date(now - defaultMs),
      until: query.until ?? new Date(now + aheadMs),
      request_id,
      failed: isAskedFor("ok") === isAskedFor("failed") ? null : isAskedFor("failed"),
      limit,
    };
    // Method and path are of requests; no job belongs to a request.
    const isOnlyRequests = method !== undefined || path !== undefined;
    const isRead = (one: LogKind) =>
      (kind ?? logKinds).includes(one) &&
      !(isOnlyRequests && one !== "request") &&
      !(request_id !== undefined && one === "job");
    const showsRecipient = ctx.actor.scopes.has("customers:read");
    const showsReceiver = ctx.actor.scopes.has("webhooks:read");
    const found: LogEntry[] = [];
    if (isRead("request"))
      for (const row of await store.listRequests(ctx.db, range, { method, path }))
        found.push(describeRequest(row, bodies));
    if (isRead("delivery"))
      for (const row of await store.listDeliveries(ctx.db, range)) found.push(describeDelivery(row, showsReceiver));
    if (isRead("mail"))
      for (const row of await store.listMails(ctx.db, range)) found.push(describeMail(row, showsRecipient));
    if (isRead("job")) found.push(...(await store.listJobs(ctx.db, range)).map(describeJob));
    const items = found.filter((one) => isAskedFor(one.status)).sort(compareNewest);
    return { items: items.slice(0, limit) };
  },

  async get(ctx, { params: { request_id }, query: { bodies = false } }) {
    const { db, actor } = ctx;
    const organization_id = requireOrganization(ctx);
    const range: store.LogRange = {
      organization_id,
      since: new Date(0),
      until: new Date(ctx.clock.now().getTime() + aheadMs),
      request_id,
      failed: null,
      limit: traceMax,
    };
    const requests = await store.listRequests(db, range, {});
    const events = await store.listEventsOfRequest(db, organization_id, request_id);
    if (requests.length === 0 && events.length === 0) throw notFound();
    const showsRecipient = actor.scopes.has("customers:read");
    const showsReceiver = actor.scopes.has("webhooks:read");
    const order_ids = [
      ...new Set(
        events
          .flatMap(({ type, subject_id, order_id }) => [type.startsWith("order.") ? subject_id : null, order_id])
          .filter((id): id is string => id !== null && isUuid(id)),
      ),
    ];
    const orders = actor.scopes.has("orders:read") ? await store.listOrdersById(db, organization_id, order_ids) : null;
    const payments = actor.scopes.has("payments:read")
      ? await store.listPaymentsOfOrders(db, organization_id, order_ids)
      : null;
    return {
      request_id,
      requests: requests.map((row) => describeRequest(row, bodies)).reverse(),
      events: events.map(({ order_id: _, ...event }) => event),
      orders:
        orders?.map((order) => ({
          id: order.id,
          created_at: order.created_at,
          invoice_number: order.invoice_number,
          status: order.status,
          total_amount: computeTotals(order).total_amount,
          currency: order.currency,
        })) ?? null,
      payments:
        payments?.map(({ id, created_at, order_id, status, amount, currency }) => ({
          ...{ id, created_at, order_id, status, amount, currency },
        })) ?? null,
      mails: (await store.listMails(db, range)).map((row) => describeMail(row, showsRecipient)).reverse(),
      deliveries: (await store.listDeliveries(db, range)).map((row) => describeDelivery(row, showsReceiver)).reverse(),
    };
  },
};

const compareNewest = (one: LogEntry, other: LogEntry): number =>
  other.created_at.getTime() - one.created_at.getTime() || (other.id < one.id ? -1 : 1);
