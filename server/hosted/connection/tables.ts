import { bigint, boolean, date, integer, jsonb, pgTable, primaryKey, text } from "drizzle-orm/pg-core";
import { organization } from "../../identity/organizations/tables.ts";
import { instant } from "../../platform/db/columns.ts";
import type { SyncCounts, SyncKind, SyncStage } from "./rules.ts";

/** The webhook endpoint at Polar through which an organization's events arrive, as `floe polar connect` made or found it. */
export const polarConnections = pgTable("polar_connections", {
  organization_id: text()
    .primaryKey()
    .references(() => organization.id, { onDelete: "cascade" }),
  endpoint_id: text().notNull(),
  url: text().notNull(),
  /** Sealed for the purpose `polar-webhook-secret` and this row. */
  secret: text().notNull(),
  connected_at: instant().notNull(),
  checked_at: instant().notNull(),
  /** What the last check found wrong and could not repair. */
  fault: text(),
  /** When the endpoint is checked again. */
  due_at: instant().notNull(),
});

/** The lease of the process that works on the endpoint of an organization at Polar. */
export const polarLeases = pgTable("polar_leases", {
  organization_id: text()
    .primaryKey()
    .references(() => organization.id, { onDelete: "cascade" }),
  holder: text().notNull(),
  leased_until: instant().notNull(),
});

/** How many deliveries were refused, by day and reason. */
export const polarRefusals = pgTable(
  "polar_refusals",
  {
    organization_id: text()
      .notNull()
      .references(() => organization.id, { onDelete: "cascade" }),
    day: date().notNull(),
    reason: text().notNull(),
    count: bigint({ mode: "number" }).notNull(),
    last_at: instant().notNull(),
  },
  (table) => [primaryKey({ name: "polar_refusals_pkey", columns: [table.organization_id, table.day, table.reason] })],
);

/** How far the newest sync of the mirror with Polar's lists has come. */
export const polarSyncs = pgTable("polar_syncs", {
  organization_id: text()
    .primaryKey()
    .references(() => organization.id, { onDelete: "cascade" }),
  started_at: instant().notNull(),
  finished_at: instant(),
  kinds: text().array().$type<SyncKind[]>().notNull(),
  /** The kind under way, by its place in `kinds`. */
  position: integer().notNull().default(0),
  stage: text().$type<SyncStage>().notNull().default("list"),
  page: integer().notNull().default(1),
  /** How many objects of the kind Polar has, as the last page said. */
  total: integer().notNull().default(0),
  /** How often this kind went back a page, because objects were deleted meanwhile. */
  returns: integer().notNull().default(0),
  /** The last object that was looked up because no page had it. */
  after: text().notNull().default(""),
  counts: jsonb().$type<SyncCounts>().notNull().default({}),
  /** Grows with each step: of two that take the same step, one counts. */
  step: integer().notNull().default(0),
  /** Whether the server continues it. */
  is_automatic: boolean().notNull(),
});
