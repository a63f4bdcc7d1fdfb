import type { Slug } from "./calls.ts";

/** What is shown together. */
export const groups = {
  revenue: [
    ...(["revenue", "net_revenue", "average_order_value", "net_average_order_value"] as const),
    ...(["cumulative_revenue", "net_cumulative_revenue"] as const),
  ],
  orders: ["orders", "one_time_products", "one_time_products_revenue", "one_time_products_net_revenue"],
  subscriptions: [
    ...(["monthly_recurring_revenue", "active_subscriptions", "new_subscriptions", "renewed_subscriptions"] as const),
    ...(["new_subscriptions_revenue", "renewed_subscriptions_revenue"] as const),
    ...(["new_subscriptions_net_revenue", "renewed_subscriptions_net_revenue"] as const),
    ...(["annual_recurring_revenue", "average_revenue_per_user", "ltv"] as const),
    ...(["committed_subscriptions", "committed_monthly_recurring_revenue"] as const),
    ...(["committed_annual_recurring_revenue", "trial_monthly_recurring_revenue"] as const),
    "trial_committed_monthly_recurring_revenue",
  ],
  cancellations: [
    ...(["canceled_subscriptions", "churned_subscriptions", "churn_rate"] as const),
    ...(["canceled_subscriptions_too_expensive", "canceled_subscriptions_unused"] as const),
    ...(["canceled_subscriptions_missing_features", "canceled_subscriptions_switched_service"] as const),
    ...(["canceled_subscriptions_low_quality", "canceled_subscriptions_too_complex"] as const),
    ...(["canceled_subscriptions_customer_service", "canceled_subscriptions_other"] as const),
  ],
  checkouts: ["checkouts", "succeeded_checkouts", "checkouts_conversion"],
  costs: [
    ...(["costs", "cumulative_costs", "cost_per_user", "active_user_by_event"] as const),
    ...(["gross_margin", "gross_margin_percentage", "cashflow"] as const),
  ],
  seats: [
    ...(["seats_total", "seats_claimed", "seats_pending", "seat_utilization_rate"] as const),
    ...(["seat_customers", "new_seat_customers", "churned_seat_customers", "average_seats_per_customer"] as const),
  ],
} as const satisfies Record<string, readonly Slug[]>;
export type Group = keyof typeof groups;
export const groupNames = Object.keys(groups) as Group[];

/** What stands at the end of a stretch of time is a line; what happened in it is a bar. */
export const isStanding = (slug: Slug): boolean =>
  /cumulative|recurring_revenue|^(active_subs|committed|average_revenue|average_seats|ltv|churn_rate|gross|cost_per|seat)|conversion/.test(
    slug,
  );
