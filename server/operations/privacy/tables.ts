import { sql } from "drizzle-orm";
import { index, pgTable, text } from "drizzle-orm/pg-core";
import type { CustomerErasure } from "../../../shared/api/customers.ts";
import { customers } from "../../customers/customers/tables.ts";
import { owned } from "../../identity/organizations/tables.ts";
import { instant, ownedKey, references } from "../../platform/db/columns.ts";

/**
 * A customer who is removed from all that is held, a slice at a time; the row has their id. It goes on where it was broken off,
 * and stays when it is done, so that it can be done again where an old backup brings back what was erased.
 */
export const customerErasures = pgTable(
  "customer_erasures",
  {
    ...owned(),
    /** Null once all is gone through. */
    stage: text().$type<NonNullable<CustomerErasure["stage"]>>(),
    /** Transactions that began before may still write what they have read: it is gone through once all below this are over. */
    fence: text(),
    /** The last that was gone through at this stage. */
    cursor: text(),
    /** The addresses and names to look for, sealed; null once they are found. */
    words: text(),
    /** When to go on; null once it is done. */
    due_at: instant(),
    finished_at: instant(),
  },
  (table) => [
    ownedKey(table.id),
    references(table.id, customers),
    index("customer_erasures_due").on(table.organization_id, table.due_at).where(sql`${table.due_at} is not null`),
  ],
);
