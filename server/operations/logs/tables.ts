import { index, integer, jsonb, pgTable, text, uuid } from "drizzle-orm/pg-core";
import { organization } from "../../identity/organizations/tables.ts";
import { instant, ownedKey } from "../../platform/db/columns.ts";

/**
 * The latest requests of each organization, for `floe logs`. The rows are written in batches after the answers. Age and
 * number of rows are limited, so that a flood of requests fills no disk.
 */
export const requestLog = pgTable(
  "request_log",
  {
    /** A time-ordered id by the server's clock. */
    id: uuid().notNull(),
    organization_id: text()
      .notNull()
      .references(() => organization.id, { onDelete: "cascade" }),
    request_id: text().notNull(),
    /** Name of the operation, such as `orders.list`. */
    operation: text().notNull(),
    method: text().notNull(),
    /** The path as the API declares it, with ids filled in: no secret and no address is in it. */
    path: text().notNull(),
    status: integer().notNull(),
    /** Code of the error that was answered. */
    error: text(),
    duration_ms: integer().notNull(),
    actor_kind: text().$type<"user" | "key" | "customer" | "anonymous">().notNull(),
    user_id: text(),
    key_id: text(),
    /** What was sent, without its texts: numbers, booleans, ids and names of fields. */
    body: jsonb(),
    /** How many requests before this one are missing, because there were too many at once. */
    skipped: integer().notNull().default(0),
    /** By the clock of the organization, which a sandbox can move. */
    created_at: instant().notNull(),
    /** By the server's clock. */
    written_at: instant().notNull(),
  },
  (table) => [
    ownedKey(table.id),
    index("request_log_list").on(table.organization_id, table.created_at, table.id),
    index("request_log_request").on(table.organization_id, table.request_id),
    index("request_log_age").on(table.written_at),
  ],
);
