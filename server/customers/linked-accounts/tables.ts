import { sql } from "drizzle-orm";
import { index, pgTable, text, uniqueIndex, uuid } from "drizzle-orm/pg-core";
import type { Platform } from "../../../shared/api/portal-accounts.ts";
import { owned } from "../../identity/organizations/tables.ts";
import { instant, ownedKey, references } from "../../platform/db/columns.ts";
import { customers } from "../customers/tables.ts";
import { members } from "../members/tables.ts";
import { customerSessions } from "../sessions/tables.ts";

/**
 * The account elsewhere that a customer has shown to be theirs, for what is given there; one of each platform, and of a team one for
 * each of its people (BEN-80).
 */
export const customerAccounts = pgTable(
  "customer_accounts",
  {
    ...owned(),
    customer_id: uuid().notNull(),
    /** Whose of a team it is; null: the customer's as such. */
    member_id: uuid(),
    platform: text().$type<Platform>().notNull(),
    /** As the platform numbers them: names are given up and taken by others. */
    account_number: text().notNull(),
    username: text(),
    /** What opens the account, sealed; null where nothing has to be opened, or nothing does any more. */
    tokens_sealed: text(),
    expires_at: instant(),
    /** Until when somebody has new tokens given: each of the old ones is good for that once. */
    renewing_until: instant(),
  },
  (table) => [
    ownedKey(table.id),
    references(table.customer_id, customers),
    references(table.member_id, members),
    uniqueIndex("customer_accounts_of_customer").on(
      table.organization_id,
      table.customer_id,
      table.platform,
      sql`coalesce(${table.member_id}, ${table.customer_id})`,
    ),
  ],
);

/** A customer is at the platform to show which account is theirs. Of what they come back with there is a keyed hash. */
export const customerAccountRequests = pgTable(
  "customer_account_requests",
  {
    ...owned(),
    customer_id: uuid().notNull(),
    /** Where that is over, so is this. */
    session_id: uuid().notNull(),
    platform: text().$type<Platform>().notNull(),
    state_hash: text().notNull(),
    /** Where they go on: a path of this server. */
    return_to: text().notNull(),
    /** By the server's clock. */
    expires_at: instant().notNull(),
  },
  (table) => [
    ownedKey(table.id),
    references(table.customer_id, customers),
    references(table.session_id, customerSessions, "cascade"),
    uniqueIndex("customer_account_requests_once").on(table.organization_id, table.session_id, table.platform),
    index("customer_account_requests_by_customer").on(table.organization_id, table.customer_id),
    index("customer_account_requests_by_state").on(table.state_hash),
    index("customer_account_requests_by_end").on(table.expires_at),
  ],
);
