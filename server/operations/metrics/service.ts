import {
  type MetricPeriod,
  type MetricsQuery,
  metricLimits,
  metricMinDate,
  metricSlugs,
  type metrics as operations,
} from "../../../shared/api/metrics.ts";
import { createZoneFormat, formatZoned } from "../../../shared/calendar.ts";
import type { Service } from "../../../shared/contract.ts";
import { ApiError, notFound } from "../../../shared/errors.ts";
import { findOrganization } from "../../identity/organizations/store.ts";
import { getServerClock } from "../../platform/clock.ts";
import { type Ctx, requireOrganization, requireOrganizations } from "../../platform/context.ts";
import { sealViewer } from "../../platform/crypto/viewers.ts";
import { formatCsvLine } from "../../platform/csv.ts";
import { transact } from "../../platform/db/unit-of-work.ts";
import { planRange } from "./periods.ts";
import { computeMetrics, listMeasures } from "./rules.ts";
import { findProductNames, findSums } from "./store.ts";

/** The metrics of the organizations of the caller, in the stretches of time that are asked for. */
export async function computeStoreMetrics(ctx: Ctx, query: MetricsQuery) {
  const range = planRange(query, ctx.clock.now());
  const wanted = listMeasures(query.metrics ?? metricSlugs);
  const sums = await transact(ctx, (tx) => findSums(tx, requireOrganizations(ctx), query, range, wanted));
  return computeMetrics(range, sums, query.metrics);
}

/** The periods as a CSV file: a column for each metric, in the numbers of the wire. */
async function* streamCsv(periods: readonly MetricPeriod[], { metrics = metricSlugs, timezone }: MetricsQuery) {
  const zone = createZoneFormat(timezone);
  yield formatCsvLine(["timestamp", ...metrics]);
  for (const period of periods)
    yield formatCsvLine([formatZoned(period.timestamp, zone), ...metrics.map((slug) => String(period[slug]))]);
}

const linkMs = 10 * 60 * 1000;

export const metricService: Service<typeof operations, Ctx> = {
  get: (ctx, { query }) => computeStoreMetrics(ctx, query),
  async export(ctx, { query }) {
    const { periods } = await computeStoreMetrics(ctx, query);
    return streamCsv(periods, query);
  },
  limits: async () => ({ min_date: metricMinDate, intervals: metricLimits }),
  async about(ctx) {
    const organization_id = requireOrganization(ctx);
    const seller = await findOrganization(ctx.db, organization_id);
    if (!seller) throw notFound();
    const { name, default_presentment_currency: currency } = seller;
    const now = ctx.clock.now();
    return { organization_id, name, currency, now, products: await findProductNames(ctx.db, organization_id) };
  },
  async link(ctx) {
    const { key_id, user_id } = ctx.actor;
    if (key_id === null && user_id === null)
      throw new ApiError("NotPermitted", "An address is made by a key or a person, and not by another address.");
    const expires_at = new Date(getServerClock(ctx.clock).now().getTime() + linkMs);
    const organization_id = requireOrganization(ctx);
    const viewer = { organization_id, key_id, user_id };
    return {
      organization_id,
      url: `${ctx.config.url}/metrics#token=${sealViewer(ctx.config, viewer, expires_at)}`,
      expires_at,
    };
  },
};
