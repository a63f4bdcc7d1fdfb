import { sql } from "drizzle-orm";
import {
  bigint,
  bigserial,
  index,
  jsonb,
  pgTable,
  primaryKey,
  smallint,
  text,
  uniqueIndex,
  uuid,
} from "drizzle-orm/pg-core";
import type { Event, EventMetadata } from "../../../shared/api/events.ts";
import { organization } from "../../identity/organizations/tables.ts";
import { instant, ownedKey } from "../../platform/db/columns.ts";

/**
 * What was ingested, by the million. The migration makes this table anew in parts by the month of the ids, which have the time
 * of the ingestion in them: a late event stands with those that came with it, and an old part can be dropped as a whole. No
 * foreign key asks a question for each row; a trigger takes an organization's events with it.
 */
export const usageEvents = pgTable(
  "usage_events",
  {
    id: uuid().notNull(),
    organization_id: text().notNull(),
    timestamp: instant().notNull(),
    name: text().notNull(),
    source: text().$type<Event["source"]>().notNull(),
    /** Whose it is; of an external id that nobody has had yet, null until somebody has it. */
    customer_id: uuid(),
    /** Where it came before its customer was known: an id of the time at which it was given to them. */
    attached_key: uuid(),
    external_customer_id: text(),
    external_id: text(),
    parent_id: uuid(),
    /** How many events it is a part of, one in the other. */
    depth: smallint().notNull(),
    member_id: uuid(),
    external_member_id: text(),
    metadata: jsonb().$type<EventMetadata>().notNull(),
  },
  (table) => [
    ownedKey(table.id),
    index("usage_events_by_time").on(table.organization_id, table.timestamp, table.id),
    index("usage_events_of_customer")
      .on(table.organization_id, table.customer_id, table.timestamp, table.id)
      .where(sql`${table.customer_id} is not null`),
    index("usage_events_waiting")
      .on(table.organization_id, table.external_customer_id, table.timestamp, table.id)
      .where(sql`${table.customer_id} is null`),
    index("usage_events_by_name").on(table.organization_id, table.name, table.timestamp, table.id),
    index("usage_events_of_parent")
      .on(table.organization_id, table.parent_id, table.timestamp, table.id)
      .where(sql`${table.parent_id} is not null`),
    index("usage_events_of_system")
      .on(table.organization_id, table.timestamp, table.id)
      .where(sql`${table.source} = 'system'`),
    index("usage_events_metadata").using("gin", sql`${table.metadata} jsonb_path_ops`),
  ],
);

/**
 * The external ids of events, kept for ever, also when the events are not: each is counted once. As of the events, a trigger
 * takes those of an organization that goes.
 */
export const usageKeys = pgTable(
  "usage_keys",
  {
    organization_id: text().notNull(),
    external_id: text().notNull(),
    event_id: uuid().notNull(),
    /** What the event said, so that other content under the same id is noticed. */
    digest: uuid().notNull(),
  },
  (table) => [primaryKey({ name: "usage_keys_pkey", columns: [table.organization_id, table.external_id] })],
);

/** External ids of customers for which events wait, or may: who ingests for such a one and who takes it meet here. */
export const usageWaiting = pgTable(
  "usage_waiting",
  {
    id: uuid().notNull(),
    organization_id: text()
      .notNull()
      .references(() => organization.id, { onDelete: "cascade" }),
    external_customer_id: text().notNull(),
    /** Since when there is a customer who has it. */
    due_at: instant(),
  },
  (table) => [
    ownedKey(table.id),
    uniqueIndex("usage_waiting_once").on(table.organization_id, table.external_customer_id),
    index("usage_waiting_due").on(table.organization_id, table.due_at).where(sql`${table.due_at} is not null`),
  ],
);

/**
 * How often each name of an event came, and when: the sum of its rows. Each batch adds some, so that none waits for another
 * that has the same names; a sweep adds them up.
 */
export const usageNames = pgTable(
  "usage_names",
  {
    organization_id: text()
      .notNull()
      .references(() => organization.id, { onDelete: "cascade" }),
    id: bigserial({ mode: "number" }).notNull(),
    name: text().notNull(),
    source: text().$type<Event["source"]>().notNull(),
    occurrences: bigint({ mode: "number" }).notNull(),
    first_seen: instant().notNull(),
    last_seen: instant().notNull(),
  },
  (table) => [ownedKey(table.id)],
);
