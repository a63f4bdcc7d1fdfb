import {
  type Metric,
  type MetricPeriod,
  type MetricSlug,
  type MetricsResponse,
  metricKinds,
  metricSlugs,
} from "../../../shared/api/metrics.ts";
import { cancellationReasons } from "../../../shared/api/subscriptions.ts";
import { addUp, divideHalfAway, roundAverageUp, truncateToWhole } from "../../../shared/money.ts";
import type { Range } from "./periods.ts";

/** What is summed up, and read from rows that triggers keep. */
export const tallied = {
  orders: [
    ...["orders", "revenue", "net_revenue", "one_time", "one_time_revenue", "one_time_net_revenue"],
    ...["opening", "opening_revenue", "opening_net_revenue"],
  ],
  checkouts: ["checkouts", "succeeded"],
  subscriptions: [
    ...["started", "churned", "seats", "mrr", "trial_mrr", "canceled"],
    ...cancellationReasons.map((reason) => `canceled_${reason}`),
  ],
} as const;
/** What cannot be summed up, as it depends on where stretches of time begin: who is the same one, and what is still to come. */
export const counted = {
  /** Orders of a subscription that began in the same stretch, without those that are `opening`. */
  late: ["late", "late_revenue", "late_net_revenue", "repeated"],
  /** Subscriptions of customers who are counted by another one already. */
  customers: ["doubled"],
  /** Subscriptions that end in this stretch or later, as it is now. */
  leaving: ["leaving", "leaving_mrr", "leaving_trial_mrr"],
  seats: ["seat_customers", "new_seat_customers", "churned_seat_customers", "seats_claimed", "seats_pending"],
  /** What use costs in minor units, and who used anything: from usage events, of which there are none yet. */
  usage: ["costs", "users"],
} as const;
export type Measure = string;

/** The sums of one stretch of time. */
type Sums = {
  /** What came about in it. */
  in(measure: Measure): number;
  /** What had come about by its end. */
  by(measure: Measure): number;
  /** What came about where churn is looked for, and what had before. */
  inChurn(measure: Measure): number;
  beforeChurn(measure: Measure): number;
};
type Value = (of: Sums) => number;
/** How a metric is computed, and what is said of the whole range: the sum, the last, or the same of all of it. */
type Definition = [Value, "sum" | "last" | Value];

const computeShare = (part: number, whole: number): number => (whole > 0 ? part / whole : 0);
const roundAmount = (part: number, whole: number): number =>
  whole > 0 ? Number(divideHalfAway(BigInt(part), BigInt(whole))) : 0;
const computeDelta =
  (one: Value, ...others: Value[]): Value =>
  (of) =>
    one(of) - addUp(others.map((other) => other(of)));
const isInRange =
  (...measures: Measure[]): Value =>
  (of) =>
    addUp(measures.map((measure) => of.in(measure)));
const limitTo =
  (measure: Measure): Value =>
  (of) =>
    of.by(measure);

const revenue = isInRange("revenue");
const netRevenue = isInRange("net_revenue");
const active = computeDelta(limitTo("started"), limitTo("churned"));
const mrr = limitTo("mrr");
const committedMrr = computeDelta(mrr, limitTo("leaving_mrr"));
const newRevenue = isInRange("opening_revenue", "late_revenue");
const newNetRevenue = isInRange("opening_net_revenue", "late_net_revenue");
const customers = computeDelta(active, limitTo("doubled"));
const computeArpu: Value = (of) => roundAmount(mrr(of), customers(of));
const computeCostPerUser: Value = (of) => computeShare(of.in("costs"), of.in("users"));
const isUnchanged: Value = (of) => of.beforeChurn("started") - of.beforeChurn("churned");
const computeLifetimeValue: Value = (of) => {
  const [earned, gone, all] = [computeArpu(of) - computeCostPerUser(of), of.inChurn("canceled"), isUnchanged(of)];
  return gone > 0 && all > 0 ? Math.max(0, truncateToWhole((earned * all) / gone)) : 0;
};
const seatCustomers = limitTo("seat_customers");

const definitions: Record<MetricSlug, Definition> = {
  orders: [isInRange("orders"), "sum"],
  revenue: [revenue, "sum"],
  net_revenue: [netRevenue, "sum"],
  cumulative_revenue: [limitTo("revenue"), "last"],
  net_cumulative_revenue: [limitTo("net_revenue"), "last"],
  average_order_value: [
    (of) => roundAverageUp(revenue(of), of.in("orders")),
    (of) => computeShare(revenue(of), of.in("orders")),
  ],
  net_average_order_value: [
    (of) => roundAverageUp(netRevenue(of), of.in("orders")),
    (of) => computeShare(netRevenue(of), of.in("orders")),
  ],
  one_time_products: [isInRange("one_time"), "sum"],
  one_time_products_revenue: [isInRange("one_time_revenue"), "sum"],
  one_time_products_net_revenue: [isInRange("one_time_net_revenue"), "sum"],
  new_subscriptions: [isInRange("started"), "sum"],
  new_subscriptions_revenue: [newRevenue, "sum"],
  new_subscriptions_net_revenue: [newNetRevenue, "sum"],
  renewed_subscriptions: [
    computeDelta(isInRange("orders"), isInRange("one_time", "opening", "late", "repeated")),
    "sum",
  ],
  renewed_subscriptions_revenue: [computeDelta(revenue, isInRange("one_time_revenue"), newRevenue), "sum"],
  renewed_subscriptions_net_revenue: [
    computeDelta(netRevenue, isInRange("one_time_net_revenue"), newNetRevenue),
    "sum",
  ],
  active_subscriptions: [active, "last"],
  committed_subscriptions: [computeDelta(active, limitTo("leaving")), "last"],
  monthly_recurring_revenue: [mrr, "last"],
  committed_monthly_recurring_revenue: [committedMrr, "last"],
  trial_monthly_recurring_revenue: [limitTo("trial_mrr"), "last"],
  trial_committed_monthly_recurring_revenue: [computeDelta(limitTo("trial_mrr"), limitTo("leaving_trial_mrr")), "last"],
  annual_recurring_revenue: [(of) => mrr(of) * 12, "last"],
  committed_annual_recurring_revenue: [(of) => committedMrr(of) * 12, "last"],
  average_revenue_per_user: [computeArpu, "last"],
  ltv: [computeLifetimeValue, "last"],
  checkouts: [isInRange("checkouts"), "sum"],
  succeeded_checkouts: [isInRange("succeeded"), "sum"],
  checkouts_conversion: [
    (of) => computeShare(of.in("succeeded"), of.in("checkouts")),
    (of) => computeShare(of.in("succeeded"), of.in("checkouts")),
  ],
  canceled_subscriptions: [isInRange("canceled"), "sum"],
  canceled_subscriptions_customer_service: [isInRange("canceled_customer_service"), "sum"],
  canceled_subscriptions_low_quality: [isInRange("canceled_low_quality"), "sum"],
  canceled_subscriptions_missing_features: [isInRange("canceled_missing_features"), "sum"],
  canceled_subscriptions_switched_service: [isInRange("canceled_switched_service"), "sum"],
  canceled_subscriptions_too_complex: [isInRange("canceled_too_complex"), "sum"],
  canceled_subscriptions_too_expensive: [isInRange("canceled_too_expensive"), "sum"],
  canceled_subscriptions_unused: [isInRange("canceled_unused"), "sum"],
  canceled_subscriptions_other: [isInRange("canceled_other"), "sum"],
  churned_subscriptions: [isInRange("churned"), "sum"],
  churn_rate: [(of) => computeShare(of.inChurn("canceled"), isUnchanged(of)), "last"],
  costs: [isInRange("costs"), "sum"],
  cumulative_costs: [limitTo("costs"), "last"],
  cost_per_user: [computeCostPerUser, (of) => computeShare(of.in("costs"), active(of))],
  active_user_by_event: [isInRange("users"), "last"],
  gross_margin: [computeDelta(limitTo("revenue"), limitTo("costs")), "last"],
  gross_margin_percentage: [(of) => computeShare(of.by("revenue") - of.by("costs"), of.by("revenue")), "last"],
  cashflow: [computeDelta(revenue, isInRange("costs")), "sum"],
  seats_total: [limitTo("seats"), "last"],
  seats_claimed: [limitTo("seats_claimed"), "last"],
  seats_pending: [limitTo("seats_pending"), "last"],
  seat_customers: [seatCustomers, "last"],
  new_seat_customers: [isInRange("new_seat_customers"), "sum"],
  churned_seat_customers: [isInRange("churned_seat_customers"), "sum"],
  average_seats_per_customer: [(of) => computeShare(of.by("seats"), seatCustomers(of)), "last"],
  seat_utilization_rate: [(of) => computeShare(of.by("seats_claimed"), of.by("seats")), "last"],
};

/** What has to be summed up for these metrics: what their definitions ask for. */
export function listMeasures(slugs: readonly MetricSlug[]): Set<Measure> {
  const asked = new Set<Measure>();
  // Every sum is 1, so that no definition ends early.
  const note = (measure: Measure) => {
    asked.add(measure);
    return 1;
  };
  const every: Sums = { in: note, by: note, inChurn: note, beforeChurn: note };
  for (const slug of slugs) for (const value of definitions[slug]) if (typeof value === "function") value(every);
  return asked;
}

/** What is summed up between two moments of a range, by the place of the first among them; 0 is before all of them. */
export type SumsByPlace = ReadonlyMap<number, Record<Measure, number>>;

/** The metrics of a range (MET-04). */
export function computeMetrics(
  range: Range,
  sums: SumsByPlace,
  slugs: readonly MetricSlug[] = metricSlugs,
): MetricsResponse {
  const { stretches, moments, edges } = range;
  /** By measure, what had come about by each of the moments. */
  const known = new Map<Measure, number[]>();
  for (const measure of listMeasures(slugs)) {
    const by: number[] = [];
    let sum = 0;
    for (let place = 0; place < moments.length; place += 1) {
      sum += sums.get(place)?.[measure] ?? 0;
      by.push(sum);
    }
    known.set(measure, by);
  }
  const placeOf = new Map(moments.map((at, place) => [at, place]));
  const isDueByThen = (measure: Measure, at: number): number => known.get(measure)?.[placeOf.get(at) ?? -1] ?? 0;
  const getSums = ({ from, to, churn_from, churn_to }: Omit<Range["stretches"][number], "begins">): Sums => ({
    in: (measure) => isDueByThen(measure, to) - isDueByThen(measure, from),
    by: (measure) => isDueByThen(measure, to),
    inChurn: (measure) => isDueByThen(measure, churn_to) - isDueByThen(measure, churn_from),
    beforeChurn: (measure) => isDueByThen(measure, churn_from),
  });
  const each = stretches.map(getSums);
  const whole = getSums({ from: edges[0] ?? 0, to: edges.at(-1) ?? 0, churn_from: 0, churn_to: 0 });
  const values = slugs.map((slug) => [slug, each.map(definitions[slug][0])] as const);
  const totals = values.map(([slug, all]) => {
    const [, total] = definitions[slug];
    return [slug, total === "sum" ? addUp(all) : total === "last" ? (all.at(-1) ?? 0) : total(whole)];
  });
  return {
    periods: stretches.map(
      ({ begins }, place): MetricPeriod => ({
        timestamp: new Date(begins),
        ...Object.fromEntries(values.map(([slug, all]) => [slug, all[place] ?? 0])),
      }),
    ),
    totals: Object.fromEntries(totals),
    metrics: Object.fromEntries(slugs.map((slug) => [slug, describeMetric(slug)])),
  };
}

function describeMetric(slug: MetricSlug): Metric {
  const [display_name, type] = metricKinds[slug];
  return { slug, display_name, type };
}
