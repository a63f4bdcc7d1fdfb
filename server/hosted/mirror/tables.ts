import { index, jsonb, pgTable, primaryKey, text } from "drizzle-orm/pg-core";
import { organization } from "../../identity/organizations/tables.ts";
import { instant } from "../../platform/db/columns.ts";
import type { MirroredKind } from "./rules.ts";

/** The newest form of each object of Polar that this server has seen. */
export const polarObjects = pgTable(
  "polar_objects",
  {
    organization_id: text()
      .notNull()
      .references(() => organization.id, { onDelete: "cascade" }),
    kind: text().$type<MirroredKind>().notNull(),
    id: text().notNull(),
    data: jsonb().notNull(),
    /** What decides which form is the newest, in this order: when it was changed, when that was told, and by what. */
    modified_at: instant().notNull(),
    event_at: instant().notNull(),
    source: text().notNull(),
    via: text().$type<"event" | "embedded" | "read" | "sync">().notNull(),
    deleted_at: instant(),
    /** When the sync began that last saw it in a list of Polar. */
    synced_at: instant(),
    customer_id: text(),
    external_id: text(),
  },
  (table) => [
    primaryKey({ name: "polar_objects_pkey", columns: [table.organization_id, table.kind, table.id] }),
    index("polar_objects_of_customer").on(table.organization_id, table.customer_id, table.kind, table.event_at),
    index("polar_objects_external").on(table.organization_id, table.kind, table.external_id),
  ],
);
