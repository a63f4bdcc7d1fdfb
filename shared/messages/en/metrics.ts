import type { Api } from "../../api/index.ts";
import type { Output } from "../../contract.ts";

type Slug = keyof Output<Api["metrics"]["get"]>["metrics"];

/** The page of metrics in English, whose metrics are called as the server calls them. */
export const messages = {
  title: (seller: string) => `Metrics of ${seller}`,
  nothing: "No metrics to show",
  ask: "An address that shows them is made by",
  over: "This address has run out, as it is good for ten minutes. Another one is made by",
  not_loaded: "The metrics could not be loaded",
  choose: "What is shown",
  interval: "Interval",
  intervals: { hour: "Hour", day: "Day", week: "Week", month: "Month", year: "Year" },
  from: "First day",
  to: "Last day",
  timezone: "Time zone",
  product: "Product",
  all_products: "All products",
  archived: (name: string) => `${name} (archived)`,
  no_day: "Enter a day.",
  wrong_order: "The last day comes before the first.",
  too_long: (days: string) => `With this interval, at most ${days} days.`,
  parts: "Groups of metrics",
  groups: {
    revenue: "Revenue",
    orders: "Orders",
    subscriptions: "Subscriptions",
    cancellations: "Cancellations",
    checkouts: "Checkouts",
    costs: "Costs",
    seats: "Seats",
  },
  names: {} as Partial<Record<Slug, string>>,
  now: "This period",
  before: "Period before",
  was: (value: string) => `${value} in the period before`,
  same: "as in the period before",
  change: (change: string, value: string) => `${change} on the period before (${value})`,
  points: (count: string) => `${count} points`,
  begins: "Begins",
  numbers: (name: string) => `${name}: the numbers`,
  chart: (name: string, from: string, to: string, least: string, most: string) =>
    `${name} from ${from} to ${to}: between ${least} and ${most}. Arrow keys go through the values, which the table has, too.`,
};
export type MetricsMessages = typeof messages;
