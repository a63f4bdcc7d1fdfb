import { sql } from "drizzle-orm";
import { bigint, bigserial, index, integer, pgTable, text, uuid } from "drizzle-orm/pg-core";
import { organization } from "../../identity/organizations/tables.ts";
import { instant, ownedKey } from "../../platform/db/columns.ts";

const count = () => bigint({ mode: "number" });

/**
 * What happened, summed by when: the value at any time is the sum of the rows before it. Triggers write a row for each
 * change of an order, a subscription or a checkout, with what its facts (`order_facts`, `subscription_facts`,
 * `checkout_facts`) are more or less than they were; a sweep adds those up to one row for each stretch of time.
 */
export const metricTallies = pgTable(
  "metric_tallies",
  {
    organization_id: text()
      .notNull()
      .references(() => organization.id, { onDelete: "cascade" }),
    id: bigserial({ mode: "number" }).notNull(),
    /** How long the stretch is: a quarter of an hour, an hour or a day, in UTC; 0 of a change that is not added up yet. */
    seconds: integer().notNull(),
    /** When the stretch begins; of a change, the quarter of an hour. */
    at: instant().notNull(),
    /** All zeros: of all products together. */
    product_id: uuid().notNull(),
    orders: count(),
    revenue: count(),
    net_revenue: count(),
    one_time: count(),
    one_time_revenue: count(),
    one_time_net_revenue: count(),
    /** Orders that were paid in the quarter of an hour in which their subscription began. */
    opening: count(),
    opening_revenue: count(),
    opening_net_revenue: count(),
    checkouts: count(),
    succeeded: count(),
    started: count(),
    churned: count(),
    seats: count(),
    mrr: count(),
    trial_mrr: count(),
    canceled: count(),
    canceled_customer_service: count(),
    canceled_low_quality: count(),
    canceled_missing_features: count(),
    canceled_switched_service: count(),
    canceled_too_complex: count(),
    canceled_too_expensive: count(),
    canceled_unused: count(),
    canceled_other: count(),
  },
  (table) => [
    ownedKey(table.id),
    index("metric_tallies_by_time").on(table.organization_id, table.seconds, table.product_id, table.at),
    index("metric_tallies_loose").on(table.organization_id).where(sql`${table.seconds} = 0`),
  ],
);
