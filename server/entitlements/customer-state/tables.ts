import { index, pgTable, uuid } from "drizzle-orm/pg-core";
import { owned } from "../../identity/organizations/tables.ts";
import { instant, ownedKey } from "../../platform/db/columns.ts";

/**
 * Customers whose state has to be emitted again: two transactions changed it at the same time, and neither saw the change of
 * the other. There is no foreign key to the customer, because a delete would wait for it; customers are never deleted.
 */
export const stateNotices = pgTable(
  "customer_state_notices",
  { ...owned(), customer_id: uuid().notNull(), due_at: instant().notNull() },
  (table) => [ownedKey(table.id), index("customer_state_notices_due").on(table.organization_id, table.due_at)],
);
