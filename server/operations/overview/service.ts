import { legalDetails, type Overview, type overview } from "../../../shared/api/overview.ts";
import { createZoneFormat, formatZoned } from "../../../shared/calendar.ts";
import type { Service } from "../../../shared/contract.ts";
import { notFound } from "../../../shared/errors.ts";
import type { Scope } from "../../../shared/scopes.ts";
import { computeTotals } from "../../billing/orders/rules.ts";
import type { OrganizationRow } from "../../identity/organizations/rules.ts";
import { findOrganization } from "../../identity/organizations/store.ts";
import { type Ctx, requireOrganization } from "../../platform/context.ts";
import { countDeadLetters, listEndpointFacts } from "../diagnostics/store.ts";
import { computeStoreMetrics } from "../metrics/service.ts";
import * as store from "./store.ts";

const dayMs = 24 * 60 * 60 * 1000;
/** Failed payments of earlier days are no news. */
const failedPaymentsMs = 30 * dayMs;
const failedPaymentsMax = 5;
const figureDays = 30;

/** Latest orders, faults, usage and renewals of an organization, each part only with its scope. */
export const overviewService: Service<typeof overview, Ctx> = {
  async get(ctx, { query }) {
    const { actor, db } = ctx;
    const organization_id = requireOrganization(ctx);
    const organization = await findOrganization(db, organization_id);
    if (!organization) throw notFound();
    const now = ctx.clock.now();
    const load = async <T>(scope: Scope, read: () => Promise<T>): Promise<T | null> =>
      actor.scopes.has(scope) ? read() : null;
    return {
      organization_id,
      name: organization.name,
      slug: organization.slug,
      sandbox: organization.sandbox,
      currency: organization.default_presentment_currency,
      now,
      scopes: [...actor.scopes].sort(),
      figures: await load("metrics:read", () => loadFigures(ctx, query.timezone, now)),
      orders: await load("orders:read", () => loadOrders(ctx, organization_id)),
      failed_payments: await load("payments:read", () => loadFailedPayments(ctx, organization_id, now)),
      dead_letters: await countDeadLetters(db, organization_id),
      failing_endpoints: await load("webhooks:read", () => loadFailingEndpoints(ctx, organization_id)),
      meters: await load("meters:read", () => store.listMeterUsage(db, organization_id)),
      renewals: await load("subscriptions:read", () => store.listNextRenewals(db, organization_id, now)),
      ...(await store.findCatalogState(db, organization_id)),
      missing_legal: listMissingLegal(organization),
    };
  },
};

/** What the seller has not set of its legal details. */
function listMissingLegal({ invoice_settings, legal_settings }: OrganizationRow): Overview["missing_legal"] {
  const details = { ...invoice_settings, ...legal_settings };
  return legalDetails.filter((name) => !details[name]);
}

/** Revenue and recurring revenue by the day: of thirty days, and of the month where it began before them. */
async function loadFigures(ctx: Ctx, timezone: string, now: Date): Promise<NonNullable<Overview["figures"]>> {
  const end_date = formatZoned(now, createZoneFormat(timezone)).slice(0, 10);
  const dayOfMonth = Number(end_date.slice(8));
  const count = Math.max(figureDays, dayOfMonth);
  const getDay = (back: number) => new Date(Date.parse(end_date) - back * dayMs).toISOString().slice(0, 10);
  const { periods } = await computeStoreMetrics(ctx, {
    start_date: getDay(count - 1),
    end_date,
    interval: "day",
    timezone,
    metrics: ["revenue", "monthly_recurring_revenue"],
  });
  const days = periods.map(({ revenue = 0, monthly_recurring_revenue = 0 }, index) => ({
    date: getDay(periods.length - 1 - index),
    revenue,
    monthly_recurring_revenue,
  }));
  const today = days.at(-1);
  return {
    today_revenue: today?.revenue ?? 0,
    month_revenue: days.slice(-dayOfMonth).reduce((sum, { revenue }) => sum + revenue, 0),
    monthly_recurring_revenue: today?.monthly_recurring_revenue ?? 0,
    days: days.slice(-figureDays),
  };
}

async function loadOrders({ db }: Ctx, organization_id: string): Promise<Overview["orders"]> {
  const rows = await store.listLatestOrders(db, organization_id);
  return rows.map(({ order, ...names }) => ({
    id: order.id,
    created_at: order.created_at,
    invoice_number: order.invoice_number ?? "",
    status: order.status,
    total_amount: computeTotals(order).total_amount,
    currency: order.currency,
    ...names,
  }));
}

/** One payment of each order: the latest. */
async function loadFailedPayments(
  { db }: Ctx,
  organization_id: string,
  now: Date,
): Promise<Overview["failed_payments"]> {
  const rows = await store.listFailedPayments(db, organization_id, new Date(now.getTime() - failedPaymentsMs));
  const latest = new Map<string, (typeof rows)[number]>();
  for (const row of rows) if (!latest.has(row.order_id)) latest.set(row.order_id, row);
  return [...latest.values()].slice(0, failedPaymentsMax);
}

/** Endpoints that are switched off, and those whose latest event was not delivered or whose events are refused now. */
async function loadFailingEndpoints({ db }: Ctx, organization_id: string): Promise<Overview["failing_endpoints"]> {
  const endpoints = await listEndpointFacts(db, organization_id);
  return endpoints
    .filter(({ enabled, outcomes, retried }) => !enabled || outcomes[0] === false || retried.count > 0)
    .map(({ id, url, enabled, outcomes, retried, pending }) => ({
      id,
      url,
      enabled,
      failed: outcomes.filter((succeeded) => succeeded === false).length + retried.count,
      recent: outcomes.length + retried.count,
      pending,
    }));
}
