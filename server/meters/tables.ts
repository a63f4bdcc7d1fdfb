import { sql } from "drizzle-orm";
import {
  bigint,
  index,
  integer,
  jsonb,
  numeric,
  pgTable,
  primaryKey,
  text,
  uniqueIndex,
  uuid,
} from "drizzle-orm/pg-core";
import type { Meter } from "../../shared/api/meters.ts";
import { customers } from "../customers/tables.ts";
import { instant, metadata, ownedKey, references } from "../lib/columns.ts";
import { owned } from "../organizations/tables.ts";

/** What is counted. There is no deleting, only archiving (MTR-13). */
export const meters = pgTable(
  "meters",
  {
    ...owned(),
    archived_at: instant(),
    /** When an event counted for the first time: from then on, what it counts stays as it is (MTR-11). */
    first_counted_at: instant(),
    /** Since when what it counts is to be counted from the events themselves, those before it included. */
    recount_at: instant(),
    name: text().notNull(),
    unit: text().$type<Meter["unit"]>().notNull().default("scalar"),
    custom_label: text(),
    custom_multiplier: integer(),
    filter: jsonb().$type<Meter["filter"]>().notNull(),
    aggregation: jsonb().$type<Meter["aggregation"]>().notNull(),
    metadata: metadata(),
  },
  (table) => [
    ownedKey(table.id),
    index("meters_to_recount").on(table.organization_id, table.recount_at).where(sql`${table.recount_at} is not null`),
    index("meters_by_name").on(table.organization_id, table.name, table.id),
    index("meters_by_creation").on(table.organization_id, table.created_at, table.id),
    index("meters_name_part").using("gin", sql`${table.name} gin_trgm_ops`),
    index("meters_metadata").using("gin", sql`${table.metadata} jsonb_path_ops`),
  ],
);

/**
 * What a customer has used of what a meter counts. It is changed with the event that it counts, in the same transaction, from
 * what it is and what the event has: sums and counts add up, an average is kept as sum and count, a maximum meets the next
 * value, and of `unique` the values that were seen are in `customerMeterValues`. So it is exact without history being read.
 */
export const customerMeters = pgTable(
  "customer_meters",
  {
    ...owned(),
    customer_id: uuid().notNull(),
    meter_id: uuid().notNull(),
    consumed_units: numeric().notNull(),
    /** Of how many events it is made, and what their values add up to. */
    counted: bigint({ mode: "number" }).notNull(),
    total: numeric().notNull(),
  },
  (table) => [
    ownedKey(table.id),
    uniqueIndex("customer_meters_once").on(table.organization_id, table.customer_id, table.meter_id),
    index("customer_meters_of_meter").on(table.organization_id, table.meter_id),
    references(table.customer_id, customers),
    references(table.meter_id, meters),
  ],
);

/**
 * The values that a meter of distinct ones has seen of a customer, by a digest of their JSON. They come as often as events, so
 * a trigger takes those of an organization that goes.
 */
export const customerMeterValues = pgTable(
  "customer_meter_values",
  {
    organization_id: text().notNull(),
    meter_id: uuid().notNull(),
    customer_id: uuid().notNull(),
    value: uuid().notNull(),
  },
  (table) => [
    primaryKey({
      name: "customer_meter_values_pkey",
      columns: [table.organization_id, table.meter_id, table.customer_id, table.value],
    }),
  ],
);
