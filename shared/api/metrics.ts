import { z } from "zod";
import { type MetricInterval, metricIntervals } from "../calendar.ts";
import { ids, instant, many, person, type Resource, seller } from "../contract.ts";
import { organizationOf, timezone } from "./fields.ts";

/** Money in minor units is `currency`, with fractions of them `currency_sub_cent`; a percentage is a share of 1. */
export const metricTypes = ["scalar", "currency", "currency_sub_cent", "percentage"] as const;
export type MetricType = (typeof metricTypes)[number];

/** Every metric: what it is called, and what its numbers are. */
export const metricKinds = {
  orders: ["Orders", "scalar"],
  revenue: ["Revenue", "currency"],
  net_revenue: ["Net Revenue", "currency"],
  cumulative_revenue: ["Cumulative Revenue", "currency"],
  net_cumulative_revenue: ["Net Cumulative Revenue", "currency"],
  average_order_value: ["Average Order Value", "currency"],
  net_average_order_value: ["Net Average Order Value", "currency"],
  one_time_products: ["One-Time Products", "scalar"],
  one_time_products_revenue: ["One-Time Products Revenue", "currency"],
  one_time_products_net_revenue: ["One-Time Products Net Revenue", "currency"],
  new_subscriptions: ["New Subscriptions", "scalar"],
  new_subscriptions_revenue: ["New Subscriptions Revenue", "currency"],
  new_subscriptions_net_revenue: ["New Subscriptions Net Revenue", "currency"],
  renewed_subscriptions: ["Renewed Subscriptions", "scalar"],
  renewed_subscriptions_revenue: ["Renewed Subscriptions Revenue", "currency"],
  renewed_subscriptions_net_revenue: ["Renewed Subscriptions Net Revenue", "currency"],
  active_subscriptions: ["Active Subscriptions", "scalar"],
  committed_subscriptions: ["Committed Subscriptions", "scalar"],
  monthly_recurring_revenue: ["Monthly Recurring Revenue", "currency"],
  committed_monthly_recurring_revenue: ["Committed Monthly Recurring Revenue", "currency"],
  trial_monthly_recurring_revenue: ["Trial Monthly Recurring Revenue", "currency"],
  trial_committed_monthly_recurring_revenue: ["Trial Committed Monthly Recurring Revenue", "currency"],
  annual_recurring_revenue: ["Annual Recurring Revenue", "currency"],
  committed_annual_recurring_revenue: ["Committed Annual Recurring Revenue", "currency"],
  average_revenue_per_user: ["Average Revenue Per User", "currency"],
  ltv: ["Lifetime Value", "currency"],
  checkouts: ["Checkouts", "scalar"],
  succeeded_checkouts: ["Succeeded Checkouts", "scalar"],
  checkouts_conversion: ["Checkouts Conversion Rate", "percentage"],
  canceled_subscriptions: ["Canceled Subscriptions", "scalar"],
  canceled_subscriptions_customer_service: ["Canceled Subscriptions - Customer Service", "scalar"],
  canceled_subscriptions_low_quality: ["Canceled Subscriptions - Low Quality", "scalar"],
  canceled_subscriptions_missing_features: ["Canceled Subscriptions - Missing Features", "scalar"],
  canceled_subscriptions_switched_service: ["Canceled Subscriptions - Switched Service", "scalar"],
  canceled_subscriptions_too_complex: ["Canceled Subscriptions - Too Complex", "scalar"],
  canceled_subscriptions_too_expensive: ["Canceled Subscriptions - Too Expensive", "scalar"],
  canceled_subscriptions_unused: ["Canceled Subscriptions - Unused", "scalar"],
  canceled_subscriptions_other: ["Canceled Subscriptions - Other", "scalar"],
  churned_subscriptions: ["Churned Subscriptions", "scalar"],
  churn_rate: ["Churn Rate", "percentage"],
  costs: ["Costs", "currency_sub_cent"],
  cumulative_costs: ["Cumulative Costs", "currency_sub_cent"],
  cost_per_user: ["Cost Per User", "currency_sub_cent"],
  active_user_by_event: ["Active Users by Event", "scalar"],
  gross_margin: ["Gross Margin", "currency"],
  gross_margin_percentage: ["Gross Margin %", "percentage"],
  cashflow: ["Cashflow", "currency"],
  seats_total: ["Seats", "scalar"],
  seats_claimed: ["Claimed Seats", "scalar"],
  seats_pending: ["Pending Seats", "scalar"],
  seat_customers: ["Seat Customers", "scalar"],
  new_seat_customers: ["New Seat Customers", "scalar"],
  churned_seat_customers: ["Churned Seat Customers", "scalar"],
  average_seats_per_customer: ["Average Seats Per Customer", "scalar"],
  seat_utilization_rate: ["Seat Utilization Rate", "percentage"],
} as const satisfies Record<string, readonly [string, MetricType]>;
export type MetricSlug = keyof typeof metricKinds;
export const metricSlugs = Object.keys(metricKinds) as [MetricSlug, ...MetricSlug[]];

/** How many days a range may span, from its first to its last; the least is advice to who draws it, and not asked for. */
export const metricLimits: Record<MetricInterval, { min_days: number; max_days: number }> = {
  hour: { min_days: 0, max_days: 7 },
  day: { min_days: 0, max_days: 366 },
  week: { min_days: 14, max_days: 371 },
  month: { min_days: 60, max_days: 1460 },
  year: { min_days: 366, max_days: 3650 },
};
/** Before it there was nothing to measure; a range may begin earlier all the same. */
export const metricMinDate = "2023-01-01";

const mapSlugs = <T extends z.ZodType>(shape: T) =>
  Object.fromEntries(metricSlugs.map((slug) => [slug, shape.optional()])) as Record<MetricSlug, z.ZodOptional<T>>;

export const Metric = z.object({ slug: z.string(), display_name: z.string(), type: z.enum(metricTypes) });
export type Metric = z.output<typeof Metric>;

/** The numbers of one stretch of time, which begins at `timestamp`. Those that were not asked for are left out. */
export const MetricPeriod = z.object({ timestamp: instant, ...mapSlugs(z.number()) });
export type MetricPeriod = z.output<typeof MetricPeriod>;

export const MetricsTotals = z.object(mapSlugs(z.number()));
export const Metrics = z.object(mapSlugs(Metric));

export const MetricsResponse = z.object({
  periods: z.array(MetricPeriod),
  /** Of the whole range: sums of what happened, the last of what stands. */
  totals: MetricsTotals,
  metrics: Metrics,
});
export type MetricsResponse = z.output<typeof MetricsResponse>;

const MetricsIntervalLimit = z.object({ min_days: z.int(), max_days: z.int() });
export const MetricsLimits = z.object({
  min_date: z.iso.date(),
  intervals: z.object(
    Object.fromEntries(metricIntervals.map((interval) => [interval, MetricsIntervalLimit])) as Record<
      MetricInterval,
      typeof MetricsIntervalLimit
    >,
  ),
});

/** Since the first of these years, every zone has been a number of quarters of an hour ahead of UTC. */
const [first_year, last_year] = [1973, 9998];
const calendarDate = z.iso.date().refine((date) => {
  const year = Number(date.slice(0, 4));
  return year >= first_year && year <= last_year;
}, `Must be in the years ${first_year} to ${last_year}.`);

const query = z.object({
  start_date: calendarDate.describe("The first day."),
  end_date: calendarDate.describe("The last day, which is counted."),
  interval: z.enum(metricIntervals).describe("How long each stretch of time is."),
  timezone: timezone.describe("Time zone in which days begin, as Europe/Paris."),
  organization_id: ids.describe("Only of these organizations."),
  product_id: ids.describe("Only of these products."),
  billing_type: many(z.enum(["one_time", "recurring"])).describe(
    "Only of products that are paid once, or again and again.",
  ),
  customer_id: ids.describe("Only of these customers."),
  metrics: many(z.enum(metricSlugs)).describe("Only these metrics."),
});
export type MetricsQuery = z.output<typeof query>;

/** An address that shows the metrics as a page, to whoever has it, until it runs out. */
export const MetricsLink = z.object({
  organization_id: z.uuid(),
  /** What it is good by stands behind its #, which browsers send to nobody. */
  url: z.string(),
  expires_at: instant,
});
export type MetricsLink = z.output<typeof MetricsLink>;

/** What somebody needs to know who draws an organization's metrics. */
export const MetricsAbout = z.object({
  organization_id: z.uuid(),
  name: z.string(),
  /** What amounts are shown in. */
  currency: z.string(),
  /** By the organization's clock, which a sandbox has moved. */
  now: instant,
  /** What it can be narrowed down to: the first few hundred by name. */
  products: z.array(z.object({ id: z.uuid(), name: z.string(), is_archived: z.boolean() })),
});
export type MetricsAbout = z.output<typeof MetricsAbout>;

export const metrics = {
  get: {
    method: "GET",
    path: "/v1/metrics/",
    heavy: "cancel",
    summary: "Get metrics of orders, subscriptions and checkouts",
    access: seller("metrics:read"),
    query,
    response: MetricsResponse,
  },
  export: {
    method: "GET",
    path: "/v1/metrics/export",
    heavy: "cancel",
    summary: "Export metrics as CSV",
    access: seller("metrics:read"),
    query,
    file: { name: "polar-metrics.csv", type: "text/csv" },
  },
  limits: {
    method: "GET",
    path: "/v1/metrics/limits",
    summary: "Get how long a range of each interval may be",
    access: person("metrics:read"),
    response: MetricsLimits,
  },
  about: {
    method: "GET",
    path: "/v1/metrics/about",
    summary: "Get whose metrics these are: name, currency, products",
    access: seller("metrics:read"),
    response: MetricsAbout,
  },
  link: {
    method: "POST",
    path: "/v1/metrics/links",
    summary: "Make an address that shows metrics for ten minutes",
    access: seller("metrics:read"),
    body: z.object({ organization_id: organizationOf }),
    response: MetricsLink,
    status: 201,
    errors: ["NotPermitted"],
  },
} as const satisfies Resource;
