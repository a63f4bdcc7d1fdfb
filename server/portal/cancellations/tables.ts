import { sql } from "drizzle-orm";
import { index, pgTable, text, uuid } from "drizzle-orm/pg-core";
import type { CancellationNotice } from "../../../shared/api/cancellations.ts";
import { subscriptions } from "../../billing/subscriptions/tables.ts";
import { customers } from "../../customers/customers/tables.ts";
import { owned } from "../../identity/organizations/tables.ts";
import { instant, ownedKey, references } from "../../platform/db/columns.ts";

/** What buyers declared without signing in: only the link of the mail makes it a customer's (CUP-30). */
export const cancellationNotices = pgTable(
  "cancellation_notices",
  {
    ...owned(),
    name: text().notNull(),
    email: text().notNull(),
    reference: text().notNull(),
    kind: text().$type<CancellationNotice["kind"]>().notNull(),
    reason: text(),
    /** `YYYY-MM-DD`. */
    wanted_on: text(),
    /** A keyed hash of the token of the link; null once it was used. */
    token_hash: text(),
    /** By the server's clock. */
    expires_at: instant().notNull(),
    confirmed_at: instant(),
    settled_at: instant(),
    customer_id: uuid(),
    subscription_id: uuid(),
  },
  (table) => [
    ownedKey(table.id),
    references(table.customer_id, customers),
    references(table.subscription_id, subscriptions),
    index("cancellation_notices_by_time").on(table.organization_id, table.created_at),
    index("cancellation_notices_by_token").on(table.token_hash).where(sql`${table.token_hash} is not null`),
    index("cancellation_notices_by_customer").on(table.organization_id, table.customer_id),
    index("cancellation_notices_by_subscription").on(table.organization_id, table.subscription_id),
    index("cancellation_notices_by_age").on(table.created_at),
  ],
);
