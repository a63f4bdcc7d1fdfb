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

const share = (part: number, whole: number): number => (whole > 0 ? part / whole : 0);
const rounded = (part: number, whole: number): number =>
  whole > 0 ? Number(divideHalfAway(BigInt(part), BigInt(whole))) : 0;
const difference =
  (one: Value, ...others: Value[]): Value =>
  (of) =>
    one(of) - addUp(others.map((other) => other(of)));
const inside =
  (...measures: Measure[]): Value =>
  (of) =>
    addUp(measures.map((measure) => of.in(measure)));
const upTo =
  (measure: Measure): Value =>
  (of) =>
    of.by(measure);

const revenue = inside("revenue");
const netRevenue = inside("net_revenue");
const active = difference(upTo("started"), upTo("churned"));
const mrr = upTo("mrr");
const committedMrr = difference(mrr, upTo("leaving_mrr"));
const newRevenue = inside("opening_revenue", "late_revenue");
const newNetRevenue = inside("opening_net_revenue", "late_net_revenue");
const customers = difference(active, upTo("doubled"));
const arpu: Value = (of) => rounded(mrr(of), customers(of));
const costPerUser: Value = (of) => share(of.in("costs"), of.in("users"));
const stayed: Value = (of) => of.beforeChurn("started") - of.beforeChurn("churned");
const ltv: Value = (of) => {
  const [earned, gone, all] = [arpu(of) - costPerUser(of), of.inChurn("canceled"), stayed(of)];
  return gone > 0 && all > 0 ? Math.max(0, truncateToWhole((earned * all) / gone)) : 0;
};
const seatCustomers = upTo("seat_customers");

const definitions: Record<MetricSlug, Definition> = {
  orders: [inside("orders"), "sum"],
  revenue: [revenue, "sum"],
  net_revenue: [netRevenue, "sum"],
  cumulative_revenue: [upTo("revenue"), "last"],
  net_cumulative_revenue: [upTo("net_revenue"), "last"],
  average_order_value: [
    (of) => roundAverageUp(revenue(of), of.in("orders")),
    (of) => share(revenue(of), of.in("orders")),
  ],
  net_average_order_value: [
    (of) => roundAverageUp(netRevenue(of), of.in("orders")),
    (of) => share(netRevenue(of), of.in("orders")),
  ],
  one_time_products: [inside("one_time"), "sum"],
  one_time_products_revenue: [inside("one_time_revenue"), "sum"],
  one_time_products_net_revenue: [inside("one_time_net_revenue"), "sum"],
  new_subscriptions: [inside("started"), "sum"],
  new_subscriptions_revenue: [newRevenue, "sum"],
  new_subscriptions_net_revenue: [newNetRevenue, "sum"],
  renewed_subscriptions: [difference(inside("orders"), inside("one_time", "opening", "late", "repeated")), "sum"],
  renewed_subscriptions_revenue: [difference(revenue, inside("one_time_revenue"), newRevenue), "sum"],
  renewed_subscriptions_net_revenue: [difference(netRevenue, inside("one_time_net_revenue"), newNetRevenue), "sum"],
  active_subscriptions: [active, "last"],
  committed_subscriptions: [difference(active, upTo("leaving")), "last"],
  monthly_recurring_revenue: [mrr, "last"],
  committed_monthly_recurring_revenue: [committedMrr, "last"],
  trial_monthly_recurring_revenue: [upTo("trial_mrr"), "last"],
  trial_committed_monthly_recurring_revenue: [difference(upTo("trial_mrr"), upTo("leaving_trial_mrr")), "last"],
  annual_recurring_revenue: [(of) => mrr(of) * 12, "last"],
  committed_annual_recurring_revenue: [(of) => committedMrr(of) * 12, "last"],
  average_revenue_per_user: [arpu, "last"],
  ltv: [ltv, "last"],
  checkouts: [inside("checkouts"), "sum"],
  succeeded_checkouts: [inside("succeeded"), "sum"],
  checkouts_conversion: [
    (of) => share(of.in("succeeded"), of.in("checkouts")),
    (of) => share(of.in("succeeded"), of.in("checkouts")),
  ],
  canceled_subscriptions: [inside("canceled"), "sum"],
  canceled_subscriptions_customer_service: [inside("canceled_customer_service"), "sum"],
  canceled_subscriptions_low_quality: [inside("canceled_low_quality"), "sum"],
  canceled_subscriptions_missing_features: [inside("canceled_missing_features"), "sum"],
  canceled_subscriptions_switched_service: [inside("canceled_switched_service"), "sum"],
  canceled_subscriptions_too_complex: [inside("canceled_too_complex"), "sum"],
  canceled_subscriptions_too_expensive: [inside("canceled_too_expensive"), "sum"],
  canceled_subscriptions_unused: [inside("canceled_unused"), "sum"],
  canceled_subscriptions_other: [inside("canceled_other"), "sum"],
  churned_subscriptions: [inside("churned"), "sum"],
  churn_rate: [(of) => share(of.inChurn("canceled"), stayed(of)), "last"],
  costs: [inside("costs"), "sum"],
  cumulative_costs: [upTo("costs"), "last"],
  cost_per_user: [costPerUser, (of) => share(of.in("costs"), active(of))],
  active_user_by_event: [inside("users"), "last"],
  gross_margin: [difference(upTo("revenue"), upTo("costs")), "last"],
  gross_margin_percentage: [(of) => share(of.by("revenue") - of.by("costs"), of.by("revenue")), "last"],
  cashflow: [difference(revenue, inside("costs")), "sum"],
  seats_total: [upTo("seats"), "last"],
  seats_claimed: [upTo("seats_claimed"), "last"],
  seats_pending: [upTo("seats_pending"), "last"],
  seat_customers: [seatCustomers, "last"],
  new_seat_customers: [inside("new_seat_customers"), "sum"],
  churned_seat_customers: [inside("churned_seat_customers"), "sum"],
  average_seats_per_customer: [(of) => share(of.by("seats"), seatCustomers(of)), "last"],
  seat_utilization_rate: [(of) => share(of.by("seats_claimed"), of.by("seats")), "last"],
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
  const byThen = (measure: Measure, at: number): number => known.get(measure)?.[placeOf.get(at) ?? -1] ?? 0;
  const sumsOf = ({ from, to, churn_from, churn_to }: Omit<Range["stretches"][number], "begins">): Sums => ({
    in: (measure) => byThen(measure, to) - byThen(measure, from),
    by: (measure) => byThen(measure, to),
    inChurn: (measure) => byThen(measure, churn_to) - byThen(measure, churn_from),
    beforeChurn: (measure) => byThen(measure, churn_from),
  });
  const each = stretches.map(sumsOf);
  const whole = sumsOf({ from: edges[0] ?? 0, to: edges.at(-1) ?? 0, churn_from: 0, churn_to: 0 });
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
