import {
  type MetricPeriod,
  type MetricsQuery,
  metric_min_date,
  metricLimits,
  metricSlugs,
  type metrics as operations,
} from "../../shared/api/metrics.ts";
import { zonedText, zoneFormat } from "../../shared/calendar.ts";
import type { Service } from "../../shared/contract.ts";
import { type Ctx, organizationsOf } from "../lib/context.ts";
import { csvLine } from "../lib/csv.ts";
import { transact } from "../lib/unit-of-work.ts";
import { planRange } from "./periods.ts";
import { computeMetrics, measuresOf } from "./rules.ts";
import { findSums } from "./store.ts";

async function measure(ctx: Ctx, query: MetricsQuery) {
  const range = planRange(query, ctx.clock.now());
  const wanted = measuresOf(query.metrics ?? metricSlugs);
  const sums = await transact(ctx, (tx) => findSums(tx, organizationsOf(ctx), query, range, wanted));
  return computeMetrics(range, sums, query.metrics);
}

/** The periods as a CSV file: a column for each metric, in the numbers of the wire. */
async function* csvOf(periods: readonly MetricPeriod[], { metrics = metricSlugs, timezone }: MetricsQuery) {
  const zone = zoneFormat(timezone);
  yield csvLine(["timestamp", ...metrics]);
  for (const period of periods)
    yield csvLine([zonedText(period.timestamp, zone), ...metrics.map((slug) => String(period[slug]))]);
}

export const metricService: Service<typeof operations, Ctx> = {
  get: (ctx, { query }) => measure(ctx, query),
  async export(ctx, { query }) {
    const { periods } = await measure(ctx, query);
    return csvOf(periods, query);
  },
  limits: async () => ({ min_date: metric_min_date, intervals: metricLimits }),
};
