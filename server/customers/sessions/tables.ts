import { index, pgTable, text, uuid } from "drizzle-orm/pg-core";
import { owned } from "../../identity/organizations/tables.ts";
import { instant, ownedKey, references } from "../../platform/db/columns.ts";
import { customers } from "../customers/tables.ts";
import { members } from "../members/tables.ts";

/** What opens the customer portal for a while. Of the token there is a keyed hash (CUP-03). */
export const customerSessions = pgTable(
  "customer_sessions",
  {
    ...owned(),
    token_hash: text().notNull(),
    customer_id: uuid().notNull(),
    /** Whom of a team it is for; null: the customer as such. */
    member_id: uuid(),
    expires_at: instant().notNull(),
    return_url: text(),
  },
  (table) => [
    ownedKey(table.id),
    references(table.customer_id, customers),
    references(table.member_id, members),
    index("customer_sessions_by_token").on(table.token_hash),
    index("customer_sessions_by_customer").on(table.organization_id, table.customer_id),
    index("customer_sessions_by_end").on(table.expires_at),
  ],
);
