import { sql } from "drizzle-orm";
import {
  bigint,
  boolean,
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
import type { Meter } from "../../../shared/api/meters.ts";
import type { Interval } from "../../../shared/calendar.ts";
import { customers } from "../../customers/customers/tables.ts";
import { owned } from "../../identity/organizations/tables.ts";
import { instant, metadata, ownedKey, references, searchIndex } from "../../platform/db/columns.ts";

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
    /** When that was done last: what was put by until then may have been counted by another filter, or not at all. */
    recounted_at: instant(),
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
    searchIndex("meters_search", table.name),
    index("meters_metadata").using("gin", sql`${table.metadata} jsonb_path_ops`),
  ],
);

/** How periods follow each other, as a subscription has them. */
export type ResetSchedule = {
  interval: Interval;
  count: number;
  anchor_day: number;
  /** The longer periods that these end with, too: when the one that runs ends, and how they follow each other. */
  within?: { end: string; interval: Interval; count: number };
};

/**
 * What a customer has used of what a meter counts, since it was reset last. It is changed with the event that it counts, in the same transaction, from
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
    /** What the open lots of credit come to. */
    credited_units: bigint({ mode: "number" }).notNull().default(0),
    /** What of these goes on at the next reset, as far as it is left then. */
    rollover_units: bigint({ mode: "number" }).notNull().default(0),
    /** Since when it counts: when it was reset last; null: ever since. Use of an earlier time that came after that is late. */
    started_at: instant(),
    /** The first id that an event may have to be counted: those before it were counted before the reset. */
    since_key: uuid(),
    /** The greatest id of an event that was counted. */
    last_key: uuid(),
    /** Whether an event counts by when it happened: one of a time before `started_at` belongs to the period of that time. */
    by_time: boolean().notNull().default(false),
    /** Use that is never billed, beyond what credit covered: it was before the price that is paid now. */
    free_units: numeric().notNull().default("0"),
    /** From which time on use is billed. */
    billed_from: instant(),
    /** The subscription that pays for the use, and when and how its periods end. */
    payer_id: uuid(),
    /** The price that its payer pays. */
    price_id: uuid(),
    ends_at: instant(),
    rhythm: jsonb().$type<ResetSchedule>(),
    /** When something is to be done first: its period ends, or a lot expires. */
    due_at: instant(),
    /** When the world is to be told that it has changed; null: nothing is to be told. */
    notice_at: instant(),
  },
  (table) => [
    ownedKey(table.id),
    uniqueIndex("customer_meters_once").on(table.organization_id, table.customer_id, table.meter_id),
    index("customer_meters_of_meter").on(table.organization_id, table.meter_id),
    index("customer_meters_by_due_time")
      .on(table.due_at, table.organization_id)
      .where(sql`${table.due_at} is not null`),
    index("customer_meters_due").on(table.organization_id, table.due_at).where(sql`${table.due_at} is not null`),
    index("customer_meters_to_tell")
      .on(table.organization_id, table.notice_at)
      .where(sql`${table.notice_at} is not null`),
    index("customer_meters_of_payer")
      .on(table.organization_id, table.payer_id)
      .where(sql`${table.payer_id} is not null`),
    references(table.customer_id, customers),
    references(table.meter_id, meters),
  ],
);

/** What was used from one reset to the next, as it was counted by then; what is billed of it is in the order's lines. */
export const customerMeterWindows = pgTable(
  "customer_meter_windows",
  {
    ...owned(),
    customer_id: uuid().notNull(),
    meter_id: uuid().notNull(),
    started_at: instant(),
    ended_at: instant().notNull(),
    /** From which id of an event on it counted, and before which. */
    since_key: uuid(),
    until_key: uuid().notNull(),
    consumed_units: numeric().notNull(),
    counted: bigint({ mode: "number" }).notNull(),
    total: numeric().notNull(),
    credited_units: bigint({ mode: "number" }).notNull(),
    rollover_units: bigint({ mode: "number" }).notNull(),
    /** What of the credit went on into the next one, and so is not there for late usage. */
    rolled_units: bigint({ mode: "number" }).notNull().default(0),
    by_time: boolean().notNull().default(false),
    /** How many units its payer was billed for, where it was billed; what came later is billed with the next order. */
    billed_units: numeric(),
    /** The first and last time of usage that came after the period was over, and is not billed yet. */
    late_from: instant(),
    late_until: instant(),
    free_units: numeric().notNull(),
    billed_from: instant(),
    payer_id: uuid(),
    price_id: uuid(),
    /** Whether its payer has still to take it into a bill. */
    is_open: boolean().notNull(),
    /** Whether the period goes on for its payer: whoever used it has left, and it is billed with what others use. */
    is_part: boolean().notNull(),
  },
  (table) => [
    ownedKey(table.id),
    index("customer_meter_windows_of_customer").on(
      table.organization_id,
      table.customer_id,
      table.meter_id,
      table.ended_at,
    ),
    index("customer_meter_windows_open")
      .on(table.organization_id, table.payer_id, table.ended_at)
      .where(sql`${table.is_open}`),
    references(table.customer_id, customers),
    references(table.meter_id, meters),
  ],
);

/**
 * Units that a customer was credited with, from one source. What is left of a lot follows from what was used: those that expire
 * first are spent first (`credits.ts`). Of a closed one, amount = taken + spent + expired + rolled.
 */
export const customerMeterLots = pgTable(
  "customer_meter_lots",
  {
    ...owned(),
    customer_id: uuid().notNull(),
    meter_id: uuid().notNull(),
    source_kind: text().notNull(),
    source_id: text().notNull(),
    amount: bigint({ mode: "number" }).notNull(),
    /** Whether what is left at a reset goes on as another lot. */
    rollover: boolean().notNull(),
    /** When it was credited first, where it has gone on from another. */
    given_at: instant(),
    /** When what is left is lost; at the next reset in any case, unless it rolls over. */
    expires_at: instant(),
    /** Among those that expire together, the lower is spent first. */
    priority: integer().notNull(),
    taken: bigint({ mode: "number" }).notNull().default(0),
    expired: bigint({ mode: "number" }).notNull().default(0),
    /** Known once it is closed. */
    spent: bigint({ mode: "number" }).notNull().default(0),
    rolled: bigint({ mode: "number" }).notNull().default(0),
    expired_at: instant(),
    closed_at: instant(),
  },
  (table) => [
    ownedKey(table.id),
    index("customer_meter_lots_open")
      .on(table.organization_id, table.customer_id, table.meter_id)
      .where(sql`${table.closed_at} is null`),
    references(table.customer_id, customers),
    references(table.meter_id, meters),
  ],
);

/**
 * The values that a meter of distinct ones has seen of a customer, by a digest of their JSON; those of a period that is over and
 * not billed yet stand under the id of that instead. They come as often as events, so a trigger takes those of an
 * organization that goes.
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
