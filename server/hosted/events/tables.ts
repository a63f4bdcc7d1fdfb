import { sql } from "drizzle-orm";
import { index, integer, pgTable, text, uniqueIndex, uuid } from "drizzle-orm/pg-core";
import { organization } from "../../identity/organizations/tables.ts";
import { instant, ownedKey } from "../../platform/db/columns.ts";

/** A delivery of Polar whose signature is good, stored once by its `webhook-id`. */
export const incomingEvents = pgTable(
  "incoming_events",
  {
    id: uuid().notNull(),
    organization_id: text()
      .notNull()
      .references(() => organization.id, { onDelete: "cascade" }),
    webhook_id: text().notNull(),
    type: text().notNull(),
    /** The time of the envelope. */
    event_at: instant().notNull(),
    received_at: instant().notNull(),
    /** The body as it came, with its tokens sealed; null after a month. */
    payload: text(),
    body_hash: text().notNull(),
    object_id: text(),
    state: text().$type<"pending" | "applied" | "stale" | "ignored" | "invalid">().notNull(),
    error: text(),
    /** Which of the secrets signed it, by its place. */
    secret_index: integer().notNull(),
    /** How often it came again. */
    duplicates: integer().notNull().default(0),
    /** When it is to be applied; null once that is done. */
    due_at: instant(),
  },
  (table) => [
    ownedKey(table.id),
    uniqueIndex("incoming_events_once").on(table.organization_id, table.webhook_id),
    index("incoming_events_due").on(table.organization_id, table.due_at).where(sql`${table.due_at} is not null`),
    index("incoming_events_age").on(table.received_at),
  ],
);
